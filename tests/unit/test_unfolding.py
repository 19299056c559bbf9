"""Unfolding: which events a program has at given sizes, by which threads, on which cells; and what is refused."""

from __future__ import annotations

import dataclasses
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from soundline.impl.spork import Builder, instr_from_text, proc_from_text
from soundline.spec.dtypes import bool_, float32, index
from soundline.spec.errors import ProgramError
from soundline.spec.ops.node import Op
from soundline.spec.spork.language.expressions import Const, Name
from soundline.spec.spork.language.programs import Proc
from soundline.spec.spork.language.statements import BarrierAt
from soundline.spec.spork.library import memories
from soundline.spec.spork.machine.conditions import RUN_CONSTRAINTS, failed
from soundline.spec.spork.machine.events import (
    Action,
    Allocated,
    Arrived,
    Awaited,
    BarrierAllocated,
    BarrierFreed,
    Computed,
    Converted,
    Element,
    Ended,
    Event,
    Fenced,
    Forked,
    Freed,
    Joined,
    Launched,
    Load,
    Number,
    Step,
    TaskBegan,
    TaskEnded,
    Touch,
)
from soundline.spec.spork.machine.names import BarrierArray, Names
from soundline.spec.spork.machine.unfolding import unfold
from soundline.spec.spork.synchronization.barriers import BarrierType, QueueId
from soundline.spec.spork.synchronization.timelines import CP_RAM, CPU, IO_RAM, IO_RMEM, InstrTl
from soundline.spec.spork.synchronization.visibility import CPU_THREAD, Kind, Thread


def program(text: str, **names: Any) -> Proc:
    return proc_from_text(textwrap.dedent(text), names)


def events(text: str, names: dict[str, Any] | None = None, **sizes: int) -> list[Event]:
    return list(unfold(program(text, **(names or {})), sizes))


def of(kind: type, found: list[Event]) -> list[Any]:
    return [event for event in found if type(event) is kind]


def rule_of(text: str, names: dict[str, Any] | None = None, **sizes: int) -> str:
    with pytest.raises(ProgramError) as caught:
        events(text, names, **sizes)
    assert caught.value.rule is not None
    return caught.value.rule


def device(body: str, arguments: str = "", *, block: int = 32, cluster: int = 1, tasks: int = 1) -> str:
    """A program of one device function with this body of a task."""
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 12)
    shape = f"blockDim={block}" + (f", clusterDim={cluster}" if cluster > 1 else "")
    return (
        f"def f({arguments}):\n    with CudaDeviceFunction({shape}):\n"
        f"        for task in cuda_tasks(0, {tasks}):\n{inner}\n"
    )


def threads(*numbers: int, task: tuple[int, ...] = (0, 0)) -> frozenset[Thread]:
    return frozenset(Thread(task, n) for n in numbers)


VECTOR_ADD = """
    def add(n: size, X: f32[n] @ CudaGmemLinear, Y: f32[n] @ CudaGmemLinear):
        assert n % 4 == 0
        with CudaDeviceFunction(blockDim=32):
            for task in cuda_tasks(0, n // 4):
                for tid in cuda_threads(0, 4, unit=cuda_thread):
                    X[task * 4 + tid] += Y[task * 4 + tid]
    """

# Order ------------------------------------------------------------------------------------------------------------


def test_a_device_function_is_its_tasks_between_launch_and_end() -> None:
    found = events(VECTOR_ADD, n=8)
    kinds = [type(event).__name__ for event in found]
    task = ["TaskBegan", *["Action"] * 4, "TaskEnded"]
    assert kinds == ["Allocated", "Allocated", "Launched", *task, *task, "Ended"]
    launched, ended = of(Launched, found)[0], of(Ended, found)[0]
    assert (launched.launch, launched.block_dim, launched.cluster_dim) == (ended.launch, 32, 1)
    assert (
        [e.task for e in of(TaskBegan, found)] == [e.task for e in of(TaskEnded, found)] == [(0, 0), (0, 1)]
    )
    assert of(TaskBegan, found)[0].place.threads == threads(*range(32))
    assert launched.place.threads == frozenset({CPU_THREAD})


