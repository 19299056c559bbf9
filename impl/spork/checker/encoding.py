"""
Encoding of plans
=================

A plan as lists of numbers, as the engine reads it (``core/interpreter.c``): each node is where a list says it is, with
what it is, its number, the rank of its path and the threads that execute it at the front. Paths are ranked as they
compare, so that what the law has in the order of paths is in the order of ranks.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from soundline.impl.spork.checker.planning.plan import (
    Action,
    Alloc,
    Apart,
    Applied,
    Arrive,
    Await,
    BarrierAlloc,
    BarrierFree,
    Block,
    Check,
    Counted,
    Fence,
    For,
    Free,
    If,
    Launch,
    Node,
    Path,
    Placed,
    Plan,
    Queue,
    Region,
    Tasks,
    Term,
    Threads,
    Touch,
    Var,
    nodes,
)
from soundline.impl.spork.checker.planning.terms import as_sum
from soundline.spec.ops.node import Op
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import GENERIC, LEGAL_PAIRS, Pair, SyncTl
from soundline.spec.spork.synchronization.visibility import WGMMA_REGISTERS, Kind, Policy

NODES = (
    *(
        Action,
        Check,
        Apart,
        Alloc,
        Free,
        BarrierAlloc,
        BarrierFree,
        Fence,
        Arrive,
        Await,
        Block,
        If,
        For,
        Tasks,
    ),
    *(Launch, Counted),
)
"""The kinds of nodes, by their numbers in the engine."""
OPS = (
    *(
        Op.Add,
        Op.Sub,
        Op.Mul,
        Op.Neg,
        Op.Idiv,
        Op.Mod,
        Op.Max,
        Op.CmpLt,
        Op.CmpLe,
        Op.CmpGt,
        Op.CmpGe,
        Op.CmpEq,
    ),
    *(Op.CmpNe, Op.And, Op.Or, Op.Xor, Op.Not, Op.Where, Op.Shl, Op.Shr, Op.Mulacc),
)
"""The ops of terms, by their numbers there."""
KINDS = (Kind.read, Kind.write, Kind.atomic)
LOOPS = ("seq", "threads", "tasks", "par")
NOBODY = (-2, 0)
"""In the place of threads: those that execute the statement."""


def mask(pairs: Iterable[Pair]) -> int:
    """Pairs as bits, in the order of `LEGAL_PAIRS`."""
    return sum(1 << LEGAL_PAIRS.index(p) for p in pairs)


def both(pairs: Iterable[Pair]) -> int:
    """Pairs in V_A and in V_S."""
    bits = mask(pairs)
    return bits | bits << len(LEGAL_PAIRS)


def gains(second: SyncTl, policy: Policy) -> tuple[int, int]:
    """What records of writes gain, and what records of reads gain, of each thread (`visibility.second_sets`)."""
    after = second.temporal - WGMMA_REGISTERS if policy is Policy.temporal else second.temporal & GENERIC
    return both(second.full), both(second.full | after)


@dataclass(slots=True)
class Encoding:
    """A plan as numbers, as far as it is made."""

    plan: Plan
    policy: Policy
    code: array[int] = field(default_factory=lambda: array("q"))
    sets: array[int] = field(default_factory=lambda: array("q"))
    set_numbers: dict[tuple[tuple[int, int], ...], int] = field(default_factory=dict)
    known: dict[object, int] = field(default_factory=dict)
    """Terms, queues and regions that are encoded already."""
    ranks: dict[Path, int] = field(default_factory=dict)
    paths: list[Path] = field(default_factory=list)
    kept: frozenset[int] = frozenset()
    """The arrays that are touched; and all of shared memory where one of those is: they may lie in the same bytes."""
    root: int = 0
    number: int = 0

    def __post_init__(self) -> None:
        every = list(nodes(self.plan.root))
        places = {node.place.path for node in every if not isinstance(node, Block | If | Counted)}
        self.paths = sorted(places)
        self.ranks = {path: rank for rank, path in enumerate(self.paths)}
        touches = (t for node in every if isinstance(node, Action) for t in node.touches)
        touched = {region.array for t in touches for region in t.regions}
        shared = {number for number in range(len(self.plan.arrays)) if self.is_shared(number)}
        self.kept = frozenset(touched | shared if touched & shared else touched)
        self.root = self.node(self.plan.root)

    # Numbers ------------------------------------------------------------------------------------------------------

    def put(self, values: Iterable[int]) -> int:
        """Numbers at the end of the code, and where they begin."""
        at = len(self.code)
        self.code.extend(values)
        return at

    def term(self, term: Term) -> int:
        """Where a term is."""
        if isinstance(term, bool):
            term = int(term)
        if term not in self.known:
            self.known[term] = self._term(term)
        return self.known[term]

    def _term(self, term: Term) -> int:
        found = as_sum(term)
        factors = [(part.number, f) for part, f in found.parts.items() if isinstance(part, Var)]
        if len(factors) == len(found.parts):
            return self.put([len(factors), found.number, *(x for pair in factors for x in pair)])
        assert isinstance(term, Applied)
        operands = [self.term(operand) for operand in term.operands]
        return self.put([-1 - OPS.index(term.op), len(operands), *operands])

    def threads(self, threads: Threads | None) -> tuple[int, int]:
        """Threads: which set, and where its shift is."""
        if threads is None:
            return -1, 0
        intervals = threads.intervals
        if intervals not in self.set_numbers:
            self.set_numbers[intervals] = len(self.set_numbers)
            self.sets.append(len(intervals))
            self.sets.extend(bound for interval in intervals for bound in interval)
        return self.set_numbers[intervals], self.term(threads.shift)

    def region(self, region: Region) -> int:
        """Where a region is, with the dimensions that follow each other without gaps made one."""
        if region not in self.known:
            first = self.term(region.first)
            dims: list[tuple[int, int]] = []
            for count, stride in region.dims:
                if count == 1 and region.elements:
                    continue
                if dims and dims[-1][1] == count * stride:
                    dims[-1] = dims[-1][0] * count, stride
                else:
                    dims.append((count, stride))
            flat = [x for dim in dims for x in dim]
            self.known[region] = self.put([region.array, first, len(dims), *flat])
        return self.known[region]

    def queue(self, queue: Queue) -> int:
        """Where a queue is."""
        if queue not in self.known:
            at = [self.term(i) for i in queue.at]
            self.known[queue] = self.put([queue.barriers, int(queue.reverse), len(at), *at])
        return self.known[queue]

    def touch(self, touch: Touch) -> int:
        """Where a touch is."""
        seers = NOBODY if touch.seen_by is None else self.threads(touch.seen_by)
        by = NOBODY if touch.by is None else self.threads(touch.by)
        regions = [self.region(region) for region in touch.regions]
        how = (int(touch.out_of_order), int(touch.convergent), *seers, *by)
        sees = mask(touch.extended | {touch.pair})
        kind, pair = KINDS.index(touch.kind), LEGAL_PAIRS.index(touch.pair)
        return self.put([kind, pair, sees, *how, len(regions), *regions])

    # Nodes --------------------------------------------------------------------------------------------------------

    def node(self, node: Node) -> int:
        """Where a node is; nodes are numbered parents first, in the order of the program."""
        number = self.number
        self.number += 1
        head = [NODES.index(type(node)), number]
        if not isinstance(node, Block | If | Counted):
            head += self.place(node.place)
        return self.put([*head, *self.rest(node)])

    def place(self, place: Placed) -> list[int]:
        """What is at the front of every statement."""
        return [self.ranks[place.path], *self.threads(place.threads)]

    def rest(self, node: Node) -> list[int]:
        """What else is in a node."""
        match node:
            case Action():
                queues = [self.queue(q) for q in node.trailing]
                touches = [self.touch(t) for t in node.touches]
                return [node.accesses, len(queues), *queues, len(touches), *touches]
            case Check():
                return [self.term(node.condition)]
            case Apart():
                one, other = ([self.region(r) for r in part] for part in (node.one, node.other))
                return [len(one), *one, len(other), *other]
            case Alloc() | Free():
                return [node.array]
            case BarrierAlloc() | BarrierFree():
                return [node.barriers]
            case Fence() | Arrive() | Await():
                return self.synchronization(node)
            case Counted():
                return [node.events, node.accesses]
            case _:
                return self.control(node)

    def synchronization(self, node: Fence | Arrive | Await) -> list[int]:
        """A fence, an arrive or an await."""
        match node:
            case Fence(_, first, second):
                waits = first.name != "wgmma_fence_1"
                sides = mask(first.full), int(first.transitive), *gains(second, self.policy)
                return [*sides, int(waits)]
            case Arrive(_, first, queues, kind):
                apart = int(kind is BarrierType.CudaCommitGroup)
                found = [self.queue(q) for q in queues]
                return [mask(first.full), int(first.transitive), apart, len(found), *found]
            case Await(_, queue, second, n, kind):
                apart = int(kind is BarrierType.CudaCommitGroup)
                return [n, apart, *gains(second, self.policy), self.queue(queue)]

    def control(self, node: Block | If | For | Tasks | Launch) -> list[int]:
        """What has further nodes in it."""
        match node:
            case Block(inner):
                stacks = any(isinstance(part, Alloc) and self.is_shared(part.array) for part in inner)
                return [int(stacks), len(inner), *[self.node(part) for part in inner]]
            case If(condition, body, orelse):
                return [self.term(condition), self.node(body), self.node(orelse)]
            case For(_, kind, var, lo, hi, body, is_task, period, cuts):
                bounds = [LOOPS.index(kind), var.number, self.term(lo), self.term(hi), int(is_task)]
                found = [self.term(cut) for cut in cuts]
                return [*bounds, self.node(body), period or 0, len(found), *found]
            case Tasks(_, variables, chosen, body):
                numbers = [v.number for v in variables]
                flat = [x for values, count in chosen for x in (*values, count)]
                return [self.node(body), len(numbers), *numbers, len(chosen), *flat]
            case Launch():
                return [node.block_dim, node.cluster_dim, node.grain, self.node(node.body)]

    # Storage ------------------------------------------------------------------------------------------------------

    def is_shared(self, number: int) -> bool:
        """Whether an array is in shared memory."""
        return self.plan.arrays[number].memory.space == "shared"

    def arrays(self) -> array[int]:
        """What is known of arrays: how many CTAs have shared memory, and how many cells; then each array."""
        launches = [node for node in nodes(self.plan.root) if isinstance(node, Launch)]
        ranks = max((node.cluster_dim for node in launches), default=0)
        found = array("q", [ranks, self.shared_cells()])
        for number, each in enumerate(self.plan.arrays):
            left = -1 if each.left is None else LEGAL_PAIRS.index(each.left)
            shape = each.elements, each.dtype.itemsize, each.memory.alignment
            owners = [x for owner in each.owners for x in self.threads(owner)]
            how = LEGAL_PAIRS.index(each.freeing), left, int(number in self.kept)
            found.extend([int(self.is_shared(number)), *shape, *how, len(each.owners), *owners])
        return found

    def shared_cells(self) -> int:
        """The cells that the shared memory of a CTA has at most."""
        launches = (node for node in nodes(self.plan.root) if isinstance(node, Launch))
        return max((-(-self.shared_bytes(node.body) // node.grain) for node in launches), default=0)

    def shared_bytes(self, node: Node) -> int:
        """The bytes of shared memory that are live at once in a node, at most."""
        match node:
            case Block(inner):
                own = sum(self.taken(part.array) for part in inner if isinstance(part, Alloc))
                return own + max((self.shared_bytes(part) for part in inner), default=0)
            case If(_, body, orelse):
                return max(self.shared_bytes(body), self.shared_bytes(orelse))
            case For(body=body) | Tasks(body=body):
                return self.shared_bytes(body)
            case _:
                return 0

    def taken(self, number: int) -> int:
        """The bytes that an array takes of the shared memory of a CTA, at most."""
        if not self.is_shared(number):
            return 0
        found = self.plan.arrays[number]
        return found.elements * found.dtype.itemsize + len(found.owners) * found.memory.alignment

    def barriers(self) -> array[int]:
        """Of each barrier its depth, and of its awaits the greatest N and lag, -1 where there is none, and all that
        they give to records of reads and of writes.
        """
        found = [[-1 if b.depth is None else b.depth, -1, -1, 0, 0] for b in self.plan.barriers]
        for node in nodes(self.plan.root):
            if isinstance(node, Await):
                of, writes_reads = found[node.queue.barriers], gains(node.second, self.policy)
                which, most = (1, node.n) if node.n >= 0 else (2, ~node.n)
                of[which] = max(of[which], most)
                of[3:] = of[3] | writes_reads[1], of[4] | writes_reads[0]
        return array("q", [x for each in found for x in each])
