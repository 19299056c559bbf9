"""The compositions and collectives: what each means, what it asks of its operands, and the ids of its constraints."""

from __future__ import annotations

import inspect
from types import ModuleType

from rst import ID, code, law, prose, table, title

from soundline.spec.compositions import collectives, tensors

CHAPTERS: dict[str, ModuleType] = {"Compositions": tensors, "Collectives": collectives}


def constraints() -> dict[str, tuple[str, str]]:
    """Every id, with the name of what it belongs to and its text."""
    return {
        identifier: (_name(identifier), text)
        for module in CHAPTERS.values()
        for identifier, text in module.CONSTRAINTS.items()
    }


def _name(identifier: str) -> str:
    return {
        "prefixsum": "prefix_sum",
        "scatteradd": "scatter_add",
        "collect": "gather (of parts)",
        "reducetoone": "reduce",
        "reducescatter": "reduce_scatter",
    }.get(identifier.split("-")[1], identifier.split("-")[1])


def compositions_and_collectives() -> str:
    """One section for each chapter: the programs with their meaning, then the constraints."""
    parts = []
    for name, module in CHAPTERS.items():
        parts.append(title(name, "-"))
        rows = [
            (
                f":py:func:`{f.__name__} <{f.__module__}.{f.__name__}>`",
                ID.sub(lambda cited: law(cited[0]), inspect.getdoc(f) or ""),
            )
            for f in vars(module).values()
            if inspect.isfunction(f) and f.__module__ == module.__name__ and not f.__name__.startswith("_")
        ]
        parts.append(table(("program", "meaning"), rows, widths=(25, 75)))
        ids = [(f":anchor:`{i}`", code(_name(i)), prose(text)) for i, text in module.CONSTRAINTS.items()]
        parts.append(table(("id", "of", "the operands must satisfy"), ids, widths=(30, 20, 50)))
    return "\n".join(parts)
