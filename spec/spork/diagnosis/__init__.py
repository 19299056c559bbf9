"""
Diagnosis
=========

Hazard reports: what lies behind a hazard, and the smallest change that orders the two accesses.

In order: `reports`, `causes`, `around`, `same_code`, `fixes`, `findings`.
Doors: `around`, `causes`, `findings`, `fixes`, `reports`.
"""
