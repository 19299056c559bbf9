"""
Rules about scalars
===================

Arithmetic, comparisons, bits, casts and constants.

In order: `absorption`, `booleans`, `casts`, `commutativity`, `comparisons`, `constant_folding`, `decompositions`,
`div_mod`, `floats_exact`, `identities`, `intervals`, `selection`, `shifts`.
Doors: `absorption`, `booleans`, `casts`, `commutativity`, `comparisons`, `constant_folding`, `decompositions`,
`div_mod`, `floats_exact`, `identities`, `intervals`, `selection`, `shifts`.
"""
