"""The translations to Z3 against the law: on constants, every term has the value of the law's own scalar function."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest
import z3

from soundline.spec.dtypes import (
    all_dtypes,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    floats,
    from_bits,
    index,
    int8,
    int16,
    int32,
    int64,
    ints,
    round_to,
    same_value,
    to_bits,
    uint8,
    uint16,
    uint32,
    uint64,
)
from soundline.spec.errors import IllFormed
from soundline.spec.evaluate import evaluate
from soundline.spec.ops.node import Op
from soundline.spec.uop import UOp, const, param
from soundline.spec.values.elementwise import ELEMENTWISE, bitcast, scalar
from soundline.verify.judging.judge import equivalent
from soundline.verify.smt.counterexamples import exhaustive
from soundline.verify.smt.counterexamples.minimal import BOXES
from soundline.verify.smt.goals.algebra import BOOL_LAWS, Outside
from soundline.verify.smt.goals.obligations import Obligation, may_wrap
from soundline.verify.smt.goals.points import Points, overflows
from soundline.verify.smt.goals.sampling import LIST_LENGTH, directed, points
from soundline.verify.smt.integers.division import reflected, shifted, unique
from soundline.verify.smt.integers.laws import EXACT, INTEGER_LAWS
from soundline.verify.smt.integers.residue_classes import Integers
from soundline.verify.smt.integers.terms import Quotient
from soundline.verify.smt.values.algebras import SMT, UNINTERPRETED
from soundline.verify.smt.values.bit_vectors import BIT_LAWS
from soundline.verify.smt.values.ieee import COMMUTATIVE, FLOAT_LAWS, ODD
from soundline.verify.smt.values.machine_numbers import Machine
from soundline.verify.smt.values.reals import RATIONAL, REAL_LAWS, Reals

from ..representative import one_in  # noqa: TID252

ARITY = {Op.Where: 3, Op.Mulacc: 3}
UNARY = (Op.Recip, Op.Trunc, Op.Neg, Op.Not, Op.Sqrt)
CASTS = [(s, t) for s in all_dtypes for t in all_dtypes if (s is not index or not t.is_float)]


def node_of(op, dtype, target=None, constants=()):
    """A node of this op over Params of its operand dtype; some operands may be given as constants."""
    count = ARITY.get(op, 1 if op in (*UNARY, Op.Cast, Op.Bitcast) else 2)
    leaves = [param(k, dtype) for k in range(count)]
    if op is Op.Where:
        leaves[0] = param(0, bool_)
    for k, value in dict(constants).items():
        leaves[k] = const(value, leaves[k].dtype)
    return UOp(op, tuple(leaves), target)


def well_formed(op, dtype):
    try:
        node_of(op, dtype)
    except IllFormed:
        return False
    return True


def obligation_for(node, fits=()):
    variables = {f"v{n.arg.slot}": n for n in node.src if n.op is Op.Param}
    return Obligation("", variables, frozenset(), (), tuple(fits), node, node)


def tuples(node, count, seed=1):
    """Operand tuples: all combinations of directed values that are wanted, and random bit patterns."""
    dtypes = [n.dtype for n in node.src]
    lists = [directed(d, 24 if len(dtypes) < 3 else 7) for d in dtypes]
    chosen = list(product(*lists))
    source = random.Random(seed)
    source.shuffle(chosen)
    chosen = chosen[:count]
    for _ in range(count // 2):
        chosen.append(tuple(_random(source, d) for d in dtypes))
    return chosen


def _random(source, dtype):
    if dtype is bool_:
        return source.random() < 0.5
    if dtype is index:
        return source.randrange(-(10**6), 10**6)
    return from_bits(dtype, source.getrandbits(dtype.bits))


def expected(node, operands):
    if node.op is Op.Bitcast:
        return bitcast(node.src[0].dtype, operands[0], node.arg)
    dtype = node.src[1].dtype if node.op is Op.Where else node.src[0].dtype
    return scalar(node.op, dtype, *operands, arg=node.arg)


def machine_value(algebra, node, operands):
    """What the translation makes of constants: literals put in place of the variables, and simplified."""
    term = algebra.term(node)
    pairs = []
    for leaf, value in zip(node.src, operands, strict=True):
        variable = algebra.value(leaf)
        if leaf.dtype is float8_e4m3fn:
            code = z3.BitVec(f"v{leaf.arg.slot}", 8, algebra.ctx)
            pairs.append((code, z3.BitVecVal(to_bits(leaf.dtype, value), 8, algebra.ctx)))
        else:
            pairs.append((variable, algebra.constant(leaf.dtype, value)))
    return z3.simplify(z3.substitute(term, *pairs))


def as_element(algebra, dtype, term):
    if dtype is bool_:
        assert z3.is_true(term) or z3.is_false(term), term
        return z3.is_true(term)
    if dtype.is_float:
        assert z3.is_fp_value(term), term
        if z3.is_true(z3.simplify(z3.fpIsNaN(term, algebra.ctx))):
            return math.nan
        held = float32 if dtype is float8_e4m3fn else dtype
        return from_bits(held, z3.simplify(z3.fpToIEEEBV(term, algebra.ctx)).as_long())
    assert z3.is_bv_value(term), term
    return term.as_signed_long() if dtype.signed else term.as_long()


def hold_machine_to_spec(node, count):
    algebra = Machine(obligation_for(node))
    for operands in tuples(node, count):
        found = as_element(algebra, node.dtype, machine_value(algebra, node, operands))
        wanted = expected(node, operands)
        assert same_value(node.dtype, found, wanted), (node, operands, found, wanted)


MACHINE_OPS = [
    (op, dtype)
    for dtype in (*ints, *floats, bool_)
    for op in (BOOL_LAWS if dtype is bool_ else BIT_LAWS if dtype.is_int else FLOAT_LAWS)
    if op is not Op.Cast and op not in UNINTERPRETED and well_formed(op, dtype)
]


@pytest.mark.parametrize("dtype", one_in(3, [*ints, *floats, bool_]), ids=str)
def test_bit_vectors_and_floats_are_the_law(dtype):
    ops = [op for op, d in MACHINE_OPS if d is dtype]
    assert len(ops) >= 13
    for op in ops:
        hold_machine_to_spec(node_of(op, dtype), 400 if dtype.bits == 8 else 200)


@pytest.mark.parametrize("source", all_dtypes, ids=str)
def test_casts_are_the_law(source):
    done = 0
    for target in [t for s, t in CASTS if s is source]:
        if index in (source, target) or (source, target) == (float64, float8_e4m3fn):
            continue
        hold_machine_to_spec(node_of(Op.Cast, source, target), 50)
        done += 1
    assert done >= 14 or source is index


def test_a_cast_that_would_round_twice_is_outside():
    node = node_of(Op.Cast, float64, float8_e4m3fn)
    with pytest.raises(Outside, match="float64"):
        Machine(obligation_for(node)).term(node)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (float32, int32),
        (int32, float32),
        (float16, uint16),
        (uint16, bfloat16),
        (int64, float64),
        (uint8, int8),
        (float8_e5m2, int8),
        (float64, uint64),
    ],
    ids=str,
)
def test_bitcasts_are_the_law(source, target):
    hold_machine_to_spec(node_of(Op.Bitcast, source, target), 60)


def test_every_element_of_e4m3fn_is_read_from_its_bits():
    node = node_of(Op.Cast, float8_e4m3fn, float32)
    algebra = Machine(obligation_for(node))
    for value in exhaustive.elements(float8_e4m3fn):
        found = as_element(algebra, float32, machine_value(algebra, node, (value,)))
        assert same_value(float32, found, value)


def test_what_is_kept_of_forgotten_arithmetic_is_true():
    """Commutative ops commute and odd ops are odd, on all pairs of fp8 values and some of float32."""
    pairs = [
        (d, a, b)
        for d in (float8_e4m3fn, float8_e5m2)
        for a in exhaustive.elements(d)
        for b in exhaustive.elements(d)
    ]
    pairs += [(float32, a, b) for a, b in product(directed(float32, 40), repeat=2)]
    for dtype, a, b in pairs[::3]:
        for op in COMMUTATIVE:
            assert same_value(dtype, scalar(op, dtype, a, b), scalar(op, dtype, b, a))
        for op in ODD:
            if op is Op.Sin and dtype is not float32:
                continue
            operands = (a,) if op in (Op.Recip, Op.Sin) else (a, b)
            for k in range(len(operands)):
                flipped = [-x if n == k else x for n, x in enumerate(operands)]
                assert same_value(dtype, scalar(op, dtype, *flipped), -scalar(op, dtype, *operands))


# Integers ---------------------------------------------------------------------------------------------------------


def hold_integers_to_spec(node, count):
    """The facts leave the term exactly one value, and it is the law's."""
    algebra = Integers(obligation_for(node))
    algebra.term(node)
    term = algebra.value(node)
    leaves = [(k, n) for k, n in enumerate(node.src) if n.op is Op.Param]
    solver = z3.SimpleSolver(ctx=algebra.ctx)
    solver.add(*algebra.facts)
    for operands in tuples(node, count):
        operands = [n.arg.value if n.op is Op.Const else x for n, x in zip(node.src, operands, strict=True)]
        wanted = expected(node, operands)
        solver.push()
        solver.add(*(algebra.value(n) == operands[k] for k, n in leaves))
        assert solver.check() == z3.sat
        found = solver.model().eval(term, model_completion=True)
        found = z3.is_true(found) if node.dtype is bool_ else found.as_long()
        assert found == wanted, (node, operands, found, wanted)
        solver.add(term != wanted)
        assert solver.check() == z3.unsat
        solver.pop()


