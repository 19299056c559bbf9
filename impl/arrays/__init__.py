"""
Arrays
======

What tensors and programs are given: memory, dtypes and their promotion, operands, indices and symbolic sizes.

In order: `memory`, `promotion`, `storage`, `sizes`, `indexing`, `operands`, `products`.
Doors: `indexing`, `memory`, `operands`, `products`, `promotion`, `sizes`, `storage`.
"""
