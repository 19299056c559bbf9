"""At which ranks a rule has an instance, and what a verdict says of it."""

from __future__ import annotations

from soundline.spec.dtypes import float32
from soundline.spec.rules.language import Rule
from soundline.verify import Axes, Offset, Perm, Shape, Tensor, Value, compose, int8, int32, rule
from soundline.verify.judging.judge import prove
from soundline.verify.smt.ranks.instances import ONLY_RANK_0, ranks_seen


@rule
def crop_of_a_number(c: Value, s: Shape, o: Offset, t: Shape):
    """A number is expanded to the shape () alone, so nothing is padded here, and nothing is left to be shown."""
    return c.expand(s).pad(o, t), c.expand(t)


@rule
def crop_of_a_tensor(x: Tensor, o: Offset, t: Shape):
    """The same of what has axes is wrong."""
    return x.pad(o, t), x.expand(t)


@rule
def turned_twice(x: Tensor, p: Perm, q: Perm):
    return x.permute(p).permute(q), x.permute(compose(p, q))


@rule(dtypes=[int8, int32])
def two_axes_by_number(x: Tensor):
    return x.sum(1).sum(0), x.sum((0, 1))


@rule
def flipped_twice(x: Tensor, a: Axes):
    return x.flip(a).flip(a), x


def covered(stated: Rule) -> set[str]:
    return {layer.covered.partition(",")[0] for layer in prove(stated).layers}


def test_a_rule_that_has_an_instance_at_rank_0_alone_is_vacuous() -> None:
    report = prove(crop_of_a_number)
    assert report.verdict == "vacuous"
    assert {layer.detail for layer in report.layers} == {ONLY_RANK_0}
    assert ranks_seen(crop_of_a_number, [float32]) == {"t": {0}}


def test_its_twin_with_axes_is_refuted() -> None:
    assert prove(crop_of_a_tensor).verdict == "refuted"


def test_a_rule_that_names_axes_says_from_which_rank_on() -> None:
    assert prove(two_axes_by_number).verdict == "proved"
    assert covered(two_axes_by_number) == {"every rank from 2 on"}


def test_a_rule_with_an_instance_at_all_ranks_says_every_rank() -> None:
    assert covered(turned_twice) == covered(flipped_twice) == {"every rank"}
    assert set(ranks_seen(flipped_twice, [float32]).values()) == {frozenset(range(5))}


def test_a_tensor_of_a_known_rank_claims_no_other() -> None:
    @rule(dtypes=[int8])
    def transposed(x: Tensor[2, 3]):
        return x.permute((1, 0)).permute((1, 0)), x.permute((0, 1))

    assert covered(transposed) == {"rank 2"}
