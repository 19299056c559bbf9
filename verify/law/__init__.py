"""The obligations of the law itself, and how each is met."""
