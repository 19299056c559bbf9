"""Random programs of the CPU, written twice: in Spork, and in Python over numpy.

The Python program knows nothing of the law: it computes with numpy's scalars, and `Box` keeps which elements were
written. Both stop at the same line where an index is out of bounds or an element was never written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u8": np.uint8, "bool": np.bool_}


class Stopped(Exception):
    """The Python program cannot go on."""


@dataclass
class Box:
    """An array, or a window of one."""

    data: npt.NDArray[Any]
    written: npt.NDArray[np.bool_]

    @staticmethod
    def empty(dtype: str, shape: tuple[int, ...]) -> Box:
        if min(shape, default=0) < 0:
            raise Stopped
        return Box(np.zeros(shape, DTYPES[dtype]), np.zeros(shape, np.bool_))

    def check(self, at: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 0 <= i < n for i, n in zip(at, self.data.shape, strict=True)):
            raise Stopped
        return at

    def get(self, *at: int) -> Any:
        if not self.written[self.check(at)]:
            raise Stopped
        return self.data[at]

    def put(self, value: Any, *at: int) -> None:
        self.data[self.check(at)] = value
        self.written[at] = True

    def window(self, *parts: Any) -> Box:
        for part, size in zip(parts, self.data.shape, strict=True):
            lo, hi = (part.start, part.stop) if isinstance(part, slice) else (part, part + 1)
            if not 0 <= lo <= hi <= size:
                raise Stopped
        whole = tuple(slice(p, p + 1) if not isinstance(p, slice) else p for p in parts)
        fixed = tuple(k for k, p in enumerate(parts) if not isinstance(p, slice))
        return Box(self.data[whole].squeeze(fixed), self.written[whole].squeeze(fixed))


def floor(a: Any, b: Any) -> Any:
    """a // b of integers, with 0 for a division by zero."""
    return type(a)(0) if b == 0 else _wrapped(type(a), int(a) // int(b))


def rest(a: Any, b: Any) -> Any:
    """a % b of integers, with a for a division by zero."""
    return a if b == 0 else _wrapped(type(a), int(a) % int(b))


def _wrapped(kind: Any, exact: int) -> Any:
    bits = np.iinfo(kind).bits
    return np.array(exact % 2**bits, f"u{bits // 8}").astype(kind)[()]


HELPERS = """
def axpy(m: size, a: f32[m], s: f32):
    for i in seq(0, m):
        a[i] += s * a[m - 1 - i]
"""


class Pair(NamedTuple):
    """An expression in both languages."""

    spork: str
    python: str


@dataclass
class Writer:
    """Writes one program."""

    random: Random
    n: int
    spork: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    fresh: int = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def rarely(self) -> bool:
        return self.random.random() < 0.04

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}_{self.fresh}"

    def line(self, depth: int, spork: str, *python: str) -> None:
        """A statement; the Python program says at which line of the Spork program it is."""
        self.spork.append("    " * depth + spork)
        for text in (f"at({len(self.spork)})", *python):
            self.python.append("    " * depth + text)

    # Expressions

    def control(self, scope: dict[str, Any], depth: int = 2) -> Pair:
        if depth == 0 or self.random.random() < 0.4:
            names = [n for n, kind in scope.items() if kind == "control"]
            name = self.pick(str(self.random.randint(0, 5)), *names)
            return Pair(name, name)
        a, b = self.control(scope, depth - 1), self.control(scope, depth - 1)
        op = self.pick("+", "-", "*", "//", "%")
        if op in "//%":
            function = "cfloor" if op == "//" else "crest"
            return Pair(f"({a.spork} {op} {b.spork})", f"{function}({a.python}, {b.python})")
        return Pair(f"({a.spork} {op} {b.spork})", f"({a.python} {op} {b.python})")

    def condition(self, scope: dict[str, Any]) -> Pair:
        a, b = self.control(scope, 1), self.control(scope, 1)
        op = self.pick("<", "<=", "==", "!=", ">", ">=")
        return Pair(f"{a.spork} {op} {b.spork}", f"{a.python} {op} {b.python}")

    def index(self, size: int, scope: dict[str, Any]) -> Pair:
        i = self.control(scope)
        if size == 0 or self.rarely():
            return i
        return Pair(f"({i.spork}) % {size}", f"(({i.python}) % {size})")

    def place(self, name: str, scope: dict[str, Any]) -> tuple[str, list[str]]:
        _, shape = scope[name]
        if not shape:
            return name, []
        found = [self.index(size, scope) for size in shape]
        return f"{name}[{', '.join(i.spork for i in found)}]", [i.python for i in found]

    def value(self, dtype: str, scope: dict[str, Any], depth: int = 3) -> Pair:
        kind = DTYPES[dtype]
        made = f"np.{kind.__name__}"
        arrays = [n for n, k in scope.items() if isinstance(k, tuple) and k[0] == dtype]
        if depth == 0 or self.random.random() < 0.3:
            if arrays and self.random.random() < 0.8:
                name = self.pick(*arrays)
                text, at = self.place(name, scope)
                return Pair(text, f"{name}.get({', '.join(at)})")
            if dtype == "bool":
                return Pair("True", "np.True_")
            number = self.pick("0", "1", "7") if not dtype.startswith("f") else self.pick("0.5", "0.1", "3")
            return Pair(f"{dtype}({number})", f"{made}({number})")
        if self.random.random() < 0.2:
            choice = self.condition(scope)
            a, b = self.value(dtype, scope, depth - 1), self.value(dtype, scope, depth - 1)
            spork = f"select({choice.spork}, {a.spork}, {b.spork})"
            return Pair(spork, f"chosen({choice.python}, {a.python}, {b.python})")
        if dtype == "bool":
            other = self.pick("f32", "i32")
            a, b = self.value(other, scope, depth - 1), self.value(other, scope, depth - 1)
            op = self.pick("<", "<=", "==", "!=")
            return Pair(f"({a.spork} {op} {b.spork})", f"({a.python} {op} {b.python})")
        if self.random.random() < 0.2:
            return self._cast(dtype, scope, depth)
        a, b = self.value(dtype, scope, depth - 1), self.value(dtype, scope, depth - 1)
        op = self.pick("+", "-", "*", *(("/",) if dtype.startswith("f") else ("//", "%")))
        if op in ("//", "%"):
            return Pair(
                f"({a.spork} {op} {b.spork})", f"{'floor' if op == '//' else 'rest'}({a.python}, {b.python})"
            )
        return Pair(f"({a.spork} {op} {b.spork})", f"({a.python} {op} {b.python})")

    def _cast(self, dtype: str, scope: dict[str, Any], depth: int) -> Pair:
        """A value of another dtype, or control; floats become no integers here."""
        made = f"np.{DTYPES[dtype].__name__}"
        if self.random.random() < 0.5:
            found = self.control(scope, 1)
            inner = found.python if dtype.startswith("f") else f"({found.python}) % 128"
            spork = found.spork if dtype.startswith("f") else f"({found.spork}) % 128"
            return Pair(f"{dtype}({spork})", f"{made}({inner})")
        other = self.pick("i32", "u8", "bool", *(("f32", "f64") if dtype.startswith("f") else ()))
        found = self.value(other, scope, depth - 1)
        return Pair(f"{dtype}({found.spork})", f"np.asarray({found.python}).astype({made})[()]")

    # Statements

    def body(self, scope: dict[str, Any], depth: int, count: int) -> None:
        inner = dict(scope)
        for _ in range(self.random.randint(1, count)):
            self.statement(inner, depth)

    def statement(self, scope: dict[str, Any], depth: int) -> None:
        arrays = [n for n, kind in scope.items() if isinstance(kind, tuple)]
        kinds = ["assign"] * 4 + ["reduce"] * 2 + ["alloc", "window", "call"]
        kinds += ["loop", "loop", "if"] if depth < 4 else []
        match self.pick(*kinds):
            case "assign" | "reduce" as kind:
                name = self.pick(*arrays)
                reduces = kind == "reduce" and scope[name][0] != "bool"
                self.written(name, scope, depth, reduces=reduces)
            case "alloc":
                self.alloc(scope, depth)
            case "window":
                self.window(scope, depth)
            case "call":
                self.call(scope, depth)
            case "loop":
                self.loop(scope, depth)
            case "if":
                found = self.condition(scope)
                self.line(depth, f"if {found.spork}:", f"if {found.python}:")
                self.body(scope, depth + 1, 2)
                if self.random.random() < 0.5:
                    self.spork.append("    " * depth + "else:")
                    self.python.append("    " * depth + "else:")
                    self.body(scope, depth + 1, 2)

    def written(self, name: str, scope: dict[str, Any], depth: int, *, reduces: bool) -> None:
        text, at = self.place(name, scope)
        found = self.value(scope[name][0], scope)
        indices = ", ".join(at)
        if reduces:
            put = f"{name}.put({name}.get({indices}) + {found.python}{', ' if at else ''}{indices})"
            self.line(depth, f"{text} += {found.spork}", put)
        else:
            put = f"{name}.put({found.python}{', ' if at else ''}{indices})"
            self.line(depth, f"{text} = {found.spork}", put)

    def alloc(self, scope: dict[str, Any], depth: int) -> None:
        name, dtype = self.name("t"), self.pick(*DTYPES)
        shape = tuple(self.random.randint(1, 3) for _ in range(self.random.randint(0, 2)))
        sizes = f"[{', '.join(map(str, shape))}]" if shape else ""
        self.line(depth, f"{name}: {dtype}{sizes}", f"{name} = Box.empty({dtype!r}, {shape})")
        scope[name] = (dtype, shape)
        if self.random.random() < 0.8:  # else it is read before it is written, soon
            for at in np.ndindex(*shape):
                place = f"{name}[{', '.join(map(str, at))}]" if shape else name
                value = "True" if dtype == "bool" else "1"
                given = ", ".join(map(str, at))
                python = f"{name}.put(np.{DTYPES[dtype].__name__}({value}){', ' if at else ''}{given})"
                self.line(depth, f"{place} = {value}", python)

    def window(self, scope: dict[str, Any], depth: int) -> None:
        arrays = [n for n, kind in scope.items() if isinstance(kind, tuple) and kind[1]]
        name, source = self.name("w"), self.pick(*arrays)
        dtype, shape = scope[source]
        spanned = self.random.randrange(len(shape))
        spork, python, sizes = [], [], []
        for k, size in enumerate(shape):
            if k == spanned or self.random.random() < 0.5:
                lo = self.random.randint(0, size)
                hi = self.random.randint(lo, size + self.rarely())
                open_end = hi == size and self.random.random() < 0.5
                spork.append(f"{lo}:" if open_end else f"{lo}:{hi}")
                python.append(f"slice({lo}, {hi})")
                sizes.append(hi - lo)
            else:
                i = self.index(size, scope)
                spork.append(i.spork)
                python.append(i.python)
        self.line(
            depth, f"{name} = {source}[{', '.join(spork)}]", f"{name} = {source}.window({', '.join(python)})"
        )
        scope[name] = (dtype, tuple(sizes))

    def call(self, scope: dict[str, Any], depth: int) -> None:
        name, size = self.pick(*((n, k[1][0]) for n, k in scope.items() if k[0] == "f32" and len(k[1]) == 1))
        found = self.value("f32", scope, 1) if size else Pair("1.5", "np.float32(1.5)")
        self.line(
            depth, f"axpy({size}, {name}, {found.spork})", f"axpy({size}, {name}, lambda: {found.python})"
        )

    def loop(self, scope: dict[str, Any], depth: int) -> None:
        iterator, mode = self.name("i"), self.pick("seq", "seq", "par")
        lo = self.pick(Pair("0", "0"), self.control(scope, 1))
        hi = Pair(f"({lo.spork}) + {k}", f"({lo.python}) + {k}") if (k := self.random.randint(0, 3)) else lo
        self.line(
            depth,
            f"for {iterator} in {mode}({lo.spork}, {hi.spork}):",
            f"for {iterator} in range({lo.python}, {hi.python}):",
        )
        self.body({**scope, iterator: "control"}, depth + 1, 3)


