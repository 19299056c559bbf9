"""
The entries
===========

The entry of every op, group by group as the source lists them. No op is defined anywhere else.
"""

from __future__ import annotations

from soundline.spec.ops.elementwise import (
    arithmetic,
    bitwise,
    comparison,
    conversion,
    division,
    functions,
    selection,
    shifts,
)
from soundline.spec.ops.movement import (
    bitcast,
    expand,
    flip,
    index,
    pad,
    permute,
    replicated,
    reshape,
    shrink,
    slices,
    stack,
)
from soundline.spec.ops.node import Op
from soundline.spec.ops.programs import (
    calls,
    effects,
    leaves,
    loops,
    machine_code,
    markers,
    memory,
    reduction,
    tensor_cores,
)
from soundline.spec.ops.schema import Entry, Group

ENTRIES: tuple[Entry, ...] = (
    # source
    *(leaves.PARAM, leaves.BUFFER, leaves.CONST, leaves.BINARY),
    # movement
    *(permute.PERMUTE, flip.FLIP, reshape.RESHAPE, expand.EXPAND, pad.PAD, shrink.SHRINK),
    *(index.INDEX, stack.STACK, replicated.REPLICATED, slices.SLICE, bitcast.BITCAST),
    # reduce
    reduction.REDUCE,
    # call
    *(calls.FUNCTION, calls.CALL, calls.TUPLE, calls.GET_TUPLE),
    # marker
    *(markers.CONTIGUOUS, markers.CONTIGUOUS_BACKWARD, markers.DETACH),
    # elementwise
    *(arithmetic.RECIP, conversion.TRUNC, conversion.CAST, arithmetic.ADD, arithmetic.MUL, selection.MAX),
    *(division.MOD, division.IDIV, comparison.LESS, comparison.UNEQUAL),
    *(bitwise.XOR, bitwise.OR, bitwise.AND, shifts.SHR, shifts.SHL, selection.WHERE),
    # decomposed
    *(arithmetic.NEG, arithmetic.SUB, arithmetic.DIV),
    *(comparison.GREATER, comparison.AT_LEAST, comparison.AT_MOST, comparison.EQUAL, bitwise.NOT),
    *(functions.EXP2, functions.LOG2, functions.SIN, functions.SQRT, functions.POW),
    *(arithmetic.MULACC, functions.THREEFRY),
    # load, store
    *(memory.LOAD, memory.STORE),
    # ordering
    *(loops.RANGE, loops.END, memory.AFTER, effects.GROUP, effects.SINK, effects.LINEAR),
    # codegen
    *(loops.BARRIER, machine_code.INS, loops.SPECIAL, effects.IF, effects.ENDIF, tensor_cores.WMMA),
    *(machine_code.CUSTOM, memory.ATOMIC_ADD, machine_code.CUSTOM_FUNCTION),
    *(machine_code.PROGRAM, machine_code.SOURCE, machine_code.BINARY_CODE, division.CDIV, division.CMOD),
)

TABLE: dict[Op, Entry] = {e.op: e for e in ENTRIES}


def group_of(*groups: Group) -> tuple[Op, ...]:
    """The ops of these groups, in table order."""
    return tuple(op for op, e in TABLE.items() if e.group in groups)


def constraint_text(constraint_id: str) -> str:
    """The sentence of a constraint id; raises ``KeyError`` for an id that no entry has."""
    return {c.id: c.text for e in TABLE.values() for c in e.constraints}[constraint_id]
