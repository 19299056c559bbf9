"""
Reports on hazards
==================

What is said of Spork programs that were checked for hazards, as text, JSON, one HTML file and SARIF.

In order: `checked`, `lanes`, `timeline`, `page`, `sarif`.
Doors: `checked`, `page`, `sarif`, `timeline`.
"""
