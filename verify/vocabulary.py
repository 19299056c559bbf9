"""
The vocabulary of rule files
============================

Everything that a rewrite rule is written with, imported on first use: pytest imports this package for its plugin, and
users without the plugin should not wait for the import of the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        ieee_floats,
        index,
        int8,
        int16,
        int32,
        int64,
        ints,
        sints,
        uint8,
        uint16,
        uint32,
        uint64,
        uints,
    )
    from soundline.spec.rules.language import (
        Rule,
        all_axes,
        bits_at_most,
        cdiv,
        claim,
        cmod,
        compose,
        concat,
        disjoint,
        ediv,
        emod,
        fill,
        fits,
        forall,
        fresh,
        given,
        identity,
        invalid,
        inverse,
        is_float,
        is_identity,
        is_power_of_two,
        is_signed,
        lossless,
        max_over,
        maximum,
        minimum,
        mulacc,
        no_axes,
        no_flags,
        one_axis,
        preserves_zero,
        prod_over,
        product,
        reduce_over,
        rule,
        stack,
        subset,
        sum_over,
        where,
    )
    from soundline.spec.rules.procedures import Knowledge, Procedure, procedure
    from soundline.spec.rules.ranges import Body, Range
    from soundline.spec.rules.terms import (
        Axes,
        BinaryOp,
        Bool,
        Const,
        DTypeVar,
        Flags,
        Interval,
        Monoid,
        Offset,
        Perm,
        Shape,
        Size,
        Tensor,
        UnaryOp,
        Value,
    )

__all__ = [
    "Axes",
    "BinaryOp",
    "Body",
    "Bool",
    "Const",
    "DTypeVar",
    "Flags",
    "Interval",
    "Knowledge",
    "Monoid",
    "Offset",
    "Perm",
    "Procedure",
    "Range",
    "Rule",
    "Shape",
    "Size",
    "Tensor",
    "UnaryOp",
    "Value",
    "all_axes",
    "all_dtypes",
    "bfloat16",
    "bits_at_most",
    "bool_",
    "cdiv",
    "claim",
    "cmod",
    "compose",
    "concat",
    "disjoint",
    "ediv",
    "emod",
    "fill",
    "fits",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "floats",
    "forall",
    "fresh",
    "given",
    "identity",
    "ieee_floats",
    "index",
    "int8",
    "int16",
    "int32",
    "int64",
    "ints",
    "invalid",
    "inverse",
    "is_float",
    "is_identity",
    "is_power_of_two",
    "is_signed",
    "lossless",
    "max_over",
    "maximum",
    "minimum",
    "mulacc",
    "no_axes",
    "no_flags",
    "one_axis",
    "preserves_zero",
    "procedure",
    "prod_over",
    "product",
    "reduce_over",
    "rule",
    "sints",
    "stack",
    "subset",
    "sum_over",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uints",
    "where",
]

_HOMES = ("rules.language", "rules.terms", "rules.ranges", "rules.procedures", "dtypes")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A word of the vocabulary, from the module of the law that defines it."""
        if name in __all__:
            from importlib import import_module

            for home in _HOMES:
                found = getattr(import_module(f"soundline.spec.{home}"), name, None)
                if found is not None:
                    globals()[name] = found
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
