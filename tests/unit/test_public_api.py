"""The public door: every name opens, and opening the law loads neither compiler nor solver."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import soundline

INIT = Path(soundline.__file__)


@pytest.mark.parametrize("name", [n for n in soundline.__all__ if n != "__version__"])
def test_every_public_name_opens(name: str) -> None:
    thing = getattr(soundline, name)
    known_as = thing.name if isinstance(thing, soundline.DType) else thing.__name__
    assert known_as.rpartition(".")[2] == name.removesuffix("_")
    assert name in dir(soundline)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = soundline.nothing


def test_type_checkers_see_the_same_names() -> None:
    """The imports under TYPE_CHECKING and the table of homes are one list."""
    tree = ast.parse(INIT.read_text())
    (guarded,) = [n for n in tree.body if isinstance(n, ast.If)]
    seen = {alias.asname for n in guarded.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    assert seen == set(soundline.__all__) - {"__version__"}


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_the_law_loads_neither_compiler_nor_solver() -> None:
    loaded = loaded_by("import soundline.spec.evaluate")
    assert not {"z3", "cffi"} & loaded
    others = {m for m in loaded if m.startswith(("soundline.impl", "soundline.verify"))}
    assert others == {"soundline.impl", "soundline.impl.evidence"}


def test_a_tensor_loads_no_solver() -> None:
    assert "z3" not in loaded_by("import soundline as sl; sl.Tensor([1.0])")
