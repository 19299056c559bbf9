"""The fast road: tensors, rewriting, lowering and code generation, under the law of `soundline.spec`."""
