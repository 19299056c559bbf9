"""
The abstract machine
====================

A program unfolded into the events of its threads, and what each event does to storage and visibility.
`spec.abstract_machine` puts them together.

In order: `conditions`, `events`, `storage`, `addresses`, `transitions`, `algebras`, `names`, `values`, `arguments`,
`statements`, `unfolding`.
Doors: `addresses`, `algebras`, `arguments`, `conditions`, `events`, `names`, `statements`, `storage`,
`transitions`, `unfolding`.
"""
