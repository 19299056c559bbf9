"""Bitcasts between item sizes, as the prover reads them: against the evaluator, and where they are left alone."""

from itertools import product as combinations
from random import Random

import pytest

from soundline.spec.arrays.arrays import Array, positions
from soundline.spec.dtypes import (
    DType,
    floats,
    from_bits,
    index,
    int8,
    int16,
    int32,
    ints,
    uint8,
    uint16,
    uint32,
)
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.language import Rule, given, rule
from soundline.spec.rules.terms import Perm, Size, Tensor, Value
from soundline.spec.uop import param
from soundline.verify.judging.judge import prove
from soundline.verify.smt.elements.denotation import Denotation
from soundline.verify.smt.elements.elements import Choice, reads, valid_where
from soundline.verify.smt.elements.indexing import ALWAYS, Space
from soundline.verify.smt.goals.solving import Budget
from soundline.verify.smt.integers.arithmetic import Arithmetic
from soundline.verify.smt.integers.formulas import at_least_zero, less
from soundline.verify.smt.integers.polynomials import Poly
from soundline.verify.smt.proving.leaves import Scalars
from soundline.verify.smt.ranks.elements import about_elements

PAIRS = [
    pytest.param(s, t, id=f"{s}-{t}")
    for s, t in combinations((*ints, *floats), repeat=2)
    if s.itemsize != t.itemsize
]


def a_reader(*inputs: UOp) -> Denotation:
    return Denotation(Space(Arithmetic(Budget())), {node: f"x{k}" for k, node in enumerate(inputs)})


def random_array(dtype: DType, shape: tuple[int, ...], seed: int) -> Array:
    generator = Random(seed)
    count = len(list(positions(shape)))
    return Array(
        dtype, shape, tuple(from_bits(dtype, generator.getrandbits(dtype.bits)) for _ in range(count))
    )