def test_an_action_says_who_what_and_in_which_iteration() -> None:
    last = of(Action, events(VECTOR_ADD, n=8))[-1]
    assert last.place.threads == threads(3, task=(0, 1))
    assert last.place.iteration == (("task", 1), ("tid", 3))
    assert last.place.path == (0, 0, 0, 0)
    assert last.place.instr_tl is InstrTl.cuda_in_order
    read, write = last.touches
    assert (read.operand, read.kind, read.pair) == ("Y", Kind.read, IO_RAM)
    assert (write.operand, write.kind, write.pair) == ("X", Kind.write, IO_RAM)
    assert [str(e) for t in last.touches for e in t.elements] == ["Y[7]", "X[7]"]
    (step,) = last.steps
    assert step.reduce
    assert not step.atomic
    assert step.value == Load(read.elements[0])


def test_launches_and_instances_are_counted() -> None:
    found = events(
        """
        def f():
            for i in seq(0, 2):
                x: f32[1]
                with CudaDeviceFunction(blockDim=32):
                    for a in cuda_tasks(0, 1):
                        for b in cuda_tasks(2, 4):
                            pass
        """
    )
    assert [e.task for e in of(TaskBegan, found)] == [(0, 0, 2), (0, 0, 3), (1, 0, 2), (1, 0, 3)]
    spaces = [e.buffer.elements[0].cells[0].space for e in of(Allocated, found)]
    assert spaces == [("x", 0), ("x", 1)]


def test_paths_of_an_else_branch_count_on_and_those_of_a_called_proc_follow_the_call() -> None:
    called = program("def g(x: f32[2]):\n    pass\n    x[1] = 0.0\n")
    text = """
        def f(b: bool, x: f32[2]):
            if b:
                pass
                x[0] = 0.0
            else:
                x[0] = 1.0
                g(x)
        """
    found = of(Action, events(text, {"g": called}, b=False))
    assert [a.place.path for a in found] == [(0, 2), (0, 3, 1)]
    assert of(Action, events(text, {"g": called}, b=True))[0].place.path == (0, 1)


def test_loops_run_from_lo_to_hi_and_not_at_all_where_there_is_nothing_between() -> None:
    text = """
        def f(lo: index, hi: index, x: i32[9]):
            for i in seq(lo, hi):
                x[i] = i32(i)
        """
    assert [dict(a.place.iteration)["i"] for a in of(Action, events(text, lo=2, hi=5))] == [2, 3, 4]
    assert of(Action, events(text, lo=5, hi=5)) == of(Action, events(text, lo=5, hi=-1)) == []


def test_par_iterations_are_threads_of_their_own() -> None:
    found = events(
        """
        def f(x: f32[3]):
            for r in seq(0, 2):
                for i in par(0, 3):
                    y: f32
                    x[i] = 0.0
        """
    )
    first, second = of(Forked, found)
    assert first.children == tuple(Thread(("par", 0, i)) for i in range(3))
    assert second.children == tuple(Thread(("par", 1, i)) for i in range(3))
    assert first.place.threads == frozenset({CPU_THREAD})
    assert [a.place.threads for a in of(Action, found)[:3]] == [frozenset({c}) for c in first.children]
    assert of(Allocated, found)[1].buffer.owner == frozenset({first.children[0]})
    assert [e.children for e in of(Joined, found)] == [first.children, second.children]


# Lifetimes --------------------------------------------------------------------------------------------------------


def test_storage_and_barriers_end_with_their_block_in_reverse_order() -> None:
    found = events(
        device(
            """
            a: f32[4] @ CudaSmemLinear
            bar: barrier @ CudaMbarrier
            if True:
                b: f32[4] @ CudaSmemLinear
                pass
            c: f32[4] @ CudaSmemLinear
            """
        )
    )
    names = [
        (type(e).__name__, e.name if hasattr(e, "name") else e.buffer.name)
        for e in found
        if isinstance(e, Allocated | Freed | BarrierAllocated | BarrierFreed)
    ]
    assert names == [
        ("Allocated", "a"),
        ("BarrierAllocated", "bar"),
        ("Allocated", "b"),
        ("Freed", "b"),
        ("Allocated", "c"),
        ("Freed", "c"),
        ("BarrierFreed", "bar"),
        ("Freed", "a"),
    ]
    assert found.index(of(Freed, found)[-1]) < found.index(of(TaskEnded, found)[0])


def test_an_argument_is_allocated_first_and_never_freed() -> None:
    found = events("def f(n: size, x: f32[n, 2], y: f64):\n    pass\n", n=3)
    assert [type(e).__name__ for e in found] == ["Allocated", "Allocated"]
    assert all(e.is_argument for e in found if isinstance(e, Allocated))
    x, y = (e.buffer for e in of(Allocated, found))
    assert (x.shape, len(x.elements), x.memory) == ((3, 2), 6, memories.DRAM)
    assert (y.shape, [str(e) for e in y.elements]) == ((), ["y"])
    assert [str(e) for e in x.elements][:3] == ["x[0, 0]", "x[0, 1]", "x[1, 0]"]
    inner = of(Allocated, events("def f():\n    x: f32[2]\n    pass\n"))
    assert [e.is_argument for e in inner] == [False]


