"""
Values
======

Bit vectors, floats, real numbers, and the theory of each licence.

In order: `rounded`, `rounding_pairs`, `narrowing`, `theories`, `bit_vectors`, `ieee`, `licensed_values`, `reals`,
`rounding_facts`, `special_values`, `algebras`, `machine_numbers`, `rounding`.
Doors: `licensed_values`, `machine_numbers`, `reals`, `rounding`, `special_values`, `theories`.
"""
