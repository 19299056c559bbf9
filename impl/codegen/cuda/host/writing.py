"""
What a proc writes
==================

Which arguments of data a proc writes, by itself, in what it calls, or on the device: all others are const in C.
"""

from __future__ import annotations

from collections.abc import Mapping

from soundline.spec.spork.language.expressions import Index, Name
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import Assign, Call, Reduce, Statement, WindowOf, bodies
from soundline.spec.spork.language.types import Data
from soundline.spec.spork.library.schema import Instruction
from soundline.spec.spork.static.calls import given_to


def written(proc: Proc) -> frozenset[str]:
    """The arguments of data that a proc may write."""
    roots = {a.name: a.name for a in proc.arguments if isinstance(a.type, Data)}
    return frozenset(_in_block(proc.body, roots)) & roots.keys()


def _in_block(body: tuple[Statement, ...], around: Mapping[str, str]) -> set[str]:
    """The names of a block's surroundings that it writes; `around` leads from windows to what they are of."""
    roots, found = dict(around), set[str]()
    for statement in body:
        match statement:
            case WindowOf(name, window):
                roots[name] = roots.get(window.name, window.name)
            case Assign(place) | Reduce(place):
                found.add(roots.get(place.name, place.name))
            case Call():
                changed = _written_by(statement)
                for argument, given in given_to(statement):
                    if argument.name in changed and isinstance(given, Name | Index):
                        found.add(roots.get(given.name, given.name))
            case _:
                for inner in bodies(statement):
                    found |= _in_block(inner, roots)
    return found


def _written_by(call: Call) -> frozenset[str]:
    callee = call.callee.value
    return callee.written if isinstance(callee, Instruction) else written(callee)