# Cells ------------------------------------------------------------------------------------------------------------


def spans(found: list[Event]) -> dict[str, list[tuple[Any, int, int]]]:
    """By name, the space, first address and last address of each buffer that is allocated."""
    made: dict[str, list[tuple[Any, int, int]]] = {}
    for event in of(Allocated, found):
        cells = [c for e in event.buffer.elements for c in e.cells]
        addresses = [c.address for c in cells]
        made.setdefault(event.buffer.name, []).append((cells[0].space, min(addresses), max(addresses)))
    return made


def test_shared_memory_is_a_stack_in_cells_of_the_greatest_common_grain() -> None:
    found = events(
        device(
            """
            a: f32[3] @ CudaSmemLinear
            if True:
                b: f16[2] @ CudaSmemLinear
                pass
            c: f64[1] @ CudaSmemLinear
            d: f32[1] @ CudaSmemLinear
            """
        )
    )
    space = ("shared", (0, 0), 0)
    made = spans(found)
    assert made["a"] == [(space, 0, 5)]  # three elements of two cells of two bytes
    assert made["b"] == [(space, 64, 65)]  # the next boundary of 128 bytes
    assert made["c"] == [(space, 64, 67)]  # where b was
    assert made["d"] == [(space, 128, 129)]
    assert len(of(Allocated, found)[2].buffer.elements[0].cells) == 4


def test_iterations_use_the_same_shared_memory_again_and_tasks_do_not() -> None:
    text = device(
        """
        for k in seq(0, 2):
            a: f32[4] @ CudaSmemLinear
            pass
        """,
        tasks=2,
    )
    places = spans(events(text))["a"]
    assert [space for space, _, _ in places] == [("shared", (0, t), 0) for t in (0, 0, 1, 1)]
    assert {first for _, first, _ in places} == {0}


def test_one_dtype_alone_makes_cells_of_its_elements() -> None:
    found = events(device("a: f64[3] @ CudaSmemLinear\npass"))
    assert spans(found)["a"] == [(("shared", (0, 0), 0), 0, 2)]


# Shards -----------------------------------------------------------------------------------------------------------


def test_registers_that_are_shared_out_are_one_buffer_for_each_thread() -> None:
    found = events(
        device(
            """
            r: f32[2, 4, 3] @ CudaRmem
            for w in cuda_threads(0, 2, unit=4 * cuda_thread):
                for t in cuda_threads(0, 4, unit=cuda_thread):
                    r[w, t, 1] = 0.0
            """,
            block=32,
        )
    )
    buffers = [e.buffer for e in of(Allocated, found)]
    assert [b.owner for b in buffers] == [threads(n) for n in range(8)]
    assert {b.shape for b in buffers} == {(3,)}
    assert [str(b.elements[0]) for b in buffers[:5]] == [
        "r[0, 0, 0]",
        "r[0, 1, 0]",
        "r[0, 2, 0]",
        "r[0, 3, 0]",
        "r[1, 0, 0]",
    ]
    assert [e.buffer.owner for e in of(Freed, found)] == [threads(n) for n in reversed(range(8))]
    assert all(e.place.threads == e.buffer.owner for e in [*of(Allocated, found), *of(Freed, found)])
    for action in of(Action, found):
        (element,) = action.touches[0].elements
        (owner,) = (b.owner for b in buffers if element in b.elements)
        assert action.place.threads == owner


def test_indices_of_shards_need_not_stand_in_the_order_of_threads_nor_begin_at_the_first() -> None:
    found = events(
        device(
            """
            with CudaWarps(1, 2):
                r: f32[2, 16] @ CudaRmem
                for a in cuda_threads(0, 16, unit=2 * cuda_thread):
                    for b in cuda_threads(0, 2, unit=cuda_thread):
                        r[b, a] = 0.0
            """,
            block=64,
        )
    )
    buffers = [e.buffer for e in of(Allocated, found)]
    assert [min(b.owner).number for b in buffers] == [32 + 2 * a + b for b in range(2) for a in range(16)]
    for action in of(Action, found):
        (owner,) = (b.owner for b in buffers if action.touches[0].elements[0] in b.elements)
        assert action.place.threads == owner


