"""
Optimize
========

Swap and split ranges, and determine which axes are parallel and which are serial.

Input and output: a Linear of Sinks of scalars; the output has Ranges of type THREAD, which are dealt out to cores, and
UPCAST, UNROLL and GROUP_REDUCE, the lanes that one core works on at once. What is done to a kernel is a *schedule*
(`schedule`): a list of steps that is kept, and that is all that is done to it but for the rules of the library, which
are applied before and after. The steps are those that a user gives, or that a search has found, or else those that the
heuristics choose (`heuristics`); the same code carries them out (`applying`).

A running reduction along a loop (`scans`) takes one step in each iteration, by a rule, before anything is scheduled;
the zeros that gates leave of a sum of products are added apart, where a licence allows it (`gated_sums`); loops of
reductions are joined where that changes nothing (`common_subexpressions`); and kernels that pass on rows become one
loop over rows, of which each part is scheduled separately (`rows`). Loops up to symbolic sizes are cut, so that what is
inside of them has known sizes and is scheduled like any other kernel (`size_loops`). Under the licence ``approx`` e^x
becomes cheaper at the end (`approximate`).

What packs for a kernel, and each nest that is dealt out to cores, becomes a kernel by itself, because cores meet again
only where a kernel ends.

*Invariant*: the values of all stores are unchanged; bit for bit without a licence.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

from soundline.impl.logs import logger
from soundline.impl.lower.graphs.approximate import approximated
from soundline.impl.lower.graphs.obligations import obligations
from soundline.impl.lower.graphs.simplify import Applied, simplified
from soundline.impl.lower.graphs.size_arguments import is_symbolic_loop
from soundline.impl.lower.linear.loop_nests import opened
from soundline.impl.lower.linear.scans import scanned
from soundline.impl.lower.premises import side_by_side
from soundline.impl.lower.reductions.gated_sums import zeros_apart
from soundline.impl.lower.reductions.scatters import is_scatter
from soundline.impl.lower.schedule import tiles
from soundline.impl.lower.schedule.any_reductions import with_whole_numbers
from soundline.impl.lower.schedule.applying import Scheduling, launched, scheduled, without_single
from soundline.impl.lower.schedule.common_subexpressions import flattened_reductions, merged_reductions
from soundline.impl.lower.schedule.heuristics import nests_of, schedule_of
from soundline.impl.lower.schedule.rows import grouped, in_rows, with_all_rows, with_one_row
from soundline.impl.lower.schedule.schedules import Given, Schedule, Scheduled
from soundline.impl.lower.schedule.size_loops import scheduled_at_sizes
from soundline.spec.errors import CompileError, ScheduleError
from soundline.spec.kernels.iteration_spaces import axes
from soundline.spec.kernels.opt import OptOp
from soundline.spec.kernels.schema import axis_text
from soundline.spec.uop import Op, Size, UOp, toposort

RUNNING = "a running reduction along a loop takes one step in each iteration"
SIDE_BY_SIDE = "reductions that may not be needed are asked for side by side"
FLAT = "reductions of reductions become one"
MERGED = "loops of reductions are joined"
ZEROS = "the zeros of gated sums are added apart"
SIZES = "loops up to symbolic sizes are cut and dealt out"
ROWS = "kernels share loops over rows"
SCATTER = "a reduction over all sources becomes a scatter"
APPROXIMATED = "e^x is computed in fewer steps"


def optimize(kernels: UOp, licences: Collection[str], applied: Applied) -> UOp:
    """Simplify every kernel and do to it what the heuristics choose; `applied` counts the rules."""
    return optimized(kernels, licences, applied)[0]


def prepared_nest(
    nest: UOp, numbers: Iterator[int], licences: Collection[str], applied: Applied
) -> list[UOp]:
    """A simplified nest as it is before its schedule."""
    running = applied.by_pass(RUNNING, nest, scanned(nest, numbers, applied))
    running = running or applied.by_pass(SIDE_BY_SIDE, nest, side_by_side(nest, numbers))
    if running:
        return running
    return [_in_one_loop(nest, numbers, licences, applied)]


def _in_one_loop(nest: UOp, numbers: Iterator[int], licences: Collection[str], applied: Applied) -> UOp:
    """A nest whose reductions are in as few loops as can be, and have vectors."""
    whole = with_whole_numbers(nest, applied)
    flat = applied.by_pass(FLAT, whole, flattened_reductions(whole, licences))
    return applied.by_pass(MERGED, flat, merged_reductions(flat, numbers))


def optimized(
    kernels: UOp,
    licences: Collection[str],
    applied: Applied,
    given: Mapping[int, Given] | None = None,
    temporaries: int | None = None,
    held: Mapping[UOp, Size] | None = None,
) -> tuple[UOp, tuple[Scheduled, ...]]:
    """Simplify every kernel and carry out its schedule, the one that is given for its number or that of the heuristics.
    `applied` counts the rules. The schedules are told with the program. Buffers from slot `temporaries` on are the
    program's own: kernels without given schedules that hand them on by rows share loops (`rows`). The slots below are
    taken, also where no kernel names them: an output without elements has one. `held` says of which storage fewer
    elements may be used than it has room for.
    """
    given = given or {}
    numbers = itertools.count(1 + max((n.arg.id for n in toposort(kernels) if n.op is Op.Range), default=-1))
    taken = (n.arg.slot + 1 for n in toposort(kernels) if n.op is Op.Buffer)
    slots = itertools.count(max((temporaries or 0, *taken)))
    found: list[UOp] = []
    told: list[Scheduled] = []
    simple = [simplified(kernel, licences, applied) for kernel in kernels.src]
    symbolic = {k for k in range(len(simple)) if any(map(is_symbolic_loop, toposort(simple[k])))}
    free = [k for k in range(len(simple)) if k not in given and k not in symbolic]
    scattered = {k for k in free if all(is_scatter(nest, applied) for nest in simple[k].src)}

    def prepared(nest: UOp) -> list[UOp]:
        return prepared_nest(nest, numbers, licences, applied)

    def scheduling(nests: Sequence[UOp]) -> Scheduling:
        return Scheduling(Op.Sink(*nests), numbers, slots, licences)

    def by_heuristics(nests: Sequence[UOp]) -> tuple[Scheduling, str]:
        """Nests after the steps that heuristics choose. Were one not lawful, the nests stay as they are: see why."""
        try:
            return schedule_of(scheduling(nests), tiles.this_machine()), ""
        except ScheduleError as refusal:
            logger("optimize").warning("a schedule of the heuristics is not lawful: %s", refusal)
            return scheduling(nests), str(refusal)

    for group in grouped(simple, scattered | symbolic | given.keys(), temporaries):
        by_rows = in_rows(group, slots, prepared, scheduling)
        if by_rows is not None:
            found.append(simplified(by_rows[0], licences, applied))
            told += by_rows[1]
            applied.passes[ROWS] += 1
            continue
        for k in group.numbers:
            if k in scattered:
                found.append(simple[k])
                told.append(Scheduled(k, "", (), "a scatter", 1))
                applied.passes[SCATTER] += 1
                continue
            if k in symbolic:
                launches, steps = _at_sizes(simple[k], numbers, slots, licences, applied, held)
                found += launches
                told.append(Scheduled(k, _axes_text(simple[k].src), steps, "heuristics", len(launches)))
                continue
            nests = [n for nest in simple[k].src for n in prepared(nest)]
            if k in given:
                before_it = _axes_text(nests)
                made, origin, refused = scheduled(scheduling(nests), given[k].steps), given[k].origin, ""
                first: list[Scheduling] = []
            else:
                apart = [zeros_apart(n, numbers, slots, licences) for n in nests]
                before, nests = [b for some, _ in apart for b in some], [n for _, n in apart]
                applied.passes[ZEROS] += len(before)
                before_it = _axes_text(nests)
                made, refused = by_heuristics(nests)
                first, origin = [by_heuristics([b])[0] for b in before], "heuristics"
            sinks = [s for each in (*first, made) for s in launched(each.sink)]
            launches = [simplified(s, licences, applied) for s in sinks]
            beside = tuple(each.steps for each in first)
            told.append(Scheduled(k, before_it, made.steps, origin, len(launches), beside, refused))
            found += launches
    found = [applied.by_pass(APPROXIMATED, kernel, approximated(kernel, licences)) for kernel in found]
    applied.passes = +applied.passes
    return Op.Linear(*found), tuple(sorted(told, key=lambda s: s.kernel))


def _at_sizes(
    kernel: UOp,
    numbers: Iterator[int],
    slots: Iterator[int],
    licences: Collection[str],
    applied: Applied,
    held: Mapping[UOp, Size] | None,
) -> tuple[list[UOp], Schedule]:
    """A kernel with loops up to symbolic sizes after what heuristics do with it, and the steps that they took; as it is
    where the accesses are then not proved to stay inside their storage.
    """

    def schedule(sink: UOp, sized: frozenset[UOp]) -> tuple[Sequence[UOp], Schedule]:
        plain = Scheduling(with_all_rows(sink, {}), numbers, slots, licences, sized)
        try:
            made = nests_of(plain, tiles.this_machine())
        except ScheduleError as refusal:
            logger("optimize").warning("a schedule of the heuristics is not lawful: %s", refusal)
            return sink.src, ()
        return with_one_row(made.sink, sink).src, made.steps

    found: list[UOp] = []
    steps: list[OptOp] = []
    for nest in kernel.src:
        made, taken = scheduled_at_sizes(
            _in_one_loop(nest, numbers, licences, applied), numbers, slots, licences, schedule
        )
        applied.passes[SIZES] += made != [nest]
        steps += taken
        by_rows = [n for n in made if opened(n)[0]]
        found += [Op.Sink(without_single(n)) for n in by_rows]
        found += launched(Op.Sink(*plain)) if (plain := [n for n in made if n not in by_rows]) else []
    try:
        obligations(Op.Linear(*found), held)
    except CompileError as refusal:
        logger("optimize").info("loops up to sizes stay as they are: %s", refusal)
        return [kernel], ()
    return [simplified(sink, licences, applied) for sink in found], tuple(steps)


def _axes_text(nests: Sequence[UOp]) -> str:
    return " ".join(map(axis_text, axes(Op.Sink(*nests))))
