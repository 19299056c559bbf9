"""Sizes and windows before they are known: polynomials, conditions, and windows of windows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundline.impl.spork import proc_from_text
from soundline.spec.dtypes import float32, index
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Apply, Binary, Const, Expr, Index, Name, Span, Unary
from soundline.spec.spork.language.statements import Assign, If
from soundline.spec.spork.language.text import expression as text_of
from soundline.spec.spork.library.memories import DRAM, MEMORY_CONSTRAINTS
from soundline.spec.spork.static.conditions import SENTENCES, STATIC_CONSTRAINTS
from soundline.spec.spork.static.sizes import decided, difference, polynomial, substituted, value
from soundline.spec.spork.static.windows import Declared
from soundline.spec.values.elementwise import ELEMENTWISE


def parsed(text: str) -> Expr:
    """An integer or condition of control."""
    head = "def f(n: size, m: size, i: index, b: bool, x: f32[n]):\n"
    body = f"if {text}:\n        pass" if _is_condition(text) else f"x[{text}] = 1.0"
    statement = proc_from_text(f"{head}    {body}").body[0]
    if isinstance(statement, If):
        return statement.condition
    assert isinstance(statement, Assign)
    assert isinstance(statement.place, Index)
    found = statement.place.indices[0]
    assert not isinstance(found, Span)
    return found


def _is_condition(text: str) -> bool:
    return any(word in text for word in ("<", ">", "=", "not", "True", "False", "b "))


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("7", 7),
        ("0", 0),
        ("2 * 3 + 4", 10),
        ("-n + n - 3", -3),
        ("16 * i + 16 - 16 * i", 16),
        ("(n + m) * (n - m) - n * n + m * m", 0),
        ("17 // 4", 4),
        ("-17 // 4", -5),
        ("-17 % 4", 3),
        ("max(3, 2 + 2)", 4),
        ("max(2, -1 * 2)", 2),
        ("n // 2 - n // 2", 0),
        ("n // 2 * 2 - 2 * (n // 2)", 0),
        ("(n - n) // 3", 0),
        ("n", None),
        ("n - m", None),
        ("n // 2 - n // 3", None),
        ("n * n", None),
        ("5 // 0", None),
        ("5 % 0", None),
        ("max(n, 3)", None),
    ],
)
def test_what_is_a_number_whatever_names_stand_for(text: str, known: int | None) -> None:
    assert value(parsed(text)) == known


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("True", True),
        ("not True", False),
        ("1 < 2", True),
        ("2 < 2", False),
        ("2 <= 2", True),
        ("n < n + 1", True),
        ("n > n + 1", False),
        ("n >= n", True),
        ("n == m", None),
        ("n != n", False),
        ("8 % 4 == 0", True),
        ("n % 4 == 0", None),
        ("n < m or 1 < 2", True),
        ("n < m and 2 < 1", False),
        ("2 < 1 or 3 < 1", False),
        ("1 < 2 and 1 < 3", True),
        ("2 < 1 or n < m", None),
        ("1 < 2 and n < m", None),
        ("not n < m", None),
        ("not (n < m and 2 < 1)", True),
        ("b == b", True),
        ("b and 1 < 2", None),
    ],
)
def test_what_is_true_whatever_names_stand_for(text: str, known: bool | None) -> None:
    assert decided(parsed(text)) is known


def test_names_are_replaced_by_expressions() -> None:
    four = {"n": Const(4), "m": Binary(Op.Add, Name("i"), Const(1))}
    assert text_of(substituted(parsed("-n * (m + i) + max(n, 2)"), four)) == "-4 * (i + 1 + i) + max(4, 2)"
    assert decided(substituted(parsed("n == 1 or n == 2 or n == 4"), four)) is True
    assert decided(substituted(parsed("n == 1 or n == 2"), four)) is False
    assert decided(substituted(parsed("not n < m"), four)) is None
    assert difference(parsed("m"), parsed("m - 3")) == 3
    assert polynomial(parsed("2 * n * m - m * n")).terms == {("m", "n"): 1}


NUMBERS = st.integers(-9, 9)


def expressions() -> st.SearchStrategy[Expr]:
    numbers = NUMBERS.map(lambda k: Const(k) if k >= 0 else Unary(Op.Neg, Const(-k)))
    leaves = st.one_of(numbers, st.sampled_from("nm").map(Name))
    ops = st.sampled_from([Op.Add, Op.Sub, Op.Mul, Op.Idiv, Op.Mod, Op.Max])

    def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        def both(op: Op, a: Expr, b: Expr) -> Expr:
            return Apply(op, (a, b)) if op is Op.Max else Binary(op, a, b)

        return st.one_of(inner.map(lambda e: Unary(Op.Neg, e)), st.builds(both, ops, inner, inner))

    return st.recursive(leaves, larger, max_leaves=12)


def computed(expression: Expr, names: dict[str, int]) -> int:
    """The value at some names, by the laws of the ops."""
    match expression:
        case Const(value=known):
            return int(known)
        case Name(name):
            return names[name]
        case Unary(op, operand):
            return int(ELEMENTWISE[op](index, computed(operand, names)))
        case Binary(op, left, right) | Apply(op, (left, right)):
            return int(ELEMENTWISE[op](index, computed(left, names), computed(right, names)))
    raise AssertionError(expression)


@settings(deadline=None)
@given(expressions(), expressions(), NUMBERS, NUMBERS)
def test_numbers_and_conditions_are_those_of_every_value(left: Expr, right: Expr, n: int, m: int) -> None:
    names = {"n": n, "m": m}
    try:
        a, b = computed(left, names), computed(right, names)
    except Exception:  # a division by zero has no value
        return
    known = value(left)
    assert known is None or known == a
    apart = difference(left, right)
    assert apart is None or apart == a - b
    for op, holds in ((Op.CmpLt, a < b), (Op.CmpEq, a == b), (Op.CmpGe, a >= b)):
        found = decided(Binary(op, left, right))
        assert found is None or found is holds
    given_names = {name: Const(k) if k >= 0 else Unary(Op.Neg, Const(-k)) for name, k in names.items()}
    assert value(substituted(left, given_names)) in (a, None)


# Windows ----------------------------------------------------------------------------------------------------------

WHOLE = Declared("x", float32, (Const(8), Name("n"), Const(4)), DRAM).whole
SPANS = Index("x", (Span(Const(2), Const(6)), Name("i"), Span(None, Const(3))))


def test_all_of_an_array() -> None:
    assert WHOLE.texts == (":", ":", ":")
    assert WHOLE.sizes == (Const(8), Name("n"), Const(4))
    assert [WHOLE.covers(k) for k in range(3)] == [True, True, True]
    assert WHOLE.at(Name("x")) is WHOLE


def test_a_window_of_a_window_names_what_was_declared() -> None:
    window = WHOLE.at(SPANS)
    assert window.texts == (":", "i", ":")
    assert [value(s) for s in window.sizes] == [4, 3]
    inner = window.at(Index("w", (Span(Const(1), None), Name("j"))))
    assert inner.texts == (":", "i", "j")
    assert inner.indices[0] == Span(Binary(Op.Add, Const(2), Const(1)), Const(6))
    assert [value(s) for s in inner.sizes] == [3]
    element = inner.at(Index("v", (Name("k"),)))
    assert element.texts == ("2 + 1 + k", "i", "j")
    assert element.sizes == ()
    ended = window.at(Index("w", (Span(Const(1), Const(2)), Span(None, Const(1)))))
    assert [value(s) for s in ended.sizes] == [1, 1]
    assert ended.indices[2] == Span(None, Const(1))


def test_which_intervals_are_all_of_a_dimension() -> None:
    def covers(k: int, *indices: Expr | Span) -> bool:
        return WHOLE.at(Index("x", indices)).covers(k)

    zero, full = Const(0), Span()
    assert covers(0, Span(zero, Const(8)), full, full)
    assert covers(0, Span(None, Const(8)), full, full)
    assert covers(0, Span(Binary(Op.Sub, Name("i"), Name("i")), None), full, full)
    assert covers(1, full, Span(zero, Name("n")), full)
    assert not covers(0, Span(Const(1), None), full, full)
    assert not covers(0, Span(zero, Const(7)), full, full)
    assert not covers(1, full, Span(zero, Name("m")), full)
    assert not covers(0, zero, full, full)


# Ids --------------------------------------------------------------------------------------------------------------


def test_every_id_has_a_twin() -> None:
    """Each condition of this law stands in a table of programs that keep it and programs that break it."""
    here = Path(__file__).parent
    told = "".join(path.read_text() for path in here.glob("test_static_*.py"))
    assert [rule for rule in STATIC_CONSTRAINTS if f'"{rule}"' not in told] == []
    assert [rule for rule in MEMORY_CONSTRAINTS if f'"{rule}"' not in told] == []


def test_every_id_is_raised_and_every_id_that_is_raised_has_a_sentence() -> None:
    spec = Path(__file__).parents[2] / "spec"
    raised = "".join(path.read_text() for path in spec.glob("spork/static/*.py") if path.stem != "conditions")
    assert [rule for rule in STATIC_CONSTRAINTS if f'"{rule}"' not in raised] == []
    named = set(re.findall(r'"((?:bar|mem|instr|static|dist)-[a-z-]+)"', raised))
    assert named <= set(SENTENCES)
