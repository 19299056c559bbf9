"""
The law's own obligations
=========================

The statements of the law about itself, and how each of them is proved or sampled.

In order: `schema`, `symbols`, `lemmas`, `replays`, `integers`, `small`, `words`, `floats`, `inclusion`, `source_rows`,
`exact`, `catalogue`.
Doors: `catalogue`, `schema`.
"""
