"""
Reductions
==========

When two reductions are equal: bijections, splits, orders, inductions, bounds.

In order: `zeros`, `pieces`, `guesses`, `validity`, `bijections`, `comparisons`, `homomorphisms`, `sums`, `orders`,
`bounds`, `inductions`, `counting`, `covers`, `equality`.
Doors: `bounds`, `comparisons`, `equality`, `validity`.
"""
