"""
The rule language
=================

How rewrite rules are stated: terms, kinds of variables, conditions; and how an instance of a rule becomes UOps.

In order: `licences`, `notation`, `choices`, `spellings`, `terms`, `mistakes`, `ranges`, `vocabulary`, `kinds`,
`statements`, `language`, `procedures`, `ranks`, `building`, `deciding`, `instances`.
Doors: `building`, `deciding`, `instances`, `kinds`, `language`, `licences`, `notation`, `procedures`, `ranges`,
`ranks`, `spellings`, `terms`.
"""