def test_storage_inside_of_thread_loops_belongs_to_the_threads_of_its_iteration() -> None:
    found = events(
        device(
            """
            for w in cuda_threads(0, 2, unit=cuda_warp):
                d: f32[16, 8] @ Sm80_RmemMatrixD
                r: f32[32] @ CudaRmem
                Sm80_mma_zero_d_tf32(d[0:16, 0:8])
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    r[t] = 0.0
            """,
            block=64,
        )
    )
    owners: dict[str, list[frozenset[Thread]]] = {}
    for event in of(Allocated, found):
        owners.setdefault(event.buffer.name, []).append(event.buffer.owner)
    assert owners["d"] == [threads(*range(32)), threads(*range(32, 64))]
    assert owners["r"] == [threads(n) for n in range(64)]


def test_shared_memory_of_a_cluster_lies_in_the_stack_of_each_cta() -> None:
    found = events(
        device(
            """
            s: f32[2, 4] @ CudaSmemLinear
            for c in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                for t in cuda_threads(0, 4, unit=cuda_thread):
                    s[c, t] = 0.0
            """,
            block=32,
            cluster=2,
        )
    )
    assert spans(found)["s"] == [(("shared", (0, 0), 0), 0, 3), (("shared", (0, 0), 1), 0, 3)]
    assert [e.buffer.owner for e in of(Allocated, found)] == [threads(*range(32)), threads(*range(32, 64))]
    assert [str(e) for e in of(Allocated, found)[1].buffer.elements] == [f"s[1, {t}]" for t in range(4)]


def test_what_nothing_uses_belongs_to_who_allocates_it() -> None:
    (made,) = of(Allocated, events(device("r: f32[4] @ CudaRmem\npass", block=32)))
    assert made.buffer.owner == threads(*range(32))
    assert made.buffer.shape == (4,)


# Views ------------------------------------------------------------------------------------------------------------


def test_windows_keep_the_indices_of_the_array() -> None:
    found = of(
        Action,
        events(
            """
            def f(k: index, x: f32[4, 5, 6]):
                w = x[1:3, k, 2:]
                v = w[1, 1:3]
                v[1] = w[0, 3]
            """,
            k=4,
        ),
    )
    read, write = found[0].touches
    assert (read.operand, str(read.elements[0])) == ("w", "x[1, 4, 5]")
    assert (write.operand, str(write.elements[0])) == ("v", "x[2, 4, 4]")
    assert write.pair == read.pair == CPU


def test_a_called_proc_touches_what_it_was_given() -> None:
    called = program("def g(n: size, x: f32[n], y: f32):\n    x[n - 1] = y\n")
    found = of(
        Action,
        events(
            """
            def f(a: f32[4, 4], b: f32[2]):
                g(3, a[2, 1:], b[1])
                g(4, y=2.5, x=a[:, 0])
            """,
            {"g": called},
        ),
    )
    assert [[(t.operand, str(t.elements[0])) for t in a.touches] for a in found] == [
        [("y", "b[1]"), ("x", "a[2, 3]")],
        [("x", "a[3, 0]")],
    ]
    assert found[1].steps[0].value == Number(2.5, float32)


def test_a_value_that_is_given_is_read_where_the_argument_is() -> None:
    called = program("def g(x: f32[2], y: f32):\n    x[0] = 0.0\n    x[1] = y\n")
    found = of(
        Action, events("def f(a: f32[2], b: f32[2]):\n    g(a, b[0] * f32(b[1]) + 1)\n", {"g": called})
    )
    assert [len(a.touches) for a in found] == [1, 2]
    assert [str(e) for e in found[1].touches[0].elements] == ["b[0]", "b[1]"]


# Values -----------------------------------------------------------------------------------------------------------


def value(expression: str, dtype: str = "f32") -> Any:
    text = f"def f(i: index, b: bool, x: {dtype}[4], y: f64[1], z: {dtype}):\n    z = {expression}\n"
    (action,) = of(Action, events(text, i=3, b=True))
    return action.steps[0].value


def test_literals_take_the_dtype_of_their_surroundings() -> None:
    assert value("1") == Number(1.0, float32)
    assert value("0.1").value == 0.10000000149011612
    assert value("0.1", "f64").value == 0.1
    assert value("300", "u8").value == 44
    assert value("x[0] + 1").operands[1] == Number(1.0, float32)
    assert value("f32(y[0] < 1)").operand.operands[1].dtype.name == "float64"
    assert value("1.0 / 3.0").operands == (Number(1.0, float32), Number(3.0, float32))