INTEGER_OPS = [op for op in INTEGER_LAWS if op not in (Op.Shl, Op.Shr, Op.And, Op.Cast, Op.Bitcast)]


@pytest.mark.parametrize("dtype", [index, int8, uint8, uint16, int64], ids=str)
def test_integers_are_the_law(dtype):
    for op in INTEGER_OPS:
        hold_integers_to_spec(node_of(op, dtype), 16)


@pytest.mark.parametrize("dtype", [index, int8, uint8, int32, uint64], ids=str)
def test_shifts_and_masks_by_constants_are_the_law(dtype):
    counts = (0, 1, 3, 7) if dtype is index else (0, 1, 3, dtype.bits - 1, dtype.bits, 100)
    for count in counts:
        hold_integers_to_spec(node_of(Op.Shl, dtype, None, {1: count}), 10)
        hold_integers_to_spec(node_of(Op.Shr, dtype, None, {1: count}), 10)
    if dtype is not index:
        for mask in (0, 1, 7, 127):
            hold_integers_to_spec(node_of(Op.And, dtype, None, {1: mask}), 10)
            hold_integers_to_spec(node_of(Op.And, dtype, None, {0: mask}), 10)
    if dtype is uint8:
        hold_integers_to_spec(node_of(Op.And, dtype, None, {1: 255}), 10)


