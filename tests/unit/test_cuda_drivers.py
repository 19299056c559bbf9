"""A program on a GPU, where the packages that provide the driver are stand-ins that keep memory and count calls."""

from __future__ import annotations

import ctypes
import re
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soundline as sl
from soundline.impl.runtime import cpu_part, cuda
from soundline.impl.runtime.cpu_part import CpuPart, compiled
from soundline.impl.runtime.drivers import choice, libcuda, pycuda_driver
from soundline.impl.runtime.drivers.bindings_driver import BindingsDriver
from soundline.impl.runtime.drivers.interface import (
    DeviceFacts,
    Driver,
    Failure,
    TensorMap,
    check_arch,
    check_shared,
    refusal,
)
from soundline.impl.runtime.drivers.libcuda import LibCuda
from soundline.impl.runtime.drivers.pycuda_driver import PycudaDriver
from soundline.impl.spork.devices import arch_for
from soundline.spec.spork.language.programs import Proc

CARD = DeviceFacts("a card", (9, 0), 4, 232_448, 1 << 20)
NO_MEMORY, NOT_THERE = 2, 100
"""Results of the driver, as it numbers them."""
NAMES = {
    NO_MEMORY: "CUDA_ERROR_OUT_OF_MEMORY",
    NOT_THERE: "CUDA_ERROR_NO_DEVICE",
    719: "CUDA_ERROR_LAUNCH_FAILED",
}
WORDS = {
    NO_MEMORY: "out of memory",
    NOT_THERE: "no CUDA-capable device is detected",
    719: "unspecified launch failure",
}


