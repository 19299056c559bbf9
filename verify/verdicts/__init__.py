"""
Verdicts
========

What a verdict is, the layers of a rule, and the cache of verdicts.

In order: `metering`, `verdict`, `as_json`, `effort`, `sameness`, `cache`, `layers`.
Doors: `as_json`, `cache`, `effort`, `layers`, `metering`, `sameness`, `verdict`.
"""