def test_control_is_data_only_through_a_cast() -> None:
    found = value("f32(i * 2 + 1)")
    assert isinstance(found, Converted)
    assert found.operand.dtype is index
    assert found.operand == Computed(
        Op.Add, (Computed(Op.Mul, (Number(3, index), Number(2, index)), index), Number(1, index)), index
    )
    assert value("f32(0.1)") == Converted(Number(0.1, value("0.1", "f64").dtype), float32)
    assert value("f32(7)") == Converted(Number(7, index), float32)
    assert value("select(b, x[0], 0)").operands[0].value is True
    assert value("select(True, x[0], 0)").operands[0] == Number(True, bool_)
    assert value("select(i < 3, x[0], 0)").dtype is float32


def test_comparisons_are_of_the_dtype_of_their_operands() -> None:
    found = value("select(y[0] >= 2, x[1], x[2])")
    condition = found.operands[0]
    assert (condition.op, condition.dtype.name) == (Op.CmpGe, "bool")
    assert {o.dtype.name for o in condition.operands} == {"float64"}
    assert found.dtype is float32


# Instructions -----------------------------------------------------------------------------------------------------


def touches(action: Action) -> list[tuple[str, str, list[str]]]:
    return [(t.operand, str(t.kind), [str(e) for e in t.elements]) for t in action.touches]


def test_an_instruction_is_one_action_of_all_that_its_body_does() -> None:
    text = device(
        """
        s: f32[16] @ CudaSmemLinear
        for t in cuda_threads(0, 2, unit=cuda_thread):
            with CudaAsync(Sm80_cp_async):
                Sm80_cp_async_f32(s[4 * t : 4 * t + 2], g[t, 0:2], size=2)
        """,
        "g: f32[2, 8] @ CudaGmemLinear",
    )
    first, second = of(Action, events(text))
    assert touches(first) == [("src", "read", ["g[0, 0]", "g[0, 1]"]), ("dst", "write", ["s[0]", "s[1]"])]
    assert touches(second)[1] == ("dst", "write", ["s[4]", "s[5]"])
    assert [str(s.target) for s in second.steps] == ["s[4]", "s[5]"]
    assert {t.pair for t in first.touches} == {CP_RAM}
    assert all(t.out_of_order and not t.convergent and not t.extended for t in first.touches)
    assert first.place.instr_tl is InstrTl.Sm80_cp_async
    assert first.trailing == ()


def test_registers_are_convergent_and_reductions_are_writes() -> None:
    text = device(
        """
        d: f32[16, 8] @ Sm80_RmemMatrixD
        a: f32[16, 4] @ Sm80_RmemMatrixA
        b: f32[4, 8] @ Sm80_RmemMatrixB
        Sm80_mma_tf32(d[0:16, 0:8], a[0:16, 0:4], b[0:4, 0:8], K=4)
        """,
        block=32,
    )
    (action,) = of(Action, events(text))
    assert [(t.operand, t.kind, len(t.elements), t.pair, t.convergent) for t in action.touches] == [
        ("A", Kind.read, 64, IO_RMEM, True),
        ("B", Kind.read, 32, IO_RMEM, True),
        ("D", Kind.write, 128, IO_RMEM, True),
    ]
    assert len(action.steps) == 16 * 8 * 4
    assert action.place.threads == threads(*range(32))


ODD = """
@instr(
    unit=cuda_thread,
    instr_tl=cuda_in_order,
    operands={
        "a": Operand(convergent=False, extended=[("Sm80_cp_async", "cuda_ram")]),
        "b": Operand(out_of_order=True),
    },
)
def odd(a: f32[2] @ CudaRmem, b: f32[1] @ CudaGmemLinear, c: f32[2] @ CudaRmem):
    a[0] = c[0]
    a[0] = c[1]
    b[0] = c[0]
"""