@dataclass
class Card:
    """A device whose memory is memory of this process."""

    blocks: dict[int, Any] = field(default_factory=dict)
    launches: list[dict[str, Any]] = field(default_factory=list)
    broken: dict[str, int] = field(default_factory=dict)
    """Which functions fail, and how."""
    capturing: list[dict[str, Any]] | None = None
    maps: list[tuple[Any, ...]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What was done at the end of the process."""

    def allocate(self, size: int) -> int:
        block = ctypes.create_string_buffer(size)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def launch(self, **how: Any) -> None:
        if self.capturing is not None:
            self.capturing.append(how)
            return
        self.launches.append(how)
        address, count = np.frombuffer(how["arguments"], np.int64).tolist()
        values = (ctypes.c_float * count).from_address(address)
        for k in range(count):
            values[k] *= 2


# cuda-bindings ----------------------------------------------------------------------------------------------------


class Named(int):
    """A number with a name, as the results of cuda-bindings are."""

    @property
    def name(self) -> str:
        return NAMES.get(int(self), "CUDA_SUCCESS")


class Bindings(types.ModuleType):
    """``cuda.bindings.driver``: every function returns its result first."""

    def __init__(self, card: Card) -> None:
        super().__init__("cuda.bindings.driver")
        self.card = card
        self.CUdevice_attribute = types.SimpleNamespace(
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=9,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=0,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=4,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=232_448,
        )
        self.CUfunction_attribute = types.SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
        self.CUstreamCaptureMode = types.SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
        self.CUmemorytype = types.SimpleNamespace(CU_MEMORYTYPE_HOST=1, CU_MEMORYTYPE_DEVICE=2)
        self.CUDA_MEMCPY2D = types.SimpleNamespace
        self.CUtensorMapInterleave = types.SimpleNamespace(CU_TENSOR_MAP_INTERLEAVE_NONE=0)
        self.CUtensorMapFloatOOBfill = types.SimpleNamespace(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE=0)
        for name in ("CUtensorMapDataType", "CUtensorMapSwizzle", "CUtensorMapL2promotion"):
            setattr(self, name, int)
        for name in ("cuuint64_t", "cuuint32_t"):
            setattr(self, name, int)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        if name in self.card.broken:
            return lambda *_: (Named(self.card.broken[name]),)
        return getattr(self, f"do_{name}", lambda *_: (Named(0), 1))

    def do_cuDeviceGetName(self, length: int, _device: int) -> Any:
        return Named(0), b"a card".ljust(length, b"\0")

    def do_cuDeviceTotalMem(self, _device: int) -> Any:
        return Named(0), 1 << 20

    def do_cuDeviceGetAttribute(self, wanted: int, _device: int) -> Any:
        return Named(0), wanted

    def do_cuModuleGetFunction(self, _module: Any, name: bytes) -> Any:
        return Named(0), name.decode()

    def do_cuMemAllocAsync(self, size: int, _stream: Any) -> Any:
        return Named(0), self.card.allocate(size)

    def do_cuMemFreeAsync(self, address: int, _stream: Any) -> Any:
        del self.card.blocks[address]
        return (Named(0),)

    def do_cuMemcpyHtoDAsync(self, to: int, source: int, size: int, _stream: Any) -> Any:
        ctypes.memmove(to, source, size)
        return (Named(0),)

    def do_cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: Any) -> Any:
        return self.do_cuMemcpyHtoDAsync(to, source, size, stream)

    def do_cuMemcpy2DAsync(self, copy: Any, _stream: Any) -> Any:
        source = copy.srcHost if copy.srcMemoryType == 1 else copy.srcDevice
        to = copy.dstHost if copy.dstMemoryType == 1 else copy.dstDevice
        for k in range(copy.Height):
            ctypes.memmove(to + k * copy.dstPitch, source + k * copy.srcPitch, copy.WidthInBytes)
        return (Named(0),)

    def do_cuLaunchKernel(self, kernel: str, *how: Any) -> Any:
        grid, _, _, block, _, _, shared, _stream, places, _ = how
        address = ctypes.c_void_p.from_address(places).value
        assert address is not None
        self.card.launch(
            kernel=kernel, grid=grid, block=block, shared=shared, arguments=ctypes.string_at(address, 16)
        )
        return (Named(0),)

    def do_cuTensorMapEncodeTiled(self, *given: Any) -> Any:
        self.card.maps.append(given)
        return Named(0), types.SimpleNamespace(opaque=list(range(16)))

    def do_cuEventElapsedTime(self, _first: Any, _last: Any) -> Any:
        return Named(0), 1.5

    def do_cuStreamBeginCapture(self, _stream: Any, _mode: Any) -> Any:
        self.card.capturing = []
        return (Named(0),)

    def do_cuStreamEndCapture(self, _stream: Any) -> Any:
        found, self.card.capturing = self.card.capturing, None
        return Named(0), found

    def do_cuGraphInstantiate(self, graph: Any, _flags: int) -> Any:
        return Named(0), graph

    def do_cuGraphLaunch(self, graph: Any, _stream: Any) -> Any:
        for how in graph:
            self.card.launch(**how)
        return (Named(0),)


# pycuda -----------------------------------------------------------------------------------------------------------


class Error(Exception):
    """The error of pycuda."""


def pycuda_modules(card: Card) -> dict[str, types.ModuleType]:
    """``pycuda.driver`` and ``pycuda.tools``."""
    made: Any = types.ModuleType("pycuda.driver")
    made.Error = Error
    made.function_attribute = types.SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    made.device_attribute = types.SimpleNamespace(
        MULTIPROCESSOR_COUNT=4, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=232_448
    )

    left = card.left

    def fail(name: str) -> None:
        if name in card.broken:
            raise Error(f"{name} failed: {WORDS[card.broken[name]]}")

    class Device:
        def __init__(self, _number: int) -> None: ...
        def retain_primary_context(self) -> Any:
            return types.SimpleNamespace(push=lambda: None, pop=lambda: left.append("popped"))

        def name(self) -> str:
            return "a card"

        def compute_capability(self) -> tuple[int, int]:
            return 9, 0

        def get_attribute(self, wanted: int) -> int:
            return wanted

        def total_memory(self) -> int:
            return 1 << 20

    class Stream:
        handle = 7

        def synchronize(self) -> None:
            fail("cuStreamSynchronize")

    class Event:
        def record(self, _stream: Any) -> None: ...
        def synchronize(self) -> None: ...
        def time_till(self, _other: Any) -> float:
            return 1.5

    class Function:
        def __init__(self, name: str) -> None:
            self.name = name

        def set_attribute(self, _attribute: int, _value: int) -> None:
            fail("cuFuncSetAttribute")

        def __call__(self, given: Any, *, grid: Any, block: Any, shared: int, stream: Any) -> None:
            del stream
            fail("cuLaunchKernel")
            card.launch(
                kernel=self.name, grid=grid[0], block=block[0], shared=shared, arguments=given.tobytes()
            )

    class Memcpy2D:
        def __getattr__(self, name: str) -> Any:
            kind, _, end = name.removeprefix("set_").partition("_")
            if not name.startswith("set_"):
                raise AttributeError(name)
            return lambda at: setattr(self, kind, ctypes.addressof(at) if end == "host" else at)

        def __call__(self, _stream: Any) -> None:
            own: Any = self
            for k in range(own.height):
                ctypes.memmove(own.dst + k * own.dst_pitch, own.src + k * own.src_pitch, own.width_in_bytes)

    class Held(int):
        def free(self) -> None:
            del card.blocks[int(self)]

    class DeviceMemoryPool:
        def allocate(self, size: int) -> Held:
            fail("cuMemAlloc")
            return Held(card.allocate(size))

    made.init = lambda: fail("cuInit")
    made.Device, made.Stream, made.Event, made.Memcpy2D = Device, Stream, Event, Memcpy2D
    made.module_from_buffer = lambda _cubin: types.SimpleNamespace(get_function=Function)
    made.memcpy_htod_async = lambda to, source, _stream: ctypes.memmove(to, source, len(source))
    made.memcpy_dtoh_async = lambda to, source, _stream: ctypes.memmove(to, source, len(to))
    tools: Any = types.ModuleType("pycuda.tools")
    tools.DeviceMemoryPool = DeviceMemoryPool
    tools.clear_context_caches = lambda: left.append("cleared")
    package: Any = types.ModuleType("pycuda")
    package.driver, package.tools = made, tools
    return {"pycuda": package, "pycuda.driver": made, "pycuda.tools": tools}


class Library:
    """``libcuda`` as ctypes sees it."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.graphs: list[Any] = [None]

    def cuGetErrorName(self, status: Any, to: Any) -> int:
        ctypes.cast(to, ctypes.POINTER(ctypes.c_char_p))[0] = NAMES[status.value].encode()
        return 0

    def cuTensorMapEncodeTiled(self, at: Any, *given: Any) -> int:
        if "cuTensorMapEncodeTiled" in self.card.broken:
            return self.card.broken["cuTensorMapEncodeTiled"]
        assert at.value % 64 == 0
        ctypes.memmove(at.value, b"".join(k.to_bytes(8, "little") for k in range(16)), 128)
        self.card.maps.append(given)
        return 0

    def cuStreamBeginCapture_v2(self, stream: Any, _mode: Any) -> int:
        assert stream.value == 7
        self.card.capturing = []
        return 0

    def cuStreamEndCapture(self, _stream: Any, to: Any) -> int:
        self.graphs.append(self.card.capturing)
        self.card.capturing = None
        ctypes.cast(to, ctypes.POINTER(ctypes.c_void_p))[0] = len(self.graphs) - 1
        return 0

    def cuGraphInstantiateWithFlags(self, to: Any, graph: Any, _flags: Any) -> int:
        ctypes.cast(to, ctypes.POINTER(ctypes.c_void_p))[0] = graph.value
        return 0

    def cuGraphDestroy(self, _graph: Any) -> int:
        return 0

    def cuGraphLaunch(self, graph: Any, _stream: Any) -> int:
        for how in self.graphs[graph.value]:
            self.card.launch(**how)
        return 0


@pytest.fixture(params=["pycuda", "cuda-bindings"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Driver, Card]:
    """A driver of each provider, over a stand-in of its package."""
    card = Card()
    install(request.param, card, monkeypatch)
    return {"pycuda": PycudaDriver, "cuda-bindings": BindingsDriver}[request.param](), card


def install(provider: str, card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    if provider == "pycuda":
        monkeypatch.setattr(pycuda_driver, "library", lambda: Library(card))
        for name, module in pycuda_modules(card).items():
            monkeypatch.setitem(sys.modules, name, module)
    else:
        bindings: Any = types.ModuleType("cuda.bindings")
        bindings.driver = Bindings(card)
        package: Any = types.ModuleType("cuda")
        package.bindings = bindings
        for name, module in (
            ("cuda", package),
            ("cuda.bindings", bindings),
            ("cuda.bindings.driver", bindings.driver),
        ):
            monkeypatch.setitem(sys.modules, name, module)


def test_pycuda_leaves_its_context_at_the_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    card, at_exit = Card(), list[Any]()
    install("pycuda", card, monkeypatch)
    monkeypatch.setattr(pycuda_driver.atexit, "register", at_exit.append)
    PycudaDriver()
    (leave,) = at_exit
    leave()
    assert card.left == ["popped", "cleared"]


# A program --------------------------------------------------------------------------------------------------------

PROGRAM = """
#include "soundline_host.h"
struct args { float *x; int64_t n; };
int twice(struct soundline_device const *device, int64_t n, float *x, float *y) {
    if (n < 0) return SOUNDLINE_NEGATIVE_SIZE;
    struct args args = {x, n};
    struct soundline_launch launch = {"twice_device0", 0, &args, sizeof args, 128, 2, 1, 4096, 3};
    int code = device->launch(device->state, &launch);
    if (code) return code;
    void *spare;
    code = device->allocate(device->state, &spare, 4 * (size_t)n);
    if (code) return code;
    code = device->copy_rows(device->state, spare, 8, y, 16, 4, n / 2, SOUNDLINE_HOST_TO_DEVICE);
    if (!code) code = device->copy_rows(device->state, y, 16, spare, 8, 4, n / 2, SOUNDLINE_DEVICE_TO_HOST);
    device->release(device->state, spare);
    return code;
}
"""


def twice() -> Any:
    """A proc of that form."""
    return sl.spork.proc_from_text(
        "@proc\ndef twice(n: size, x: f32[n] @ CudaGmemLinear, y: f32[n]):\n    pass\n", sl.spork.NAMES
    )


@dataclass(frozen=True)
class OneKernel:
    name: str = "twice_device0"
    shared_bytes: int = 4096


def program(driver: Driver, arch: str = "sm_90a", kernel: OneKernel = OneKernel()) -> cuda.Gpu:
    text = cpu_part.self_contained("twice.c", {"twice.c": PROGRAM})
    part = CpuPart(twice(), "twice", compiled(text))
    return cuda.Gpu(part.proc, arch, (kernel,), b"machine code", part, driver)


def test_arrays_of_the_cpu_go_there_and_back(opened: tuple[Driver, Card]) -> None:
    driver, card = opened
    x, y = np.arange(4, dtype=np.float32), np.arange(4, dtype=np.float32)
    program(driver).run({"n": 4}, {"x": x, "y": y})
    np.testing.assert_array_equal(x, [0, 2, 4, 6])
    np.testing.assert_array_equal(y, [0, 1, 2, 3])
    assert [(k["kernel"], k["grid"], k["block"], k["shared"]) for k in card.launches] == [
        ("twice_device0", 4, 128, 4096)  # two clusters of two blocks fit, and there are three tasks
    ]
    assert not card.blocks, "everything was given back"


def test_an_array_of_the_device_is_used_where_it_lies(opened: tuple[Driver, Card]) -> None:
    driver, card = opened
    gpu = program(driver)
    x = gpu.array(np.arange(4, dtype=np.float32))
    gpu.run({"n": 4}, {"x": x, "y": np.zeros(4, np.float32)})
    np.testing.assert_array_equal(gpu.numpy(x), [0, 2, 4, 6])
    foreign = types.SimpleNamespace(__cuda_array_interface__=x.__cuda_array_interface__)
    assert gpu.seconds({"n": 4}, {"x": foreign, "y": np.zeros(4, np.float32)}) == 1.5e-3
    np.testing.assert_array_equal(gpu.numpy(x), [0, 4, 8, 12])
    gpu.free(x)
    assert not card.blocks


def test_an_array_of_the_device_with_strides_is_refused(opened: tuple[Driver, Card]) -> None:
    gpu = program(opened[0])
    view = types.SimpleNamespace(
        __cuda_array_interface__={"data": (64, False), "shape": (4,), "strides": (8,)}
    )
    with pytest.raises(sl.UsageError, match="C order"):
        gpu.run({"n": 4}, {"x": view, "y": np.zeros(4, np.float32)})


def test_a_view_of_the_cpu_is_written_back(opened: tuple[Driver, Card]) -> None:
    base = np.arange(8, dtype=np.float32)
    program(opened[0]).run({"n": 4}, {"x": base[::2], "y": np.zeros(4, np.float32)})
    np.testing.assert_array_equal(base, [0, 1, 4, 3, 8, 5, 12, 7])


def test_a_graph_does_the_launches_again(opened: tuple[Driver, Card]) -> None:
    driver, card = opened
    gpu = program(driver)
    text = PROGRAM.partition("void *spare")[0] + "return 0; }"
    gpu.part = CpuPart(twice(), "twice", compiled(cpu_part.self_contained("twice.c", {"twice.c": text})))
    gpu._device = gpu._table.of(gpu.part.ffi)
    x = gpu.array(np.arange(4, dtype=np.float32))
    replay = gpu.graph({"n": 4}, {"x": x, "y": np.zeros(4, np.float32)})
    assert not card.launches, "a graph is gathered, and nothing is done"
    replay()
    replay()
    np.testing.assert_array_equal(gpu.numpy(x), [0, 4, 8, 12])
    assert replay.seconds(3) == pytest.approx(0.5e-3)
    with pytest.raises(sl.UsageError, match="array of the CPU"):
        gpu.graph({"n": 4}, {"x": np.zeros(4, np.float32), "y": np.zeros(4, np.float32)})


def test_a_tensor_map_is_what_was_asked_for(opened: tuple[Driver, Card]) -> None:
    driver, card = opened
    encoded = driver.tensor_map(TensorMap(7, 4096, (64, 32), (256,), (16, 8), 64))
    assert [int.from_bytes(encoded[8 * k : 8 * k + 8], "little") for k in range(16)] == list(range(16))
    given = [getattr(g, "value", g) for g in card.maps[0]]
    flat = [list(g) if isinstance(g, ctypes.Array | list) else g for g in given]
    assert flat == [7, 2, 4096, [64, 32], [256], [16, 8], [1, 1], 0, 2, 3, 0]


# Refusals ---------------------------------------------------------------------------------------------------------


def test_no_memory_left(opened: tuple[Driver, Card]) -> None:
    driver, card = opened
    gpu = program(driver)
    card.broken = {"cuMemAlloc": NO_MEMORY, "cuMemAllocAsync": NO_MEMORY}
    with pytest.raises(sl.OutOfMemoryError, match=r"16 bytes.*a card, which has 1,048,576 bytes"):
        gpu.run({"n": 4}, {"x": np.zeros(4, np.float32), "y": np.zeros(4, np.float32)})
    card.broken = {}
    gpu.run({"n": 4}, {"x": np.zeros(4, np.float32), "y": np.zeros(4, np.float32)})
    assert not card.blocks


def test_a_launch_that_fails_names_the_kernel(opened: tuple[Driver, Card]) -> None:
    driver, card = opened
    gpu = program(driver)
    card.broken = {"cuLaunchKernel": 719}
    with pytest.raises(
        sl.DeviceError, match="kernel twice_device0, of 4 blocks of 128 threads, on a card"
    ) as caught:
        gpu.run({"n": 4}, {"x": np.zeros(4, np.float32), "y": np.zeros(4, np.float32)})
    assert "new process" in str(caught.value.hint)
    assert not card.blocks, "what was allocated before is given back"


def test_a_kernel_that_fails_later_is_told_when_it_is_waited_for(opened: tuple[Driver, Card]) -> None:
    driver, card = opened
    gpu = program(driver)
    x = gpu.array(np.zeros(4, np.float32))
    card.broken = {"cuStreamSynchronize": 719}
    with pytest.raises(sl.DeviceError, match="invalid access"):
        gpu.run({"n": 4}, {"x": x, "y": np.zeros(4, np.float32)})


def test_a_code_of_the_function_itself(opened: tuple[Driver, Card]) -> None:
    with pytest.raises(sl.UsageError, match="twice: a size is negative"):
        program(opened[0]).run({"n": -1}, {"x": np.zeros(4, np.float32), "y": np.zeros(4, np.float32)})


def test_another_architecture(opened: tuple[Driver, Card]) -> None:
    with pytest.raises(sl.DeviceError, match="twice is for sm_100; a card executes sm_90"):
        program(opened[0], arch="sm_100")


def test_too_much_shared_memory(opened: tuple[Driver, Card]) -> None:
    kernel = OneKernel(shared_bytes=300_000)
    with pytest.raises(sl.DeviceError, match=r"twice_device0 needs 300,000 bytes.*has 232,448"):
        program(opened[0], kernel=kernel)


@pytest.mark.parametrize("provider", ["pycuda", "cuda-bindings"])
def test_no_device(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    install(provider, Card(broken={"cuInit": NOT_THERE}), monkeypatch)
    monkeypatch.setenv(choice.VARIABLE, provider)
    monkeypatch.setattr(choice, "_is_there", lambda _: True)
    choice.driver.cache_clear()
    with pytest.raises(sl.DeviceError, match="device 0 cannot be opened: there is no CUDA device"):
        choice.driver()


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libcuda, "NAMES", ("libno-such-library.so",))
    with pytest.raises(sl.DeviceError, match="no CUDA driver") as caught:
        libcuda.library()
    assert "CUDA-EMULATED" in str(caught.value.hint)


def test_no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(choice.VARIABLE, raising=False)
    monkeypatch.setattr(choice, "_is_there", lambda _: False)
    choice.driver.cache_clear()
    with pytest.raises(sl.DeviceError, match="neither pycuda nor cuda-bindings is installed") as caught:
        choice.driver()
    assert "soundline[cuda]" in str(caught.value.hint)


def test_a_provider_of_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(choice.VARIABLE, "cupy")
    choice.driver.cache_clear()
    with pytest.raises(sl.UsageError, match="'cupy'"):
        choice.driver()


@pytest.mark.parametrize(
    ("capability", "arch", "fits"),
    [
        ((8, 0), "sm_80", True),
        ((8, 9), "sm_80", True),
        ((9, 0), "sm_80", False),
        ((9, 0), "sm_90a", True),
        ((10, 0), "sm_90a", False),
        ((8, 0), "sm_86", False),
    ],
)
def test_what_a_device_executes(capability: tuple[int, int], arch: str, fits: bool) -> None:
    facts = DeviceFacts("a card", capability, 1, 1, 1)
    if fits:
        check_arch("f", arch, facts)
    else:
        with pytest.raises(sl.DeviceError, match=f"f is for {arch}"):
            check_arch("f", arch, facts)


def test_the_limit_itself_fits() -> None:
    check_shared("k", CARD.shared_bytes, CARD)
    with pytest.raises(sl.DeviceError):
        check_shared("k", CARD.shared_bytes + 1, CARD)


def test_a_result_without_words_is_named() -> None:
    error = refusal(Failure("cuFunction", "CUDA_ERROR_NEW"), "something")
    assert isinstance(error, sl.DeviceError)
    assert "CUDA_ERROR_NEW" in str(error)


def test_results_of_pycuda_are_found_by_their_words() -> None:
    assert pycuda_driver._result(Error("cuMemAlloc failed: out of memory")) == "CUDA_ERROR_OUT_OF_MEMORY"
    assert pycuda_driver._result(Error("something else")) == "something else"


def test_the_library_tells_the_name_of_a_result() -> None:
    card = Card(broken={"cuTensorMapEncodeTiled": 719})
    with pytest.raises(Failure, match="cuTensorMapEncodeTiled: CUDA_ERROR_LAUNCH_FAILED"):
        LibCuda(Library(card)).tensor_map(TensorMap(7, 0, (8,), (), (8,), 0))


def test_the_structs_for_python_are_those_of_the_header() -> None:
    found = cpu_part.declarations()
    assert "struct soundline_launch {" in found
    assert "(*tensor_map)" in found
    assert Path(str(cpu_part.files("soundline.impl.codegen.cuda"))).joinpath(cpu_part.HEADER).is_file()


GENERIC = """
@proc
def program(x: f32[32] @ CudaGmemLinear):
    with CudaDeviceFunction(blockDim=32{more}):
        for task in cuda_tasks(0, 1):
            for t in cuda_threads(0, 32, unit=cuda_thread):
                x[t] = 0.0
"""


@pytest.mark.parametrize(
    ("capability", "more", "arch"),
    [
        ((8, 0), "", "sm_80"),
        ((8, 9), "", "sm_80"),
        ((9, 0), "", "sm_90a"),  # which does not execute the machine code of sm_80
        ((9, 0), ", clusterDim=2", "sm_90a"),
        ((8, 0), ", clusterDim=2", None),
        ((12, 0), "", None),
    ],
)
def test_a_program_is_generated_for_what_the_device_executes(
    capability: tuple[int, int], more: str, arch: str | None
) -> None:
    proc = sl.spork.proc_from_text(GENERIC.format(more=more), sl.spork.NAMES)
    body = proc if isinstance(proc, Proc) else proc.definition
    assert arch_for(body, DeviceFacts("a card", capability, 4, 232_448, 1 << 20)) == arch


def test_every_code_of_the_header_has_its_words() -> None:
    codes = {int(n) for n in re.findall(r"SOUNDLINE_[A-Z_]+ = (1\d{3})", cpu_part.header())}
    assert codes == set(cpu_part.REFUSALS)


def test_a_compiler_without_openmp_runs_loops_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, ...]] = []

    def library_for(text: str, compiler: Any) -> Path:
        tried.append(compiler.flags)
        if "-fopenmp" in compiler.flags:
            raise sl.ToolchainError("there is no libgomp")
        return Path("made.so")

    monkeypatch.setattr(cpu_part, "library_for", library_for)
    assert cpu_part.compiled("#pragma omp parallel for", "-DX") == Path("made.so")
    assert [("-fopenmp" in flags, "-DX" in flags) for flags in tried] == [(True, True), (False, True)]
    assert cpu_part.compiled("int x;") == Path("made.so")
    assert "-fopenmp" not in tried[-1]
