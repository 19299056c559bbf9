"""Movement and arrays, held function by function to numpy: every axis, every rank to 3, sizes 0 and 1, ⊥."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from soundline.spec.arrays import movement
from soundline.spec.arrays.arrays import INVALID, Array, numpy_dtype, offset_of, positions, same_cell
from soundline.spec.dtypes import (
    all_dtypes,
    bool_,
    float32,
    index,
    int8,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
    zero_of,
)
from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.table import Op
from soundline.spec.uop import UOp, buffer, const, pad, param, shrink

SHAPES = [(), (1,), (3,), (0,), (2, 3), (3, 1), (2, 1, 3), (2, 3, 4), (2, 0, 3)]


def counted(*shape: int) -> tuple[np.ndarray, Array]:
    theirs = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return theirs, Array.from_numpy(theirs)


def same(ours: Array, theirs: np.ndarray) -> bool:
    return ours.shape == theirs.shape and ours.elements == tuple(theirs.ravel().tolist())


@pytest.mark.parametrize("shape", SHAPES)
def test_permute_flip_reshape(shape: tuple[int, ...]) -> None:
    theirs, ours = counted(*shape)
    for order in permutations(range(len(shape))):
        assert same(movement.moved(Op.Permute, ours, arg=order), theirs.transpose(order))
    for flags in product((False, True), repeat=len(shape)):
        flipped = np.flip(theirs, [k for k, flag in enumerate(flags) if flag])
        assert same(movement.moved(Op.Flip, ours, arg=flags), flipped)
    assert same(movement.moved(Op.Reshape, ours, (theirs.size,)), theirs.ravel())


@pytest.mark.parametrize("shape", SHAPES)
def test_expand(shape: tuple[int, ...]) -> None:
    theirs, ours = counted(*shape)
    wider = tuple(4 if size == 1 else size for size in shape)
    assert same(movement.moved(Op.Expand, ours, wider), np.broadcast_to(theirs, wider))
    assert same(movement.moved(Op.Expand, ours, shape), theirs)


@pytest.mark.parametrize("shape", SHAPES)
def test_pad_and_shrink(shape: tuple[int, ...]) -> None:
    theirs, ours = counted(*shape)
    for offset in product((0, 2), repeat=len(shape)):
        wide = tuple(o + size + 1 for o, size in zip(offset, shape, strict=True))
        padded = np.pad(theirs + 1, [(o, 1) for o in offset]) if shape else theirs + 1
        assert same(movement.moved(Op.Pad, Array.from_numpy(theirs + 1), offset, wide), padded)
        back = movement.moved(Op.Shrink, Array.from_numpy(padded), offset, shape)
        assert same(back, theirs + 1)
    assert same(movement.moved(Op.Pad, ours, (0,) * len(shape), shape), theirs)


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_what_pad_fills_with(dtype) -> None:
    (zero,) = movement.moved(Op.Pad, Array(dtype, (0,), ()), (0,), (1,)).elements
    assert same_cell(dtype, zero, zero_of(dtype))
    assert type(zero) is {"b": bool, "f": float}.get(
        "b" if dtype is bool_ else "f" if dtype.is_float else "", int
    )


def test_index_by_arrays_of_every_rank() -> None:
    theirs, ours = counted(3, 4, 2)
    for indices in (
        [np.array(2)],
        [np.array([2, 0])],
        [np.array([[1], [2]]), np.array(3)],
        [np.array([1, 0])] * 2,
    ):
        taken = movement.indexed(ours, [Array.of(i.tolist(), index) for i in indices])
        expected = theirs[np.ix_(*(i.ravel() for i in indices))]
        shape = tuple(s for i in indices for s in i.shape) + (3, 4, 2)[len(indices) :]
        assert same(taken, expected.reshape(shape))
    assert same(movement.indexed(ours, []), theirs)


@pytest.mark.parametrize("outside", [-1, -2, 3, 4, INVALID])
def test_index_outside_is_invalid_and_only_there(outside: object) -> None:
    _, ours = counted(3, 2)
    at = Array(index, (3,), (2, outside, 0))  # type: ignore[arg-type]
    assert movement.indexed(ours, [at]).elements == (4, 5, INVALID, INVALID, 0, 1)
    column = Array(index, (), (1,))
    assert movement.indexed(ours, [at, column]).elements == (5, INVALID, 1)


def test_stack() -> None:
    theirs, ours = counted(2, 3)
    assert same(movement.stack([ours, Array.from_numpy(theirs + 9)], int32), np.stack([theirs, theirs + 9]))
    assert movement.stack([], index) == Array(index, (0,), ())
    assert movement.stack([ours], int8).dtype is int8


def test_replicated_compares_along_its_axes_alone() -> None:
    rows = Array.of([[1, 1, 1], [2, 2, 2]], int32)
    assert movement.replicated(rows, (1,)) == Array(int32, (2, 1), (1, 2))
    assert movement.replicated(rows, (0,)) == Array(int32, (1, 3), (INVALID,) * 3)
    assert movement.replicated(rows, (0, 1)) == Array(int32, (1, 1), (INVALID,))
    assert movement.replicated(rows, ()) == rows
    single = Array.of([[7], [8]], int32)
    assert movement.replicated(single, (1,)) == single
    mixed = Array.of([[1, 1, 2], [3, 3, 3]], int32)
    assert movement.replicated(mixed, (1,)).elements == (INVALID, 3)


BITS = np.array([0x01020304, -2, 0x7F80FF00], dtype=np.int32)


@pytest.mark.parametrize("dtype", [uint8, int16, uint16, uint32], ids=str)
def test_bitcast_of_every_rank(dtype) -> None:
    for shape in ((3,), (1, 3), (3, 1), (3, 1, 1)):
        theirs = BITS.reshape(shape)
        cast = movement.bitcast(Array.from_numpy(theirs), dtype)
        expected = theirs.view(dtype.name)
        assert cast.shape == expected.shape
        assert cast.to_numpy().tobytes() == expected.tobytes()
        back = movement.bitcast(cast, int32)
        assert back.shape == shape
        assert same(back, theirs)
    scalar = movement.bitcast(Array(int32, (), (-2,)), uint32)
    assert (scalar.shape, scalar.elements) == ((), (0xFFFFFFFE,))


def test_bytes_of_an_invalid_element_are_invalid() -> None:
    source = Array(int16, (3,), (0x0102, INVALID, 0x0304))
    assert movement.stored_bytes(source) == [2, 1, INVALID, INVALID, 4, 3]
    assert movement.bitcast(source, uint8).elements == (2, 1, INVALID, INVALID, 4, 3)
    assert movement.bitcast(Array(int16, (4,), (1, INVALID, 3, 0)), int32).elements == (INVALID, 3)


def test_slice_in_bytes_of_the_source() -> None:
    source = Array.from_numpy(BITS)
    raw = BITS.tobytes()
    assert movement.sliced(source, 1, 2, int32).elements == (-2, 0x7F80FF00)
    narrow = movement.sliced(source, 1, 3, uint8)
    assert (narrow.shape, narrow.elements) == ((3,), tuple(raw[4:7]))
    assert movement.sliced(source, 2, 2, int32).elements == (0x7F80FF00, INVALID)
    assert movement.sliced(source, -1, 2, int32).elements == (INVALID, 0x01020304)
    assert movement.sliced(source, 0, 0, int8).shape == (0,)


# arrays -----------------------------------------------------------------------------------------------------------


def test_positions_and_their_numbers() -> None:
    for shape in SHAPES:
        assert list(positions(shape)) == list(np.ndindex(*shape))
        assert [offset_of(p, shape) for p in positions(shape)] == list(range(int(np.prod(shape))))


def test_an_array_is_filled_exactly() -> None:
    for elements in ((1, 2, 3), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match="do not fill"):
            Array(int8, (2, 2), elements)
    assert Array(int8, (2, 2), (1, 2, 3, 4)).at((1, 0)) == 3


def test_equality_is_what_can_be_observed() -> None:
    nan = float("nan")
    assert Array(float32, (1,), (nan,)) == Array(float32, (1,), (nan,))
    assert Array(float32, (1,), (0.0,)) != Array(float32, (1,), (-0.0,))
    assert Array(int8, (1,), (INVALID,)) == Array(int8, (1,), (INVALID,))
    assert Array(int8, (2,), (1, INVALID)) != Array(int8, (2,), (1, 0))
    assert Array(int8, (1,), (0,)) != Array(int8, (1,), (INVALID,))
    assert Array(int8, (1,), (1,)) != Array(uint8, (1,), (1,))
    assert Array(int8, (1,), (1,)) != Array(int8, (), (1,))
    assert Array(int8, (2,), (1, 2)) != Array(int8, (2,), (1, 3))
    assert Array(int8, (), (1,)) != 1
    assert hash(Array(int8, (1,), (1,))) == hash(Array(int8, (1,), (1,)))


def test_item_and_numpy_refuse_the_invalid() -> None:
    for use in (Array.item, Array.to_numpy):
        with pytest.raises(EvaluationError) as refused:
            use(Array(int8, (1,), (INVALID,)))
        assert refused.value.rule == "U-01"
    assert Array(int8, (1, 1), (5,)).item() == 5
    assert Array(int8, (2,), (1, INVALID)).valid is False
    assert Array(int8, (2,), (1, 0)).valid is True


@pytest.mark.parametrize(
    ("values", "dtype", "shape", "elements"),
    [
        (3, int8, (), (3,)),
        ([], int8, (0,), ()),
        ([[1, 2], [3, 4]], int8, (2, 2), (1, 2, 3, 4)),
        ([[[1], [2]]], int8, (1, 2, 1), (1, 2)),
        ((1, 2), index, (2,), (1, 2)),
        (1 << 70, index, (), (1 << 70,)),
        (-128, int8, (), (-128,)),
        (127, int8, (), (127,)),
        (True, bool_, (), (True,)),
        (1, float32, (), (1.0,)),
        (0.1, float32, (), (0.10000000149011612,)),
        (np.int16(7), int8, (), (7,)),
        ([[], []], int8, (2, 0), ()),
    ],
)
def test_an_array_of_nested_numbers(values, dtype, shape, elements) -> None:
    found = Array.of(values, dtype)
    assert (found.shape, found.elements) == (shape, elements)
    assert [type(a) for a in found.elements] == [type(b) for b in elements]


@pytest.mark.parametrize(
    ("values", "dtype", "rule"),
    [
        (128, int8, "uop-const-c1"),
        (-129, int8, "uop-const-c1"),
        (1.0, int8, "uop-const-c1"),
        (1.0, index, "uop-const-c1"),
        (True, int8, "uop-const-c1"),
        (True, index, "uop-const-c1"),
        (True, float32, "uop-const-c1"),
        (1, bool_, "uop-const-c1"),
        ("1", float32, "uop-const-c1"),
        ([[1], [1, 2]], int8, "uop-stack-c1"),
        ([1, [2]], int8, "uop-stack-c1"),
    ],
)
def test_numbers_that_are_no_elements_are_refused(values, dtype, rule: str) -> None:
    with pytest.raises(EvaluationError) as refused:
        Array.of(values, dtype)
    assert refused.value.rule == rule


def test_numpy_arrays_of_index() -> None:
    assert Array.from_numpy(np.array([1, 2], np.uint8), index) == Array(index, (2,), (1, 2))
    assert Array.from_numpy(np.array([1 << 70], object), index).elements == (1 << 70,)
    with pytest.raises(EvaluationError):
        Array.from_numpy(np.array([1.0]), index)
    with pytest.raises(EvaluationError) as refused:
        numpy_dtype(np.dtype("complex64"))
    assert refused.value.rule == "uop-param-dtype"


# through the evaluator --------------------------------------------------------------------------------------------


def test_movement_with_different_axes_goes_the_right_way() -> None:
    """Three axes of different sizes: a permutation is not taken for its inverse, an offset not for a shape."""
    theirs, ours = counted(2, 3, 4)
    x = param(0, int32, (2, 3, 4))
    assert same(evaluate(Op.Permute(x, arg=(1, 2, 0)), {0: ours}), theirs.transpose(1, 2, 0))
    assert same(evaluate(Op.Flip(x, arg=(False, True, False)), {0: ours}), theirs[:, ::-1])
    padded = evaluate(pad(x, (1, 0, 2), (4, 3, 7)), {0: ours})
    assert same(padded, np.pad(theirs, [(1, 1), (0, 0), (2, 1)]))
    assert same(evaluate(shrink(x, (1, 0, 2), (1, 2, 2)), {0: ours}), theirs[1:2, 0:2, 2:4])


def test_a_bound_holds_at_both_ends() -> None:
    x = param(0, float32, (2,), bounds=(-1.0, 0.0))
    assert evaluate(x, {0: [-1.0, 0.0]}).elements == (-1.0, 0.0)
    for wrong in ([-1.5, 0.0], [0.5, 0.0], [float("nan"), 0.0], [0.0, 0.5]):
        with pytest.raises(EvaluationError) as refused:
            evaluate(x, {0: wrong})
        assert refused.value.rule == "uop-param-min-max"
    below = param(0, float32, bounds=(0.0, 1.0))
    with pytest.raises(EvaluationError):
        evaluate(below, {0: -0.0})
    assert evaluate(Op.Stack(const(1, int8)), {}).elements == (1,)


def test_a_load_of_memory_under_an_open_and_a_shut_gate() -> None:
    b = buffer(0, 3, int32)
    for gate, expected in ((True, 20), (False, -7)):
        load = UOp(Op.Load, (Op.Index(b, const(1, index)), const(-7, int32), const(gate, bool_)))
        assert evaluate(load, buffers={0: [10, 20, 30]}).elements == (expected,)