def test_masks_that_are_no_remainder_are_outside():
    for dtype, mask in ((int8, -1), (int8, 5), (uint8, 254)):
        node = node_of(Op.And, dtype, None, {1: mask})
        with pytest.raises(Outside):
            Integers(obligation_for(node)).term(node)


def test_integer_casts_are_the_law():
    whole = (index, int8, uint8, int16, uint32, int64, uint64)
    for source, target in product(whole, (*whole, bool_)):
        hold_integers_to_spec(node_of(Op.Cast, source, target), 8)
    for target in whole:
        hold_integers_to_spec(node_of(Op.Cast, bool_, target), 2)


# Wrapping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [int8, uint8, int16], ids=str)
def test_shifts_by_variables_fit_where_they_do_not_wrap(dtype):
    node = node_of(Op.Shl, dtype)
    machine = Machine(obligation_for(node, fits=[node]))
    machine.term(node)
    condition = machine.no_wrap(node)
    values = [v for v in directed(dtype, 60) if abs(v) < 200]
    for a, count in product(values, (0, 1, 6, dtype.bits - 1, dtype.bits, dtype.bits + 3, int(dtype.max))):
        wraps = overflows(Op.Shl, dtype, (a, count), 0)
        pairs = [
            (machine.value(n), machine.constant(dtype, x)) for n, x in zip(node.src, (a, count), strict=True)
        ]
        held = z3.simplify(z3.substitute(condition, *pairs))
        assert (z3.is_true(held), z3.is_false(held)) == (not wraps, wraps), (a, count)


@pytest.mark.parametrize("dtype", [int8, uint8, int16], ids=str)
def test_fits_is_that_no_operation_wraps(dtype):
    """Both algebras and the law by exact arithmetic agree on where an operation wraps."""
    target = {int8: uint8, uint8: int8, int16: int8}[dtype]
    for op in EXACT:
        node = node_of(op, dtype, target if op is Op.Cast else None, {1: 3} if op is Op.Shl else {})
        assert may_wrap(node)
        machine = Machine(obligation_for(node, fits=[node]))
        machine.term(node)
        condition = machine.no_wrap(node)
        integers = Integers(obligation_for(node, fits=[node]))
        solver = z3.SimpleSolver(ctx=integers.ctx)
        solver.add(*integers.premises(), *integers.facts)
        tried = 0
        for operands in tuples(node, 60):
            operands = [
                n.arg.value if n.op is Op.Const else x for n, x in zip(node.src, operands, strict=True)
            ]
            wraps = overflows(op, node.dtype, operands, expected(node, operands))
            pairs = [
                (machine.value(n), machine.constant(n.dtype, x))
                for n, x in zip(node.src, operands, strict=True)
                if n.op is Op.Param
            ]
            held = z3.simplify(z3.substitute(condition, *pairs))
            assert (z3.is_true(held), z3.is_false(held)) == (not wraps, wraps), (node, operands)
            if tried % 3 == 0 or wraps:
                solver.push()
                bound = zip(node.src, operands, strict=True)
                solver.add(*(integers.value(n) == x for n, x in bound if n.op is Op.Param))
                assert (solver.check() == z3.sat) is not wraps, (node, operands)
                solver.pop()


