"""
What a program must satisfy
===========================

The conditions under which a program is well formed, by id, and the error that names the one that is broken. They ask
nothing of threads: what collectives, timelines and barriers demand is said in chapters of their own.
"""

from __future__ import annotations

from keyword import iskeyword

from soundline.spec.errors import ProgramError
from soundline.spec.spork.language.expressions import FUNCTIONS
from soundline.spec.spork.language.nodes import DTYPES, Node, Position

CONDITIONS: dict[str, str] = {
    "prog-syntax": "a statement or expression is one of the constructs of the language",
    "prog-identifier": "a name that a program defines is an identifier and not a word of the language",
    "prog-bound": (
        "a name that is used is an argument, iterator, allocation or window in scope, or a number of the "
        "surrounding Python when the program is parsed"
    ),
    "prog-fresh": "a name is not defined again in its scope",
    "prog-kind": "data is used as data and a barrier as a barrier, and only data is written",
    "prog-reference": (
        "a memory, barrier type, timeline, unit, proc or instruction is a Python object of that sort"
    ),
    "prog-rank": "an array has as many indices as dimensions",
    "prog-index": (
        "an index, bound or size is an integer expression of sizes, indices and numbers; no size is negative"
    ),
    "prog-window": (
        "a window or a whole array is used only as an argument of a call or on the right of a window "
        "definition"
    ),
    "prog-dtype": (
        "the operands of an operator have the same dtype, which the operator accepts; a written value "
        "has the dtype of its location"
    ),
    "prog-condition": "a condition is a bool expression of sizes, indices and numbers",
    "prog-literal": "a literal is True, False, or a finite number ≥ 0",
    "prog-body": "a block has at least one statement",
    "prog-assert": "assertions precede all other statements of the proc",
    "prog-threads-bounds": "a cuda_threads loop begins at the literal 0 and ends at a constant",
    "prog-device-nest": "the only statement of a CudaDeviceFunction is a cuda_tasks loop",
    "prog-tasks-place": "a cuda_tasks loop is the only statement of a CudaDeviceFunction or of a cuda_tasks loop",
    "prog-cpu-only": "CudaDeviceFunction, par and calls of procs are outside of every CudaDeviceFunction",
    "prog-device-only": "cuda_threads, CudaAsync and CudaWarps are inside a CudaDeviceFunction",
    "prog-async-nest": "a CudaAsync is not nested in another one",
    "prog-block-dim": "a CudaDeviceFunction has either a blockDim or a warp_config",
    "prog-device-number": (
        "blockDim, clusterDim, blocks_per_sm and numbers of warps and registers are positive integers"
    ),
    "prog-warp-config": "the names in a warp_config differ, and each name either gives up or takes registers",
    "prog-warps-range": "CudaWarps has a name, or 0 ≤ lo < hi, or both",
    "prog-warps-name": "the name of a CudaWarps is one of the warp_config",
    "prog-barrier-index": "an index of a barrier is an integer, or ':' in an arrive; no other interval",
    "prog-arrive": "an Arrive names one barrier, or several barriers of one array, and its N is 1",
    "prog-await": "the N of an Await is an integer literal",
    "prog-call": "a call gives each declared argument of the callee once, with its type and rank",
    "prog-trailing": "a trailing barrier follows the call of an instruction",
}
"""Every condition by its id."""

WORDS = frozenset(
    (
        *DTYPES,
        *FUNCTIONS,
        *("barrier", "seq", "par", "cuda_tasks", "cuda_threads"),
        *("CudaDeviceFunction", "CudaAsync", "CudaWarps", "CudaWarpConfig"),
        *("Fence", "Arrive", "Await", "ReverseArrive", "ReverseAwait"),
    )
)
"""The words of the language, which a program does not bind. ``size`` and ``index`` stand only where types do, so that
they may be names as well.
"""


def is_identifier(name: str) -> bool:
    """Whether a program may bind a name."""
    return name.isidentifier() and not iskeyword(name) and name not in WORDS


def refusal(rule: str, at: Node | Position | None, given: str, hint: str | None = None) -> ProgramError:
    """The error that a condition is broken at a place."""
    position = at.position if isinstance(at, Node) else at
    message = f"{CONDITIONS[rule]}; got: {given}"
    if position is None:
        return ProgramError(message, rule=rule, hint=hint)
    return ProgramError(
        message,
        rule=rule,
        file=position.file,
        line=position.line,
        column=position.column,
        excerpt=position.text,
        hint=hint,
    )
