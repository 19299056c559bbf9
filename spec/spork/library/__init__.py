"""
Memories and instructions
=========================

The memories and the instructions that ship with the language, each a class that a user could have written.

In order: `fragments`, `memories`, `parts`, `schema`, `approximate`, `copies`, `text`, `sm80`, `tma`, `sm90`, `rows`,
`warps`, `table`, `ptx`.
Doors: `approximate`, `copies`, `memories`, `ptx`, `rows`, `schema`, `sm80`, `sm90`, `table`, `text`, `tma`, `warps`.
"""
