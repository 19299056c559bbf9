"""Rewrite rules over tensors with a public history, right ones and wrong ones, by subject.

Each is restated in the language of rules; its docstring names where it, or the bug that it was, is known. Every module
here but the form is a subject and states its rules in `HISTORIES`.
"""

from pkgutil import iter_modules

SUBJECTS = tuple(sorted(found.name for found in iter_modules(__path__) if found.name != "form"))
