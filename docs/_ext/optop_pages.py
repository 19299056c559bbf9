"""Kernels, OptOps, tensor cores and lowering stages: the tables of their chapters, with the ids of conditions."""

from __future__ import annotations

from collections.abc import Iterable

from rst import code, prose, table, title

from soundline.impl.lower.schedule.extensions import EXTENSIONS
from soundline.impl.lower.schedule.legality import CPU
from soundline.impl.lower.schedule.schedules import STEPS
from soundline.spec.kernels.iteration_spaces import AXES, KERNEL_CONSTRAINTS
from soundline.spec.kernels.optops import OPTOPS, OptEntry
from soundline.spec.pipeline.stages import STAGES
from soundline.spec.values.tensor_cores import CORES, Digits


def constraints() -> dict[str, tuple[str, str]]:
    """Every id, with the name of what it belongs to and its text."""
    found = {identifier: ("kernel", text) for identifier, text in KERNEL_CONSTRAINTS.items()}
    for entry in STEPS.values():
        found[entry.form] = (entry.op, f"axis: {entry.axis}; arg: {entry.arg}")
        found |= {c.id: (entry.op, c.text) for c in entry.constraints}
    found |= {c.id: ("CPU", c.text) for c in CPU}
    for stage in STAGES.values():
        found |= {i.id: (stage.title, i.text) for i in stage.invariants}
        if stage.value is not None:
            found[stage.value_id] = (stage.title, stage.value)
    return found


def _conditions(ids: list[str]) -> str:
    known = constraints()
    rows = [(f":anchor:`{identifier}`", prose(known[identifier][1])) for identifier in ids]
    return table(("id", "what must hold"), rows, widths=(26, 74))


def axis_types() -> str:
    """The table of axis types, and what a kernel must be."""
    rows = [
        (
            code(row.letter),
            code(row.type.name),
            " ".join(code(t.value) for t in row.split_from),
            " ".join(code(t.value) for t in row.decided_from),
            ", ".join(row.direction),
            "ordered" if row.ordered else "unordered",
            prose(row.semantics),
        )
        for row in AXES.values()
    ]
    header = ("", "AxisType", "split from", "also (U-50)", "new axis", "iterations", "semantics")
    axes = table(header, rows, widths=(5, 16, 11, 11, 12, 13, 32))
    return f"{axes}\n{title('What a kernel is', '-')}\n{_conditions(list(KERNEL_CONSTRAINTS))}"


def optops() -> str:
    """One section for each OptOp."""
    return _entries(OPTOPS.values())


def extensions() -> str:
    """One section for each step of a schedule that is no OptOp of the source."""
    return _entries(EXTENSIONS.values())


def on_a_cpu() -> str:
    """What a CPU asks of a step besides."""
    return _conditions([c.id for c in CPU])


def _entries(entries: Iterable[OptEntry]) -> str:
    parts = []
    for entry in entries:
        licences = ", ".join(code(name) for name in entry.licences) or "none: it is exact"
        parts += [
            title(entry.op, "-"),
            f"{prose(entry.semantics)}\n",
            f"**axis:** {prose(entry.axis)} **arg:** {prose(entry.arg)} **licences it may need:** {licences}\n",
            _conditions([entry.form, *(c.id for c in entry.constraints)]),
        ]
    return "\n".join(parts)


def tensor_cores() -> str:
    """Every configuration, with its fragment maps as digits."""
    rows = [
        (
            code(core.name),
            "·".join(map(str, core.dims)),
            f"{code(core.input.name)} → {code(core.accumulator.name)}",
            *(_digits(d) for d in (core.a, core.b, core.c)),
            core.machine,
        )
        for core in CORES
    ]
    header = ("name", "M·N·K", "dtypes", "A", "B", "C", "since")
    return table(header, rows, widths=(20, 10, 16, 17, 15, 14, 8))


def _digits(digits: Digits) -> str:
    return f"{code(' '.join(digits.row))} / {code(' '.join(digits.column))}"


def stages() -> str:
    """One section for each stage of the pipeline."""
    parts = []
    for stage in STAGES.values():
        ids = [i.id for i in stage.invariants] + ([stage.value_id] if stage.value is not None else [])
        parts += [title(stage.title, "-"), f"{prose(stage.semantics)}\n", _conditions(ids)]
    return "\n".join(parts)
