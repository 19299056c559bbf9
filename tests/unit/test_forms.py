"""The forms of values: what is cut into vectors is held in them, and what the machine has no vector for is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import soundline as sl
from soundline.impl.codegen.c.renderer import render
from soundline.impl.compilation.stages import lower
from soundline.impl.lower.schedule.forms import forms_of
from soundline.impl.lower.schedule.target import Target
from soundline.impl.lower.schedule.vector_types import Vector, is_fill, neighbours, repeated, vector_of
from soundline.spec.dtypes import DType, bool_, float32, float64, index, int8, int32
from soundline.spec.uop import Op, ReduceArg, UOp, buffer, const, reshape, toposort

from .processors import PROCESSORS, lower_for

ZERO = const(0, index)


@pytest.fixture(params=list(PROCESSORS))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """Each kind of processor."""
    found = PROCESSORS[request.param]
    lower_for(found, monkeypatch)
    yield found
    lower.cache_clear()


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest processor."""
    lower_for(PROCESSORS["wide"], monkeypatch)


def read(slot: int, dtype: DType, width: int = 8) -> UOp:
    """A vector from memory."""
    return Op.Load(neighbours(buffer(slot, 64, dtype), ZERO, width))


def written(slot: int, value: UOp, width: int = 8) -> UOp:
    return Op.Store(neighbours(buffer(slot, 64, value.dtype), ZERO, width), value)


def forms(*instructions: UOp) -> dict[UOp, Vector]:
    (found,) = forms_of(Op.Linear(Op.Linear(*instructions)))
    return dict(found.vectors)


def test_all_that_is_cut_is_held_in_vectors(machine: Target) -> None:
    x, y = np.ones((16, 256), np.float32), np.ones((256, 64), np.float32)
    for function, given in (
        (lambda a: (a < 1.0).where(a * 2, -a), (x,)),
        (lambda a, b: a @ b, (x, y)),
        (lambda a: (a * a).maximum(0.5).exp2(), (x,)),
    ):
        program = sl.compile(function, *given, profile="fast")
        kernels = program.stages["plan"].src
        for kernel, found in zip(kernels, forms_of(Op.Linear(*kernels)), strict=True):
            assert "for (idx l" not in render(Op.Linear(kernel))
            assert any(n.op is Op.Store for n in found.vectors)
            assert not found.transposed
            assert not found.beside
            for node in toposort(*kernel.src):
                if (
                    node.shape
                    and node.op is not Op.Index
                    and node.dtype is not index
                    and node not in found.vectors
                ):
                    is_scalar_for_all = is_fill(node) or node.op is Op.Reshape
                    is_storage = node.op in (Op.Buffer, Op.Slice, Op.After)
                    assert is_scalar_for_all or is_storage, node
            assert all(v.width * v.bits <= 8 * machine.vector for v in found.vectors.values())


@pytest.mark.usefixtures("wide")
def test_a_vector_tells_its_lanes_and_a_mask_those_of_what_was_compared() -> None:
    a, b = read(0, float64), read(1, float64)
    compared = Op.CmpLt(a, b)
    assert vector_of(a) == Vector(float64, 64, 8)
    assert vector_of(compared) == Vector(bool_, 64, 8)
    assert vector_of(Op.And(repeated(const(True, bool_), 8), compared)) == Vector(bool_, 64, 8)
    found = forms(a, b, compared, chosen := Op.Where(compared, a, b), store := written(2, chosen))
    assert found[store] == Vector(float64, 64, 8)
    assert {a, b, compared, chosen} <= found.keys()


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    "value",
    [
        read(0, float32, 32),
        read(0, int8),
        Op.Load(
            Op.Index(buffer(0, 64, float32), reshape(Op.Stack(*(const(k, index) for k in range(8))), (8,)))
        ),
        Op.Load(
            neighbours(buffer(0, 64, float32), ZERO, 8), read(1, float32), Op.CmpLt(*[read(1, float32)] * 2)
        ),
        repeated(const(True, bool_), 8),
        Op.Reduce(reshape(read(0, float32, 16), (2, 8)), arg=ReduceArg(Op.Add, (0,))),
        Op.Sqrt(read(0, float32)),
        Op.Shl(read(0, int32), read(1, int32)),
        Op.Where(Op.CmpLt(read(0, float64), read(1, float64)), read(2, float32), read(3, float32)),
        Op.And(Op.CmpLt(read(0, float64), read(1, float64)), Op.CmpLt(read(2, float32), read(3, float32))),
    ],
    ids=["long", "bytes", "numbers", "gated", "bool", "reduced", "root", "shift", "chosen", "joined"],
)
def test_what_the_machine_has_no_vector_for_has_no_such_form(value: UOp) -> None:
    assert vector_of(value) is None


@pytest.mark.usefixtures("wide")
def test_what_masks_of_another_width_choose_is_computed_one_by_one() -> None:
    gate = Op.CmpLt(read(0, float64), read(1, float64))
    chosen = Op.Where(gate, read(2, float32), read(3, float32))
    steps = [*(n for n in toposort(chosen) if n.op is Op.Load), gate, chosen, written(4, chosen)]
    assert forms(*steps) == {}
    assert "sl_choose" not in render(Op.Linear(Op.Linear(*steps)))


@pytest.mark.usefixtures("wide")
def test_what_is_read_in_another_way_is_no_vector_nor_what_it_is_made_of() -> None:
    register = buffer(9, 8, float32, addrspace="REG")
    first = written(1, twice := Op.Add(a := read(0, float32), a))
    store = Op.Store(register, twice)
    load = Op.Load(Op.After(register, store))
    last = written(2, Op.Neg(load))
    steps = [register, a, twice, first, store, load, last.src[1], last]
    assert {register, store, load, *steps} <= forms(*steps).keys()
    root = Op.Sqrt(load)  # it has no vector, and reads the register lane by lane
    found = forms(*steps[:-2], root, written(2, root))
    assert found.keys().isdisjoint({register, load, store, twice, a, root, first})
