"""
The law's own obligations
=========================

What the law says of itself, and how each sentence is proved or sampled.

In order: `schema`, `symbols`, `lemmas`, `replays`, `integers`, `small`, `words`, `floats`, `inclusion`, `source_rows`,
`exact`, `catalogue`.
Doors: `catalogue`, `schema`.
"""
