"""
Layers of a rule
================

At which layers a rule is to be judged: one for each dtype for which it has an instance, and a single one for a rule
about shapes whose elements do not matter. Simplest first.
"""

from __future__ import annotations

from soundline.spec.dtypes import DType, all_dtypes, bool_, index, ints
from soundline.spec.rules.instances import dtypes_of, goals, is_about_shapes, shape_dtypes
from soundline.spec.rules.language import Rule
from soundline.spec.rules.ranks import rank_classes

ROUNDING = ("reassociate", "contract", "reciprocal", "approx", "tensor_core", "tf32")
"""Licences that admit another rounding: each is a theory of its own over otherwise exact operations (U-53)."""

OF_SIDES = ("no_nan", "no_signed_zero")
"""Licences that speak of the values of the sides alone, not of what is inside an op."""

SYMBOLIC = "symbolic shapes"

_ORDER = {d: n for n, d in enumerate((bool_, index, *ints, *(d for d in all_dtypes if d.is_float)))}


def layers_of(stated: Rule) -> tuple[tuple[str, DType], ...]:
    """The layers of a rule, each with the dtype that `prove_layer` takes for it.

    A dtype at which the rule has no instance gives no layer. Raises ``RuleError`` where the rule is ill-typed.
    """
    rank_classes(stated)  # which raises where known ranks clash
    if is_about_shapes(stated) and stated.dtypes is None:
        return ((SYMBOLIC, shape_dtypes(stated)[0]),)
    found: dict[str, DType] = {}
    for dtype in sorted(dtypes_of(stated), key=_ORDER.__getitem__):
        name = layer_name(stated, dtype)
        if name not in found and has_instance(stated, dtype):
            found[name] = dtype
    return tuple(found.items())


def dtypes_in_layer(stated: Rule, dtype: DType) -> tuple[DType, ...]:
    """The dtypes that the layer of this dtype covers."""
    if is_about_shapes(stated) and stated.dtypes is None:
        return shape_dtypes(stated)
    name = layer_name(stated, dtype)
    return tuple(
        d for d in sorted(dtypes_of(stated), key=_ORDER.__getitem__) if layer_name(stated, d) == name
    )


def has_instance(stated: Rule, dtype: DType) -> bool:
    """Whether the rule has an instance at this dtype."""
    return next(goals(stated, dtype), None) is not None


def layer_name(stated: Rule, dtype: DType) -> str:
    """The name of the layer at which a rule is judged for a dtype."""
    if is_about_shapes(stated) and stated.dtypes is None:
        return SYMBOLIC
    if dtype is bool_:
        return "boolean"
    if dtype is index:
        return "unbounded"
    if dtype.is_int:
        return f"bit-precise {dtype}"
    return " + ".join((f"IEEE {dtype}", *stated.licences))
