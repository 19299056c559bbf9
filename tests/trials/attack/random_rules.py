# mypy: disable-error-code="misc, name-defined, no-any-return, no-untyped-call"
"""
Random rules
============

Rules that nobody wrote, for an attack on the prover. Over one random base two chains of ops are built, link by link: at
each link a law of tensors or of loops is drawn, of which the one chain has the left side, and the other the right side
or something that is nearly it: a bound that is off by one, the other permutation, a set of axes too many, a guard
forgotten, a condition left out. Which of the rules are right, nobody says; `inputs` looks for what shows that one
is wrong.
"""

from __future__ import annotations

from random import Random
from typing import Any

from soundline.spec.dtypes import bool_, float16, float32, index, int8, int32, uint8
from soundline.spec.errors import RuleError
from soundline.spec.rules.language import (
    Rule,
    forall,
    maximum,
    rule,
    where,
)
from soundline.spec.rules.notation import show
from soundline.spec.rules.terms import Const, Flags, Size, Tensor
from trials.attack.cast_laws import CAST_LAWS
from trials.attack.drawing import Draw, Link
from trials.attack.gather_laws import gather_law
from trials.attack.loop_laws import loop_law, nest_law
from trials.attack.scalar_laws import scalar_law
from trials.attack.tensor_laws import TENSOR_LAWS, matrix_law

DTYPES = (int8, int8, int32, uint8, index, float16, float32, bool_)

LICENCES = ((), (), (), "reassociate", "no_nan", "no_signed_zero", ("no_nan", "no_signed_zero"))
"""The licences of rules about floats."""


def _base(d: Draw) -> Any:
    x = forall(Tensor, "x")
    f, c = d.new(Flags, "f"), d.new(Const, "c")
    return d.any_of(
        lambda: x,
        lambda: x,
        lambda: x.flip(f),
        lambda: maximum(x, c),
        lambda: where(d.new(Tensor[bool_], "b"), x, 0) if d.dtype is not bool_ else ~x,
    )()


def _sides(d: Draw) -> Link:
    family = d.any_of(*FAMILIES)
    if family is not None:
        return family(d)
    left = right = _base(d)
    for _ in range(d.any_of(1, 1, 1, 2, 2, 3)):
        left, right = d.any_of(*LAWS)(d, left, right)
    return left, right


def _of_matrices(d: Draw) -> Link:
    m, n = forall(Size, "m"), forall(Size, "n")
    x = forall(Tensor["m", "n"], "x")
    return matrix_law(d, d.any_of(x, x, maximum(x, x.flip((True, False)))), m, n)


LAWS = (*TENSOR_LAWS, *CAST_LAWS)
"""The laws of which one follows another."""

FAMILIES = (*(None,) * 10, *(loop_law,) * 3, nest_law, _of_matrices, *(gather_law,) * 4, *(scalar_law,) * 4)
"""What a rule is about: a chain of laws of tensors of any rank, or one law of something else."""


def random_rule(seed: int) -> Rule | None:
    """The rule of a number; None where what was drawn is no rule."""
    source = Random(seed)  # repeatable, and no secret
    dtype = source.choice(DTYPES)
    licences = source.choice(LICENCES) if dtype.is_float else ()

    def drawn() -> Link:
        return _sides(Draw(source, dtype))

    try:
        stated = rule(dtypes=[dtype], licences=licences, id=f"drawn_{seed}")(drawn)
    except RuleError:
        return None
    return None if show(stated.left) == show(stated.right) else stated
