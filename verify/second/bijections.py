"""
Bijections
==========

What a schedule promises: that new iterators run over the same places as the old ones, each once. `bijection` decides
for index expressions, by Presburger sets, whether they map the points of a domain into a box, no two of them to one
place, and whether every place of the box is met; for all sizes at once, where sizes are variables::

    n, o, i = (param(k, index) for k in range(3))
    split = Domain({"n": n}, {"o": o, "i": i}, below({o: n, i: 16}))
    assert bijection(split, [add(multiply(o, 16), i)], [multiply(n, 16)]).holds
    assert not bijection(split, [add(multiply(o, 15), i)], [multiply(n, 16)]).injective
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soundline.spec.dtypes import index
from soundline.spec.ops.node import Op, Size, UOp, substitute
from soundline.spec.ops.sizes import as_node
from soundline.spec.uop import const, param
from soundline.verify.second.isl_planes import isl
from soundline.verify.second.presburger import Sets


@dataclass(frozen=True, slots=True)
class Domain:
    """Iterators and the conditions on them, with the sizes on which both depend."""

    sizes: Mapping[str, UOp]
    iterators: Mapping[str, UOp]
    conditions: tuple[UOp, ...]


@dataclass(frozen=True, slots=True)
class Bijection:
    """What is known of a map into a box, and a place that shows what is wrong with it."""

    stays: bool
    """Whether no point leaves the box."""
    injective: bool
    """Whether no two points meet."""
    onto: bool
    """Whether every place is met."""
    witness: str = ""

    @property
    def holds(self) -> bool:
        """Whether the map is a bijection."""
        return self.stays and self.injective and self.onto


def bijection(domain: Domain, images: Sequence[Size], extents: Sequence[Size]) -> Bijection:
    """Whether the images of the points of a domain are the places of a box, each once.

    Raises `isl_planes.Outside` where that is no question about Presburger sets.
    """
    nodes = [as_node(image) for image in images]
    leaving = _leaving(domain, nodes, extents)
    meeting = _meeting(domain, nodes)
    missed = _missed(domain, nodes, extents)
    witness = next((w for w in (leaving, meeting, missed) if w is not None), "")
    return Bijection(leaving is None, meeting is None, missed is None, witness)


def _leaving(domain: Domain, images: Sequence[UOp], extents: Sequence[Size]) -> str | None:
    """A point whose image lies outside the box."""
    with isl() as (library, context):
        sets = Sets(library, context, {**domain.sizes, **domain.iterators})
        points = _all(sets, domain.conditions)
        found = points.subtract(_all(sets, _inside(images, extents)))
        if found.is_empty():
            return None
        point = _sample(library, found, [*domain.sizes, *domain.iterators])
        return f"{_told(point)} leaves the box"


def _meeting(domain: Domain, images: Sequence[UOp]) -> str | None:
    """Two points with one image."""
    copies = {node: param(1_000_000 + k, index) for k, node in enumerate(domain.iterators.values())}
    others = {f"{name}'": copies[node] for name, node in domain.iterators.items()}
    with isl() as (library, context):
        sets = Sets(library, context, {**domain.sizes, **domain.iterators, **others})
        both = _all(sets, domain.conditions) & _all(sets, [substitute(c, copies) for c in domain.conditions])
        for image in images:
            both &= sets.term(image).eq_set(sets.term(substitute(image, copies)))
        apart = sets.nowhere
        for node, copy in copies.items():
            apart |= sets.term(node).lt_set(sets.term(copy)) & _equal_before(sets, copies, node)
        found = both & apart
        if found.is_empty():
            return None
        point = _sample(library, found, [*domain.sizes, *domain.iterators, *others])
        place = _values(sets, library, images, point)
    first = {n: v for n, v in point.items() if n not in others}
    second = {n.rstrip("'"): v for n, v in point.items() if n in others}
    return f"{_told(first)} and {_told(second)} meet at {place}"


def _equal_before(sets: Sets, copies: Mapping[UOp, UOp], last: UOp) -> Any:
    """That two points agree in the iterators before one."""
    found = sets.everywhere
    for node, copy in copies.items():
        if node is last:
            break
        found &= sets.term(node).eq_set(sets.term(copy))
    return found


def _missed(domain: Domain, images: Sequence[UOp], extents: Sequence[Size]) -> str | None:
    """A place of the box that is no image."""
    places = {f"place {k}": param(2_000_000 + k, index) for k in range(len(images))}
    with isl() as (library, context):
        sets = Sets(library, context, {**domain.sizes, **places, **domain.iterators})
        box = _all(sets, _inside(list(places.values()), extents))
        met = _all(sets, domain.conditions)
        for image, place in zip(images, places.values(), strict=True):
            met &= sets.term(image).eq_set(sets.term(place))
        kept, gone = len(domain.sizes) + len(places), len(domain.iterators)
        over = library.dim_type.set
        found = box.project_out(over, kept, gone).subtract(met.project_out(over, kept, gone))
        if found.is_empty():
            return None
        point = _sample(library, found, [*domain.sizes, *places])
    sizes = {n: v for n, v in point.items() if n in domain.sizes}
    at = [v for n, v in point.items() if n in places]
    return f"{f'with {_told(sizes)} ' if sizes else ''}nothing meets {at}"


def below(extents: Mapping[UOp, Size]) -> tuple[UOp, ...]:
    """That each expression is at least 0 and below its extent."""
    return tuple(
        UOp(op, sources)
        for x, extent in extents.items()
        for op, sources in ((Op.CmpLe, (const(0, index), x)), (Op.CmpLt, (x, as_node(extent))))
    )


def _inside(images: Sequence[UOp], extents: Sequence[Size]) -> list[UOp]:
    return [c for x, extent in zip(images, extents, strict=True) for c in below({x: extent})]


def _all(sets: Sets, conditions: Sequence[UOp]) -> Any:
    found = sets.everywhere
    for condition in conditions:
        found &= sets.term(condition)
    return found


def _sample(library: Any, points: Any, names: Sequence[str]) -> dict[str, int]:
    """The least point where there is one, else any."""
    bounded = points.is_bounded()
    found = (points.lexmin() if bounded else points).sample_point()
    over = library.dim_type.set
    return {name: found.get_coordinate_val(over, k).to_python() for k, name in enumerate(names)}


def _values(sets: Sets, library: Any, images: Sequence[UOp], point: Mapping[str, int]) -> list[int]:
    """The images of a point."""
    here = sets.everywhere
    for k, value in enumerate(point.values()):
        here &= sets.unknown(k).eq_set(sets.number(value))
    at = here.sample_point()
    return [int(sets.term(image).eval(at).to_python()) for image in images]


def _told(point: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in point.items())
