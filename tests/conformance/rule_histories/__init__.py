"""Rewrite rules over scalars with a public history, right ones and wrong ones, by subject.

Each is restated in the language of rules; its docstring names where it, or the bug that it was, is known.
"""

SUBJECTS = (
    "div_mod_floor",
    "div_mod_trunc",
    "div_mod_euclid",
    "intervals",
    "bitvectors",
    "shifts",
    "booleans",
    "comparisons",
    "selects_minmax",
    "casts",
    "floats_ieee",
    "floats_licensed",
    "words",
)
