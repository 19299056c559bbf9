"""
Diagnosis
=========

Hazard reports: what lies behind a hazard, and the smallest change that orders the two accesses.

In order: `reports`, `causes`, `same_code`, `fixes`, `findings`.
Doors: `causes`, `findings`, `fixes`, `reports`.
"""
