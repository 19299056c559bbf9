"""What is tried on a GPU is tried by children: what dies or hangs has failed, and the rest goes on."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu_children.py"

CHILD = f"""
import os, sys, time
sys.path.insert(0, {str(FILE.parent)!r})
from gpu_children import done
print("a child")
for name in sys.argv[1:]:
    print("at", name, flush=True)
    if name == "raises": raise RuntimeError("an invalid access")
    if name == "aborts": os.abort()
    if name == "hangs": time.sleep(60)
    done(name)
"""


def children() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_children", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(names: Sequence[str]) -> list[str]:
    return [sys.executable, "-c", CHILD, *names]


def test_the_rest_goes_on_after_what_fails(capfd: pytest.CaptureFixture[str]) -> None:
    names = ["first", "raises", "second", "aborts", "hangs", "last"]
    found = dict(children().in_children(names, command, 1.5))
    assert list(found) == names
    assert [name for name, complaint in found.items() if complaint is None] == ["first", "second", "last"]
    assert "ended with code 1" in found["raises"]
    assert "an invalid access" in found["raises"]
    assert "ended with code -6" in found["aborts"]
    assert found["hangs"] == "nothing was heard of it for 2 s"
    said = capfd.readouterr().out.splitlines()
    assert said.count("a child") == 4, "the first child and one after each failure"
    assert [line[3:] for line in said if line.startswith("at ")] == names


def test_one_child_does_all_that_goes_well(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(children().in_children(["a", "b"], command, 20)) == [("a", None), ("b", None)]
    assert capfd.readouterr().out.splitlines() == ["a child", "at a", "at b"]
