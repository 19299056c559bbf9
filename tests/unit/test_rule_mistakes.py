"""What is wrong in the body of a rule: every mistake is an error of the rule, in the words of the rule language."""
# ruff: noqa: F821, UP037

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soundline.spec.dtypes import bool_, float32, floats, index, int32
from soundline.spec.errors import RuleError
from soundline.spec.ops.node import Op
from soundline.spec.rules import language
from soundline.spec.rules.kinds import KINDS
from soundline.spec.rules.language import Rule, rule
from soundline.spec.rules.notation import show
from soundline.spec.rules.ranges import Body, Range
from soundline.verify.judging.judge import prove
from soundline.verify.smt.elements.elements import (
    Apply,
    Bottom,
    Choice,
    Number,
    Read,
    Reduction,
    Truth,
    constant,
)
from soundline.verify.smt.elements.text import equation
from soundline.verify.smt.integers.formulas import less
from soundline.verify.smt.integers.polynomials import Poly

WORDS: dict[str, Any] = {n: getattr(language, n) for n in language.__all__} | KINDS
KIND_NAMES = sorted(KINDS)


def stated(expression: str, kind: str = "Value") -> Rule:
    """A rule whose body computes an expression of `X`, a variable of a kind, and of the value `y`."""
    text = f"def r(X, y):\n    q = ({expression})\n    return y + 1, q\n"
    linecache.cache["r.py"] = (len(text), None, text.splitlines(keepends=True), "r.py")
    names = {**WORDS, "np": np, "float32": float32, "int32": int32, "Z": np.int64(0)}
    exec(compile(text, "r.py", "exec"), names)
    function: Callable[..., Any] = names["r"]
    inside: Any = KINDS[kind]["y"] if kind == "Body" else KINDS[kind]["n"] if kind == "Range" else KINDS[kind]
    function.__annotations__ = {"X": inside, "y": KINDS["Value"][int32]}
    return rule(X=floats)(function) if kind == "DTypeVar" else rule(function)


def refusal(expression: str, kind: str) -> RuleError | None:
    """The error that such a rule is; None where it is a rule."""
    try:
        stated(expression, kind)
    except RuleError as error:
        return error
    return None


MISTAKES = (
    *(
        "X[0]",
        "X['a']",
        "X[Z]",
        "X[X]",
        "X[0:2]",
        "X[...]",
        "len(X)",
        "list(X)",
        "min(X, 3)",
        "max(X, X)",
        "bool(X)",
    ),
    *(
        "not X",
        "X and X",
        "1 if X else 2",
        "float(X)",
        "int(X)",
        "range(X)",
        "round(X)",
        "np.exp(X)",
        "np.add(X, 1)",
    ),
    *(
        "np.float32(1) * X",
        "X * np.int64(2)",
        "np.arange(3) + X",
        "X ** X",
        "X @ X",
        "-X",
        "+X",
        "~X",
        "abs(X)",
    ),
    *(
        "divmod(X, 2)",
        "X.T",
        "X.foo",
        "X.foo(1)",
        "X.shape[0]",
        "X.sum()",
        "X.sum(Z)",
        "X.sum(axis='0')",
        "X.sum(X)",
    ),
    *(
        "X.reshape('a')",
        "X.reshape(2, 3)",
        "X.permute((1, Z))",
        "X.permute('ab')",
        "X.expand(None)",
        "X.pad(1)",
    ),
    *(
        "X.flip(Z)",
        "X.flip('a')",
        "X.index('a')",
        "X.cast('float32')",
        "X.cast(int)",
        "X.bitcast(X)",
        "where(X)",
    ),
    *(
        "where(X, 1, 2)",
        "maximum(X, 'a')",
        "cdiv('a', X)",
        "given('a')",
        "given(X > 0)",
        "X == 'a'",
        "X < None",
    ),
    *(
        "0 < X < 3",
        "X + 'a'",
        "X + [1]",
        "X + 1j",
        "X << 1",
        "X & 1",
        "X in (1, 2)",
        "0 in X",
        "next(X)",
        "iter(X)",
    ),
    *(
        "X(1)",
        "X()",
        "compose(X, X)",
        "inverse(1)",
        "product(X)",
        "stack(X)",
        "concat(X, X, 0)",
        "fill(X, 1)",
    ),
    *("sum_over(X, X)", "sum_over(lambda k: X, X)", "reduce_over(X, X, X)", "identity(X)", "subset(X, X)"),
    *("one_axis(X)", "bits_at_most(X, 8)", "preserves_zero(X)", "lossless(X, X)", "is_float(X)", "fresh(X)"),
    *("X.exp2()", "X.dtype == float32", "X.dtype.bits", "sum([X, X])", "sum(X)", "any(X)", "sorted([X, X])"),
    *(
        "'%d' % X",
        "f'{X:3d}'",
        "claim(X)",
        "forall(X)",
        "no_flags(X)",
        "is_identity(X)",
        "X | 1",
        "X ^ (True,)",
    ),
)
INTERNAL = (
    "object at 0x",
    "<class",
    "NoneType",
    "Expression",
    "Sizes",
    "Traceback",
    "DTypeTerm",
    "<function",
)


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_a_mistake_is_an_error_of_the_rule_in_its_own_words(kind: str) -> None:
    refused = 0
    for expression in MISTAKES:
        error = refusal(expression, kind)
        if error is not None:
            refused += 1
            assert error.line in (1, 2), expression
            assert not any(word in str(error) for word in INTERNAL), f"{expression}: {error}"
    assert refused > len(MISTAKES) // 3


