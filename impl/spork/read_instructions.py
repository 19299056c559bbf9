"""
Instructions from Python
========================

`instr` reads the source of a function as an instruction: its arguments, assertions and body are the sequential meaning,
and the decorator says the rest::

    @instr(
        unit=cuda_thread,
        instr_tl=Sm80_cp_async,
        operands={
            "dst": Operand(memories=[CudaSmemLinear], out_of_order=True),
            "src": Operand(memories=[CudaGmemLinear], out_of_order=True),
        },
    )
    def copy_f32(dst: [f32][size], src: [f32][size], size: size):
        assert size == 1 or size == 2 or size == 4
        for i in seq(0, size):
            dst[i] = src[i]

``cuda="…"`` gives an instruction its text in CUDA (`soundline.impl.codegen.cuda.instructions.user`), and
``includes=["mine.cuh"]`` the headers that this needs.

`instr_from_text` reads the same from a text.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from soundline.impl.codegen.cuda.instructions.user import CudaInstruction
from soundline.impl.spork.front_end import Written, read, written_as
from soundline.impl.spork.names import NAMES
from soundline.impl.spork.namespace import Namespace
from soundline.impl.spork.reading import Context, Source
from soundline.spec.errors import UsageError
from soundline.spec.spork.language.conditions import refusal
from soundline.spec.spork.library.schema import Instruction, Operand, timeline_named
from soundline.spec.spork.synchronization.barriers import BarrierType
from soundline.spec.spork.synchronization.timelines import InstrTl, SyncTl
from soundline.spec.spork.threads.units import CollUnit


def instr(
    *,
    unit: CollUnit | None,
    instr_tl: InstrTl | SyncTl | str,
    operands: Mapping[str, Operand] | None = None,
    trailing: BarrierType | None = None,
    trailing_required: bool = False,
    ptx: str = "",
    family: type[Instruction] | None = None,
    cuda: str | None = None,
    includes: Sequence[str] = (),
    expect_tx: str = "",
) -> Callable[[Callable[..., Any]], Instruction]:
    """A decorator that reads a function's source as an instruction.

    `unit` is who executes it, None for the CPU; `instr_tl` its timeline, by its name, itself, or the sync-tl of the
    same name; `operands` says how it uses arguments of data; `trailing` is the type of a barrier that may follow it;
    `family` is a subclass of `Instruction`. `cuda` is the template of its text in CUDA, `includes` the headers that the
    text needs, and `expect_tx` the bytes that a load by TMA brings.
    """
    frame = inspect.currentframe()
    around = frame.f_back if frame else None

    def decorate(function: Callable[..., Any]) -> Instruction:
        said: dict[str, Any] = {
            "unit": unit,
            "instr_tl": instr_tl,
            "operands": operands or {},
            "trailing": trailing,
        }
        said |= {"trailing_required": trailing_required, "ptx": ptx, "family": family}
        said |= {"cuda": cuda, "includes": includes}
        said |= {"expect_tx": expect_tx} if expect_tx else {}
        return _made(written_as(function, around), said)

    return decorate


def instr_from_text(
    text: str, names: Mapping[str, Any] | None = None, *, file: str = "<text>"
) -> Instruction:
    """The instruction that a text is, with the objects that its names stand for beside the standard ones."""
    known = {**NAMES, "Operand": Operand, **{t.value: t for t in InstrTl}, **(names or {})}
    written = Written(text, Source(file, tuple(text.splitlines())), known)
    return _made(written, None)


def _made(written: Written, said: Mapping[str, Any] | None) -> Instruction:
    """The instruction of a text; what its decorator says is read from the text as well, where it is not given."""
    meaning = read(written.text, written.source, written.names)
    function = ast.parse(written.text).body[0]
    assert isinstance(function, ast.FunctionDef), "a text that was read is one function"
    values = dict(_decorator(function, written) if said is None else said)
    family = _family(meaning.name, values)
    made: Instruction = family(
        name=meaning.name,
        arguments=meaning.arguments,
        preconditions=meaning.preconditions,
        body=meaning.body,
        instr_tl=_instr_tl(values.pop("instr_tl")),
        doc=" ".join((ast.get_docstring(function) or "").split()),
        **values,
    )
    return made


def _family(name: str, values: dict[str, Any]) -> type[Instruction]:
    """The class of an instruction. One that says what its CUDA is is a `CudaInstruction`, and keeps that."""
    says_cuda = values.get("cuda") is not None
    family = values.pop("family", None) or (CudaInstruction if says_cuda else Instruction)
    if not (isinstance(family, type) and issubclass(family, Instruction)):
        raise UsageError(f"the family of {name} is {family!r}, which is not a class of instructions")
    if issubclass(family, CudaInstruction):
        if not isinstance(values.get("cuda"), str):
            given = f"cuda={values.get('cuda')!r}"
            raise UsageError(f"{name}: expected: the text of its CUDA; got: {given}", rule="cuda-template")
        return family
    if says_cuda or values.get("includes") or values.get("expect_tx"):
        hint = "leave the family out, or derive it from CudaInstruction"
        raise UsageError(f"{name}: the family {family.__name__} has no CUDA of its own", hint=hint)
    values.pop("cuda", None)
    values.pop("includes", None)
    values.pop("expect_tx", None)
    return family


_WORDS = (
    *("unit", "instr_tl", "operands", "trailing", "trailing_required", "ptx", "family"),
    *("cuda", "includes", "expect_tx"),
)


def _decorator(function: ast.FunctionDef, written: Written) -> dict[str, Any]:
    """What the decorator of a text says."""
    context = Context(written.source, Namespace(written.names), frozenset())
    call = function.decorator_list[0] if function.decorator_list else None
    if not isinstance(call, ast.Call) or call.args or len(function.decorator_list) != 1:
        raise refusal("prog-syntax", context.at(function), "an instruction without '@instr(...)' over it")
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg not in _WORDS:
            hint = f"an instruction says {', '.join(_WORDS)}"
            raise context.refuse("prog-syntax", keyword, f"the keyword {keyword.arg}", hint)
        found[keyword.arg] = _value(keyword.value, context)
    for word in ("unit", "instr_tl"):
        if word not in found:
            raise refusal("prog-syntax", context.at(call), f"an instruction without {word}")
    return found


def _value(node: ast.expr, context: Context) -> Any:
    if not isinstance(node, ast.Dict):
        return context.reference(node).value
    found = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            raise context.refuse("prog-syntax", value, "an operand that is not named by a string")
        found[key.value] = context.reference(value).value
    return found


def _instr_tl(value: InstrTl | SyncTl | str) -> InstrTl:
    return timeline_named(InstrTl, value.name if isinstance(value, SyncTl) else value)