@pytest.mark.parametrize(
    ("op", "operands", "wraps"),
    [
        (Op.Add, (127, 1), True),
        (Op.Add, (127, 0), False),
        (Op.Sub, (-128, 1), True),
        (Op.Neg, (-128,), True),
        (Op.Idiv, (-128, -1), True),
        (Op.Idiv, (-128, 0), False),
        (Op.Shl, (1, 7), True),
        (Op.Shl, (-1, 7), False),
        (Op.Shl, (0, 9), False),
        (Op.Shl, (1, 8), True),
        (Op.Mulacc, (64, 2, -128), True),
        (Op.Mulacc, (63, 2, 1), False),
    ],
    ids=str,
)
def test_where_int8_wraps(op, operands, wraps):
    assert overflows(op, int8, operands, scalar(op, int8, *operands)) is wraps


# Lemmas -----------------------------------------------------------------------------------------------------------


def test_the_lemmas_of_division_hold_of_all_small_numbers():
    """Each instance, with numbers for its terms, is true: a lemma that were not sound would prove wrong rules."""
    number = z3.IntVal
    for a, b in product(range(-7, 8), range(-3, 4)):
        q, r = scalar(Op.Idiv, index, a, b), scalar(Op.Mod, index, a, b)
        one = Quotient(number(a), number(b), number(q), number(r))
        for k in range(-3, 4):
            assert z3.is_true(z3.simplify(unique(one, number(k)))), (a, b, k)
            for y in (a - k * b, a - k * b + 1):
                held = (scalar(Op.Idiv, index, y, b), scalar(Op.Mod, index, y, b))
                lemma = shifted(one, number(held[0]), number(held[1]), number(k), number(y))
                assert z3.is_true(z3.simplify(lemma)), (a, b, k, y)
            for y in (b - 1 + k * b - a, b + k * b - a):
                other = Quotient(
                    number(y),
                    number(b),
                    number(scalar(Op.Idiv, index, y, b)),
                    number(scalar(Op.Mod, index, y, b)),
                )
                assert z3.is_true(z3.simplify(reflected(one, other, number(k)))), (a, b, k, y)


def test_the_lemmas_say_something():
    """A wrong quotient contradicts each lemma where its premise holds."""
    number = z3.IntVal
    wrong = Quotient(number(7), number(2), number(9), number(1))
    other = Quotient(number(-6), number(2), number(-3), number(0))
    assert z3.is_false(z3.simplify(unique(wrong, number(3))))
    assert z3.is_false(z3.simplify(shifted(wrong, number(0), number(1), number(3), number(1))))
    assert z3.is_false(z3.simplify(reflected(wrong, other, number(0))))


# Reals ------------------------------------------------------------------------------------------------------------


def test_reals_compute_with_fractions():
    for op in RATIONAL:
        if op not in REAL_LAWS or op is Op.Cast:
            continue
        node = node_of(op, float32)
        algebra = Reals(obligation_for(node))
        term = algebra.term(node)
        for operands in product((-3.0, -0.5, 0.0, 0.25, 2.0), repeat=len(node.src)):
            exact = [
                bool(x) if n.dtype is bool_ else Fraction(x) for n, x in zip(node.src, operands, strict=True)
            ]
            wanted = RATIONAL[op](float32, *exact)
            literals = [z3.BoolVal(x, algebra.ctx) if isinstance(x, bool) else algebra.real(x) for x in exact]
            pairs = list(zip((algebra.value(n) for n in node.src), literals, strict=True))
            defined = z3.simplify(z3.substitute(algebra.defined(node), *pairs))
            assert z3.is_true(defined) is (wanted is not None), (op, operands)
            if wanted is not None:
                found = z3.simplify(z3.substitute(term, *pairs))
                found = z3.is_true(found) if node.dtype is bool_ else Fraction(str(found))
                assert found == wanted, (op, operands)


# Points and tables ------------------------------------------------------------------------------------------------


