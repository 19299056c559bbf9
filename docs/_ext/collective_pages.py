"""The standard units: what they are, and which threads a collective of each has."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import product
from math import prod

from rst import code, prose, table

from soundline.spec.spork.threads import units as collective_units
from soundline.spec.spork.threads.units import CollUnit, Concrete, substituted

SHADES = ("#1565C0", "#90A4AE", "#CFD8DC")
"""The first collective of a unit, and two in turn for the others."""
SIDE, STEP, LANES = 5, 6, 32

SAID = {
    **{name: said for name, said in collective_units.MEANINGS.items() if "strided" not in name},
    "cuda_agnostic_sub_cta": "any threads of one CTA: the collective in the picture is the largest",
    "cuda_agnostic_intact_cta": "all threads of any CTAs: the collective in the picture is the largest",
    "2 * cuda_warp": "N times the unit: here two warps that follow each other",
    "cuda_threads_strided(4, 16)": "the first 4 of every 16 threads; N times the unit is N such rows",
    "8 * cuda_threads_strided(4, 16)": "eight rows of it: 32 threads that are not a warp",
    "cuda_cta_in_cluster_strided(2)": "one CTA of a cluster in rows of two; N times the unit is a column",
}
"""The units of the table, with which threads they are."""


def shown() -> dict[str, CollUnit]:
    """The units with names, and some that are made."""
    strided = collective_units.cuda_threads_strided(4, 16)
    made = (
        2 * collective_units.cuda_warp,
        strided,
        8 * strided,
        collective_units.cuda_cta_in_cluster_strided(2),
    )
    return {**collective_units.STANDARD, **{unit.name: unit for unit in made}}


def units() -> str:
    """The units: domain, box, whether N times the unit exists, and which threads they are."""
    rows = []
    for name, unit in shown().items():
        block_dim, cluster_dim = _sizes(unit)
        where = f"{cluster_dim} CTAs of {block_dim} threads" if cluster_dim > 1 else f"{block_dim} threads"
        raw = ".. raw:: html\n\n" + textwrap.indent(picture(unit, block_dim, cluster_dim), "   ")
        again = "no" if unit.scaled is None else "yes"
        made = (
            f"domain {code(_extents(unit.domain))}\n\nbox {code(_extents(unit.box))}\n\nN \\* unit: {again}"
        )
        rows.append((f"{code(name)}\n\n{prose(SAID[name])}", made, f"{raw}\n\nof {where}"))
    head = ("unit", "is", "first collective dark, the others in turn")
    return table(head, rows, widths=(28, 30, 42))


def _extents(sizes: tuple[collective_units.Extent | None, ...]) -> str:
    return "(" + ", ".join("any" if s is None else str(s) for s in sizes) + ")"


def _sizes(unit: CollUnit) -> tuple[int, int]:
    """A device function to show a unit in."""
    clusters = any(size is not None and size.clusters for size in unit.domain)
    return (64, 4) if clusters else (256, 1)


def collectives(unit: Concrete) -> list[int]:
    """The number of the collective of each thread, by its linear index; an agnostic coordinate is taken whole."""
    sizes = [d if b is None else b for d, b in zip(unit.domain, unit.box, strict=True)]
    numbers: dict[tuple[int, ...], int] = {}
    found = []
    for coordinates in product(*(range(d) for d in unit.domain)):
        at = tuple(c // size for c, size in zip(coordinates, sizes, strict=True))
        found.append(numbers.setdefault(at, len(numbers)))
    return found


def picture(unit: CollUnit, block_dim: int, cluster_dim: int) -> str:
    """The threads, a warp in each row, coloured by collective."""
    concrete = substituted(unit, block_dim=block_dim, cluster_dim=cluster_dim)
    found = collectives(concrete)
    rows = prod(concrete.domain) // LANES
    gaps = cluster_dim - 1
    height = rows * STEP + gaps * STEP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="unit" role="img" width="{LANES * STEP}" '
        f'height="{height}" viewBox="0 0 {LANES * STEP} {height}">'
    )
    return "\n".join(
        [head, f"<title>Collectives of {unit.name}</title>", *_squares(found, block_dim), "</svg>"]
    )


def _squares(found: list[int], block_dim: int) -> Iterator[str]:
    """Runs of threads of one collective in one row are drawn as one path."""
    for number in sorted(set(found)):
        shade = SHADES[0] if number == 0 else SHADES[1 + number % 2]
        threads = [t for t, n in enumerate(found) if n == number]
        squares = "".join(
            f"M{t % LANES * STEP} {(t // LANES + t // block_dim) * STEP}h{SIDE}v{SIDE}h-{SIDE}z"
            for t in threads
        )
        yield f'<path d="{squares}" fill="{shade}"/>'
