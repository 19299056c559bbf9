"""What a user of generated CUDA meets: any names, any arrays, large sizes, and kernels that go wrong."""

from __future__ import annotations

import numpy as np
import pytest

import soundline as sl
from soundline.impl.runtime.emulator.emulation import Emulated, OnDevice
from soundline.impl.spork import proc_from_text
from soundline.impl.spork.read_instructions import instr_from_text
from soundline.spec.errors import EmulationError, ProgramError

EMULATED = "CUDA-EMULATED"

# Casts ------------------------------------------------------------------------------------------------------------

CAST = """
@proc
def cast(x: {t}[3], y: {t}[3]):
    for i in seq(0, 3):
        y[i] = {t}({integer}(x[i]))
"""


@pytest.mark.parametrize(("t", "integer"), [("f32", "i32"), ("f32", "i8"), ("f64", "i64"), ("f64", "i16")])
def test_a_cast_to_an_integer_and_back_makes_no_negative_zero(t: str, integer: str) -> None:
    program = proc_from_text(CAST.replace("{t}", t).replace("{integer}", integer))
    x = np.array([-0.5, np.nan, -7.75], {"f32": np.float32, "f64": np.float64}[t])
    y = np.full_like(x, 9)
    program.run(device=EMULATED, x=x, y=y)
    np.testing.assert_array_equal(y, [0, 0, -7])
    assert not np.signbit(y[:2]).any()


@pytest.mark.parametrize("n", [1, 3, 17])
def test_a_tensor_program_casts_to_an_integer_and_back_without_a_negative_zero(n: int) -> None:
    def through(x: sl.Tensor) -> sl.Tensor:
        return x.cast(sl.int32).cast(sl.float32)

    x = np.full(n, -0.5, np.float32)
    assert not np.signbit(np.asarray(sl.compile(through, x)(x))).any()


# Names ------------------------------------------------------------------------------------------------------------

NAMES = """
@proc
def {w}({w}: size, y: i32[{w}, 32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for t_ in cuda_tasks(0, {w}):
            for l_ in cuda_threads(0, 32, unit=cuda_thread):
                y[t_, l_] = i32({w} + t_)
    for {w}1 in seq(0, 1):
        with CudaDeviceFunction(blockDim=32):
            for t_ in cuda_tasks(0, {w}):
                {v}: i32[32] @ CudaSmemLinear
                for l_ in cuda_threads(0, 32, unit=cuda_thread):
                    {v}[l_] = i32(l_ + {w}1)
                    y[t_, l_] += {v}[l_]
                Fence(cuda_in_order, cuda_in_order)
"""


@pytest.mark.parametrize(
    ("w", "v"),
    [("M_PI", "INT_MAX"), ("int64_t", "uint32_t"), ("_Bool", "NAN"), ("__line__", "linux"), ("EOF", "int")],
)
def test_names_that_headers_have_another_meaning_for(w: str, v: str) -> None:
    y = np.zeros((2, 32), np.int32)
    proc_from_text(NAMES.replace("{w}", w).replace("{v}", v)).run(device=EMULATED, y=y)
    np.testing.assert_array_equal(y, np.add.outer([2, 3], np.arange(32)))


def test_an_argument_of_the_name_of_a_word_of_run() -> None:
    program = proc_from_text("@proc\ndef fill(device: f32[2]):\n    device[0] = 1.0\n")
    given = np.zeros(2, np.float32)
    program.run(device=given)
    assert given.tolist() == [1, 0]


# Arrays -----------------------------------------------------------------------------------------------------------

ADD = """
@proc
def add(n: size, m: size, k: index, x: f32[n, m] @ CudaGmemLinear, y: f32[n, m] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, n):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                if t < m:
                    y[task, t] = x[task, t] + f32(k)
"""


def test_arrays_in_any_order_are_changed_in_place() -> None:
    add = proc_from_text(ADD)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    unaligned = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
    strided = np.zeros((4, 6), np.float32)[::2, ::-2]
    for y in (np.zeros((2, 3), np.float32, "F"), strided, unaligned):
        add.run(device=EMULATED, k=2, x=np.asfortranarray(x), y=y)
        np.testing.assert_array_equal(y, x + 2)


def test_what_is_no_array_is_told_by_its_type() -> None:
    with pytest.raises(ProgramError, match="a list where an array is wanted for x"):
        proc_from_text(ADD).run(device=EMULATED, k=2, x=[[1.0]], y=np.zeros((1, 1), np.float32))


@pytest.mark.parametrize("device", [5, "cuda", "CUDA:", "CUDA-EMULATED:1"])
def test_there_is_no_such_device(device: str) -> None:
    x = np.zeros((1, 1), np.float32)
    with pytest.raises(sl.UsageError, match="there is no device"):
        proc_from_text(ADD).run(device=device, k=2, x=x, y=x.copy())


# Sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1 << 64, (1 << 64) + 1, -(1 << 70)])
def test_numbers_of_more_than_64_bits_are_not_cut(k: int) -> None:
    x = np.zeros((1, 1), np.float32)
    with pytest.raises(ProgramError, match=f"{k}, which is no integer of 64 bits, for k"):
        proc_from_text(ADD).run(device=EMULATED, k=k, x=x, y=x.copy())


FLAT = """
@proc
def flat(n: size, m: size, x: u8[n * m] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, n):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                x[task * m + t] = 1
"""


def test_an_array_whose_indices_overflow_is_refused() -> None:
    program = proc_from_text(FLAT)
    emulated = Emulated(program.cuda(), seed=0, order="latest", multiprocessors=1)
    x = np.zeros(64, np.uint8)
    emulated.run("flat", 2, 32, OnDevice(x))
    assert x.all()
    with pytest.raises(EmulationError, match="does not fit the 32 bits"):
        emulated.run("flat", 1 << 16, 1 << 16, x)


# Kernels that go wrong ---------------------------------------------------------------------------------------------

BEYOND = """
@proc
def beyond(n: size, y: f32[n] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32):
        for task in cuda_tasks(0, (n + 31) // 32):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                y[32 * task + t + 1024 * (n // 40)] = 1.0
"""


def test_an_access_beyond_an_array_names_statement_line_and_thread() -> None:
    program = proc_from_text(BEYOND)
    program.run(device=EMULATED, y=np.zeros(32, np.float32))
    with pytest.raises(EmulationError) as caught:
        program.run(device=EMULATED, y=np.zeros(64, np.float32))
    assert caught.value.thread == 0
    assert caught.value.statement == "y[32 * task + t + 1024 * (n // 40)] = 1.0"
    assert "y[" in caught.value.text


MINE = """
@instr(unit=cuda_thread, instr_tl=cuda_in_order, cuda={cuda!r}, operands={{"dst": Operand(memories=[CudaGmemLinear])}})
def mine(dst: f32, n: index):
    dst = 1.0
"""
CALLS = """
@proc
def calls(y: f32[64] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=64):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 64, unit=cuda_thread):
                mine(y[t], n=t)
            Fence(cuda_in_order, cuda_in_order)
"""


@pytest.mark.parametrize(
    ("cuda", "says"),
    [
        ("(&{dst})[1 << 8] = 1;", "where no memory is"),
        ("ptx::mbarrier_inval_shared_b64((uint64_t *)&{dst});", "shared memory"),
    ],
)
def test_an_instruction_of_a_user_that_goes_wrong_is_named(cuda: str, says: str) -> None:
    program = proc_from_text(CALLS, {"mine": instr_from_text(MINE.format(cuda=cuda))})
    with pytest.raises(EmulationError, match=says) as caught:
        program.run(device=EMULATED, y=np.zeros(64, np.float32))
    assert caught.value.statement == "mine(y[t], n=t)"
    assert caught.value.thread is not None


def test_an_instruction_of_a_user_that_does_not_compile_is_named() -> None:
    program = proc_from_text(CALLS, {"mine": instr_from_text(MINE.format(cuda="{dst} = nowhere({n});"))})
    with pytest.raises(sl.GeneratedCodeError, match="nowhere") as caught:
        program.run(device=EMULATED, y=np.zeros(64, np.float32))
    assert caught.value.statement == "mine(y[t], n=t)"


# What a card has ---------------------------------------------------------------------------------------------------

LIMITS = """
@proc
def limits(y: f32[32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32, clusterDim={ctas}):
        for task in cuda_tasks(0, 1):
            s: f32[{ctas}, {n}] @ CudaSmemLinear
            for cta in cuda_threads(0, 1, unit=cuda_cta_in_cluster):
                for t in cuda_threads(0, 32, unit=cuda_thread):
                    y[t] = 1.0
            Fence(cuda_in_order, cuda_in_order)
"""


def limits(n: int, ctas: int = 1) -> sl.spork.SporkProc:
    return proc_from_text(LIMITS.replace("{n}", str(n)).replace("{ctas}", str(ctas)))


def test_shared_memory_chooses_the_architecture() -> None:
    assert [limits(n).cuda().arch for n in (1000, 50_000)] == ["sm_80", "sm_90a"]
    with pytest.raises(sl.CompileError, match="sm_90a has more"):
        limits(50_000).cuda("sm_80")
    with pytest.raises(sl.CompileError, match="at most 232448 bytes of shared memory for sm_90"):
        limits(60_000).cuda()


def test_a_cluster_has_at_most_16_ctas() -> None:
    assert limits(8, 16).cuda().kernels[0].cluster_dim == 16
    with pytest.raises(sl.CompileError, match="at most 16 CTAs in a cluster; got: clusters of 32"):
        limits(8, 32).cuda()