@pytest.mark.parametrize(
    ("expression", "kind", "said", "hint"),
    [
        (
            "X[0]",
            "Value",
            "`X[0]`",
            "s[0] is an entry of a Shape or an Offset, x.index(i) an element of a tensor",
        ),
        ("len(X)", "Const", "`len(X)`", "a rule holds at every rank"),
        ("min(X, 3)", "Value", "the condition (X > 3) has no truth value", "minimum(a, b)"),
        ("X.relu()", "Value", "X is a Value, which has no relu", "did you mean .reduce?"),
        ("X.sum(axis=0)", "Tensor", "`X.sum(axis=0)`", "write x.sum(over)"),
        ("X.sum('0')", "Tensor", "a set of axes is needed, not '0'", "x.sum((0, 1))"),
        ("X.pad(1)", "Tensor", "`X.pad(1)`", "write x.pad(offset, shape, stride=None, fill=None)"),
        ("X.cast(int)", "Value", "a dtype is needed, not int", "x.cast(int32)"),
        ("X.permute('ab')", "Tensor", "a permutation is needed, not 'ab'", "x.permute((1, 0))"),
        ("X.permute((0, 0))", "Tensor", "a permutation is needed, not (0, 0)", "x.permute((1, 0))"),
        ("list(X)", "Shape", "X has no elements to go through", "an entry is s[0]"),
        ("X[0.5]", "Shape", "an entry belongs to one axis, not to 0.5", "s[-1]"),
        ("X + 'a'", "Value", "a value is needed, not 'a'", "and numbers"),
        ("X & y", "DTypeVar", "a value is needed, not X, which is a DTypeVar", "values are Value"),
        ("is_float(X) & (y > 0)", "DTypeVar", "not with (y > 0), which is a Value", "given(p == q, x < y)"),
        ("np.exp(X)", "Value", "`np.exp(X)`", "not np.exp"),
        ("sum_over(lambda k: X, X)", "Value", "not over <lambda>", 'Range["n"]'),
        ("X.dtype.bits", "Value", "X.dtype is a dtype, which has no bits", "bits_at_most"),
        ("unknown(X)", "Value", "unknown name: unknown", ""),
    ],
)
def test_a_mistake_says_what_to_write(expression: str, kind: str, said: str, hint: str) -> None:
    with pytest.raises(RuleError) as refusal:
        stated(expression, kind)
    assert said in refusal.value.message
    assert hint in (refusal.value.hint or "")


def test_numbers_of_numpy_are_numbers() -> None:
    for expression, written in (
        ("np.int64(2) * X", "(2 * X)"),
        ("X + np.float32(1.5)", "(X + 1.5)"),
        ("X.sum(Z)", "X.sum((0,))"),
        ("X.sum((Z, np.int32(1)))", "X.sum((0, 1))"),
        ("X.permute((np.int64(1), Z))", "X.permute((1, 0))"),
        ("X.reshape((Z, 3))", "X.reshape((0, 3))"),
        ("X.flip((np.bool_(True),))", "X.flip((True,))"),
        ("X.shape[Z]", "X.shape[0]"),
    ):
        assert show(stated(expression, "Tensor").right) == written


def test_going_through_a_term_ends() -> None:
    """A Shape has `s[k]`, by which Python would go on for ever."""
    for kind in KIND_NAMES:
        for expression in ("list(X)", "0 in X", "sum(X)", "tuple(X)", "max(X)"):
            with pytest.raises(RuleError):
                stated(expression, kind)


def test_a_report_has_no_notation_of_the_prover() -> None:
    @rule(dtypes=[int32])
    def swapped(r: Range["n"], s: Range["m"], f: Body["r", "s"]):
        return (
            language.max_over(r, language.sum_over(s, f(r, s))),
            language.sum_over(s, language.max_over(r, f(r, s))),
        )

    (layer,) = prove(swapped).layers
    assert layer.verdict == "refuted"
    assert layer.detail == (
        "does not hold: max(sum(f[r0, r1] for r1 < m) for r0 < n) = sum(max(f[r1, r0] for r1 < n) for r0 < m)"
    )


def test_every_element_is_written_in_the_notation_of_the_rule_language() -> None:
    i, n = Poly.of("@0"), Poly.of("n")
    x, y = Read(int32, "x", (i,), (n,)), Read(int32, "y", (), ())
    c = Truth(bool_, less(i, n))
    for element, written in (
        (x, "x[i0]"),
        (y, "y"),
        (constant(int32, 3), "3"),
        (Number(index, i * n), "i0*n"),
        (Apply(int32, Op.Add, (x, y)), "(x[i0] + y)"),
        (Apply(int32, Op.Neg, (x,)), "-x[i0]"),
        (Apply(bool_, Op.Not, (Read(bool_, "p", (), ()),)), "~p"),
        (Apply(int32, Op.Max, (x, y)), "max(x[i0], y)"),
        (Apply(int32, Op.Exp2, (x,)), "exp2(x[i0])"),
        (Apply(float32, Op.Cast, (x,)), "x[i0].cast(float32)"),
        (Apply(float32, Op.Bitcast, (x,)), "x[i0].bitcast(float32)"),
        (Choice(int32, c.formula, x, y), f"where({c.formula.key.replace('@', 'i')}, x[i0], y)"),
        (Bottom(int32), "invalid"),
        (
            Reduction(int32, Op.Mul, (("$1.0", n),), Read(int32, "x", (Poly.of("$1.0"),), (n,))),
            "prod(x[r0] for r0 < n)",
        ),
    ):
        assert equation(element, y) == f"{written} = y"
