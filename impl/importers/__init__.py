"""
Importers
=========

Programs from elsewhere, as tensor programs.

In order: `tinygrad_nodes`, `tinygrad`, `onnx`.
Doors: `onnx`.
"""
