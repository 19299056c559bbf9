"""
The op table
============

The nodes of programs and one entry for each op: its sources, constraints, derived properties and example; and the
textual form.

In order: `walks`, `node`, `axes`, `bounds`, `schema`, `polynomials`, `sizes`, `textual_form`, `elementwise`, `program`,
`shards`, `tensor`, `bodies`, `table`, `constraints`, `parsing`.
Doors: `axes`, `bodies`, `bounds`, `constraints`, `node`, `parsing`, `polynomials`, `schema`, `shards`, `sizes`,
`table`, `textual_form`, `walks`.
"""
