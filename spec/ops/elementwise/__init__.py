"""
Elementwise ops
===============

Every elementwise op is total (U-01): no operand values lead to undefined behaviour. All sources have one shape, which
is that of the result. The semantics is the law, and ``scalar`` computes it on one element of each source; a
decomposition is a rewrite that holds under its licences.

A float law computes in binary64 and rounds once into the dtype. That is the correctly rounded result for every format
here: binary64 itself needs no second rounding, and for a significand of p ≤ 24 bits a second rounding after one to
53 ≥ 2p + 2 bits changes nothing in a sum, product, quotient or square root.

In order: `families`, `arithmetic`, `division`, `comparison`, `bitwise`, `shifts`, `selection`, `conversion`,
`functions`.
Doors: `arithmetic`, `bitwise`, `comparison`, `conversion`, `division`, `functions`, `selection`, `shifts`.
"""
