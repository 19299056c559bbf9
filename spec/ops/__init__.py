"""
The ops
=======

The nodes of programs, what laws about them are stated with, and one entry for each op: in `movement`, `elementwise` and
`programs`. `table` collects the entries.

In order: `walks`, `node`, `axes`, `places`, `polynomials`, `sizes`, `shards`, `bounds`, `bodies`, `building`,
`algebra`, `adjoints`, `schema`, `laws`, `textual_form`.
Doors: `adjoints`, `algebra`, `axes`, `bodies`, `bounds`, `building`, `laws`, `node`, `places`, `polynomials`,
`schema`, `shards`, `sizes`, `textual_form`, `walks`.
"""
