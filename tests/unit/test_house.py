"""
The house
=========

A folder is a part of the book and a file a chapter: no module imports one that imports it, no room either, rooms have
doors, and the map in CONTRIBUTING says what is true.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from soundline import former_names

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


# Nothing is registered by mutation --------------------------------------------------------------------------------

JOINS = {
    "spec.uop": {"UOp.laws", "UOp.bounds"},  # nodes stand below the table that speaks of them
    "impl.analysis.checks": {"UOp.laws"},  # the same laws, remembering
    "impl.inspect.notebooks": {"for each of _METHODS.items()"},  # the law draws nothing
    "impl.tensors.tensor": {"for each of Tensor.__mro__"},  # methods take arguments as users write them
    "impl.logs": {"logging.getLogger(ROOT).addHandler"},  # a library says where its log goes
}
"""What a module changes outside of itself when it is imported, and why."""
CHANGING = {"add", "append", "extend", "insert", "register", "setdefault", "update"}


def _at_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that run when it is imported."""
    for statement in body:
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            continue
        yield statement
        if isinstance(statement, ast.If | ast.With | ast.Try):
            yield from _at_import([*statement.body, *getattr(statement, "orelse", [])])


def _changed(statement: ast.stmt) -> str | None:
    """What a statement changes that is there already."""
    match statement:
        case ast.AugAssign(target=ast.Name(id="__all__")):
            return None
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute() as target]) | ast.AugAssign(target=target):
            return ast.unparse(target)
        case ast.Expr(value=ast.Call(func=function)):
            return ast.unparse(function)
        case ast.For(iter=over):
            return f"for each of {ast.unparse(over)}"
    return None


def _registering(tree: ast.Module) -> set[str]:
    """The functions of a module that put something into what the module holds."""
    held = {ast.unparse(t) for s in tree.body if isinstance(s, ast.Assign) for t in s.targets}
    held |= {ast.unparse(s.target) for s in tree.body if isinstance(s, ast.AnnAssign)}
    found = set()
    for function in (f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)):
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]) if name in held:
                    found.add(function.name)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name in held:
                    found |= {function.name} if attr in CHANGING else set()
    return found


def mutations(sources: dict[str, str]) -> set[tuple[str, str]]:
    """What modules change when they are imported, by themselves or by the decorators that they use."""
    trees = {name: ast.parse(source) for name, source in sources.items()}
    registering = set[str]().union(*map(_registering, trees.values()))
    found = {(m, what) for m, t in trees.items() for s in _at_import(t.body) if (what := _changed(s))}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            for decorator in getattr(node, "decorator_list", []):
                name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
                if name.rpartition(".")[2] in registering:
                    found.add((module, f"@{name}"))
    return found


def test_nothing_is_registered_by_mutation_at_import() -> None:
    found = mutations({m: path.read_text() for m, path in house.modules().items()})
    told = {(m, what) for m, joins in JOINS.items() for what in joins}
    assert found == told


@pytest.mark.parametrize(
    "planted",
    [
        "TABLE = {}\nTABLE['a'] = 1",
        "TABLE = {}\nTABLE |= {'a': 1}",
        "TABLE = {}\nTABLE.update(a=1)",
        "TABLE = []\nTABLE += [1]",
        "from b import thing\nthing.laws = 1",
        "TABLE = {}\nfor name in 'ab':\n    TABLE[name] = 1",
        "TABLE = {}\ndef enter(f):\n    TABLE[f.__name__] = f\n    return f\n@enter\ndef g(): ...",
        "T: dict[str, int] = {}\ndef enter(n):\n    return lambda f: T.setdefault(n, f)\n@enter('g')\ndef g(): ...",
        "if True:\n    register('a')",
    ],
)
def test_a_planted_registration_is_found(planted: str) -> None:
    assert mutations({"a": planted})


@pytest.mark.parametrize(
    "fine",
    [
        "TABLE = {k: 1 for k in 'ab'}",
        "CACHE = {}\ndef remembered(x):\n    CACHE[x] = x",
        "import functools\n@functools.cache\ndef g(): ...",
        "if __name__ == '__main__':\n    main()",
    ],
)
def test_what_is_made_or_remembered_is_no_registration(fine: str) -> None:
    assert not mutations({"a": fine})


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


def lost_references(texts: dict[str, str]) -> set[tuple[str, str]]:
    """The words in backticks of docstrings that lead to a module which is not there, by module.

    That is a former name of a module, unless the word is a name in the same module or a function or class of another;
    and a dotted name below spec, impl or verify at which there is neither a module nor a name of one.
    """
    trees = {module: ast.parse(text) for module, text in texts.items()}
    names = {module: _names(tree) for module, tree in trees.items()}
    present = {part for module in texts for part in module.split(".")}
    defined = {
        n.name for tree in trees.values() for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)
    }
    former = {old.rpartition(".")[2] for old in former_names.table()} - present - defined
    found: set[tuple[str, str]] = set()
    for module, tree in trees.items():
        for word in _in_backticks(tree):
            parts = word.removeprefix("soundline.").split(".")
            cut = next((k for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in texts), 0)
            rest = parts[cut : cut + 1]
            astray = cut and rest and not {*rest} <= names[".".join(parts[:cut])]
            if astray or former & {*parts} - names[module]:
                found.add((module, word))
    return found


def _names(tree: ast.AST) -> set[str]:
    """Every name that a module binds, reads or imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg", "asname", "module"):
            value = getattr(node, field, None)
            found |= {*value.split(".")} if isinstance(value, str) else set()
    return found


def _in_backticks(tree: ast.AST) -> Iterator[str]:
    """The words in single backticks of the docstrings, also those under an assignment."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield from re.findall(r"(?<!`)`~?([a-z_][\w.]*)`(?!`)", text)


def test_docstrings_lead_to_modules_that_exist() -> None:
    assert lost_references({m: path.read_text() for m, path in house.modules().items()}) == set()


def test_a_planted_former_name_is_found() -> None:
    there = {"spec": "", "spec.ops": "", "spec.ops.bodies": "def bind(): ..."}
    fine = '"""See `bodies`, `spec.ops.bodies.bind`, ``search_steps`` and `anything`."""'
    assert lost_references({**there, "spec.a": fine}) == set()
    for word in ("search_steps", "spec.gone", "spec.ops.bodies.gone", "spec.ops.gone"):
        assert lost_references({**there, "spec.a": f'"""See `{word}`."""'}) == {("spec.a", word)}
    for fine in ("search_steps = 1", "from spec.b import search_steps", "x.search_steps"):
        assert lost_references({**there, "spec.a": f'"""`search_steps`."""\n{fine}'}) == set()
    elsewhere = {"spec.a": '"""`search_steps`."""', "spec.b": "def search_steps(): ..."}
    assert lost_references({**there, **elsewhere}) == set()


def test_the_line_under_a_title_is_as_long_as_the_title() -> None:
    """Sphinx warns of a shorter one."""
    for path in house.modules().values():
        title = re.match(r'"""\n([^\n]+)\n(=+|-+)\n', path.read_text())
        assert title is None or len(title[1]) == len(title[2]), path