def test_points_are_the_evaluator():
    x, y, p = param(0, int16), param(1, int16), param(2, bool_)
    left = Op.Where(p, Op.Idiv(Op.Add(x, y), y), Op.Cast(Op.Cast(x, arg=int8), arg=int16))
    right = Op.Max(Op.Mod(x, y), Op.Shl(x, const(3, int16)))
    obligation = Obligation("", {"x": x, "y": y, "p": p}, frozenset(), (), (), left, right)
    trial = Points(obligation)
    for point in list(points(obligation, 0))[::7]:
        bound = dict(enumerate(point))
        assert trial.sides(point) == tuple(evaluate(side, bound).elements[0] for side in (left, right))


@pytest.mark.parametrize("dtype", [int8, uint8, float8_e4m3fn, float8_e5m2, bool_], ids=str)
def test_tables_are_the_law(dtype):
    source = random.Random(2)
    values = exhaustive.elements(dtype)
    for op in [o for o in ELEMENTWISE if well_formed(o, dtype) and o not in (Op.Cast, Op.Where, Op.Mulacc)]:
        node = node_of(op, dtype)
        for _ in range(40):
            operands = [source.choice(values) for _ in node.src]
            codes = tuple(to_bits(dtype, x) for x in operands)
            found = from_bits(node.dtype, int(exhaustive.table(op, dtype, None)[codes]))
            assert same_value(node.dtype, found, expected(node, operands)), (op, operands)


def test_all_elements_of_a_format_are_tried_once():
    assert len(exhaustive.elements(int8)) == 256
    assert len(exhaustive.elements(float8_e4m3fn)) == 255, "two patterns are NaN"
    assert len(exhaustive.elements(float8_e5m2)) == 251, "six patterns are NaN"
    assert exhaustive.elements(int8)[:4] == (0, 1, -1, 2)
    assert len(exhaustive.elements(float16)) == 65536 - 2 * 1023 + 1
    assert exhaustive.elements(bool_) == (False, True)


@pytest.mark.parametrize("dtype", [int8, int32, float8_e5m2, float64], ids=str)
def test_an_obligation_without_variables_has_one_point(dtype):
    one, two, three = (const(n, dtype) for n in (1, 2, 3))
    never = (Op.CmpLt(two, one),)
    for right, hypotheses, applies, failing in (
        (three, (), True, None),
        (two, (), True, ()),
        (two, never, False, None),
    ):
        obligation = Obligation("", {}, frozenset(), hypotheses, (), Op.Add(one, two), right)
        found = exhaustive.exhaust(obligation, exhaustive.MANY)
        assert found == exhaustive.Exhausted(1, applies, failing)


def test_programs_without_variables_are_judged():
    one, two = const(1, int8), const(2, int8)
    assert equivalent(Op.Add(one, one), two).verdict == "proved"
    refuted = equivalent(Op.Add(one, two), two)
    assert refuted.verdict == "refuted"
    assert (refuted.counterexample.bindings, refuted.counterexample.left) == ((), "3")


def test_directed_values_are_elements_and_ordered():
    for dtype in all_dtypes:
        values = directed(dtype, 60)
        assert len(values) == len({(type(v), str(v)) for v in values})
        assert values[0] in (0, False)
        for v in values:
            if dtype.is_float:
                assert same_value(dtype, round_to(dtype, v), v)
            elif dtype.is_int:
                assert dtype.min <= v <= dtype.max
    for dtype in (int32, int64, uint32):
        assert {dtype.min, dtype.max} <= set(directed(dtype, 24))
    assert any(math.isnan(v) for v in directed(bfloat16, 24))


def test_every_small_whole_point_is_tried_first():
    """What `minimal` takes as tried before it asks the solver for less."""
    for count, most in BOXES.items():
        for dtype in (int8, int32, index, uint8):
            values = directed(dtype, LIST_LENGTH[count])
            assert {n for n in range(-most, most + 1) if dtype.signed or n >= 0} <= set(values)


# The registry -----------------------------------------------------------------------------------------------------


def test_the_registry_names_every_op_that_has_a_law():
    laws = {int32: BIT_LAWS, float32: FLOAT_LAWS, bool_: BOOL_LAWS, index: INTEGER_LAWS}
    for op in ELEMENTWISE:
        assert op in SMT, f"{op.name} has a value and no translation"
        for dtype, known in laws.items():
            if op is not Op.Cast and well_formed(op, dtype):
                assert op in known, f"{op.name} has a value and no translation at {dtype}"
    assert SMT[Op.Idiv] == ("Int", "bit vectors")
    assert SMT[Op.Bitcast] == ("Int", "bit vectors", "IEEE")
    assert SMT[Op.Or] == ("bool", "bit vectors")
    assert set(UNINTERPRETED) == {Op.Exp2, Op.Log2, Op.Sin, Op.Pow, Op.Threefry}
    assert Op.Reduce not in SMT