ARGUMENTS = {
    "a": ("f32", ("n",)),
    "b": ("i32", ("n", "2")),
    "c": ("u8", ("3",)),
    "d": ("bool", ("1",)),
    "e": ("f64", ("2",)),
}


@dataclass
class Twins:
    """A program in both languages, its size, and its arguments."""

    spork: str
    python: str
    n: int
    arrays: dict[str, npt.NDArray[Any]]

    def execute(self) -> tuple[dict[str, npt.NDArray[Any]], int | None]:
        """What the Python program leaves in its arguments, and the line at which it stopped if it did."""
        boxes = {k: Box(v.copy(), np.ones(v.shape, np.bool_)) for k, v in self.arrays.items()}
        reached = [0]
        names: dict[str, Any] = {
            "np": np,
            "Box": Box,
            "floor": floor,
            "rest": rest,
            "n": self.n,
            "axpy": _axpy,
            "at": lambda line: reached.__setitem__(0, line),
            "cfloor": lambda a, b: 0 if b == 0 else a // b,
            "crest": lambda a, b: a if b == 0 else a % b,
            "chosen": lambda p, a, b: a if p else b,
            **boxes,
        }
        line = None
        with np.errstate(all="ignore"):
            try:
                exec(self.python, names)
            except Stopped:
                line = reached[0]
        return {k: box.data for k, box in boxes.items()}, line


