"""Substitution of functions on random programs: the value and the properties of the call, without capture (U-31)."""

from __future__ import annotations

from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st

from soundline.spec.errors import EvaluationError
from soundline.spec.evaluate import evaluate
from soundline.spec.evaluation.functions import alpha_equal, inlined, is_substitutable, substitute_function
from soundline.spec.ops import bodies
from soundline.spec.ops.node import RangeArg
from soundline.spec.ops.table import Op
from soundline.spec.uop import UOp, substitute, toposort

from .function_programs import MEMORY, programs

OFTEN = settings(max_examples=80, deadline=None)


@OFTEN
@given(programs())
def test_a_program_without_its_functions_has_its_value(program: UOp) -> None:
    flat = inlined(program)
    assert not any(n.op in (Op.Function, Op.GetTuple, Op.Param) for n in bodies.own_nodes(flat))
    assert (flat.dtype, flat.shape, flat.device, flat.axis) == (
        program.dtype,
        program.shape,
        program.device,
        program.axis,
    )
    try:
        value = evaluate(program, buffers=MEMORY)
    except EvaluationError:
        assume(False)  # what evaluation asks of an argument, the body may not need
    assert evaluate(flat, buffers=MEMORY) == value


@OFTEN
@given(programs())
def test_one_call_after_the_other_leads_to_the_same(program: UOp) -> None:
    """Substituting the outermost call first, and what is left after, gives the same up to names of loops."""
    calls = [n for n in bodies.own_nodes(program) if is_substitutable(n)]
    assume(calls)
    outermost = calls[-1]
    once = substitute(program, {outermost: substitute_function(outermost)})
    assert evaluate_or_none(inlined(once)) == evaluate_or_none(inlined(program))
    assert alpha_equal(inlined(once), inlined(program))


def evaluate_or_none(program: UOp) -> object:
    try:
        return evaluate(program, buffers=MEMORY)
    except EvaluationError:
        return None


@OFTEN
@given(st.data(), programs())
def test_names_of_loops_do_not_matter(data: st.DataObject, program: UOp) -> None:
    """Every loop that is closed gets a new id of its own: the program is alpha-equal, and has the value."""
    flat = inlined(program)
    loops = [n for n in toposort(flat) if n.op is Op.Range]
    numbers = data.draw(st.permutations(range(50, 50 + len(loops))))
    renamed = flat
    for number in numbers:
        old = next((n for n in toposort(renamed) if n.op is Op.Range and n.arg.id < 50), None)
        if old is None:
            break
        renamed = substitute(renamed, {old: UOp(Op.Range, old.src, RangeArg(number, old.arg.type))})
    assert alpha_equal(flat, renamed)
    assert evaluate_or_none(renamed) == evaluate_or_none(flat)


@OFTEN
@given(st.data(), programs())
def test_what_is_alpha_equal_has_one_value(data: st.DataObject, program: UOp) -> None:
    """One loop gets an id that others have: where it stays alpha-equal nothing was captured."""
    flat = inlined(program)
    loops = [n for n in toposort(flat) if n.op is Op.Range]
    assume(loops)
    old = data.draw(st.sampled_from(loops))
    number = data.draw(st.sampled_from(sorted({n.arg.id for n in loops})))
    other = substitute(flat, {old: UOp(Op.Range, old.src, RangeArg(number, old.arg.type))})
    assert alpha_equal(flat, other) == alpha_equal(other, flat)
    if alpha_equal(flat, other):
        assert evaluate_or_none(flat) == evaluate_or_none(other)


def naive(body: UOp, replacements: dict[UOp, UOp]) -> UOp:
    """Substitution that enters no nested body, and renames nothing."""
    new: dict[UOp, UOp] = {}
    for node in bodies.own_nodes(body):
        inside = node.src[: len(node.src) - len(bodies.own_sources(node))]
        sources = (*inside, *(new[s] for s in bodies.own_sources(node)))
        new[node] = replacements.get(node) or UOp(node.op, sources, node.arg)
    return new[body]


def is_captured(call: UOp) -> bool:
    """Whether naive substitution of a call gives another program."""
    if not is_substitutable(call) or call.src[0].op is Op.Tuple:
        return False
    body, arguments = call.src[0].src[0].src[call.arg], call.src[0].src[1:]
    made = naive(body, {p: arguments[p.arg.slot] for p in bodies.params(body)})
    return not alpha_equal(made, substitute_function(call))


def test_the_programs_meet_capture() -> None:
    """The strategy draws programs on which substitution without renaming is wrong."""

    def somewhere(program: UOp) -> bool:
        return any(is_captured(n) for n in bodies.own_nodes(program))

    settled = settings(max_examples=20_000, deadline=None, database=None, phases=[Phase.generate])
    assert somewhere(find(programs(), somewhere, settings=settled))
