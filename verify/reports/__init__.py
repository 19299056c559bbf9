"""
Reports
=======

What a campaign reports, as text, JSON, SARIF and JUnit; `hazards` is about Spork programs that were checked.

In order: `report`, `cases`, `opinions`, `text`, `junit`, `progress`, `sarif`, `law`, `as_json`.
Doors: `as_json`, `cases`, `junit`, `law`, `opinions`, `progress`, `report`, `sarif`, `text`.
"""
