"""
Reports
=======

What a campaign reports, as text, JSON, SARIF and JUnit; `hazards` is about Spork programs that were checked.

In order: `report`, `cases`, `opinions`, `text`, `junit`, `progress`, `sarif`, `hazards`, `law`, `as_json`.
Doors: `as_json`, `cases`, `hazards`, `junit`, `law`, `opinions`, `progress`, `report`, `sarif`, `text`.
"""
