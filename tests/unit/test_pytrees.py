"""Compiled functions of dicts, tuples and arguments by name, and programs that are pickled."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.executables import pickling
from soundline.impl.executables.pytrees import flattened, rebuilt

X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.ones((3, 2), np.float32)
B = np.array([1, 2], np.float32)
Layer = namedtuple("Layer", "w b")


def dense(x: Any, layer: Any, scale: Any = None) -> Any:
    """A layer of parameters with a structure, to results with one."""
    w, b = (layer["w"], layer["b"]) if isinstance(layer, dict) else layer
    y = x @ w if b is None else x @ w + b
    return {"y": y if scale is None else y * scale, "parts": (y.sum(0), [y.max()])}


def wanted(b: Any, scale: float) -> dict[str, Any]:
    y = X @ W + b
    return {"y": y * np.float32(scale), "parts": (y.sum(0), [np.asarray(y.max())])}


def same(found: Any, expected: Any) -> None:
    leaves, tree = flattened(found)
    others, other_tree = flattened(expected)
    assert tree == other_tree
    for a, b in zip(leaves, others, strict=True):
        np.testing.assert_array_equal(a, b)


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], float]] = {
    "a dict": ((X, {"w": W, "b": B}), {}, 1),
    "by name": ((X,), {"layer": {"w": W, "b": B}}, 1),
    "all by name": ((), {"x": X, "layer": {"w": W, "b": B}, "scale": np.float32(2)}, 2),
    "a tuple": ((X, (W, B)), {"scale": np.float32(3)}, 3),
    "a list": ((X, [W, B]), {}, 1),
    "a named tuple": ((X, Layer(W, B)), {}, 1),
    "Tensors": ((sl.Tensor(X), {"w": sl.Tensor(W), "b": B}), {}, 1),
    "None": ((X, {"w": W, "b": None}, None), {}, 1),
    "in a dict of another order": ((X, {"b": B, "w": W}), {}, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_program_is_called_as_its_examples_are_given(name: str) -> None:
    arguments, named, scale = CALLS[name]
    program = sl.compile(dense, *arguments, **named)
    bias = 0 if name == "None" else B
    same(program(*arguments, **named), wanted(bias, scale))
    again = sl.compile(lambda *a, **k: program(*a, **k)["y"] + 1, *arguments, **named)
    np.testing.assert_array_equal(again(*arguments, **named), wanted(bias, scale)["y"] + 1)
    assert program.profile(*arguments, repeats=2, **named) is not None


def test_dicts_are_matched_by_key_and_arguments_by_name() -> None:
    program = sl.compile(dense, X, {"w": W, "b": B})
    same(program(X, {"b": B * 2, "w": W}), wanted(B * 2, 1))
    same(program(layer={"b": B, "w": W}, x=X), wanted(B, 1))
    minus = sl.compile(lambda a, b: a - b, X, X)
    np.testing.assert_array_equal(minus(b=X * 3, a=X), X - X * 3)
    np.testing.assert_array_equal(minus(X, b=X * 3), X - X * 3)


def test_numbers_in_a_list_are_data() -> None:
    program = sl.compile(lambda x, y: x + y, [1.0, 2.0], [[1], [2]])
    np.testing.assert_array_equal(program([1.0, 2.0], [[1], [2]]), [[2, 3], [3, 4]])


def test_a_structure_is_the_same_at_every_size() -> None:
    n = sl.Variable("n", 1, 8)
    shape = sl.Signature("float32", (n, 3))
    program = sl.compile(
        lambda p, k: {"sum": (p["x"] * k).sum(1), "x": p["x"]}, {"x": shape}, k=np.float32(1)
    )
    for count in (1, 5):
        x = np.ones((count, 3), np.float32)
        same(program({"x": x}, k=np.float32(2)), {"sum": np.full(count, 6, np.float32), "x": x})
    with pytest.raises(sl.UsageError, match=r"p\['x'\] has shape"):
        program({"x": np.ones((9, 3), np.float32)}, k=np.float32(2))


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a key too few": (
        lambda p: p(X, {"w": W}),
        "layer is a dict of 'w'; the program was compiled for a dict of",
    ),
    "a key too many": (lambda p: p(X, {"w": W, "b": B, "c": B}), "layer is a dict"),
    "no dict": (lambda p: p(X, W), "layer is a ndarray"),
    "a tuple for a dict": (lambda p: p(X, (W, B)), "layer is a tuple of 2"),
    "too few": (lambda p: p(X), "dense takes 2 arguments, not 1"),
    "too many": (lambda p: p(X, {"w": W, "b": B}, B), "dense takes 2 arguments, not 3"),
    "an unknown name": (lambda p: p(X, {"w": W, "b": B}, bias=B), "not 2 and bias"),
    "twice": (lambda p: p(X, {"w": W, "b": B}, x=X), "not 2 and x"),
    "a shape": (lambda p: p(X, {"w": W, "b": W}), "argument layer['b'] has shape (3, 2)"),
    "a dtype": (lambda p: p(X, {"w": W, "b": B.astype(int)}), "argument layer['b'] has dtype int64"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_leaf(name: str) -> None:
    call, says = WRONG[name]
    program = sl.compile(dense, X, {"w": W, "b": B})
    with pytest.raises(sl.UsageError) as caught:
        call(program)
    assert says in caught.value.message
    assert isinstance(caught.value, ValueError if name in ("a shape", "a dtype") else TypeError)


def test_errors_of_examples_and_results_name_them_too() -> None:
    with pytest.raises(sl.UsageError, match=r"example layer\['b'\]"):
        sl.compile(dense, X, {"w": W, "b": "text"})
    with pytest.raises(sl.WrongType, match="must return Tensors, not dict of int"):
        sl.compile(lambda x: {"x": x, "n": 3}, X)
    with pytest.raises(sl.WrongType, match="must return Tensors, not dict"):
        sl.compile(lambda x: {}, X)


def test_a_tree_is_rebuilt() -> None:
    value = {"a": [1, (X, None)], "b": Layer(X, {}), "c": ()}
    leaves, tree = flattened(value)
    assert tree.paths("v") == ["v['a'][0]", "v['a'][1][0]", "v['b'].w"]
    made = rebuilt(tree, iter(leaves))
    assert made["b"] == Layer(X, {})
    assert made["a"][1][1] is None
    assert made["c"] == ()


# Pickling ---------------------------------------------------------------------------------------------------------


@sl.function(inline=False)
def twice(x: Any) -> Any:
    return x * 2 + 1


def inner(x: Any) -> Any:
    return x.softmax(-1)


def programs() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Programs of every kind, and arguments of a call."""
    own = sl.Tensor(np.arange(3, dtype=np.float32)) + 1
    n = sl.Variable("n", 1, 8)
    embedded = sl.compile(inner, X)
    parts = sl.Tensor(X).shard(("CPU:0", "CPU:1"), 0).realize()
    deep = X
    return {
        "plain": (sl.compile(lambda x: (x @ W).exp(), X), (X,)),
        "captured": (sl.compile(lambda x: x * own, X), (X,)),
        "narrow": (sl.compile(lambda x: x.cast("bfloat16") * 2, X), (X,)),
        "trees": (sl.compile(dense, X, {"w": W, "b": B}), (X, {"w": W, "b": B})),
        "sizes": (sl.compile(lambda x, y: x * n + y, sl.Signature("float32", (n, 3)), X[0]), (X, X[0])),
        "calls": (sl.compile(lambda x: twice(twice(x)), X), (X,)),
        "another program": (sl.compile(lambda x: embedded(x) + embedded(x * 2), X), (X,)),
        "devices": (sl.compile(lambda x: x.sum(), parts), (parts,)),
        "deep": (sl.compile(lambda x: deepened(x, 3000), deep), (X,)),
        "scheduled": (sl.compile(lambda x: x.sum(1), X, schedule="Split 0 2 UPCAST"), (X,)),
    }


