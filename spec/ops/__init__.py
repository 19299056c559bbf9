"""
The ops
=======

The nodes of programs, what laws about them are stated with, and one entry for each op: in `movement`, `elementwise` and
`programs`. `table` collects the entries.

In order: `node`, `axes`, `places`, `sizes`, `shards`, `bounds`, `bodies`, `building`, `algebra`, `adjoints`, `schema`,
`laws`, `textual_form`.
Doors: `adjoints`, `algebra`, `axes`, `bodies`, `bounds`, `building`, `laws`, `node`, `places`, `schema`, `shards`,
`sizes`, `textual_form`.
"""
