"""Strided pads and slices on a left side: what the engine matches, a twin that it does not, and what it makes of it."""

import pytest

from soundline.impl.matching.matcher import patterns_of, roots_of
from soundline.impl.matching.strides import parts_of
from soundline.impl.rewriting.engine import rewrite
from soundline.spec.dtypes import float32, index, int32
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op, UOp
from soundline.spec.rules.building import strided
from soundline.spec.rules.language import Rule, given, rule
from soundline.spec.rules.terms import Offset, Shape, Size, Tensor
from soundline.spec.uop import const, pad, param, reshape, shrink
from soundline.verify.judging.judge import prove


@rule
def undone(x: Tensor, a: Offset, s: Shape, k: Shape):
    return x.pad(a, s, k).shrink(a, x.shape, k), x


@rule
def composed(x: Tensor, a: Offset, s: Shape, k: Shape, b: Offset, t: Shape, j: Shape):
    return x.shrink(a, s, k).shrink(b, t, j), x.shrink(a + b * k, t, k * j)


@rule
def by_one(x: Tensor, a: Offset, s: Shape):
    return x.shrink(a, s, 1), x.shrink(a, s)


@rule
def padded_after(x: Tensor, a: Offset, s: Shape, k: Shape, b: Offset, t: Shape):
    given(x.shape >= 1, k >= 1)
    return x.pad(a, s, k).pad(b, t), x.pad(a + b, t, k)


@rule
def one_element(x: Tensor["n"], n: Size, a: Size, k: Size):  # noqa: F821
    given(k >= 1)
    return x.shrink((a,), (1,), (k,)), x.shrink((a,), (1,))


@rule
def one_element_by_a_number_of_its_own(x: Tensor["n"], n: Size, a: Size):  # noqa: F821
    return x.shrink((a,), (1,), (a + 1,)), x.shrink((a,), (1,))


X = param(0, float32, (3, 2))
V = param(1, int32, (20,))
N = param(2, index)
SIZED = param(3, int32, (N,))


def taken(x: UOp, *vectors: tuple[object, ...]) -> UOp:
    return strided(Op.Shrink, x, *vectors)  # type: ignore[arg-type]


def placed(x: UOp, *vectors: tuple[object, ...]) -> UOp:
    return strided(Op.Pad, x, *vectors)  # type: ignore[arg-type]


SPREAD = placed(X, (1, 0), (12, 5), (3, 2))
CASES = {
    "a slice undoes a pad": (undone, taken(SPREAD, (1, 0), (3, 2), (3, 2)), X),
    "with another stride": (undone, taken(SPREAD, (1, 0), (3, 2), (2, 2)), None),
    "at another offset": (undone, taken(SPREAD, (2, 0), (3, 2), (3, 2)), None),
    "of a part": (undone, taken(SPREAD, (1, 0), (2, 2), (3, 2)), None),
    "of a symbolic size": (
        undone,
        taken(placed(SIZED, (0,), (Op.Mul(N, const(2, index)),), (2,)), (0,), (N,), (2,)),
        SIZED,
    ),
    "a slice of a slice": (
        composed,
        taken(taken(V, (1,), (6,), (3,)), (1,), (2,), (2,)),
        taken(V, (4,), (2,), (6,)),
    ),
    "a slice of a plain one": (composed, taken(shrink(V, (1,), (6,)), (1,), (2,), (2,)), None),
    "by the number one": (by_one, taken(V, (4,), (2,), (1,)), shrink(V, (4,), (2,))),
    "by the number two": (by_one, taken(V, (4,), (2,), (2,)), None),
    "a pad of a pad": (
        padded_after,
        pad(placed(V, (1,), (50,), (2,)), (3,), (60,)),
        placed(V, (4,), (60,), (2,)),
    ),
    "a plain pad of a plain pad": (padded_after, pad(pad(V, (1,), (50,)), (3,), (60,)), None),
    "with named sizes": (one_element, taken(V, (4,), (1,), (3,)), shrink(V, (4,), (1,))),
    "with another number": (one_element, taken(V, (4,), (2,), (3,)), None),
    "with a computed size": (
        one_element_by_a_number_of_its_own,
        taken(V, (2,), (1,), (3,)),
        shrink(V, (2,), (1,)),
    ),
    "with another size": (one_element_by_a_number_of_its_own, taken(V, (2,), (1,), (4,)), None),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_matched(name: str) -> None:
    stated, node, made = CASES[name]
    found = rewrite(node, [stated], limit=1) if made is None else rewrite(node, [stated])
    assert found.uop is (node if made is None else made)
    if made is not None and node.src and all(isinstance(n, int) for n in node.shape or ()):
        count = 6 if X in (made, *_below(made)) else 20
        x, shape = (X, (3, 2)) if count == 6 else (V, (20,))
        inputs = {x.arg.slot: _rows([*range(1, count + 1)], shape)}
        assert evaluate(node, inputs) == evaluate(made, inputs)


def _below(node: UOp) -> set[UOp]:
    return {n for s in node.src for n in (s, *_below(s))}


def _rows(numbers: list[int], shape: tuple[int, ...]) -> list[object]:
    if len(shape) == 1:
        return list(numbers)
    width = len(numbers) // shape[0]
    return [_rows(numbers[k * width : (k + 1) * width], shape[1:]) for k in range(shape[0])]


def test_a_chain_that_is_almost_one_is_none() -> None:
    """Five ops of the right kinds whose numbers do not belong together are no strided pad and no strided slice."""
    exact = placed(V, (1,), (50,), (2,))
    assert parts_of(Op.Pad, exact) == (V, (1,), (50,), (2,))
    assert parts_of(Op.Shrink, exact) is None
    pairs = reshape(pad(reshape(V, (20, 1)), (0, 1), (20, 2)), (40,))
    assert parts_of(Op.Pad, pad(shrink(pairs, (0,), (39,)), (1,), (50,))) is None, (
        "the element stands behind the zero"
    )
    plain = reshape(pad(reshape(V, (20, 1)), (0, 0), (20, 2)), (40,))
    assert parts_of(Op.Pad, pad(shrink(plain, (0,), (39,)), (1,), (50,))) == (V, (1,), (50,), (2,))
    assert parts_of(Op.Pad, pad(shrink(plain, (0,), (38,)), (1,), (50,))) is None, (
        "the last zeros are cut elsewhere"
    )
    assert parts_of(Op.Pad, pad(shrink(plain, (1,), (39,)), (1,), (50,))) is None, "the first is cut off"
    whole = taken(V, (1,), (6,), (3,))
    assert parts_of(Op.Shrink, whole) == (V, (1,), (6,), (3,))
    longer = shrink(pad(V, (0,), (23,)), (1,), (18,))
    kept = reshape(shrink(reshape(longer, (6, 3)), (0, 0), (6, 1)), (6,))
    assert parts_of(Op.Shrink, kept) is None, "one zero more than a stride needs"


def test_where_matches_begin() -> None:
    assert roots_of(undone) == {Op.Reshape}
    assert roots_of(padded_after) == {Op.Pad}
    assert all(p.may_match((Op.Reshape, Op.Shrink)) for p in patterns_of(undone))


@pytest.mark.parametrize("stated", [one_element, one_element_by_a_number_of_its_own], ids=lambda r: r.id)
def test_they_are_proved(stated: Rule) -> None:
    assert prove(stated).verdict == "proved"
