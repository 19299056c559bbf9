"""Importing ONNX models: what is given and taken, what is refused, and that all of it is said at once."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import FunctionProto, GraphProto, ModelProto, TensorProto, helper, numpy_helper, save

import soundline as sl
from soundline.impl.importers.reading.errors import UnsupportedNode, UnsupportedOperator, ValueNeeded
from soundline.spec.evaluate import evaluate
from soundline.spec.uop import Op

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name: str, shape: list[Any], kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[str],
    *,
    opset: int = 18,
    constants: dict[str, np.ndarray] | None = None,
    functions: list[FunctionProto] | None = None,
) -> ModelProto:
    stored = [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()]
    given = [helper.make_empty_tensor_value_info(n) for n in outputs]
    graph = helper.make_graph(nodes, "small", inputs, given, initializer=stored)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions or [])


def layer() -> ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["p", "b"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    weights = {"w": np.array([[1, -1], [2, 0]], np.float32), "b": np.array([0.5, 0], np.float32)}
    return model(nodes, [value("x", ["n", 2])], ["y", "s"], constants=weights)


X = np.array([[1, 2], [-3, 4]], np.float32)
S = X @ np.array([[1, -1], [2, 0]], np.float32) + np.array([0.5, 0], np.float32)


# What is given ----------------------------------------------------------------------------------------------------


def test_a_model_is_called_by_position_by_name_and_with_tensors(tmp_path: Path) -> None:
    save(layer(), tmp_path / "layer.onnx")
    for source in (
        layer(),
        layer().SerializeToString(),
        tmp_path / "layer.onnx",
        str(tmp_path / "layer.onnx"),
    ):
        imported = sl.from_onnx(source, sizes={"n": 2})
        for y, s in (imported(X), imported(x=X), imported(sl.Tensor(X)), imported.compile()(X)):
            np.testing.assert_array_equal(np.asarray(y), np.maximum(S, 0))
            np.testing.assert_array_equal(np.asarray(s), S)
    lazy = imported(sl.Tensor(X))
    assert all(isinstance(t, sl.Tensor) for t in lazy)


def test_a_model_says_what_it_takes_and_gives() -> None:
    imported = sl.from_onnx(layer(), sizes={"n": 3})
    assert {n: str(s) for n, s in imported.inputs.items()} == {"x": "float32[3, 2]"}
    assert {n: str(s) for n, s in imported.outputs.items()} == {"y": "float32[3, 2]", "s": "float32[3, 2]"}
    assert repr(imported) == (
        "ImportedModel(small: (x: float32[3, 2]) -> (y: float32[3, 2], s: float32[3, 2]))"
    )


def test_a_model_is_a_function_of_uops() -> None:
    imported = sl.from_onnx(layer(), sizes={"n": 2})
    assert imported.function.op is Op.Function
    assert imported.uops.op is Op.Tuple
    assert imported.uops is imported.function.src[0]
    held = imported.bindings(X)
    lawful = evaluate(imported.results[1], buffers=held)
    np.testing.assert_array_equal(np.array(lawful.elements, np.float32).reshape(2, 2), S)


def test_a_tensor_model_is_part_of_a_larger_program() -> None:
    imported = sl.from_onnx(layer(), sizes={"n": 2})
    program = sl.compile(lambda x: imported(x * 2)[1] + 1, X)
    weights = np.array([[1, -1], [2, 0]], np.float32)
    np.testing.assert_array_equal(program(X), (X * 2) @ weights + np.array([0.5, 0], np.float32) + 1)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((), {}), ((X, X), {}), ((X,), {"x": X}), ((), {"y": X}), ((X[:1],), {}), ((X.astype(np.float64),), {})],
)
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    imported = sl.from_onnx(layer(), sizes={"n": 2})
    with pytest.raises(sl.UsageError):
        imported(*arguments, **named)


def test_a_tensor_of_another_shape_is_refused() -> None:
    imported = sl.from_onnx(layer(), sizes={"n": 2})
    with pytest.raises(sl.UsageError, match=r"x is float32\[2, 2\]; got float32\[1, 2\]"):
        imported(sl.Tensor(X[:1]))


@pytest.mark.parametrize("source", ["nothing.onnx", b"no model", 7])
def test_what_is_no_model_is_refused(source: Any) -> None:
    with pytest.raises(sl.UsageError):
        sl.from_onnx(source)


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(sl.ExtraMissing) as caught:
        sl.from_onnx("model.onnx")
    assert caught.value.hint == "pip install onnx"


# Shapes and constants ---------------------------------------------------------------------------------------------


def reshaping() -> ModelProto:
    nodes = [
        helper.make_node("Add", ["shape", "zero"], ["to"]),
        helper.make_node("Reshape", ["x", "to"], ["y"], name="turned"),
    ]
    inputs = [value("x", [2, 3]), value("shape", [2], INT64)]
    return model(nodes, inputs, ["y"], constants={"zero": np.array([0, 0])})


def test_an_input_that_decides_a_shape_is_asked_for() -> None:
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(reshaping())
    assert caught.value.needed == ("shape",)
    assert caught.value.operators == ()
    (needed,) = caught.value.nodes
    assert isinstance(needed, ValueNeeded)
    assert (needed.name, needed.op_type, needed.inputs) == ("turned", "Reshape", ("shape",))


def test_an_input_with_a_fixed_value_is_no_input() -> None:
    imported = sl.from_onnx(reshaping(), constants={"shape": np.array([3, -1])})
    assert list(imported.inputs) == ["x"]
    assert imported(np.arange(6, dtype=np.float32).reshape(2, 3)).tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(sl.UsageError, match="'shapes' is not an input"):
        sl.from_onnx(reshaping(), constants={"shapes": np.array([3, 2])})


def test_a_size_with_a_name_is_asked_for() -> None:
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(layer())
    assert caught.value.nodes == (UnsupportedNode("x", "input", "its size n is not known; give sizes={...}"),)


@pytest.mark.parametrize("opset", [11, 13])
def test_axes_are_an_attribute_or_an_operand_by_version(opset: int) -> None:
    if opset < 13:
        node = helper.make_node("ReduceSum", ["x"], ["y"], axes=[1], keepdims=0)
    else:
        node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    given = model([node], [value("x", [2, 2])], ["y"], opset=opset, constants={"axes": np.array([1])})
    np.testing.assert_array_equal(sl.from_onnx(given)(X), X.sum(1))


def test_an_attribute_of_another_version_is_refused() -> None:
    node = helper.make_node("ReduceSum", ["x"], ["y"], name="total", axes=[1])
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(model([node], [value("x", [2, 2])], ["y"], opset=13))
    assert caught.value.nodes == (
        UnsupportedNode("total", "ReduceSum", "the attribute axes is not understood"),
    )


@pytest.mark.parametrize(("opset", "axis"), [(11, 1), (13, -1)])
def test_softmax_takes_all_later_axes_before_version_13(opset: int, axis: int) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    given = model([helper.make_node("Softmax", ["x"], ["y"])], [value("x", [2, 2, 2])], ["y"], opset=opset)
    axes = (1, 2) if opset < 13 else (2,)
    power = np.exp(x - x.max(axes, keepdims=True))
    np.testing.assert_allclose(sl.from_onnx(given)(x), power / power.sum(axes, keepdims=True), rtol=1e-6)


def test_an_axis_of_an_old_softmax_counts_from_the_end() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    node = helper.make_node("LogSoftmax", ["x"], ["y"], axis=-1)
    found = sl.from_onnx(model([node], [value("x", [2, 2, 2])], ["y"], opset=11))(x)
    np.testing.assert_allclose(np.exp(found).sum(-1), np.ones((2, 2)), rtol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "shape", "laid"),
    [
        ({"broadcast": 1}, [3], [1, 3]),
        ({"broadcast": 1, "axis": 0}, [2], [2, 1]),
        ({"broadcast": 1, "axis": -1}, [3], [1, 3]),
        ({}, [2, 3], [2, 3]),
        ({"broadcast": 1}, [3, 2], None),
        ({}, [3], None),
    ],
)
def test_before_version_7_an_operand_is_laid_at_an_axis(
    attributes: dict[str, int], shape: list[int], laid: list[int] | None
) -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(math.prod(shape), dtype=np.float32)
    node = helper.make_node("Sub", ["a", "b"], ["y"], **attributes)
    given = model([node], [value("a", [2, 3]), value("b", shape)], ["y"], opset=6)
    if laid is None:
        with pytest.raises(sl.UnsupportedModel):
            sl.from_onnx(given)
    else:
        found = sl.from_onnx(given)(a, b.reshape(shape))
        np.testing.assert_array_equal(found, a - b.reshape(laid))


@pytest.mark.parametrize("opset", [6, 9])
def test_a_slope_is_one_per_channel_before_version_7(opset: int) -> None:
    x = -np.ones((1, 2, 2), np.float32)
    node = helper.make_node("PRelu", ["x", "s"], ["y"])
    given = model(
        [node], [value("x", [1, 2, 2])], ["y"], opset=opset, constants={"s": np.array([2, 3], np.float32)}
    )
    expected = [[[-2, -2], [-3, -3]]] if opset < 7 else [[[-2, -3], [-2, -3]]]
    assert sl.from_onnx(given)(x).tolist() == expected


@pytest.mark.parametrize("exponent", [np.int8, np.int64, np.uint8, np.float32])
@pytest.mark.parametrize("base", [np.int8, np.int32, np.uint8])
def test_powers_of_integers_are_exact_and_wrap(base: type, exponent: type) -> None:
    numbers = [0, 1, 2, 3, 4, 7, 100] + ([] if base is np.uint8 else [-1, -2, -3])
    powers = [0, 1, 2, 3, 5, 64, 101]
    if exponent in (np.int8, np.int64):
        powers += [-1, -2]
    if exponent is np.float32:
        numbers, powers = numbers[:6], [0, 1, 2, 0.5]
    a, b = (m.reshape(-1) for m in np.meshgrid(np.array(numbers, base), np.array(powers, exponent)))
    kinds = [helper.np_dtype_to_tensor_dtype(m.dtype) for m in (a, b)]
    inputs = [value(n, [len(a)], k) for n, k in zip("ab", kinds, strict=True)]
    found = sl.from_onnx(model([helper.make_node("Pow", ["a", "b"], ["y"])], inputs, ["y"]))(a, b)
    assert found.dtype == base
    for x, n, y in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        exact = x**n if n >= 0 else {0: 0, 1: 1, -1: (-1) ** n}.get(x, 0)
        assert y == _wrapped(int(exact), base)


def _wrapped(number: int, dtype: type) -> int:
    bits = np.iinfo(dtype).bits
    low = number % 2**bits
    return low - 2**bits if np.iinfo(dtype).min < 0 and low >= 2 ** (bits - 1) else low


# What is refused --------------------------------------------------------------------------------------------------


def test_all_that_is_not_supported_is_listed_at_once() -> None:
    nodes = [
        helper.make_node("Imaginary", ["x"], ["a"], domain="own"),
        helper.make_node("Imaginary", ["a"], ["b"], domain="own"),
        helper.make_node("NonMaxSuppression", ["b", "b"], ["c"]),
        helper.make_node("Cast", ["x"], ["d"], name="narrow", to=TensorProto.INT4),
        helper.make_node("Pad", ["x", "widths"], ["e"], name="frame", mode="spiral"),
        helper.make_node("Add", ["c", "d"], ["y"]),
    ]
    inputs = [value("x", [1, 1, 4]), value("t", [2], TensorProto.STRING)]
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(model(nodes, inputs, ["y"], constants={"widths": np.array([0, 0, 1, 0, 0, 1])}))
    assert caught.value.operators == (
        UnsupportedOperator("NonMaxSuppression", "", 18, 1),
        UnsupportedOperator("Imaginary", "own", 1, 2),
    )
    assert caught.value.nodes == (
        UnsupportedNode("t", "input", "the dtype STRING is not supported"),
        UnsupportedNode("narrow", "Cast", "the dtype INT4 is not supported"),
        UnsupportedNode("frame", "Pad", "the mode 'spiral' is not supported"),
    )
    text = str(caught.value)
    assert "operator own.Imaginary (opset 1), 2 nodes" in text
    assert "Pad 'frame': the mode 'spiral' is not supported" in text
    assert isinstance(caught.value, sl.SoundlineError)


def test_what_the_typing_of_uops_refuses_names_the_node() -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"], name="uneven")
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(model([node], [value("x", [2, 2])], ["y"], constants={"to": np.array([3, 2])}))
    assert [(n.name, n.op_type) for n in caught.value.nodes] == [("uneven", "Reshape")]


@pytest.mark.parametrize("count", [1, 3])
def test_a_constant_of_a_dtype_that_we_lack_is_refused(count: int) -> None:
    weights = helper.make_tensor("w", TensorProto.INT4, [count], [1] * count)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])], "g", [], [value("y", [count])], initializer=[weights]
    )
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(helper.make_model(graph))
    assert caught.value.nodes == (UnsupportedNode("w", "initializer", "the dtype INT4 is not supported"),)


@pytest.mark.parametrize("op", ["Dropout", "BatchNormalization"])
@pytest.mark.parametrize("is_test", [0, 1])
def test_training_before_version_7_is_refused(op: str, is_test: int) -> None:
    names = ["x"] if op == "Dropout" else ["x", *"sbmv"]
    ones = {n: np.ones(2, np.float32) for n in names[1:]}
    node = helper.make_node(op, names, ["y"], is_test=is_test)
    given = model([node], [value("x", [2, 2])], ["y"], opset=6, constants=ones)
    if is_test:
        assert sl.from_onnx(given).outputs["y"].shape == (2, 2)
    else:
        with pytest.raises(sl.UnsupportedModel, match="training"):
            sl.from_onnx(given)


def test_a_result_that_is_not_made_is_refused() -> None:
    constants = {n: np.ones(2, np.float32) for n in "sbmv"}
    node = helper.make_node("BatchNormalization", ["x", *"sbmv"], ["y", "mean"], name="norm")
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(model([node], [value("x", [2, 2])], ["y"], opset=9, constants=constants))
    assert caught.value.nodes == (
        UnsupportedNode("norm", "BatchNormalization", "its result 1 is not supported"),
    )


# Functions and control flow ---------------------------------------------------------------------------------------


def own_function(op: str = "Mul") -> FunctionProto:
    """scaled(x) = x · factor, the factor being an attribute."""
    nodes = [helper.make_node("Constant", [], ["f"]), helper.make_node(op, ["x", "f"], ["y"])]
    attribute = nodes[0].attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "value_float", "factor", 1
    return helper.make_function(
        "own", "scaled", ["x"], ["y"], nodes, [helper.make_opsetid("", 18)], attributes=["factor"]
    )


def test_functions_of_the_model_are_followed() -> None:
    nodes = [
        helper.make_node("scaled", ["x"], ["a"], domain="own", factor=3.0),
        helper.make_node("scaled", ["a"], ["y"], domain="own", factor=0.5),
    ]
    given = model(nodes, [value("x", [2, 2])], ["y"], functions=[own_function()])
    np.testing.assert_array_equal(sl.from_onnx(given)(X), X * 1.5)


def test_what_a_function_s_body_lacks_is_listed_itself() -> None:
    nodes = [helper.make_node("scaled", ["x"], ["y"], domain="own", factor=3.0)]
    given = model(nodes, [value("x", [2, 2])], ["y"], functions=[own_function("Imaginary")])
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(given)
    assert caught.value.operators == (UnsupportedOperator("Imaginary", "", 18, 1),)
    assert caught.value.nodes == ()


def test_a_function_without_end_is_refused() -> None:
    nodes = [helper.make_node("scaled", ["x"], ["y"], domain="own")]
    endless = helper.make_function("own", "scaled", ["x"], ["y"], nodes, [helper.make_opsetid("own", 1)])
    with pytest.raises(sl.UnsupportedModel, match="too deeply"):
        sl.from_onnx(model(nodes, [value("x", [2, 2])], ["y"], functions=[endless]))


def branch(op: str) -> GraphProto:
    return helper.make_graph([helper.make_node(op, ["x"], ["z"])], op, [], [value("z", [2, 2])])


@pytest.mark.parametrize(("condition", "expected"), [(True, -X), (False, abs(X))])
def test_a_known_condition_chooses_its_branch(condition: bool, expected: np.ndarray) -> None:
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Neg"), else_branch=branch("Abs"))
    inputs = [value("x", [2, 2]), value("c", [], TensorProto.BOOL)]
    given = model([node], inputs, ["y"])
    np.testing.assert_array_equal(sl.from_onnx(given, constants={"c": np.array(condition)})(X), expected)
    with pytest.raises(sl.UnsupportedModel) as caught:
        sl.from_onnx(given)
    assert caught.value.needed == ("c",)


def counting(steps: int | None, stop: int) -> ModelProto:
    """x doubled until the step is `stop`, at most so often."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["w"]),
            helper.make_node("Less", ["i", "stop"], ["go"]),
            helper.make_node("Identity", ["w"], ["seen"]),
        ],
        "body",
        [value("i", [], INT64), value("c", [], TensorProto.BOOL), value("v", [2, 2])],
        [value("go", [], TensorProto.BOOL), value("w", [2, 2]), value("seen", [2, 2])],
    )
    node = helper.make_node("Loop", ["n" if steps is not None else "", "", "x"], ["y", "all"], body=body)
    constants = {"stop": np.array(stop)} | ({"n": np.array(steps)} if steps is not None else {})
    return model([node], [value("x", [2, 2])], ["y", "all"], constants=constants)


@pytest.mark.parametrize(("steps", "stop", "doubled"), [(3, 9, 3), (9, 1, 2), (None, 0, 1)])
def test_a_loop_of_known_steps_is_unrolled(steps: int | None, stop: int, doubled: int) -> None:
    y, every = sl.from_onnx(counting(steps, stop))(X)
    np.testing.assert_array_equal(y, X * 2**doubled)
    np.testing.assert_array_equal(every, np.stack([X * 2 ** (k + 1) for k in range(doubled)]))


def test_a_loop_without_end_is_refused() -> None:
    with pytest.raises(sl.UnsupportedModel, match="a loop of more than"):
        sl.from_onnx(counting(None, 2**40))
