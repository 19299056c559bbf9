"""
Elements
========

What an expression over tensors denotes: an element as a function of its position.

In order: `elements`, `atoms`, `text`, `indexing`, `reader`, `movement`, `numbers`, `reductions`, `bits`, `denotation`,
`substitution`.
Doors: `denotation`, `elements`, `indexing`, `numbers`, `substitution`, `text`.
"""
