"""
Memories and instructions
=========================

The memories and the instructions that ship with the language, each a class that a user could have written.

In order: `fragments`, `memories`, `parts`, `schema`, `copies`, `text`, `sm80`, `tma`, `sm90`, `rows`, `warps`,
`approximate`, `table`.
Doors: `memories`, `schema`, `table`, `text`.
"""
