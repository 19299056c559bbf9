"""The court: proofs, refutations and reports about what `soundline.spec` states and `soundline.impl` does."""