def test_touches_are_reads_then_writes_and_say_what_the_operand_does() -> None:
    text = device(
        """
        for t in cuda_threads(0, 1, unit=cuda_thread):
            r: f32[3] @ CudaRmem
            s: f32[2] @ CudaRmem
            r[2] = 0.0
            odd(r[0:2], g[0:1], s[0:2])
        """,
        "g: f32[1] @ CudaGmemLinear",
    )
    plain, action = of(Action, events(text, {"odd": instr_from_text(ODD)}))
    assert touches(action) == [
        ("c", "read", ["s[0]", "s[1]"]),
        ("a", "write", ["r[0]"]),
        ("b", "write", ["g[0]"]),
    ]
    c, a, b = action.touches
    assert (c.convergent, a.convergent, b.convergent) == (True, False, False)
    assert (c.extended, a.extended) == (frozenset(), frozenset({CP_RAM}))
    assert (a.out_of_order, b.out_of_order) == (False, True)
    assert (a.pair, b.pair) == (IO_RMEM, IO_RAM)
    assert [str(step.target) for step in action.steps] == ["r[0]", "r[0]", "g[0]"]
    assert [(t.convergent, t.pair) for t in plain.touches] == [(True, IO_RMEM)]


def test_the_cpu_has_one_usage_for_all_memory() -> None:
    (action,) = of(Action, events("def f(x: f32[2] @ CudaGridConstant):\n    x[0] = x[1]\n"))
    assert {t.pair for t in action.touches} == {CPU}


def test_an_atomic_operand_is_touched_atomically() -> None:
    text = device(
        """
        for t in cuda_threads(0, 2, unit=cuda_thread):
            cuda_atomic_add_f32(g[0], g[1 + t])
        """,
        "g: f32[4] @ CudaGmemLinear",
    )
    first, _ = of(Action, events(text))
    assert touches(first) == [("value", "read", ["g[1]"]), ("dst", "atomic", ["g[0]"])]
    assert [(s.reduce, s.atomic) for s in first.steps] == [(True, True)]


def test_what_an_instruction_is_given_has_the_sizes_that_it_declares() -> None:
    text = device(
        """
        for t in cuda_threads(0, 1, unit=cuda_thread):
            for n in seq(1, k):
                s: f32[4] @ CudaRmem
                cuda_copy_f32(s[0:n], g[0:2], size=2)
        """,
        "k: size, g: f32[4] @ CudaGmemLinear",
    )
    assert rule_of(text, k=2) == "instr-size"
    assert (
        rule_of(text.replace("0:2], size=2", "0:n], size=n"), k=4) == "instr-size"
    )  # 3 elements are 12 bytes
    assert len(of(Action, events(text.replace("0:2], size=2", "0:n], size=n"), k=3))) == 2


def test_a_view_that_a_memory_makes_is_touched_as_that_memory_is() -> None:
    text = """
        def f(n: size, g: f32[8, 8] @ CudaGmemLinear):
            map = g[0:8, 0:8] @ Sm90_tensorMap(0, 4, 4)
            with CudaDeviceFunction(blockDim=32):
                for task in cuda_tasks(0, 1):
                    s: f32[4, 4] @ CudaSmemLinear
                    bar: barrier @ CudaMbarrier
                    with CudaAsync(tma_to_smem_async):
                        Sm90_copy_tensor_to_smem_2d_f32(s[0:4, 0:4], map[n:n+4, 0:4], n0=n, n1=4) >> bar
                        Arrive(tma_to_smem_async, 1) >> bar
                    Await(bar, cuda_in_order, ~0)
        """
    (action,) = of(Action, events(text, n=4))
    assert [t.out_of_order for t in action.touches] == [True, True]
    assert action.trailing == (QueueId(("bar", 0)),)
    assert str(action.touches[0].elements[0]) == "g[4, 0]"
    assert rule_of(text, n=3) == "instr-size"  # a box of three rows where the window has four
    odd = text.replace("n:n+4", "0:n").replace("s[0:4", "s[0:n")
    assert rule_of(odd, n=3) == "instr-memory"  # a box of 3 by 4 for one of 4 by 4


# Synchronization --------------------------------------------------------------------------------------------------


def test_fences_arrives_and_awaits_have_their_timelines_and_queues() -> None:
    text = device(
        """
        Fence(cuda_in_order, Sm80_generic)
        bar: barrier[1] @ CudaMbarrier
        for w in cuda_threads(0, 1, unit=cuda_warp):
            Arrive(cuda_in_order, 1) >> bar[w]
            Await(bar[w], cuda_in_order, ~0)
            ReverseArrive(cuda_in_order, 1) >> bar[w]
            ReverseAwait(bar[w], cuda_in_order, ~1)
        """,
        block=32,
    )
    found = events(text)
    (fence,) = of(Fenced, found)
    assert (fence.first.name, fence.second.name) == ("cuda_in_order", "Sm80_generic")
    assert fence.place.threads == threads(*range(32))
    (made,) = of(BarrierAllocated, found)
    assert (made.barrier, made.name, made.type) == (("bar", 0), "bar", BarrierType.CudaMbarrier)
    one, two = of(Arrived, found)
    assert (one.queues, two.queues) == ((QueueId(("bar", 0), (0,)),), (QueueId(("bar", 0), (0,), True),))
    assert (one.first.name, one.type) == ("cuda_in_order", BarrierType.CudaMbarrier)
    three, four = of(Awaited, found)
    assert (three.queue, three.n, three.second.name) == (QueueId(("bar", 0), (0,)), -1, "cuda_in_order")
    assert (four.queue, four.n) == (QueueId(("bar", 0), (0,), True), -2)


