"""Ctrl-C, and whatever else a handler of a signal raises, stops a program that runs long, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.codegen.c import interruption
from soundline.spec.dtypes import float32, index
from soundline.spec.ops.node import AxisType, RangeArg
from soundline.spec.uop import Op, UOp, buffer, const

SCRIPT = textwrap.dedent("""
    import json, os, signal, sys, threading, time
    import numpy as np
    import soundline as sl
    from soundline.impl.runtime.commands import Command, CommandBuffer
    from soundline.impl.runtime.host import ffi, host

    found = {}

    class Late(Exception):
        pass

    def stopped(name, call, kind=KeyboardInterrupt, after=0.25):
        began = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, after)
        try:
            call()
            found[name] = "ended"
        except kind as error:
            found[name] = time.perf_counter() - began - after
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def interrupt(number, frame):
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGALRM, interrupt)

    # a nest of loops, over several cores and on one
    x = np.linspace(-1, 1, 1 << 16).astype(np.float32)
    nest = sl.compile(lambda x: (x.reshape(-1, 1) * x).sin().exp().sum(1), x)
    stopped("a nest", lambda: nest(x))
    host().use(1)
    stopped("a nest on one core", lambda: nest(x))
    stopped("under measurement", lambda: nest.profile(x))

    # one loop that goes round often
    bytes_ = np.ones(1 << 26, np.uint8)
    flat = sl.compile(lambda b: b.cast("float64").sin().exp().log1p().cast("uint8"), bytes_)
    assert "_block" in flat.source
    stopped("one loop", lambda: flat(bytes_))
    host().use(2)
    stopped("one loop over cores", lambda: flat(bytes_))

    # commands that are short, and many
    size = 1 << 26
    a = np.ones(size, np.uint8)
    copy = Command(ffi().addressof(host().library, "soundline_copy"), size)
    many = CommandBuffer([copy] * 2000, [(a.dtype, a.shape)], [], [(a.dtype, a.shape)])
    stopped("commands", lambda: many.run((a,)))

    # any exception that a handler raises
    def late(number, frame):
        raise Late

    signal.signal(signal.SIGALRM, late)
    stopped("another exception", lambda: nest(x), Late)

    # what a program computes when it is not stopped, or after another was
    small = sl.compile(lambda x: (x.reshape(-1, 1) * x).sin().exp().sum(1), x[:8192])
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    wanted = small(x[:8192])
    assert "soundline_stopped()" in small.source
    count = []
    helper = sl.compile(lambda v: v + 1, np.ones(3, np.float32))

    def counted(number, frame):
        count.append(helper(np.ones(3, np.float32)).tolist())

    signal.signal(signal.SIGALRM, counted)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    same = all((small(x[:8192]) == wanted).all() for _ in range(3))
    signal.setitimer(signal.ITIMER_REAL, 0)
    found["handlers ran"] = len(count)
    found["handlers computed"] = all(c == [2.0, 2.0, 2.0] for c in count)
    found["goes on to the same bits"] = bool(same)

    # a program on another thread is not stopped
    results = []
    thread = threading.Thread(target=lambda: results.append(small(x[:8192])))
    signal.signal(signal.SIGALRM, interrupt)
    thread.start()
    stopped("the thread that waits", lambda: time.sleep(60), after=0.02)
    while not results:
        time.sleep(0.01)
    found["the other thread"] = bool((results[0] == wanted).all())

    if hasattr(os, "fork"):
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGALRM, interrupt)
            stopped("in a child", lambda: nest(x))
            os._exit(0 if found["in a child"] != "ended" and found["in a child"] < 2 else 1)
        found["in a child"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps(found))
""")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What became of programs that were interrupted, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "SOUNDLINE_THREADS": "2"},
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


STOPPED = (
    "a nest",
    "a nest on one core",
    "under measurement",
    "one loop",
    "one loop over cores",
    "commands",
    "another exception",
)


@pytest.mark.parametrize("name", STOPPED)
def test_a_long_program_is_stopped(found: dict[str, Any], name: str) -> None:
    """Each would run for seconds; a busy machine is given time."""
    assert found[name] != "ended"
    assert found[name] < 1.5


def test_a_handler_that_raises_nothing_stops_nothing(found: dict[str, Any]) -> None:
    assert found["handlers ran"] > 0
    assert found["handlers computed"]
    assert found["goes on to the same bits"]


def test_a_program_of_another_thread_is_not_stopped(found: dict[str, Any]) -> None:
    assert found["the other thread"]


def test_the_child_of_a_fork_can_be_stopped(found: dict[str, Any]) -> None:
    assert found.get("in a child", 0) == 0


# Where a kernel asks ----------------------------------------------------------------------------------------------


def loops(*trips: int) -> tuple[list[UOp], list[UOp]]:
    """The instructions of a nest that adds one number: a body of some three operations."""
    found = [Op.Range(const(n, index), arg=RangeArg(k, AxisType.LOOP)) for k, n in enumerate(trips)]
    store = buffer(0, 1, float32)
    place = Op.Index(store, const(0, index))
    load = Op.Load(place)
    total = Op.Add(load, const(1.0, float32))
    write = Op.Store(place, total)
    return [*found, place, load, total, write, *(Op.End(write, r) for r in reversed(found))], found


@pytest.mark.parametrize(
    ("trips", "asks"),
    [
        ((1 << 20,), [0]),
        ((1 << 30,), [2]),
        ((8, 1 << 20), [0, 0]),
        ((1 << 12, 1 << 18), [1, 0]),
        ((1 << 18, 1 << 12), [2, 0]),
        ((4, 1 << 28), [1, 2]),
        ((64, 64, 1 << 18), [1, 1, 0]),
    ],
    ids=str,
)
def test_a_loop_asks_where_it_is_worth_it(trips: tuple[int, ...], asks: list[int]) -> None:
    """0: not at all, 1: at each iteration, 2: at each block of iterations."""
    instructions, ranges = loops(*trips)
    found = interruption.stops(instructions)
    assert [min(found.get(r, 0), 2) for r in ranges] == asks
    for loop, size in found.items():
        body = interruption._bodies(instructions)[loop]
        assert size == 1 or interruption.BODY <= size * body <= 8 * interruption.BODY


def test_a_small_kernel_does_not_ask() -> None:
    program = sl.compile(lambda x: x.sin().sum(), np.ones(1000, np.float32))
    assert "soundline_stopped" not in program.source
