"""
What a driver does
==================

The operations of the CUDA driver that running a program takes: modules and kernels, memory and copies, tensor maps,
launches, events and graphs. All work goes to one stream, so that it is done in the order in which it is asked for
(S-12, S-21).

A provider tells of a failure by the name that the driver has for it, such as ``CUDA_ERROR_OUT_OF_MEMORY``;
`refusal` makes the error of it that a user sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

from soundline.spec.errors import DeviceError, OutOfMemoryError, SoundlineError

TO_DEVICE: Final = 1
"""The direction of a copy to the device, as ``soundline_host.h`` has it."""
FROM_DEVICE: Final = 2
"""The direction of a copy from the device."""

TENSOR_MAP_BYTES: Final = 128
"""The size of an encoded tensor map."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What a device is: its name, what it can run, and its limits."""

    name: str
    capability: tuple[int, int]
    """Major and minor number of what it executes."""
    multiprocessors: int
    shared_bytes: int
    """The most shared memory that a block may ask for."""
    memory_bytes: int

    @property
    def arch(self) -> str:
        """How compilers call what it executes, without a suffix.

        >>> DeviceFacts("a card", (9, 0), 132, 232448, 1 << 37).arch
        'sm_90'
        """
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def runs(self, arch: str) -> bool:
        """Whether machine code for an architecture runs there: of the same major number and no higher minor one; code
        with a suffix, such as sm_90a, on that very one.

        >>> card = DeviceFacts("a card", (8, 6), 84, 101376, 1 << 34)
        >>> card.runs("sm_80"), card.runs("sm_90a"), card.runs("sm_89")
        (True, False, False)
        """
        number = arch.removeprefix("sm_").rstrip("abcdefghijklmnopqrstuvwxyz")
        major, minor = int(number[:-1]), int(number[-1])
        if arch.endswith(number):
            return major == self.capability[0] and minor <= self.capability[1]
        return (major, minor) == self.capability


class Failure(Exception):
    """A call of the driver that failed: the function, and the name of the result."""

    def __init__(self, function: str, result: str) -> None:
        self.function = function
        self.result = result
        super().__init__(f"{function}: {result}")


@dataclass(frozen=True, slots=True)
class TensorMap:
    """What a tensor map describes; sizes, strides and boxes begin with the innermost dimension."""

    element: int
    """The number of the data type, as ``CUtensorMapDataType`` has it."""
    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes, of all dimensions but the innermost."""
    box: tuple[int, ...]
    swizzle: int
    """The bytes of a row of swizzled shared memory: 32, 64 or 128; 0 for none."""


class Driver(Protocol):
    """A provider. Modules, kernels, events and graphs are objects of its own; addresses are integers."""

    provider: str
    facts: DeviceFacts

    def load(self, cubin: bytes) -> Any:
        """Load machine code as a module."""

    def kernel(self, module: Any, name: str, shared_bytes: int) -> Any:
        """A kernel of a module, which may use so much dynamic shared memory."""

    def launch(
        self, kernel: Any, *, grid: int, block: int, cluster: int, shared_bytes: int, arguments: bytes
    ) -> None:
        """Launch a kernel whose parameter is one struct with these bytes."""

    def allocate(self, size: int) -> int:
        """Memory of the device, of at least one byte."""

    def release(self, address: int) -> None:
        """Give memory back."""

    def copy(self, to: int, source: int, size: int, direction: int) -> None:
        """Copy bytes between the CPU and the device; the CPU may use both ends afterwards."""

    def copy_rows(
        self, to: int, to_pitch: int, source: int, source_pitch: int, width: int, rows: int, direction: int
    ) -> None:
        """Copy rows of bytes that stand apart by pitches."""

    def tensor_map(self, wanted: TensorMap) -> bytes:
        """Encode a tensor map."""

    def wait(self) -> None:
        """Wait until everything that was asked for is done."""

    def event(self) -> Any:
        """Mark this place in the stream."""

    def seconds(self, first: Any, last: Any) -> float:
        """The time between two marks, in seconds; waits for the second."""

    def begin_graph(self) -> None:
        """Gather what follows in a graph, and do none of it."""

    def end_graph(self) -> Any:
        """The graph of what was asked for since `begin_graph`."""

    def replay(self, graph: Any) -> None:
        """Do all of a graph."""


_MEANINGS: Final[dict[str, str]] = {
    "CUDA_ERROR_NO_DEVICE": "there is no CUDA device",
    "CUDA_ERROR_INVALID_DEVICE": "there is no such CUDA device",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the CUDA driver and the kernel module of the system differ",
    "CUDA_ERROR_INSUFFICIENT_DRIVER": "the CUDA driver is older than what asks for it",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the machine code is for another architecture",
    "CUDA_ERROR_INVALID_IMAGE": "the machine code is damaged, or for another driver",
    "CUDA_ERROR_INVALID_VALUE": "a parameter is outside of what the device allows",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "the device does not run clusters of this size",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "a block needs more registers or shared memory than a multiprocessor has",
    "CUDA_ERROR_LAUNCH_FAILED": "a thread made an invalid access",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "a thread accessed memory that is not allocated",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "a thread accessed memory at an address that is not a multiple of the access size",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "a thread executed an instruction that is not valid there",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the kernel ran longer than the system allows",
}
"""What the results of the driver mean, in words."""

_FATAL: Final = frozenset(
    {
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
    }
)
"""The results after which the device does nothing more for this process."""


def refusal(failure: Failure, what: str, facts: DeviceFacts | None = None) -> SoundlineError:
    """The error of a failed call, in which `what` says what was asked for."""
    device = f" on {facts.name}" if facts is not None else ""
    if failure.result == "CUDA_ERROR_OUT_OF_MEMORY":
        held = f", which has {facts.memory_bytes:,} bytes" if facts is not None else ""
        return OutOfMemoryError(f"{what}: out of memory{device}{held}", where="CUDA")
    meaning = _MEANINGS.get(failure.result, "the CUDA driver refused it")
    hint = None
    if failure.result in _FATAL:
        hint = "start a new process: the driver refuses everything else that this one asks of the device"
    return DeviceError(f"{what}{device}: {meaning} ({failure})", where="CUDA", hint=hint)


def check_shared(name: str, wanted: int, facts: DeviceFacts) -> None:
    """Refuse a kernel that needs more shared memory than a block may have."""
    if wanted > facts.shared_bytes:
        raise DeviceError(
            f"the kernel {name} needs {wanted:,} bytes of shared memory for a block; {facts.name} "
            f"({facts.arch}) has {facts.shared_bytes:,}",
            where="CUDA",
            hint="choose smaller tiles or fewer slots of a ring",
        )


def check_arch(name: str, arch: str, facts: DeviceFacts) -> None:
    """Refuse a program that was compiled for what the device does not execute."""
    if not facts.runs(arch):
        raise DeviceError(
            f"the program {name} is for {arch}; {facts.name} executes {facts.arch}",
            where="CUDA",
            hint=f"generate it for {facts.arch}, if its instructions allow that",
        )
