"""
Programs as text
================

A graph of UOps in the textual form as a function on Tensors: its Params, and the Buffers that it reads, are the
parameters, in the order of their slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from soundline.impl.executables.signatures import Signature
from soundline.impl.tensors.tensor import Tensor
from soundline.spec.errors import TextError, UsageError
from soundline.spec.ops.bodies import own_nodes
from soundline.spec.ops.table.parsing import parse
from soundline.spec.uop import Op, UOp, substitute
from soundline.verify.files.problems import displayed

_LOWERED = (Op.Linear, Op.Sink, Op.Store, Op.End)


def function_of(path: str) -> tuple[Callable[..., Any], list[Signature]]:
    """The function that a file says, and what it takes. Raises ``UsageError`` where the file says none."""
    try:
        roots = parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{displayed(path)} cannot be read: {error}") from None
    except TextError as error:
        line = f":{error.line}" if error.line else ""
        raise UsageError(
            f"{displayed(path)}{line}: {error.message}", hint=error.hint or "correct it"
        ) from None
    results = _results(roots)
    if not results or any(r.op in _LOWERED or r.shape is None for r in results):
        raise UsageError(
            f"{displayed(path)} is not a graph of tensors",
            hint="what `soundline compile --stage callify` prints is one",
        )
    leaves = _leaves(results)
    signatures = [_signature(leaf, path) for leaf in leaves]

    def function(*arguments: Tensor) -> Any:
        given = {leaf: argument.uop for leaf, argument in zip(leaves, arguments, strict=True)}
        found = tuple(Tensor.of(u) for u in substitute(Op.Tuple(*results), given).src)
        return found[0] if len(found) == 1 else found

    return function, signatures


def _results(roots: Sequence[UOp]) -> list[UOp]:
    found: list[UOp] = []
    for root in roots:
        if root.op is Op.Function and root.src[0].op is Op.Tuple:
            found += (Op.GetTuple(root, arg=k) for k in range(len(root.src[0].src)))
        else:
            found += root.src if root.op is Op.Tuple else (root,)
    return found


def _leaves(results: Sequence[UOp]) -> list[UOp]:
    """The Params and Buffers of a graph, by slot; Params come first."""
    found = [n for n in own_nodes(*results) if n.op in (Op.Param, Op.Buffer)]
    return sorted(found, key=lambda n: (n.op is Op.Buffer, n.arg.slot))


def _signature(leaf: UOp, path: str) -> Signature:
    shape = leaf.shape or ()
    if not all(isinstance(s, int) for s in shape):
        raise UsageError(f"{displayed(path)}: Param {leaf.arg.slot} has sizes that are not numbers")
    return Signature(leaf.dtype, tuple(s for s in shape if isinstance(s, int)))
