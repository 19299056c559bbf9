"""
The import law
==============

`spec` <- `impl` <- `verify`: the law knows nothing but the standard library, numpy and ml_dtypes; the road knows
the law; the court knows both. Only the public API (`soundline/__init__.py`, `__main__`) sees all three. The check
reads syntax trees, so that an import inside a function or under TYPE_CHECKING counts as well.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("spec", "impl", "verify")
THIRD_PARTY = {
    "spec": {"numpy", "ml_dtypes"},
    "impl": {"numpy", "ml_dtypes", "cffi", "platformdirs", "rich", "pycuda", "cuda", "onnx"},
    "verify": {"numpy", "ml_dtypes", "z3", "rich", "platformdirs", "pytest", "hypothesis", "cffi", "mpmath"}
    | {
        "cosmic_ray",
        "parso",
        "jax",
        "jaxlib",
        "tinygrad",
        "onnx",
        "bitwuzla",
        "cvc5",
        "islpy",
        "distributed",
    },
}
MAY_SEE = {"spec": {"spec"}, "impl": {"spec", "impl"}, "verify": {"spec", "impl", "verify"}}


def imported_modules(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything that `source`, a module inside `package`, imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            # `from soundline import verify` names a module in its list of names.
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and (name := _imported_by_call(node)):
            yield node.lineno, name


def _imported_by_call(call: ast.Call) -> str | None:
    """The literal name given to `import_module` or `__import__`, if this is such a call."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0] if call.args else None
    literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
    return str(first.value) if function in ("import_module", "__import__") and literal else None


def violations(source: str, layer: str, package: str) -> list[str]:
    """What in `source` breaks the import law, as `line: name` texts."""
    found = []
    for line, name in imported_modules(source, package):
        top, _, rest = name.partition(".")
        if top == "soundline":
            part = rest.split(".")[0]
            allowed = part in MAY_SEE[layer] or part == "__version__"
        else:
            allowed = top in sys.stdlib_module_names or top in THIRD_PARTY[layer]
        if not allowed:
            found.append(f"{line}: {name}")
    return found


def _files(layer: str) -> list[Path]:
    return sorted((ROOT / layer).rglob("*.py"))


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_keeps_the_import_law(layer: str) -> None:
    files = _files(layer)
    assert files, f"{layer}/ holds no Python files: the check would pass on nothing"
    broken = []
    for path in files:
        package = ".".join(("soundline", *path.relative_to(ROOT).parent.parts))
        broken += [f"{path.relative_to(ROOT)}:{v}" for v in violations(path.read_text(), layer, package)]
    assert not broken, "imports against spec <- impl <- verify:\n" + "\n".join(broken)


@pytest.mark.parametrize(
    ("layer", "package", "planted"),
    [
        ("spec", "soundline.spec", "import z3"),
        ("spec", "soundline.spec", "from soundline.impl import tensor"),
        ("spec", "soundline.spec", "from soundline import verify"),
        ("spec", "soundline.spec", "from ..verify.smt import scalars"),
        ("spec", "soundline.spec", "import soundline.verify.judging.judge as rules"),
        ("spec", "soundline.spec", "def late():\n    from rich.table import Table"),
        (
            "spec",
            "soundline.spec",
            "import importlib\nimportlib.import_module('soundline.impl.rewriting.engine')",
        ),
        ("spec", "soundline.spec", "import soundline"),
        ("spec", "soundline.spec", "import spec.ops"),
        ("impl", "soundline.impl.lower", "from ...verify import rules"),
        ("impl", "soundline.impl", "from soundline.verify.judging.judge import prove"),
        ("impl", "soundline.impl", "if TYPE_CHECKING:\n    from soundline.verify import cli"),
        ("impl", "soundline.impl", "import z3"),
        ("verify", "soundline.verify", "import torch"),
    ],
)
def test_planted_violation_is_found(layer: str, package: str, planted: str) -> None:
    assert violations(planted, layer, package), f"{planted!r} in {package} passed"


@pytest.mark.parametrize(
    ("layer", "package", "fine"),
    [
        ("spec", "soundline.spec", "import math\nimport numpy as np\nfrom soundline.spec.dtypes import int8"),
        ("spec", "soundline.spec", "from . import dtypes\nfrom .uop import UOp"),
        ("impl", "soundline.impl.lower", "from ..rewrite import apply\nfrom soundline.spec import ops"),
        ("impl", "soundline.impl", "import cffi"),
        ("verify", "soundline.verify.smt", "import z3\nfrom soundline.impl.rules import library"),
    ],
)
def test_lawful_import_is_accepted(layer: str, package: str, fine: str) -> None:
    assert violations(fine, layer, package) == []
