"""
Movement ops
============

One module for each op that only moves or reinterprets elements. Notation: ``s`` is the shape of the first source
``T``, ``s'`` the new shape, ``o`` an offset, ``k`` an axis. A shape or offset source is a Stack of ``index`` scalars;
the empty Stack is the shape ``()`` (U-22).

In order: `shared`, `permute`, `flip`, `reshape`, `expand`, `pad`, `shrink`, `index`, `stack`, `replicated`, `slices`,
`bitcast`.
Doors: `bitcast`, `expand`, `flip`, `index`, `pad`, `permute`, `replicated`, `reshape`, `shared`, `shrink`, `slices`,
`stack`.
"""
