"""
Mistakes in rules
=================

A mistake in a rule's body is reported as an error of the rule, with the line, the expression and what to write instead.
Python itself refuses most mistakes (``len(k)``, ``x[0]``, ``x.foo``), but its messages speak of Python's classes. This
module translates them into the terms of the rule language.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import re
import textwrap
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any

from soundline.spec.errors import RuleError
from soundline.spec.rules.choices import Axes, DTypeTerm, Perm
from soundline.spec.rules.notation import Term, kind_name, show
from soundline.spec.rules.terms import Value, Vector

_INSTEAD = {
    "min": "minimum(a, b) is the lesser of two values",
    "max": "maximum(a, b) is the greater of two values, x.max(axes) the greatest along axes",
    "sum": "x.sum(axes) adds along axes, sum_over(r, e) adds over a range",
    "abs": "abs(x) is the magnitude of a value",
    "round": "x.trunc() rounds toward zero",
    "len": "a rule holds at every rank; a variable Tensor['m', 'n'] has two axes, of sizes m and n",
    "range": 'a range is a variable r: Range["n"], or fresh(n) on the right side',
    "int": "x.cast(int32) converts; a number that the rule is to take from the program is a Const",
    "float": "x.cast(float32) converts; a number that the rule is to take from the program is a Const",
    "bool": "conditions are joined with & | ~, and chosen by where(condition, a, b)",
    "any": "conditions are joined with |",
    "all": "conditions are joined with &, or given one by one to given(…)",
    "list": "an entry is s[0]; the number of axes is not known while the rule is stated",
    "tuple": "an entry is s[0]; the number of axes is not known while the rule is stated",
    "sorted": "maximum(a, b) and minimum(a, b) put two values in order",
    "isinstance": "kinds are stated by the annotations of the variables",
}
"""Functions of Python, and what a rule says instead."""


def body_error(error: Exception, function: Callable[..., Any]) -> RuleError:
    """An exception from the body of a rule as an error of the rule."""
    line, text = _where(error.__traceback__, function.__code__)
    call = _parsed(text)
    hint = _instead(call)
    if isinstance(error, RuleError):
        return RuleError(error.message, line=error.line or line, rule=error.rule, hint=hint or error.hint)
    if isinstance(error, NameError):
        return RuleError(f"unknown name: {error.name}", line=line)
    what = _in_our_words(str(error))
    if isinstance(error, AttributeError) and isinstance(error.obj, Term):
        what, near = _no_such_name(error.obj, error.name or "")
        hint = hint or near
    elif isinstance(error, TypeError):
        hint = hint or _of_syntax(call, what, function)
    return RuleError(f"`{text}`: {what}" if text else what, line=line, hint=hint)


def _where(trace: TracebackType | None, code: CodeType) -> tuple[int | None, str | None]:
    """The last line of the body that ran, and the expression in it."""
    line: int | None = None
    text: str | None = None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line, text = trace.tb_lineno, _expression(code, trace.tb_lasti)
        trace = trace.tb_next
    return line, text


def _expression(code: CodeType, instruction: int) -> str | None:
    """The source of the expression that an instruction belongs to."""
    match list(code.co_positions())[instruction // 2]:
        case (int(first), int(last), int(start), int(end)):
            lines = [linecache.getline(code.co_filename, k) for k in range(first, last + 1)]
        case _:
            return None
    if not all(lines):
        return None
    data = [text.encode() for text in lines]  # columns count bytes
    data[-1] = data[-1][:end]
    data[0] = data[0][start:]
    return " ".join(textwrap.dedent(d.decode()).strip() for d in data)


def _parsed(text: str | None) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body if text else None
    except SyntaxError:
        return None


def _instead(tree: ast.expr | None) -> str | None:
    """What to write where a function of Python or numpy was called."""
    match tree:
        case ast.Call(func=ast.Name(id=name)):
            return _INSTEAD.get(name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math" | "np" | "numpy" as module), attr=name)):
            return f"the functions of a rule are methods and words of the rule language, not {module}.{name}"
    return None


def _of_syntax(tree: ast.expr | None, said: str, function: Callable[..., Any]) -> str | None:
    """What to write in the place of a subscript, or of a call with other arguments."""
    match tree:
        case ast.Subscript():
            return "s[0] is an entry of a Shape or an Offset, x.index(i) an element of a tensor"
        case ast.Call() if "not callable" in said:
            return "only a Body, a UnaryOp, a BinaryOp and a Monoid are called: f(x)"
        case ast.Call(func=ast.Attribute(attr=name)):
            owner = next((getattr(k, name) for k in (Value, Vector, Axes, Perm) if hasattr(k, name)), None)
            return _call_text(f"x.{name}", owner, 1)
        case ast.Call(func=ast.Name(id=name)):
            return _call_text(name, function.__globals__.get(name), 0)
    return None


def _call_text(name: str, made: Any, skipped: int) -> str | None:
    """How something is called: `write x.pad(offset, shape, stride=None)`."""
    if not callable(made) or isinstance(made, type):
        return None
    parameters = list(inspect.signature(made).parameters.values())[skipped:]
    return f"write {name}({', '.join(str(p.replace(annotation=p.empty)) for p in parameters)})"


def _no_such_name(of: Term, name: str) -> tuple[str, str]:
    """The message about a name that a term does not have, with the names that it has."""
    what = f"{show(of)} is {kind_name(of)}, which has no {name}"
    has = [n for n in dir(type(of)) if not n.startswith("_") and n not in ("head", "args")]
    if isinstance(of, DTypeTerm):
        return (
            what,
            "conditions on dtypes are s == t, is_float(s), is_signed(s), lossless(s, t), bits_at_most(s, t)",
        )
    near = difflib.get_close_matches(name, has, 1)
    return what, f"did you mean .{near[0]}?" if near else f"it has {', '.join('.' + n for n in has)}"


def _in_our_words(message: str) -> str:
    """A message of Python, with its class names replaced by the kinds of the rule language."""
    for inside, ours in (("Expression", "Value"), ("Sizes", "Vector"), ("NoneType", "None")):
        message = re.sub(rf"\b{inside}\b", ours, message)
    return message
