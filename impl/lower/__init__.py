"""The stages of the lowering pipeline, one module per stage of the source, under its name."""
