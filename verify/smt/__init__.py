"""Z3: terms of the law as formulas."""
