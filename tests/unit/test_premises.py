"""Reductions that are cheap if something holds that the program decides: gathers by a product, and
what may not be one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.arrays import storage
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.lower import premises as lowering
from soundline.impl.lower.callify import callify
from soundline.impl.lower.linear.linearize import nest_of
from soundline.impl.lower.reductions.scatters import scatter_of
from soundline.impl.program.compile import lower
from soundline.impl.rules import PREMISES, premises
from soundline.spec.dtypes import float32
from soundline.spec.kernels.iteration_spaces import is_optional
from soundline.spec.pipeline.stages import check_pipeline
from soundline.spec.uop import AxisType, Op, UOp, buffer, const, toposort

N, K = 40, 300
RANDOM = np.random.default_rng(9)
Made = Callable[..., sl.Tensor]


def of_the_source(t: sl.Tensor, i: sl.Tensor) -> sl.Tensor:
    mask = (sl.Tensor.arange(N).reshape(N, 1) == i.reshape(1, -1)).cast(t.dtype)
    return (t.reshape(N, 1) * mask).sum(0)


def by_numbers(t: sl.Tensor, i: sl.Tensor) -> sl.Tensor:
    mask = sl.Tensor.arange(N).reshape(N, 1) == i.reshape(1, -1)
    ones, zeros = (sl.Tensor.full((), x, dtype=t.dtype) for x in (1.0, 0.0))
    return (mask.where(ones, zeros) * t.reshape(N, 1)).sum(0)


def by_a_matrix(t: sl.Tensor, i: sl.Tensor) -> sl.Tensor:
    return i.one_hot(N, t.dtype) @ t


def law(table: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The sum of the products with the mask, ascending, from the first on."""
    flat = table.reshape(N, -1)
    total = np.full((len(places), flat.shape[1]), -0.0, table.dtype)
    with np.errstate(all="ignore"):
        for j in range(N):
            total += (places == j).astype(table.dtype).reshape(-1, 1) * flat[j]
    return total.reshape(len(places), *table.shape[1:])


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit, and NaN where NaN is."""
    a, b = (np.where(np.isnan(x), np.full((), np.nan, x.dtype), x) for x in (a, b))
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()


def numbers(dtype: str, *more: int) -> np.ndarray:
    return RANDOM.normal(size=(N, *more)).astype(dtype)


def with_one(value: float, at: int, dtype: str) -> np.ndarray:
    found = numbers(dtype)
    found[at] = value
    return found


def tables(dtype: str) -> dict[str, np.ndarray]:
    """Tables of each sort that the premise tells apart."""
    tiny, most = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    signs = np.where(np.arange(N) % 3 == 0, -0.0, 0.0).astype(dtype)
    return {
        "finite": numbers(dtype),
        "an infinity": with_one(np.inf, 7, dtype),
        "an infinity at the end": with_one(-np.inf, N - 1, dtype),
        "a NaN at the beginning": with_one(np.nan, 0, dtype),
        "infinities of both signs": np.where(np.arange(N) % 2, np.inf, -np.inf).astype(dtype),
        "zeros of both signs": signs,
        "negative zeros": np.full(N, -0.0, dtype),
        "negative, one of them a zero": -np.abs(with_one(-0.0, 5, dtype)),
        "subnormals": (RANDOM.integers(-3, 4, N) * tiny).astype(dtype),
        "negative subnormals": np.full(N, -tiny, dtype),
        "the greatest": np.where(np.arange(N) % 2, most, -most).astype(dtype),
    }


def places(dtype: Any = np.int32) -> np.ndarray:
    """Indices of which some occur often, and some are outside."""
    found = RANDOM.integers(-5, N + 5, K)
    found[:N] = np.arange(N)
    found[N : N + 9] = 7
    return found.astype(dtype)


def reductions(program: sl.Program) -> list[UOp]:
    return [n for n in toposort(*program.kernels) if n.op is Op.Reduce]


def optional(program: sl.Program) -> set[UOp]:
    """The ranges of reductions that may not be needed."""
    return {f.src[1] for f in reductions(program) if is_optional(f.src[1])}


# Bit for bit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["exact", "fast"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_gather_by_a_product_is_a_load_and_keeps_every_bit(dtype: str, profile: str) -> None:
    at = places()
    program = sl.compile(of_the_source, numbers(dtype), at, profile=profile)
    assert len(program.kernels) == 2, "the premise, and what it decides about"
    assert len(optional(program)) == 1
    assert len({f.src[1] for f in reductions(program)}) == 2
    for name, table in tables(dtype).items():
        assert same_bits(program(table, at), law(table, at)), name


def test_an_infinite_element_reaches_all_others_and_none_if_it_is_alone() -> None:
    """So the law says: of a product with 0 NaN, and of one with 1 the infinity."""
    at = places()
    table = with_one(np.inf, 7, "float32")
    got = sl.compile(of_the_source, table, at)(table, at)
    assert np.isinf(got[at == 7]).all()
    assert np.isnan(got[at != 7]).all()


@pytest.mark.parametrize("of", [np.int8, np.int64, np.uint8, np.uint32], ids=lambda t: t.__name__)
def test_indices_of_every_width(of: Any) -> None:
    at = places(np.int64) % 256
    at = (at % (100 if of is np.int8 else 256)).astype(of)
    program = sl.compile(of_the_source, numbers("float32"), at)
    assert len(optional(program)) == 1
    for table in (numbers("float32"), with_one(np.nan, 3, "float32")):
        assert same_bits(program(table, at), law(table, at.astype(np.int64)))


@pytest.mark.parametrize("made", [by_numbers, by_a_matrix], ids=lambda m: m.__name__)
def test_other_ways_to_write_it(made: Made) -> None:
    shape = (3,) if made is by_a_matrix else ()
    at, table = places(), numbers("float32", *shape)
    program = sl.compile(made, table, at)
    assert len(optional(program)) == 1
    for bad in (0.0, -0.0, np.inf, np.nan):
        table[4] = bad
        assert same_bits(program(table, at), law(table, at))


def test_columns_have_premises_of_their_own() -> None:
    """An infinity in one column leaves the others alone."""
    at, table = places(), numbers("float32", 3)
    table[2, 1] = np.inf
    program = sl.compile(by_a_matrix, table, at)
    got = program(table, at)
    assert same_bits(got, law(table, at))
    assert np.isfinite(got[:, [0, 2]]).all()
    assert np.isnan(got[at != 2, 1]).all()


def test_what_is_made_of_it_and_what_the_table_is_made_of() -> None:
    def made(t: sl.Tensor, i: sl.Tensor) -> sl.Tensor:
        return of_the_source(t * 2.0 - 1.0, i) * 3.0

    at, table = places(), numbers("float32")
    program = sl.compile(made, table, at)
    assert len(optional(program)) == 1
    for bad in (1.0, np.inf):
        table[4] = bad
        own = table * np.float32(2) - np.float32(1)
        with np.errstate(all="ignore"):
            assert same_bits(program(table, at), law(own, at) * np.float32(3))


def test_whole_numbers_need_no_premise() -> None:
    at, table = places(), np.arange(N, dtype=np.int32) - 5
    program = sl.compile(of_the_source, table, at)
    assert reductions(program) == []
    inside = (at >= 0) & (at < N)
    assert np.array_equal(program(table, at), np.where(inside, table[np.where(inside, at, 0)], 0))


# Gradients --------------------------------------------------------------------------------------------------------

COLUMNS = 3
GRADIENTS: dict[str, Made] = {
    "of take": lambda t, i, g: t.take(i, 0).gradient(t, gradient=g)[0],
    "of rows by indices": lambda t, i, g: t[i].gradient(t, gradient=g)[0],
    "of a product with a one-hot matrix": lambda t, i, g: (i.one_hot(N, t.dtype) @ t).gradient(t, gradient=g)[
        0
    ],
}
WEIGHTS = {
    "finite": lambda: RANDOM.normal(size=(K, COLUMNS)).astype(np.float32),
    "an infinity in a column": lambda: np.where(
        np.arange(K * COLUMNS).reshape(K, COLUMNS) == 7, np.inf, 1
    ).astype(np.float32),
    "a NaN": lambda: np.where(np.arange(K * COLUMNS).reshape(K, COLUMNS) == 7, np.nan, -1).astype(np.float32),
    "negative zeros": lambda: np.full((K, COLUMNS), -0.0, np.float32),
    "negative": lambda: -np.abs(RANDOM.normal(size=(K, COLUMNS))).astype(np.float32),
}
TARGETS = {
    "all over": lambda: places(np.int64).clip(0, N - 1).astype(np.int32),
    "some of them outside": lambda: places(np.int64).clip(0, N + 4).astype(np.int32),
    "all to one place": lambda: np.full(K, 5, np.int32),
    "all but the last to one place": lambda: np.where(np.arange(K) == K - 1, 6, 5).astype(np.int32),
    "all but the first to one place": lambda: np.where(np.arange(K) == 0, 6, 5).astype(np.int32),
}


def summed(name: str, at: np.ndarray, g: np.ndarray) -> np.ndarray:
    """What each row of a table receives, ascending, by the law."""
    products = name == "of a product with a one-hot matrix"
    total = np.full((N, COLUMNS), -0.0, np.float32)
    with np.errstate(all="ignore"):
        for k, row in zip(at, g, strict=True):
            hit = (np.arange(N) == k).reshape(N, 1)
            total += hit.astype(np.float32) * row if products else np.where(hit, row, np.float32(0))
    return total


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("profile", ["exact", "fast"])
def test_the_gradient_of_an_embedding_is_a_scatter_and_keeps_every_bit(name: str, profile: str) -> None:
    table = numbers("float32", COLUMNS)
    program = sl.compile(GRADIENTS[name], table, TARGETS["all over"](), WEIGHTS["finite"](), profile=profile)
    nests = [nest for kernel in program.kernels for nest in kernel.src]
    assert sum(scatter_of(nest) is not None for nest in nests) == 1
    for to, targets in TARGETS.items():
        for of, weights in WEIGHTS.items():
            at, g = targets(), weights()
            assert same_bits(program(table, at, g), summed(name, at, g)), (to, of)


def test_no_mask_is_stored_for_it() -> None:
    """A comparison with a position is asked again, however large the table is and however often it is asked."""
    count, width = 2000, 64
    examples = (
        np.ones((500, width), np.float32),
        np.zeros(count, np.int32),
        np.ones((count, width), np.float32),
    )
    wide: dict[str, Made] = {
        "take": lambda t, i, g: t.take(i, 0).gradient(t, gradient=g)[0],
        "a product": lambda t, i, g: (i.one_hot(500, t.dtype) @ t).gradient(t, gradient=g)[0],
        "scatter_add": lambda t, i, g: t.scatter_add(0, i.unsqueeze(1).expand(count, width), g),
    }
    for name, made in wide.items():
        program = sl.compile(made, *examples)
        assert max(n.arg.size for n in toposort(*program.kernels) if n.op is Op.Buffer) == count * width, name


# What it is not worth ---------------------------------------------------------------------------------------------


def test_a_premise_that_costs_as_much_as_the_reduction_is_not_asked() -> None:
    program = sl.compile(of_the_source, numbers("float32"), places()[:3])
    assert not optional(program)
    assert len(program.kernels) == 1


def test_a_mask_that_is_no_choice_by_position_stays_a_product() -> None:
    """Many elements may pass: without a closed form nothing is gained."""
    program = sl.compile(
        lambda t, m: (t.unsqueeze(1) * m.cast(float32)).sum(0),
        numbers("float32"),
        RANDOM.random((N, K)) > 0.5,
    )
    assert not optional(program)


# Layout -----------------------------------------------------------------------------------------------------------


def test_places_that_share_a_premise_ask_together() -> None:
    """And where the sums are needed after all, they run side by side."""
    program = sl.compile(of_the_source, numbers("float32"), places())
    (nest, *_) = program.kernels[-1].src
    ranges, _ = nest_of(nest)
    assert ranges[-1].arg.type is AxisType.UPCAST
    assert ranges[-1].src[0].arg.value == min(lowering.LANES, K)


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_what_fills_no_lanes_is_done_last(bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "LANES", 64)
    lower.cache_clear()
    at, table = places(), with_one(bad, 3, "float32")
    program = sl.compile(of_the_source, table, at)
    lower.cache_clear()
    lanes = [nest_of(nest)[0][-1] for nest in program.kernels[-1].src]
    assert [r.src[0].arg.value for r in lanes] == [64, K % 64]
    assert same_bits(program(table, at), law(table, at))


def test_columns_with_premises_of_their_own_ask_each_by_itself() -> None:
    program = sl.compile(by_a_matrix, numbers("float32", 3), places())
    (nest,) = program.kernels[-1].src
    assert all(r.arg.type is AxisType.LOOP for r in nest_of(nest)[0])


# Stages and mutants -----------------------------------------------------------------------------------------------


BAD = ([1.0, -2.0, 0.5, 3.0], [np.inf, -2.0, 0.5, 3.0], [-1.0, -0.0, -3.0, -1.0])
"""Tables of finite numbers, with an infinite one, and of negative ones, whose zeros are negative."""


def violations(table: list[float]) -> list[str]:
    """What the stages of a small gather break, by the law."""
    at = [1, 0, 7, 2, 2, -1, 3, 1, 1]
    t, i = sl.Tensor(np.array(table, np.float32)), sl.Tensor(np.array(at, np.int32))
    gathered = ((sl.Tensor.arange(4).unsqueeze(1) == i.unsqueeze(0)).cast(t.dtype) * t.unsqueeze(1)).sum(0)
    return broken(gathered)


def broken(made: sl.Tensor) -> list[str]:
    function = callify([made.uop])
    held = {k: storage.contents(b) for k, b in enumerate(function.src[1:])}
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    lower.cache_clear()
    lowered = lower(Op.Function(function.src[0], *fresh), "exact")
    lower.cache_clear()
    return [v.rule for v in check_pipeline(lowered.stages, lowered.source, TARGET, held)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "LEAST", 1)
    monkeypatch.setattr(lowering, "WORTH", 1)


@pytest.mark.parametrize("table", BAD, ids=["finite", "infinite", "negative"])
@pytest.mark.usefixtures("small")
def test_every_stage_keeps_its_invariant(table: list[float]) -> None:
    assert violations(table) == []


@pytest.mark.parametrize("at", [[3, 0, 9, 3, 3, 1], [2, 2, 2, 2, 2, 2]], ids=["apart", "together"])
@pytest.mark.usefixtures("small")
def test_every_stage_of_a_gradient_keeps_its_invariant(
    at: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soundline.impl.lower.reductions.scatters.WORTH", 0)
    t, i = sl.Tensor(np.zeros((4, 2), np.float32)), sl.Tensor(np.array(at, np.int32))
    g = sl.Tensor(np.full((6, 2), -0.0, np.float32))
    assert broken(t.take(i, 0).gradient(t, gradient=g)[0]) == []
    assert broken((i.one_hot(4, t.dtype) @ t).gradient(t, gradient=g)[0]) == []


MUTANTS: dict[str, Callable[[UOp], UOp]] = {
    "no premise": lambda choice: choice.src[1],
    "the premise the other way round": lambda choice: Op.Where(choice.src[0], choice.src[2], choice.src[1]),
    "the sign of the zeros lost": lambda choice: Op.Where(
        choice.src[0], Op.Add(choice.src[1], const(0.0, choice.dtype)), choice.src[2]
    ),
}


def test_a_zero_that_nothing_leaves_behind_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all that is summed goes to one place, and all of it is -0.0, no 0.0 is added."""
    whole = lowering._among_zeros

    def mutated(*given: Any) -> Any:
        found = whole(*given)
        return found and (found[0], found[1].src[1])

    made, at, g = GRADIENTS["of take"], TARGETS["all to one place"](), WEIGHTS["negative zeros"]()
    table = numbers("float32", COLUMNS)
    monkeypatch.setattr(lowering, "_among_zeros", mutated)
    lower.cache_clear()
    got = sl.compile(made, table, at, g)(table, at, g)
    lower.cache_clear()
    assert not same_bits(got, summed("of take", at, g))


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.usefixtures("small")
def test_a_mutant_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lowering._decided

    def mutated(*given: Any) -> Any:
        found = whole(*given)
        return found and (found[0], MUTANTS[name](found[1]))

    monkeypatch.setattr(lowering, "_decided", mutated)
    assert "stage-rangeify-value" in [v for table in BAD for v in violations(table)]


# Rules ------------------------------------------------------------------------------------------------------------


def test_lowering_asks_for_every_rule() -> None:
    apart = (
        premises.cast_of_masked,
        premises.cast_of_choice,
        premises.fold_not_chosen,
        premises.any_other,
    )
    assert {*lowering.RULES, *apart} == set(PREMISES)


def test_a_certificate_names_the_rules() -> None:
    program = sl.compile(of_the_source, numbers("float32"), places())
    named = str(program.certificate)
    for rule in (premises.masked_sum_of_cast, premises.fold_not_chosen):
        assert rule.id in named
