"""What is known of generated CUDA: what compilers say of flagships, results of GPUs, and tests of the waterline."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import shown_programs
from measurement_pages import RESULTS
from rst import bullets, code, escape, table, title
from shown_programs import EXAMPLES
from spork_pages import rich

COMPILED = RESULTS / "cuda-compiled.json"
WATERLINE = RESULTS / "waterline.json"

# Flagships --------------------------------------------------------------------------------------------------------


def flagships() -> str:
    """Each flagship: what it is, its structure, its tiles, what its kernels take, and the file."""
    parts = []
    for path in sorted((EXAMPLES / "flagships").glob("*.py")):
        head, *rest = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")
        name = head.split(":")[0]
        link = f":source:`{path.name} <{path.relative_to(shown_programs.ROOT)}>`"
        parts += [title(name, "-"), f"{link}; tiles: {_tiles(shown_programs.module(path)['REAL'])}.\n"]
        parts += [f"{rich(' '.join(p.split()).replace('``', '`'))}\n" for p in rest]
        parts.append(_taken([row for row in _compiled() if row["flagship"] == path.stem]))
    return "\n".join(parts)


def _tiles(real: Any) -> str:
    """The constants of a program."""
    assert is_dataclass(real)
    return ", ".join(code(f"{f.name} = {getattr(real, f.name)}") for f in fields(real))


def _compiled() -> list[dict[str, Any]]:
    """What the compiler said of each kernel; nothing where no result is committed."""
    found: list[dict[str, Any]] = json.loads(COMPILED.read_text())["kernels"] if COMPILED.exists() else []
    return found


def compiler() -> str:
    """With which compiler, or that there is no result."""
    if not COMPILED.exists():
        return "No result is committed; ``python benchmarks/cuda_compiled.py`` makes one.\n"
    rows = _compiled()
    names = {(r["flagship"], r["program"], r["kernel"]): r for r in rows}
    spilling = _named(r for r in rows if r["spill_stores"] or r["spill_loads"])
    warned = _named(r for r in rows if r["warnings"])
    said = f"registers are spilled by {spilling}" if spilling else "no kernel spills registers"
    more = f"the compiler warns of {warned}" if warned else "the compiler warns of none"
    return (
        f"All {len(names)} kernels were compiled for {code(rows[0]['arch'])} with "
        f"{json.loads(COMPILED.read_text())['compiler']}, without a GPU; {said}, and {more}.\n"
    )


def _named(rows: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(f"{code(r['kernel'])} of {r['flagship']}" for r in rows))


def _taken(rows: list[dict[str, Any]]) -> str:
    """What kernels take of a multiprocessor."""
    shown = [
        (
            code(r["kernel"]) + (", contracted" if r["contract"] else ""),
            code(r["program"]),
            code(r["least_arch"]),
            f"{r['block_dim']}" + (f" in clusters of {r['cluster_dim']}" if r["cluster_dim"] > 1 else ""),
            str(r["blocks_per_sm"]),
            str(r["registers"]),
            f"{r['spill_stores']} + {r['spill_loads']}",
            f"{r['shared_bytes']:,}",
        )
        for r in rows
    ]
    header = (
        "kernel",
        "program",
        "least arch",
        "threads",
        "CTAs per SM",
        "registers",
        "spills, bytes",
        "shared, bytes",
    )
    return table(header, shown, widths=(24, 12, 10, 14, 8, 10, 11, 11)) if shown else ""


# On a GPU ---------------------------------------------------------------------------------------------------------


def on_a_gpu() -> str:
    """The table of each card, or a sentence that there is none."""
    results = sorted(RESULTS.glob("gpu-*.json"))
    if not results:
        return (
            "No result is committed: no GPU was at hand when this version was made. So no time of a kernel is known, "
            "and no value that a GPU has computed. Known is what the emulator computes (:doc:`emulator`), and what the "
            "compiler says of each kernel (:doc:`flagships`).\n"
        )
    return "\n".join(_card(json.loads(path.read_text())) for path in results)


def _card(result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    taken = (
        f"Taken on one {machine['card']} ({machine['multiprocessors']} multiprocessors) on {machine['date']}, with "
        f"torch {machine['torch']} and CUDA {machine['cuda']}. Medians; kernel and peer take turns.\n"
    )
    rows = [(code(name), _sizes(row), *_judged(row)) for name, row in result["rows"].items()]
    header = ("kernel", "size", "of the peer's speed", "wanted", "", "rate", "error")
    return f"{taken}\n{table(header, rows, widths=(24, 22, 10, 8, 10, 16, 10))}"


def _sizes(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value:,}" for name, value in row["sizes"].items())


def _judged(row: Mapping[str, Any]) -> tuple[str, ...]:
    met = "met" if row["ratio"] >= row["goal"] else "**missed**"
    rate = (
        f"{row['tflops']:.0f} TFLOP/s"
        if "tflops" in row
        else f"{row['terabytes_per_second']:.2f} TB/s"
        if "terabytes_per_second" in row
        else "—"
    )
    right = f"{row['error']:.1e}" if row["error"] <= row["most"] else f"**{row['error']:.1e}**"
    return f"{row['ratio']:.3f}", f"≥ {row['goal']:g}", met, rate, right


# The waterline ----------------------------------------------------------------------------------------------------


def waterline() -> str:
    """What emulated CUDA was compared with, and which mistakes were noticed; or a sentence that there is no result."""
    if not WATERLINE.exists():
        return "No result of these campaigns is committed.\n"
    result = json.loads(WATERLINE.read_text())
    sections = {name: found for name, found in result.items() if isinstance(found, Mapping)}
    return "\n".join(_section(name, found) for name, found in sections.items())


def _section(name: str, found: Mapping[str, Any]) -> str:
    """The numbers of a section; of what is listed it is told how much there is."""
    rows = [(escape(_words(key)), _amount(key, value)) for key, value in found.items() if _is_counted(value)]
    parts = [f".. rubric:: {_words(name).capitalize()}\n"]
    parts.append(table(("what", "how many"), rows, widths=(70, 30)) if rows else "")
    parts += [
        f"{_words(key).capitalize()}:\n\n{_listed(value)}"
        for key, value in found.items()
        if not _is_counted(value) and value
    ]
    return "\n".join(parts)


def _is_counted(value: Any) -> bool:
    return value is None or isinstance(value, int | float) or value == []


def _listed(value: Any) -> str:
    """Numbers by name as a table, by name and name as one with columns, and texts as a list."""
    if isinstance(value, Mapping) and all(map(_is_counted, value.values())):
        return table(("", "how many"), [(escape(_words(k)), _amount(k, v)) for k, v in value.items()])
    if isinstance(value, Mapping):
        names = list(dict.fromkeys(n for row in value.values() if isinstance(row, Mapping) for n in row))
        rows = [
            (
                escape(_words(kind)),
                *((_cell(n, row.get(n)) for n in names) if isinstance(row, Mapping) else (_cell("", row),)),
            )
            for kind, row in value.items()
        ]
        return table(("", *map(_words, names)), [(*row, *[""] * (len(names) + 1 - len(row))) for row in rows])
    if isinstance(value, list):
        return bullets(escape(str(item)) for item in value)
    return f"{escape(str(value))}\n"


def _cell(name: str, value: Any) -> str:
    return _amount(name, value) if _is_counted(value) else escape(str(value))


def _amount(name: str, value: Any) -> str:
    if value is None:
        return "—"
    if value == []:
        return "none"
    if isinstance(value, float) or "share" in name:
        return f"{100 * value:.1f} %"
    return f"{value:,}"


def _words(key: str) -> str:
    return key.replace("_", " ")
