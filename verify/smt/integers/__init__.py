"""
Integers
========

Whole numbers for the solver: polynomials, conditions on sizes, division, bits and powers.

In order: `polynomials`, `terms`, `formulas`, `arithmetic`, `algebra`, `divisibility`, `bits`, `congruences`, `powers`,
`truncation`, `laws`, `residue_classes`, `division`, `residues`.
Doors: `arithmetic`, `division`, `formulas`, `laws`, `polynomials`, `residue_classes`, `residues`, `terms`.
"""
