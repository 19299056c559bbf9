"""Tensor cores: fragment maps are bijections, and those of the instruction set; a warp multiplies matrices."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import pytest

from soundline.spec.arrays.arrays import INVALID
from soundline.spec.dtypes import Element, float32, from_bits, to_bits, wrap
from soundline.spec.errors import EvaluationError
from soundline.spec.ops.node import WmmaArg
from soundline.spec.spork.library.fragments import PTX_FRAGMENTS, ptx_place
from soundline.spec.values.tensor_cores import (
    CORES,
    LANES,
    Digits,
    Operand,
    TensorCore,
    core_named,
    core_of,
    fragment_map,
    fragments_of,
    matrix_of,
    multiply_accumulate,
    operand_value,
    tolerance,
    warp_product,
)

OPERANDS: tuple[Operand, ...] = get_args(Operand)
named = pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)


def sizes(core: TensorCore, operand: Operand) -> tuple[int, int]:
    m, n, k = core.dims
    return {"A": (m, k), "B": (k, n), "C": (m, n)}[operand]


def is_bijection(digits: Digits, rows: int, columns: int) -> bool:
    """Every place of the matrix is one element of one lane."""
    places = [digits.place(lane, e) for lane in range(LANES) for e in range(digits.elements)]
    return sorted(places) == list(itertools.product(range(rows), range(columns)))


@named
@pytest.mark.parametrize("operand", OPERANDS)
def test_a_fragment_map_is_a_bijection_onto_its_matrix(core: TensorCore, operand: Operand) -> None:
    assert is_bijection(core.digits(operand), *sizes(core, operand))
    assert core.digits(operand).shape == sizes(core, operand)
    assert len(fragment_map(core, operand)) == math.prod(sizes(core, operand))


def test_a_digit_used_twice_is_no_bijection() -> None:
    core = CORES[0]
    twice = replace(core.a, row=("l2", "l2", "l4", "e1"))
    assert not is_bijection(twice, 16, 8)


@named
@pytest.mark.parametrize("operand", OPERANDS)
def test_a_fragment_map_is_that_of_the_instruction_set(core: TensorCore, operand: Operand) -> None:
    shape = (*core.dims, core.input.bits)
    for (lane, e), place in fragment_map(core, operand).items():
        assert place == ptx_place(shape, operand, lane, e)


def test_every_layout_of_the_instruction_set_is_used_and_the_layouts_differ() -> None:
    assert {(*core.dims, core.input.bits) for core in CORES} == set(PTX_FRAGMENTS)
    maps = [
        [fragment_map(c, o) for o in OPERANDS] for c in {(*c.dims, c.input.bits): c for c in CORES}.values()
    ]
    assert all(a != b for a, b in itertools.combinations(maps, 2))


def test_some_places_of_the_largest_layout_by_hand() -> None:
    core = core_named("m16n8k16.f16.f32")
    assert core is not None
    a, b, c = (fragment_map(core, o) for o in OPERANDS)
    assert (a[0, 0], a[0, 1], a[0, 2], a[0, 4], a[5, 7]) == ((0, 0), (0, 1), (8, 0), (0, 8), (9, 11))
    assert (b[0, 0], b[0, 1], b[0, 2], b[7, 3]) == ((0, 0), (1, 0), (8, 0), (15, 1))
    assert (c[0, 0], c[0, 1], c[0, 2], c[31, 3]) == ((0, 0), (0, 1), (8, 0), (15, 7))


def test_a_configuration_is_found_by_name_and_by_arg() -> None:
    for core in CORES:
        assert core_named(core.name) is core
        assert core_of(core.arg) is core
    assert core_named("m1n1k1") is None
    with pytest.raises(EvaluationError) as caught:
        core_of(WmmaArg((1, 1, 1), float32, float32))
    assert caught.value.rule == "uop-wmma-sem"


def random_matrix(core: TensorCore, operand: Operand, seed: int) -> list[list[Element]]:
    """Small whole numbers, so that every order of accumulation agrees."""
    draw = random.Random(f"{core.name}{operand}{seed}")
    rows, columns = sizes(core, operand)
    dtype = core.accumulator if operand == "C" else core.input
    least = 0 if dtype.min == 0 else -3
    numbers = [[draw.randint(least, 3) for _ in range(columns)] for _ in range(rows)]
    return [[float(x) for x in row] for row in numbers] if dtype.is_float else list(map(list, numbers))


@named
def test_the_product_of_a_warp_is_the_product_of_the_matrices(core: TensorCore) -> None:
    a, b, c = (random_matrix(core, o, 0) for o in OPERANDS)
    held = [fragments_of(core, o, x) for o, x in zip(OPERANDS, (a, b, c), strict=True)]
    assert [matrix_of(core, o, f) for o, f in zip(OPERANDS, held, strict=True)] == [a, b, c]
    found = matrix_of(core, "C", warp_product(core, *held))
    for i, j in itertools.product(range(core.dims[0]), range(core.dims[1])):
        assert found[i][j] == c[i][j] + sum(a[i][k] * b[k][j] for k in range(core.dims[2]))


def test_fragments_swapped_between_lanes_give_another_product() -> None:
    core = CORES[0]
    a, b, c = (fragments_of(core, o, random_matrix(core, o, 1)) for o in OPERANDS)
    moved = [a[1], a[0], *a[2:]]
    assert warp_product(core, moved, b, c) != warp_product(core, a, b, c)


def test_fragments_of_another_size_are_refused() -> None:
    core = CORES[0]
    for wrong in ([[0.0] * 4] * 31, [[0.0] * 3] * 32):
        with pytest.raises(EvaluationError):
            matrix_of(core, "A", wrong)


def test_integers_wrap_and_an_invalid_element_spoils_what_needs_it_only() -> None:
    core = core_named("m16n8k16.s8.s32")
    assert core is not None
    a = [[-128] * 16 for _ in range(16)]
    b = [[-128] * 8 for _ in range(16)]
    c = [[2**31 - 1] * 8 for _ in range(16)]
    assert multiply_accumulate(core, a, b, c)[0][0] == wrap(core.accumulator, 2**31 - 1 + 16 * 128 * 128)
    spoiled = multiply_accumulate(core, [[INVALID, *a[0][1:]], *a[1:]], b, c)
    assert spoiled[0] == [INVALID] * 8
    assert INVALID not in spoiled[1]


def test_tf32_keeps_ten_bits_of_mantissa_rounded_to_nearest() -> None:
    core = core_named("m16n8k8.tf32.f32")
    assert core is not None
    ulp = 2.0**-10
    assert operand_value(core, 1 + ulp) == 1 + ulp
    assert operand_value(core, 1 + ulp * 0.499) == 1
    assert operand_value(core, 1 + ulp / 2) == 1 + ulp  # a tie goes away from zero
    assert operand_value(core, -(1 + ulp / 2)) == -(1 + ulp)
    assert operand_value(core, math.inf) == math.inf
    assert math.isnan(float(operand_value(core, math.nan)))
    assert math.copysign(1, operand_value(core, -0.0)) == -1
    largest = from_bits(float32, 0x7F7FFFFF)
    assert operand_value(core, largest) == math.inf
    other = core_named("m16n8k8.f16.f32")
    assert other is not None
    assert operand_value(other, 1 + ulp / 2) == 1 + ulp / 2
    for seed in range(200):
        x = from_bits(float32, random.Random(seed).getrandbits(30))
        assert to_bits(float32, operand_value(core, x)) & 0x1FFF == 0
        assert abs(float(operand_value(core, x)) - float(x)) <= abs(float(x)) * ulp / 2 or abs(x) < 2.0**-126


def test_every_order_of_a_dot_product_lies_within_the_tolerance() -> None:
    core = core_named("m16n8k16.f16.f32")
    assert core is not None
    for seed in range(20):
        draw = random.Random(seed)
        xs, ys = ([from_bits(core.input, draw.getrandbits(15) & 0x7BFF) for _ in range(16)] for _ in range(2))
        xs = [draw.choice((-1, 1)) * float(x) for x in xs]
        exact = sum((Fraction(x) * Fraction(y) for x, y in zip(xs, ys, strict=True)), Fraction(0))
        products = [Fraction(x) * Fraction(y) for x, y in zip(xs, ys, strict=True)]
        for _ in range(3):
            order = draw.sample(range(16), 16)
            row, column = [[xs[k] for k in order]], [[ys[k]] for k in order]
            ((found,),) = multiply_accumulate(core, row, column, [[0.0]])
            assert abs(Fraction(float(found)) - exact) <= tolerance(core, 0.0, products)
    s8 = core_named("m16n8k16.s8.s32")
    assert s8 is not None
    assert tolerance(s8, 5, [Fraction(3)]) == 0
