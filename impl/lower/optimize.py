"""
Optimize
========

Swap and split ranges, and determine which axes are parallel and which are serial.

Input and output: a Linear of Sinks of scalars; the output has Ranges of type UPCAST, the lanes that one processor
core works on at once. What is done, for a CPU, to each nest:

* the rules of the library are applied, before and after the rest;
* `scanned`: a running fold along a loop takes one step in each iteration, and its nest nothing else of this list;
* `peeled`: an axis of which only the last step fails a gate does that step apart, and the others without the gate;
* `merged`: two loops that every access walks as one become one.
* `laned`: where a reduction reads along the innermost output axis, that axis is split into lanes; together with the
  axis around it into tiles (`tiles`), if some operand does not depend on that one, so that a loaded element is used
  many times. What does not fill a split becomes a nest of its own. The order in which each output's reduction runs
  does not change. What tiles read from far apart is packed, by kernels that come before (`packing`).
* `tiled`: a nest that only moves data, reads along one axis and writes along another, goes by square tiles;
* `nested_lanes`: a short reduction of reductions, as in a blocked sum, becomes lanes that are folded in their order.
* `split_reductions`: a reduction whose order is free (Max, integers, bools, or floats under ``reassociate``) along
  contiguous memory is split into lanes that are folded at the end.
* `shared`: a nest that is worth it becomes a kernel by itself, with one of its loops outermost, dealt out to cores.

*Invariant*: the values of all stores are unchanged; bit for bit without a licence.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from soundline.impl.lower.lanes import laned, nested_lanes, split_reductions
from soundline.impl.lower.loops import merged, peeled
from soundline.impl.lower.packing import Packing
from soundline.impl.lower.scans import scanned
from soundline.impl.lower.simplify import Applied, simplified
from soundline.impl.lower.threads import shared
from soundline.spec.uop import Op, UOp, toposort


def optimize(kernels: UOp, licences: Collection[str], applied: Applied) -> UOp:
    """Simplify every kernel and choose its parallel axes; `applied` counts the rules that did it."""
    numbers = itertools.count(1 + max((n.arg.id for n in toposort(kernels) if n.op is Op.Range), default=-1))
    slots = itertools.count(1 + max((n.arg.slot for n in toposort(kernels) if n.op is Op.Buffer), default=-1))
    found: list[UOp] = []
    for kernel in kernels.src:
        kernel = simplified(kernel, licences, applied)
        packing = Packing(numbers, slots)
        done: list[UOp] = []
        for nest in kernel.src:
            running = scanned(nest, numbers, applied)
            if running is not None:
                done += running
                continue
            nests = [n for p in peeled(nest, numbers) for n in laned(merged(p, numbers), numbers, packing)]
            done += [split_reductions(nested_lanes(n, numbers), numbers, licences) for n in nests]
        sinks = (*packing.kernels, Op.Sink(*done))
        found += [k for s in sinks for k in shared(simplified(s, licences, applied), numbers)]
    return Op.Linear(*found)
