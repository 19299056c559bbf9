"""
The table of adjoints
=====================

One entry for every op: what its sources receive in reverse mode, or why they receive nothing, or why a derivative that
reaches it is an error. Ids are ``uop-mul-adjoint`` and the like. The chapter `gradients` composes the entries.
"""

from __future__ import annotations

from soundline.spec.gradients.elementwise import ELEMENTWISE
from soundline.spec.gradients.schema import Adjoint, Nothing, Passes, Refused, Through
from soundline.spec.gradients.tensor import TENSOR
from soundline.spec.ops.node import Op

__all__ = ["ADJOINTS", "Adjoint", "Nothing", "Passes", "Refused", "Through"]

_LEAF = "nothing: a leaf of the program"
_WHOLE = "nothing: the value is a whole number or a truth value, which does not move with its operands"
_VOID = "nothing: it has no value"

_NOTHING: dict[Op, Nothing] = {
    Op.Param: Nothing("nothing: a leaf, by which gradients are taken; its source is a shape"),
    **dict.fromkeys((Op.Buffer, Op.Const, Op.Binary, Op.BinaryCode, Op.Source), Nothing(_LEAF)),
    **dict.fromkeys((Op.Range, Op.Special), Nothing("nothing: a loop index is a whole number")),
    Op.Detach: Nothing("nothing: that is its meaning"),
    Op.Trunc: Nothing("nothing: its derivative is 0 wherever it has one"),
    **dict.fromkeys(
        (Op.CmpLt, Op.CmpNe, Op.CmpGt, Op.CmpGe, Op.CmpLe, Op.CmpEq, Op.Not, Op.Xor, Op.Or, Op.And),
        Nothing(_WHOLE),
    ),
    **dict.fromkeys((Op.Mod, Op.Idiv, Op.CDiv, Op.CMod, Op.Shr, Op.Shl, Op.Threefry), Nothing(_WHOLE)),
    **dict.fromkeys(
        (Op.Store, Op.AtomicAdd, Op.End, Op.Group, Op.Sink, Op.Linear, Op.Barrier, Op.If, Op.Endif),
        Nothing(_VOID),
    ),
    **dict.fromkeys((Op.Ins, Op.Custom, Op.CustomFunction, Op.Program), Nothing(_VOID)),
}

_THROUGH: dict[Op, Through] = {
    Op.Function: Through(
        "to argument k, for each element that a GetTuple takes: an element of a Function, whose body is the gradient "
        "of the element with respect to Param k and whose arguments are those of the Function and g"
    ),
    Op.Tuple: Through("to source k: the adjoint of its GetTuple of k"),
    Op.GetTuple: Through("of a Tuple: g, to the element. Of a Function: through its body"),
}

_REFUSED: dict[Op, Refused] = {
    Op.Call: Refused(
        "an error: a Call is opaque. Of a CustomFunction whose adjoint is given: what that says"
    ),
    Op.Wmma: Refused("an error: fragments are made after gradients are taken"),
}

ADJOINTS: dict[Op, Adjoint] = {**_NOTHING, **_THROUGH, **_REFUSED, **ELEMENTWISE, **TENSOR}
"""The adjoint of every op."""

CHAPTERS: tuple[dict[Op, Nothing] | dict[Op, Through] | dict[Op, Refused] | dict[Op, Passes], ...] = (
    _NOTHING,
    _THROUGH,
    _REFUSED,
    ELEMENTWISE,
    TENSOR,
)
"""The same, as the parts of which no two name one op."""
