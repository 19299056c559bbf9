"""The parts of `Tensor`, by subject: each is a class of thin methods over graphs."""
