"""
Reading statements of programs
==============================

From the syntax of Python to statements, each with its place in the source.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from soundline.impl.spork.namespace import Unknown
from soundline.impl.spork.read_expressions import read_expression, read_indices, read_integer, read_sizes
from soundline.impl.spork.reading import Context, shown
from soundline.spec.spork.language.expressions import Expr, Index, Name
from soundline.spec.spork.language.nodes import DTYPES, Ref
from soundline.spec.spork.language.statements import (
    CUDA_TASKS,
    PAR,
    SEQ,
    Alloc,
    AllocBarrier,
    Arrive,
    Assign,
    Await,
    BarrierAt,
    Call,
    CudaAsync,
    CudaDeviceFunction,
    CudaThreads,
    CudaWarps,
    Fence,
    For,
    If,
    Pass,
    Reduce,
    Statement,
    WindowOf,
)
from soundline.spec.spork.language.types import Argument, Control, CudaWarpConfig, Data

_MODES = {"seq": SEQ, "par": PAR, "cuda_tasks": CUDA_TASKS}
_CONTROL: dict[str, Control] = {"size": Control("size"), "index": Control("index"), "bool": Control("bool")}


def read_body(body: Sequence[ast.stmt], context: Context) -> tuple[Statement, ...]:
    """The statements of a block."""
    return tuple(read_statement(statement, context) for statement in body)


def read_statement(node: ast.stmt, context: Context) -> Statement:
    """The statement that a syntax node says."""
    at = context.at(node)
    match node:
        case ast.Pass():
            return Pass(position=at)
        case ast.Assign(targets=[target], value=value):
            return _assignment(node, target, value, context)
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            return Reduce(_place(target, context), read_expression(value, context), position=at)
        case ast.AugAssign():
            raise context.refuse("prog-syntax", node, shown(node), "only += is a reduction")
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=None):
            return _allocation(name, annotation, node, context)
        case ast.If(test=test, body=body, orelse=orelse):
            condition = read_expression(test, context)
            return If(condition, read_body(body, context), read_body(orelse, context), position=at)
        case ast.For(orelse=[], target=ast.Name(id=iterator)):
            return _loop(node, iterator, context)
        case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)], body=body):
            return _block(node, call, context)
        case ast.Expr(value=ast.Call() | ast.BinOp() as value):
            return _called(node, value, context)
        case ast.Assert():
            raise context.refuse("prog-assert", node, "one after a statement or in a block")
    raise context.refuse("prog-syntax", node, shown(node).split(":")[0])


def _place(node: ast.expr, context: Context) -> Name | Index:
    """What is written."""
    match node:
        case ast.Name(id=name):
            return Name(name, position=context.at(node))
        case ast.Subscript(value=ast.Name(id=name)):
            return Index(name, read_indices(node.slice, context), position=context.at(node))
    raise context.refuse("prog-syntax", node, f"{shown(node)} to write to")


def _assignment(node: ast.Assign, target: ast.expr, value: ast.expr, context: Context) -> Statement:
    at = context.at(node)
    shape, memory = value, None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult):
        shape, memory = value.left, context.reference(value.right)
    if isinstance(target, ast.Name) and isinstance(shape, ast.Subscript):
        window = read_expression(shape, context)
        if isinstance(window, Index) and (window.is_window or memory is not None):
            return WindowOf(target.id, window, memory, position=at)
    return Assign(_place(target, context), read_expression(value, context), position=at)


# Types ------------------------------------------------------------------------------------------------------------


def _split(annotation: ast.expr) -> tuple[ast.expr, ast.expr | None, ast.expr | None]:
    """``kind[sizes] @ memory`` in its three parts."""
    kind, memory = annotation, None
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.MatMult):
        kind, memory = annotation.left, annotation.right
    if isinstance(kind, ast.Subscript):
        return kind.value, kind.slice, memory
    return kind, None, memory


def _allocation(name: str, annotation: ast.expr, node: ast.stmt, context: Context) -> Statement:
    kind, sizes, memory = _split(annotation)
    at = context.at(node)
    known = None if sizes is None else read_sizes(sizes, context)
    if isinstance(kind, ast.Name) and kind.id == "barrier":
        if memory is None:
            raise context.refuse("prog-reference", annotation, "a barrier without '@' and its type")
        return AllocBarrier(name, context.reference(memory), known, position=at)
    if isinstance(kind, ast.Name) and kind.id in DTYPES:
        lies = None if memory is None else context.reference(memory)
        return Alloc(name, DTYPES[kind.id], known or (), lies, position=at)
    raise context.refuse("prog-syntax", annotation, f"the type {shown(kind)}", _dtype_hint())


def _dtype_hint() -> str:
    return f"a dtype is one of {', '.join(DTYPES)}"


def read_argument(node: ast.arg, context: Context) -> Argument:
    """An argument of a proc with its type."""
    if node.annotation is None:
        raise context.refuse("prog-syntax", node, f"{node.arg} without a type")
    kind, sizes, memory = _split(node.annotation)
    lies = None if memory is None else context.reference(memory)
    known = () if sizes is None else read_sizes(sizes, context)
    window = isinstance(kind, ast.List) and len(kind.elts) == 1
    word = kind.elts[0] if isinstance(kind, ast.List) and window else kind
    if isinstance(word, ast.Name):
        if sizes is None and memory is None and not window and word.id in _CONTROL:
            return Argument(node.arg, _CONTROL[word.id], position=context.at(node))
        if word.id in DTYPES and (known or not window):
            return Argument(node.arg, Data(DTYPES[word.id], known, window), lies, position=context.at(node))
    given = f"the type {shown(node.annotation)}"
    raise context.refuse("prog-syntax", node.annotation, given, f"{_dtype_hint()}, size, index")


# Loops and blocks -------------------------------------------------------------------------------------------------


def _loop(node: ast.For, iterator: str, context: Context) -> For:
    call = node.iter
    mode = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
    if not isinstance(call, ast.Call) or mode not in (*_MODES, "cuda_threads"):
        hint = "a loop is over seq, par, cuda_tasks or cuda_threads"
        raise context.refuse("prog-syntax", node.iter, shown(node.iter), hint)
    wanted = ("unit",) if mode == "cuda_threads" else ()
    positional, named = _given(call, context, positional=2, named=wanted)
    if len(positional) != 2 or set(named) != set(wanted):
        needs = "(lo, hi, unit=...)" if wanted else "(lo, hi)"
        raise context.refuse("prog-syntax", call, shown(call), f"it is {mode}{needs}")
    how = CudaThreads(context.reference(named["unit"])) if wanted else _MODES[mode]
    lo, hi = (read_expression(end, context) for end in positional)
    return For(iterator, how, lo, hi, read_body(node.body, context), position=context.at(node))


def _given(
    call: ast.Call, context: Context, *, positional: int, named: Sequence[str]
) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """The arguments of a word of the language, no more of them than it takes."""
    if len(call.args) > positional:
        raise context.refuse("prog-syntax", call.args[positional], f"{len(call.args)} arguments")
    for keyword in call.keywords:
        if keyword.arg not in named:
            known = ", ".join(named) or "none"
            raise context.refuse("prog-syntax", keyword, f"the keyword {keyword.arg}", f"known are: {known}")
    return list(call.args), {str(k.arg): k.value for k in call.keywords}


def _block(node: ast.With, call: ast.Call, context: Context) -> Statement:
    word = call.func.id if isinstance(call.func, ast.Name) else ""
    at = context.at(node)
    match word:
        case "CudaDeviceFunction":
            return _device_function(node, call, context)
        case "CudaAsync":
            positional, _ = _given(call, context, positional=1, named=())
            if not positional:
                raise context.refuse("prog-syntax", call, shown(call), "it is CudaAsync(timeline)")
            timeline = context.reference(positional[0])
            return CudaAsync(timeline, read_body(node.body, context), position=at)
        case "CudaWarps":
            positional, named = _given(call, context, positional=2, named=("lo", "hi", "name"))
            for name, value in zip(("lo", "hi"), positional, strict=False):
                if name in named:
                    raise context.refuse("prog-syntax", call, f"{name} twice")
                named[name] = value
            lo, hi = (
                read_integer(named[end], context, "prog-warps-range") if end in named else None
                for end in ("lo", "hi")
            )
            called = _string(named["name"], context) if "name" in named else None
            return CudaWarps(read_body(node.body, context), lo, hi, called, position=at)
    hint = "a block is CudaDeviceFunction, CudaAsync or CudaWarps"
    raise context.refuse("prog-syntax", call, shown(call), hint)


def _string(node: ast.expr, context: Context) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    found = context.reference(node).value
    if isinstance(found, str):
        return found
    raise context.refuse("prog-warps-name", node, shown(node))


def _device_function(node: ast.With, call: ast.Call, context: Context) -> CudaDeviceFunction:
    known = ("blockDim", "warp_config", "clusterDim", "blocks_per_sm")
    _, named = _given(call, context, positional=0, named=known)
    numbers = {
        name: read_integer(value, context, "prog-device-number")
        for name, value in named.items()
        if name != "warp_config"
    }
    warps = _warp_config(named["warp_config"], context) if "warp_config" in named else ()
    return CudaDeviceFunction(
        read_body(node.body, context),
        numbers.get("blockDim"),
        warps,
        numbers.get("clusterDim", 1),
        numbers.get("blocks_per_sm", 1),
        position=context.at(node),
    )


def _warp_config(node: ast.expr, context: Context) -> tuple[CudaWarpConfig, ...]:
    """A list of named warps, written out or found in the surrounding Python."""
    if isinstance(node, ast.List | ast.Tuple):
        parts = [_warps(part, context) for part in node.elts]
    else:
        found = context.reference(node).value
        parts = list(found) if isinstance(found, list | tuple) else [None]
    if not parts or not all(isinstance(part, CudaWarpConfig) for part in parts):
        raise context.refuse("prog-warp-config", node, shown(node), "it is a list of CudaWarpConfig")
    return tuple(part for part in parts if part is not None)


def _warps(node: ast.expr, context: Context) -> CudaWarpConfig | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "CudaWarpConfig":
        try:
            given = [context.namespace.find(a).value for a in node.args]
            named = {str(k.arg): context.namespace.find(k.value).value for k in node.keywords}
            return CudaWarpConfig(*given, **named)
        except (TypeError, Unknown) as error:
            raise context.refuse("prog-warp-config", node, f"{shown(node)}: {error}") from None
    found = context.reference(node).value
    return found if isinstance(found, CudaWarpConfig) else None


# Synchronization and calls ----------------------------------------------------------------------------------------


def _called(node: ast.stmt, value: ast.expr, context: Context) -> Statement:
    """A call, with the barriers that trail it."""
    trailing: list[ast.expr] = []
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.RShift):
        trailing.insert(0, value.right)
        value = value.left
    if not isinstance(value, ast.Call):
        raise context.refuse("prog-syntax", value, shown(value))
    barriers = tuple(_barrier(part, context) for part in trailing)
    word = value.func.id if isinstance(value.func, ast.Name) else ""
    match word:
        case "Fence" | "Await" | "ReverseAwait" if barriers:
            raise context.refuse("prog-trailing", trailing[0], f"one after {word}")
        case "Fence":
            first, second = _exactly(value, 2, "Fence(first, second)", context)
            return Fence(context.reference(first), context.reference(second), position=context.at(node))
        case "Arrive" | "ReverseArrive":
            return _arrive(node, value, word, barriers, context)
        case "Await" | "ReverseAwait":
            barrier, second, n = _exactly(value, 3, f"{word}(barrier, second, N)", context)
            return Await(
                _barrier(barrier, context),
                context.reference(second),
                read_integer(n, context, "prog-await"),
                word == "ReverseAwait",
                position=context.at(node),
            )
    return _call(node, value, barriers, context)


def _exactly(call: ast.Call, count: int, form: str, context: Context) -> list[ast.expr]:
    if len(call.args) != count or call.keywords:
        raise context.refuse("prog-syntax", call, shown(call), f"it is {form}")
    return list(call.args)


def _arrive(
    node: ast.stmt, call: ast.Call, word: str, barriers: tuple[BarrierAt, ...], context: Context
) -> Arrive:
    """``Arrive(first, N) >> bar[...]``, or in the older way ``Arrive(first, bar[...], N)``."""
    form = f"{word}(first, N) >> barrier"
    if barriers:
        first, n = _exactly(call, 2, form, context)
    else:
        first, barrier, n = _exactly(call, 3, form, context)
        barriers = (_barrier(barrier, context),)
    count = read_integer(n, context, "prog-arrive")
    reverse = word == "ReverseArrive"
    return Arrive(context.reference(first), barriers, count, reverse, position=context.at(node))


def _barrier(node: ast.expr, context: Context) -> BarrierAt:
    match node:
        case ast.Name(id=name):
            return BarrierAt(name, position=context.at(node))
        case ast.Subscript(value=ast.Name(id=name)):
            return BarrierAt(name, read_indices(node.slice, context), position=context.at(node))
    raise context.refuse("prog-kind", node, f"{shown(node)}, which is not a barrier")


def _call(node: ast.stmt, call: ast.Call, barriers: tuple[BarrierAt, ...], context: Context) -> Call:
    callee: Ref = context.reference(call.func)
    arguments = [_argument_value(argument, context) for argument in call.args]
    keywords: list[tuple[str, Expr]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            raise context.refuse("prog-syntax", keyword, "arguments by '**'")
        keywords.append((keyword.arg, _argument_value(keyword.value, context)))
    return Call(callee, tuple(arguments), tuple(keywords), barriers, position=context.at(node))


def _argument_value(node: ast.expr, context: Context) -> Expr:
    if isinstance(node, ast.Starred):
        raise context.refuse("prog-syntax", node, "arguments by '*'")
    return read_expression(node, context)


def bound_names(function: ast.FunctionDef) -> frozenset[str]:
    """Every name that a program binds: arguments, iterators, allocations and windows."""
    found = {argument.arg for argument in function.args.args}
    for node in ast.walk(function):
        target: ast.expr | None = None
        if isinstance(node, ast.For | ast.AnnAssign):
            target = node.target
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
        if isinstance(target, ast.Name):
            found.add(target.id)
    return frozenset(found)