def test_a_multicast_arrive_reaches_every_iteration_of_the_loop_of_its_home() -> None:
    text = device(
        """
        bar: barrier @ CudaMbarrier
        for m in cuda_threads(0, 2, unit=2 * cuda_cta_in_cluster):
            for n in cuda_threads(0, 2, unit=cuda_cta_in_cluster):
                Arrive(cuda_in_order, 1) >> bar[m, :] >> bar[:, n]
                Await(bar[m, n], cuda_in_order, ~0)
        """,
        block=32,
        cluster=4,
    )
    found = of(Arrived, events(text))
    at = [[q.at for q in arrive.queues] for arrive in found]
    assert at[0] == [(0, 0), (0, 1), (1, 0)]
    assert at[1] == [(0, 1), (0, 0), (1, 1)]
    assert at[3] == [(1, 1), (0, 1), (1, 0)]
    assert found[1].place.threads == threads(*range(32, 64))


# Conditions of a run ----------------------------------------------------------------------------------------------

ARGUMENT = """
    def f(n: size, k: index, b: bool, x: f32[n]):
        pass
    """


def test_control_is_given_in_full_and_of_its_type() -> None:
    assert len(events(ARGUMENT, n=2, k=-1, b=True)) == 1
    assert rule_of(ARGUMENT, n=2, k=0) == "seq-argument"
    assert rule_of(ARGUMENT, n=2, k=0, b=1) == "seq-argument"
    assert rule_of(ARGUMENT, n=2, k=True, b=True) == "seq-argument"
    assert rule_of(ARGUMENT, n=2, k=0, b=True, j=1) == "seq-argument"
    assert rule_of(ARGUMENT, n=2, k=0, b=True, x=1) == "seq-argument"
    assert rule_of(ARGUMENT, n=-1, k=0, b=True) == "seq-size"
    assert rule_of("def f(n: size):\n    pass\n", n=-1) == "seq-size"


def test_arguments_of_a_call_fit() -> None:
    called = program("def g(n: size, x: f32[n]):\n    assert n < 3\n    x[0] = 0.0\n")
    text = "def f(m: size, a: f32[4]):\n    g(m, a[0:2])\n"
    assert len(of(Action, events(text, {"g": called}, m=2))) == 1
    assert rule_of(text, {"g": called}, m=1) == "seq-argument"
    assert rule_of(text.replace("g(m", "g(0 - m"), {"g": called}, m=1) == "seq-size"
    assert rule_of(text.replace("0:2", "0:m"), {"g": called}, m=3) == "seq-assert"


def test_assertions_hold() -> None:
    assert events(VECTOR_ADD, n=4)
    with pytest.raises(ProgramError) as caught:
        events(VECTOR_ADD, n=6)
    assert (caught.value.rule, caught.value.line) == ("seq-assert", 3)
    assert "n = 6" in str(caught.value)


def test_sizes_are_not_negative() -> None:
    text = "def f(n: size):\n    x: f32[n - 2]\n    pass\n"
    assert len(of(Allocated, events(text, n=2))) == 1
    assert rule_of(text, n=1) == "seq-size"
    barriers = "def f(n: size):\n    b: barrier[n - 2] @ CudaEvent\n    pass\n"
    assert rule_of(barriers, n=1) == "seq-size"


@pytest.mark.parametrize(
    ("statement", "last"),
    [
        ("x[k] = 0.0", 3),
        ("y = x[k]", 3),
        ("w = x[0:k]", 4),
        ("w = x[k:]", 4),
        ("w = x[2:k]", 4),
        ("w = x[0:2]\n    w[k] = 0.0", 1),
        ("g(x[k])", 3),
    ],
)
def test_indices_and_windows_lie_within_bounds(statement: str, last: int) -> None:
    called = program("def g(z: f32):\n    z = 0.0\n")
    text = f"def f(k: index, x: f32[4], y: f32):\n    {statement}\n    pass\n"
    assert events(text, {"g": called}, k=last)
    assert rule_of(text, {"g": called}, k=last + 1) == "seq-bounds"
    assert rule_of(text, {"g": called}, k=-1) == "seq-bounds"