def deepened(x: Any, count: int) -> Any:
    """A graph that is deeper than Python's stack."""
    for k in range(count):
        x = x.maximum(float(-k)) if k % 2 else x + 0.5
    return x


KINDS = (
    "plain",
    "captured",
    "narrow",
    "trees",
    "sizes",
    "calls",
    "another program",
    "devices",
    "deep",
    "scheduled",
)

LOAD = """
import pickle, sys
import numpy as np, soundline as sl
other = sl.Variable("m", 2, 3)  # Variables and buffers of this process, which are not those of the other
kept = sl.Tensor(np.zeros(3, np.float32))
with open(sys.argv[1], "rb") as file:
    made = pickle.load(file)
results = {}
for name, (program, arguments) in made.items():
    found = program(*arguments)
    results[name] = found.numpy() if isinstance(found, sl.Tensor) else found
    again = pickle.loads(pickle.dumps(program))
    assert again.source == program.source, name
assert kept.tolist() == [0, 0, 0]
with open(sys.argv[1], "wb") as file:
    pickle.dump(results, file)
"""


@pytest.mark.thorough
def test_programs_are_pickled_and_loaded_in_another_process(tmp_path: Path) -> None:
    made = programs()
    assert set(made) == set(KINDS)
    file = tmp_path / "programs.pickle"
    file.write_bytes(pickle.dumps(made))
    script = tmp_path / "load.py"
    script.write_text(LOAD)
    done = subprocess.run(
        [sys.executable, str(script), str(file)], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    results = pickle.loads(file.read_bytes())
    for name, (program, arguments) in made.items():
        expected = program(*arguments)
        same(results[name], expected.numpy() if isinstance(expected, sl.Tensor) else expected)


def test_a_loaded_program_is_the_same_program() -> None:
    program, _ = programs()["scheduled"]
    again = pickle.loads(pickle.dumps(program))
    assert again.source == program.source
    assert repr(again) == repr(program)
    assert [str(s) for s in again.schedules] == [str(s) for s in program.schedules]
    assert again.certificate.rules == program.certificate.rules
    other = pickle.loads(pickle.dumps(program))
    np.testing.assert_array_equal(sl.compile(lambda x: other(x) + 1, X)(X), X.sum(1) + 1)


def test_a_program_of_another_version_is_refused() -> None:
    program = sl.compile(lambda x: x + 1, X)
    packed = pickling.packed(program.recipe) | {"form": 0}
    with pytest.raises(sl.UsageError, match="another version"):
        pickling.unpacked(packed)


def test_a_custom_function_must_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from soundline.impl.executables import foreign

    half = sl.CustomFunction(
        "pickled_half",
        takes=[sl.Signature("float32", (2, 3))],
        gives=[sl.Signature("float32", (2, 3))],
        call=lambda x: x / 2,
    )
    text = pickle.dumps(sl.compile(lambda x: half(x) + 1, X))
    np.testing.assert_array_equal(pickle.loads(text)(X), X / 2 + 1)
    monkeypatch.delitem(foreign._REGISTERED, "pickled_half")
    with pytest.raises(sl.UsageError, match="no custom function"):
        pickle.loads(text)
