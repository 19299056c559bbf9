"""
The language of programs
========================

Expressions, types, statements, procs, and their text; and which programs are well formed.

In order: `nodes`, `expressions`, `conditions`, `types`, `names`, `statements`, `calls`, `scopes`, `text`, `programs`,
`well_formedness`.
Doors: `conditions`, `expressions`, `names`, `nodes`, `programs`, `scopes`, `statements`, `text`, `types`,
`well_formedness`.
"""