def test_a_window_does_not_end_before_it_begins() -> None:
    text = "def f(k: index, x: f32[4]):\n    w = x[2:k]\n"
    assert not of(Action, events(text, k=2))
    assert rule_of(text, k=1) == "seq-bounds"


def test_an_index_of_a_barrier_lies_within_its_sizes() -> None:
    names = Names({"k": 1, "bar": BarrierArray(("bar", 0), "bar", BarrierType.CudaMbarrier, (2,))})
    assert names.barrier(BarrierAt("bar", (Name("k"),)))[1] == (1,)
    with pytest.raises(ProgramError) as caught:
        names.barrier(BarrierAt("bar", (Const(2),)))
    assert caught.value.rule == "seq-bounds"


def test_an_error_points_at_the_index_and_names_the_iteration() -> None:
    with pytest.raises(ProgramError) as caught:
        events("def f(n: size, x: f32[4]):\n    for i in seq(0, n):\n        x[i + 1] = 0.0\n", n=9)
    error = caught.value
    assert (error.rule, error.line, error.column) == ("seq-bounds", 3, 11)
    assert "i + 1 = 4 of 4 where i = 3" in str(error)
    assert RUN_CONSTRAINTS["seq-bounds"] in str(error)


def test_an_error_of_a_program_that_was_built_has_no_place() -> None:
    b = Builder("f")
    x = b.argument("x", float32, (2,))
    b.assign(x[2], 0.0)
    with pytest.raises(ProgramError) as caught:
        list(unfold(b.done(), {}))
    assert (caught.value.rule, caught.value.line) == ("seq-bounds", None)


def test_the_static_law_and_the_sizes_are_asked_before_the_first_event() -> None:
    wrong = program(device("x = 0.0", "x: f32 @ CudaGmemLinear"))
    for proc, sizes in ((wrong, {}), (program(VECTOR_ADD), {}), (program(VECTOR_ADD), {"n": 6})):
        with pytest.raises(ProgramError):
            unfold(proc, sizes)


def test_what_a_body_of_an_instruction_does_is_checked_too() -> None:
    odd = instr_from_text(
        """
@instr(unit=cuda_thread, instr_tl=cuda_in_order)
def odd(x: [f32][2] @ CudaRmem, k: index):
    x[k] = 0.0
"""
    )
    text = device(
        """
        for t in cuda_threads(0, 1, unit=cuda_thread):
            r: f32[2] @ CudaRmem
            odd(r[0:2], k)
        """,
        "k: index",
    )
    assert len(of(Action, events(text, {"odd": odd}, k=1))) == 1
    assert rule_of(text, {"odd": odd}, k=2) == "seq-bounds"


# Speed ------------------------------------------------------------------------------------------------------------


def test_every_access_is_there_once() -> None:
    found = of(Action, events(VECTOR_ADD, n=400))
    counted = Counter(_all_elements(found))
    assert len(counted) == 800
    assert set(counted.values()) == {1}


def _all_elements(actions: list[Action]) -> Iterator[Element]:
    for action in actions:
        for touch in action.touches:
            assert isinstance(touch, Touch)
            yield from touch.elements


def defaults(kind: type) -> dict[str, Any]:
    return {f.name: f.default for f in dataclasses.fields(kind) if f.default is not dataclasses.MISSING}


def test_what_is_not_said_of_a_step_or_a_touch_is_not_so() -> None:
    assert defaults(Step) == {"reduce": False, "atomic": False}
    plain = {"out_of_order": False, "convergent": False, "extended": frozenset(), "seen_by": None}
    assert defaults(Touch) == plain | {"by": None}


def test_an_error_names_a_place_only_where_there_is_one() -> None:
    error = failed("seq-size", "no size is negative", None, "-1", [("i", 2)], hint="none")
    assert error.message == "no size is negative; got: -1 where i = 2"
    assert (error.file, error.line, error.rule, error.hint) == (None, None, "seq-size", "none")
    there = program("def f(n: size):\n    pass").body[0]
    found = failed("seq-size", "no size is negative", there, "-1")
    assert there.position is not None
    assert (found.line, found.message) == (there.position.line, "no size is negative; got: -1")