def read_at(reader: Denotation, node: UOp, at: tuple[int, ...], array: Array) -> Array:
    """The element at a known position, computed from the elements that it reads of an input."""
    scalars = Scalars(reader, ALWAYS)
    program = scalars.node(reader.element(node, tuple(map(Poly.of, at)), ALWAYS))
    cells = dict(zip(positions(array.shape), array.elements, strict=True))
    bound = {
        scalars.variables[key].arg.slot: Array(array.dtype, (), (cells[tuple(p.value({}) for p in read.at)],))
        for key, read in scalars.reads.items()
    }
    return evaluate(program, bound)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_item_is_the_one_that_is_evaluated(source: DType, target: DType) -> None:
    shape = (2, 2 * max(1, target.itemsize // source.itemsize))
    x = param(0, source, shape)
    node = Op.Bitcast(x, arg=target)
    array = random_array(source, shape, seed=7)
    wanted = evaluate(node, {0: array})
    for at, cell in zip(positions(wanted.shape), wanted.elements, strict=True):
        assert read_at(a_reader(x), node, at, array) == Array(target, (), (cell,))


def test_what_lies_between_is_left_out_if_it_keeps_all_bytes() -> None:
    x = param(0, uint8, (8,))
    halves = Op.Bitcast(x, arg=uint16)
    assert a_reader(x).element(Op.Bitcast(halves, arg=uint8), (Poly.of(5),), ALWAYS).key == "x0[5]"
    assert (
        "Shr"
        in a_reader(x).element(Op.Bitcast(Op.Bitcast(x, arg=floats[0]), arg=uint8), (Poly.of(5),), ALWAYS).key
    )


def test_an_invalid_byte_makes_its_whole_item_invalid() -> None:
    x, i = param(0, uint8, (3,)), param(1, index, (2,))
    gathered = Op.Bitcast(Op.Index(x, i), arg=uint16)
    reader = a_reader(x, i)
    both = reader.element(gathered, (Poly.of(0),), ALWAYS)
    one = reader.element(Op.Bitcast(gathered, arg=uint8), (Poly.of(0),), ALWAYS)
    for found in (both, one):
        assert all(f"x1[{k}]" in valid_where(found).key for k in (0, 1))


def test_a_proof_at_one_dtype_is_none_at_another() -> None:
    """Of words no item is cut; of double words two are, of which a flip changes the places."""

    @rule
    def words(x: Tensor["n"]):  # noqa: F821
        return x.flip((True,)).bitcast(uint32), x.bitcast(uint32).flip((True,))

    @rule(dtypes=[int32])
    def words_of_words(x: Tensor["n"]):  # noqa: F821
        return x.flip((True,)).bitcast(uint32), x.bitcast(uint32).flip((True,))

    assert prove(words).verdict == "refuted"
    assert prove(words_of_words).verdict == "proved"


def test_the_last_axis_is_told_apart_at_every_rank() -> None:
    @rule
    def there_and_back(x: Tensor[int32]):
        return x.bitcast(uint8).bitcast(int32), x

    @rule
    def permuted(x: Tensor[int32], p: Perm):
        given(p == p)
        return x.permute(p).bitcast(uint8), x.bitcast(uint8).permute(p)

    @rule
    def padded(x: Tensor[int32]):
        return x.pad(0, x.shape + 1).bitcast(uint8), x.bitcast(uint8).pad(0, x.bitcast(uint8).shape + 4)

    (layer,) = prove(there_and_back).layers
    assert (layer.verdict, layer.covered.split(",")[0]) == ("proved", "every rank from 1 on")
    assert prove(permuted).verdict == "refuted"
    assert prove(padded).verdict == "refuted"


def test_items_of_another_size_are_no_matter_of_single_elements() -> None:
    @rule(dtypes=[int16])
    def one_size(x: Tensor["n"]):  # noqa: F821
        return x.bitcast(uint16).bitcast(int16), x

    @rule(dtypes=[int16])
    def two_sizes(x: Tensor["n"]):  # noqa: F821
        return x.bitcast(uint8).bitcast(int16), x

    def of(stated: Rule) -> Rule | None:
        return about_elements(stated)

    assert of(one_size) is not None
    assert of(two_sizes) is None
    assert prove(two_sizes).verdict == "proved"


def test_elements_at_different_places_are_told_apart_by_greater_sizes() -> None:
    """The first item has one element in common with the vector; the second item shows the difference."""

    @rule
    def every_other(x: Tensor[int8, "n"], n: Size):  # noqa: F821
        given(n % 2 == 0)
        return x.bitcast(int16).cast(int8), x.shrink((0,), (n // 2,))

    report = prove(every_other)
    assert report.verdict == "refuted"
    assert dict(report.counterexample.bindings)["n"] == "4"


def test_indices_that_are_read_at_one_place_are_one() -> None:
    @rule
    def read_again(x: Tensor["n"], i: Tensor[index, "k"], k: Size, a: Value[index], b: Value[index]):  # noqa: F821
        given(a >= 0, a < k, a <= b, b <= a)
        return x.index(i).index(a), x.index(i.index(b))

    assert prove(read_again).verdict == "proved"


@pytest.mark.parametrize(
    ("source", "target"), [(int32, uint8), (int16, uint8), (uint8, int32), (int8, int16)]
)
def test_an_item_is_read_inside_of_its_source(source: DType, target: DType) -> None:
    """Known of the position without asking a solver, as of every position that an op reads."""
    size, i = param(1, index), Poly.of("i")
    x = param(0, source, (size,))
    reader = a_reader(x, size)
    n, items = reader.size(size), reader.shape(Op.Bitcast(x, arg=target))[0]
    path = frozenset((at_least_zero(i), less(i, items)))
    item = reader.element(Op.Bitcast(x, arg=target), (i,), path)
    while isinstance(item, Choice):  # by which of the items of an element it is
        item = item.otherwise
    found = list(reads(item))
    assert found
    for read in found:
        assert reader.space.plainly(path, less(read.at[0], n))
        assert reader.space.plainly(path, at_least_zero(read.at[0]))
        assert not reader.space.plainly(path, less(read.at[0] + 4, n))