def _axpy(m: int, a: Box, s: Any) -> None:
    for i in range(m):
        a.put(a.get(i) + s() * a.get(m - 1 - i), i)


def twins(seed: int) -> Twins:
    """A random program."""
    random = Random(seed)
    n = random.randint(1, 4)
    writer = Writer(random, n)
    shown = ", ".join(
        f"{name}: {dtype}" + (f"[{', '.join(sizes)}]" if sizes else "")
        for name, (dtype, sizes) in ARGUMENTS.items()
    )
    writer.spork.append(f"def f(n: size, {shown}):")
    writer.python.append("if True:")
    shapes = {k: tuple(n if s == "n" else int(s) for s in sizes) for k, (_, sizes) in ARGUMENTS.items()}
    scope: dict[str, Any] = {"n": "control", **{k: (ARGUMENTS[k][0], shapes[k]) for k in ARGUMENTS}}
    writer.body(scope, 1, 8)
    numbers = np.random.default_rng(seed)
    arrays = {
        name: (numbers.integers(-4, 5, shapes[name]) * (0.7 if dtype.startswith("f") else 1)).astype(
            DTYPES[dtype]
        )
        for name, (dtype, _) in ARGUMENTS.items()
    }
    return Twins("\n".join(writer.spork) + "\n", "\n".join(writer.python) + "\n", n, arrays)
