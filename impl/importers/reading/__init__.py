"""
Reading ONNX
============

The graph of a model, its nodes, and what cannot be imported.

In order: `errors`, `node`, `protos`, `graph`.
Doors: `errors`, `graph`, `node`, `protos`.
"""
