"""
Calls and barriers of a program
===============================

What a statement may name: references of the right sort, barriers with the right indices, and the arguments that a
callee declares. A callee that is only a name declares no arguments, and accepts any.
"""

from __future__ import annotations

from soundline.spec.dtypes import DType, bool_
from soundline.spec.spork.language.conditions import WORDS, refusal
from soundline.spec.spork.language.expressions import Expr, Index, Name, Span
from soundline.spec.spork.language.names import Barriers, DataName, Scope, array, check_index, look_up, typed
from soundline.spec.spork.language.nodes import SPELLING, Ref, Sort
from soundline.spec.spork.language.statements import (
    Arrive,
    Assign,
    Await,
    BarrierAt,
    Call,
    Reduce,
    Statement,
    statements,
)
from soundline.spec.spork.language.types import Argument, Data


def check_reference(reference: Ref, *sorts: Sort) -> None:
    """A reference is to an object of a sort that is wanted here."""
    if reference.sort not in sorts:
        given = f"{reference.name}, which is {_shown_sort(reference)}, not a {' or '.join(sorts)}"
        raise refusal("prog-reference", reference, given)
    if reference.name in WORDS:
        raise refusal("prog-reference", reference, f"{reference.name}, a word of the language")


def _shown_sort(reference: Ref) -> str:
    return f"of sort {reference.sort}" if reference.sort else "of no sort"


def check_barrier(barrier: BarrierAt, scope: Scope, *, multicast: bool) -> None:
    """A barrier is named with integers, or where it may be multicast with ``:``."""
    found = look_up(barrier.name, scope, barrier)
    if not isinstance(found, Barriers):
        raise refusal("prog-kind", barrier, f"{barrier.name}, which is not a barrier")
    for i in barrier.indices:
        if isinstance(i, Span):
            if not multicast or i.lo is not None or i.hi is not None:
                raise refusal("prog-barrier-index", i, "an interval")
        else:
            check_index(i, scope)
    if found.rank is not None and len(barrier.indices) != found.rank:
        raise refusal("prog-rank", barrier, f"{len(barrier.indices)} for {found.rank} dimensions")


def check_arrive(arrive: Arrive, scope: Scope) -> None:
    """An Arrive, or a ReverseArrive."""
    check_reference(arrive.first, "timeline")
    names = {barrier.name for barrier in arrive.barriers}
    if len(names) != 1:
        raise refusal("prog-arrive", arrive, f"barriers of {len(names)} arrays")
    if type(arrive.n) is not int or arrive.n != 1:
        raise refusal("prog-arrive", arrive, f"N = {arrive.n}")
    for barrier in arrive.barriers:
        check_barrier(barrier, scope, multicast=True)


def check_await(await_: Await, scope: Scope) -> None:
    """An Await, or a ReverseAwait."""
    check_reference(await_.second, "timeline")
    if type(await_.n) is not int:
        raise refusal("prog-await", await_, f"N = {await_.n!r}")
    check_barrier(await_.barrier, scope, multicast=False)


def check_call(call: Call, scope: Scope, *, on_device: bool) -> None:
    """A call of a proc or an instruction."""
    check_reference(call.callee, "proc", "instruction")
    if call.callee.sort == "proc":
        if on_device:
            raise refusal("prog-cpu-only", call, f"a call of {call.callee.name} on the device")
        if call.trailing:
            raise refusal("prog-trailing", call.trailing[0], f"one after the proc {call.callee.name}")
    for barrier in call.trailing:
        check_barrier(barrier, scope, multicast=True)
    given = [(None, value) for value in call.arguments] + list(call.keywords)
    declared = getattr(call.callee.value, "arguments", None)
    if declared is None:
        for _, value in given:
            _check_free(value, scope)
        return
    for argument, value in _matched(call, tuple(declared)):
        _check_given(argument, value, scope, call)


def _matched(call: Call, declared: tuple[Argument, ...]) -> list[tuple[Argument, Expr]]:
    """Every argument that the callee declares, with what it is given."""
    if len(call.arguments) > len(declared):
        raise refusal("prog-call", call, f"{len(call.arguments)} arguments for {len(declared)}")
    found = {argument.name: value for argument, value in zip(declared, call.arguments, strict=False)}
    names = {argument.name for argument in declared}
    for name, value in call.keywords:
        if name not in names or name in found:
            raise refusal(
                "prog-call", call, f"{name} " + ("twice" if name in found else "that is not declared")
            )
        found[name] = value
    missing = sorted(names - set(found))
    if missing:
        raise refusal("prog-call", call, f"nothing for {', '.join(missing)}")
    return [(argument, found[argument.name]) for argument in declared]


def _check_free(value: Expr, scope: Scope) -> None:
    """An argument of which nothing is declared: a scalar, a window, or all of an array."""
    if isinstance(value, Name) and isinstance(scope.get(value.name), DataName):
        return
    if isinstance(value, Index) and value.is_window:
        array(value, scope)
    else:
        typed(value, scope)


def _check_given(argument: Argument, value: Expr, scope: Scope, call: Call) -> None:
    """An argument is of the type that is declared for it."""
    wanted = argument.type
    if isinstance(wanted, Data):
        dtype, rank = _data(value, scope)
        fits = (dtype is wanted.dtype or dtype is None) and rank == len(wanted.sizes)
        if not fits:
            raise refusal("prog-call", value, f"{_shown(dtype, rank)} for {argument.name}: {_of(wanted)}")
        place = isinstance(value, Name | Index) and dtype is not None
        if not place and _written(call.callee.value, argument.name):
            raise refusal("prog-call", value, f"a value for {argument.name}, which {call.callee.name} writes")
        return
    found = typed(value, scope)
    if not found.control or (found.dtype is bool_) != (wanted.name == "bool") or found.dtype is float:
        raise refusal("prog-call", value, f"no {wanted.name} for {argument.name}")


def _data(value: Expr, scope: Scope) -> tuple[DType | None, int]:
    """Dtype and rank of data that is given; no dtype for a literal."""
    if isinstance(value, Name) and isinstance(found := look_up(value.name, scope, value), DataName):
        return found.dtype, found.rank
    if isinstance(value, Index):
        rank = sum(isinstance(i, Span) for i in value.indices)
        return array(value, scope).dtype, rank
    dtype = typed(value, scope).dtype
    return (dtype, 0) if isinstance(dtype, DType) else (None, 0)


def _written(callee: object, name: str) -> bool:
    """Whether a proc or an instruction assigns or reduces one of its arguments."""
    body: tuple[Statement, ...] = getattr(callee, "body", ())
    return any(isinstance(s, Assign | Reduce) and s.place.name == name for s in statements(body))


def _of(type_: Data) -> str:
    return _shown(type_.dtype, len(type_.sizes))


def _shown(dtype: DType | None, rank: int) -> str:
    return f"{SPELLING.get(dtype, dtype.name) if dtype else 'a literal'} of rank {rank}"
