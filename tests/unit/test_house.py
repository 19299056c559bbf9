"""
The house
=========

A folder is a part of the book and a file a chapter: no module imports one that imports it, no room either, rooms have
doors, and the map in CONTRIBUTING says what is true.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _house():  # type: ignore[no-untyped-def]
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        return importlib.import_module("house")
    finally:
        sys.path.pop(0)


house = _house()
MOST = 18
"""More modules than this are no part of a book, but two."""
ROOMS = sorted(house.rooms() - set(house.LAYERS))


def test_no_module_imports_one_that_imports_it() -> None:
    assert house.cycle(house.imports()) == []


def test_no_room_imports_one_that_imports_it() -> None:
    assert house.cycle(house.by_room(house.imports())) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("from soundline.spec import b", "import soundline.spec.a"),
        ("from soundline.spec.b import thing", "def late():\n    from soundline.spec import a"),
        ("from soundline.spec.b import thing", "if TYPE_CHECKING:\n    from soundline.spec.a import Thing"),
        ("from soundline.spec.b import thing", "import_module('soundline.spec.a')"),
    ],
)
def test_a_planted_cycle_is_found(one: str, other: str) -> None:
    graph = house.graph_of({"spec.a": one, "spec.b": other, "spec.c": ""})
    assert set(house.cycle(graph)) == {"spec.a", "spec.b"}
    assert house.cycle(house.graph_of({"spec.a": one, "spec.b": "", "spec.c": ""})) == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_holds_in_which_order_and_by_which_doors(room: str) -> None:
    text = house.modules()[room].read_text()
    own = {
        m.rpartition(".")[2] for m in house.modules() if m not in house.rooms() and house.room_of(m) == room
    }
    assert len(own) <= MOST
    order = re.search(r"In order: (.*?)\n(?:Doors|\n)", text, re.DOTALL)
    assert (set(re.findall(r"`(\w+)`", order[1])) if order else set()) == own
    used = {
        target.rpartition(".")[2]
        for module, targets in house.imports().items()
        for target in targets
        if target not in house.rooms() and house.room_of(target) == room
        if house.room_of(module) != room and module != room
    }
    assert used <= house.doors(room), "modules outside import what is no door"
    assert house.doors(room) <= own


def test_the_order_in_which_to_read_a_room_is_that_of_its_imports() -> None:
    for room in ROOMS:
        order = re.search(r"In order: (.*?)\n(?:Doors|\n)", house.modules()[room].read_text(), re.DOTALL)
        names = re.findall(r"`(\w+)`", order[1]) if order else []
        for k, name in enumerate(names):
            later = {f"{room}.{n}" for n in names[k:]}
            assert not house.imports()[f"{room}.{name}"] & later, (
                f"{room}.{name} is read before what it imports"
            )


def test_no_prefix_does_the_work_of_a_folder() -> None:
    for room in ROOMS:
        own = [
            m.rpartition(".")[2]
            for m in house.modules()
            if m not in house.rooms() and house.room_of(m) == room
        ]
        prefixes = [name.partition("_")[0] for name in own if "_" in name]
        assert all(prefixes.count(p) < 4 for p in prefixes), room


def test_the_drawings_in_contributing_are_those_of_the_imports() -> None:
    page = house.PAGE.read_text()
    assert {f"<!-- imports of {layer} -->" for layer in ("root", *house.LAYERS)} <= set(page.split("\n"))
    assert house.redrawn(page) == page, "python docs/_ext/house.py draws them again"


def test_the_map_in_contributing_names_what_exists() -> None:
    _, _, section = house.PAGE.read_text().partition("## Where is what")
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    assert len(rows) >= 10
    for question, answer in rows:
        places = re.findall(r"`((?:spec|impl|verify|tests)/[\w/.]+)`", answer)
        assert places, question
        assert all((ROOT / place).exists() for place in places), (question, places)
