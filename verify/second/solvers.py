"""
Other solvers
=============

Bitwuzla and cvc5, asked the same questions as Z3, handed over as SMT-LIB 2 text. Both are optional packages
(``pip install soundline[solvers]``). Bitwuzla knows bit vectors, floats of IEEE formats and uninterpreted functions;
cvc5 knows integers and reals besides. A question in which something else stands is left open, and so is one that takes
longer than the limit.
"""

from __future__ import annotations

import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Literal

from soundline.spec.dtypes import DType, Element, bool_, from_bits, index, wrap
from soundline.spec.errors import UsageError

Said = Literal["sat", "unsat", "unknown"]

SECONDS = 2.0
"""How long a solver may think about one question."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a solver said: a model by names where there is one, or why there is no answer."""

    said: Said
    model: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


class Solver(ABC):
    """Another solver. `ask` raises nothing that the question could cause."""

    NAME: ClassVar[str]

    @property
    def label(self) -> str:
        """The name and the version."""
        return f"{self.NAME} {version_of(self.NAME)}"

    def ask(self, text: str) -> Reply:
        """Whether all assertions of the text can hold at once."""
        try:
            return self._ask(_bare(text))
        except Exception as error:  # noqa: BLE001  # each library has its own class for what it cannot read
            return Reply("unknown", why=self._refusal(str(error)))

    def _refusal(self, message: str) -> str:
        """Why the solver does not take a question."""
        for part, what in _MISSING.items():
            if part in message:
                return f"{self.NAME} has no {what}"
        return f"{self.NAME} does not take it: {_line(message)}"

    @abstractmethod
    def _ask(self, text: str) -> Reply: ...


class Bitwuzla(Solver):
    """Bit vectors, floats, uninterpreted functions."""

    NAME: ClassVar[str] = "bitwuzla"

    def _ask(self, text: str) -> Reply:
        import bitwuzla

        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        options.set(bitwuzla.Option.TIME_LIMIT_PER, int(SECONDS * 1000))
        parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
        parser.parse(text, True, False)
        engine = parser.bitwuzla()
        said = str(engine.check_sat())
        if said != "sat":
            return _without_model(said, self.NAME)
        names = [f for f in parser.get_declared_funs() if not f.sort().is_fun()]
        return Reply("sat", {_name(str(f.symbol())): str(engine.get_value(f)) for f in names})


class Cvc5(Solver):
    """Integers, reals, bit vectors, floats, uninterpreted functions."""

    NAME: ClassVar[str] = "cvc5"

    def _ask(self, text: str) -> Reply:
        import cvc5

        solver = cvc5.Solver(cvc5.TermManager())
        for option, value in (
            ("produce-models", "true"),
            ("fp-exp", "true"),  # formats beside float32 and float64
            ("tlimit-per", str(int(SECONDS * 1000))),
        ):
            solver.setOption(option, value)
        reader = cvc5.InputParser(solver)
        reader.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, f"(set-logic ALL)\n{text}", "question")
        symbols = reader.getSymbolManager()
        while not (command := reader.nextCommand()).isNull():
            answer = command.invoke(solver, symbols)
            if answer and "error" in str(answer):
                return Reply("unknown", why=self._refusal(str(answer)))
        said = solver.checkSat()
        if not said.isSat():
            return _without_model("unsat" if said.isUnsat() else "unknown", self.NAME)
        names = [t for t in symbols.getDeclaredTerms() if not t.getSort().isFunction()]
        return Reply("sat", {_name(t.getSymbol()): str(solver.getValue(t)) for t in names})


SOLVERS: dict[str, type[Solver]] = {s.NAME: s for s in (Bitwuzla, Cvc5)}


def is_installed(package: str) -> bool:
    """Whether an optional package is there."""
    return importlib.util.find_spec(package) is not None


def needed(package: str) -> None:
    """Raise ``UsageError`` with what to install where an optional package is missing."""
    if not is_installed(package):
        raise UsageError(
            f"{package} is not installed", hint="pip install 'soundline[solvers]', or pip install " + package
        )


@cache
def solver(name: str) -> Solver:
    """A solver by its name; raises ``UsageError`` where it is not installed."""
    needed(name)
    return SOLVERS[name]()


@cache
def version_of(package: str) -> str:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _without_model(said: str, name: str) -> Reply:
    if said == "unsat":
        return Reply("unsat")
    return Reply("unknown", why=f"{name} has no answer within {SECONDS:g} s")


_MISSING = {
    "invalid sort 'Int'": "unbounded integers",
    "invalid sort 'Real'": "real numbers",
    "Unsupported experimental floating-point format": "floats of this format",
}
"""What parts of messages mean."""

_COMMANDS = re.compile(r"^\((?:check-sat|set-info)[^\n]*\)\s*$", re.MULTILINE)


def _bare(text: str) -> str:
    """The declarations and assertions alone, and no symbol that begins with what SMT-LIB reserves."""
    return _COMMANDS.sub("", text).replace("@", "!at!")


def _name(symbol: str) -> str:
    return symbol.strip("|")


def _line(text: str) -> str:
    return " ".join(text.split())[:160]


# elements ---------------------------------------------------------------------------------------------------------


def element(dtype: DType, text: str) -> Element:
    """The element that a value of a model is. Raises ``ValueError`` for one that is none."""
    if dtype is bool_:
        return text == "true"
    if dtype.is_float:
        return _float(dtype, text)
    if text.startswith("#"):
        return wrap(dtype, _code(text))
    value = _number(text)
    if value.denominator != 1:
        raise ValueError(f"not an integer: {text}")
    return int(value) if dtype is index else wrap(dtype, int(value))


def _float(dtype: DType, text: str) -> Element:
    special = re.fullmatch(r"\(_ (NaN|\+oo|-oo|\+zero|-zero) \d+ \d+\)", text)
    if special:
        return {"NaN": float("nan"), "+oo": float("inf"), "-oo": -float("inf"), "+zero": 0.0, "-zero": -0.0}[
            special[1]
        ]
    fields = re.fullmatch(r"\(fp #b(\d) #b(\d+) #b(\d+)\)", text)
    if fields:
        return from_bits(dtype, int("".join(fields.groups()), 2))
    if text.startswith("#"):
        return from_bits(dtype, _code(text))
    return float(_number(text))


def _code(text: str) -> int:
    return int(text[2:], 2 if text[1] == "b" else 16)


def _number(text: str) -> Fraction:
    """A numeral of SMT-LIB: 5, 1.5, (- 5), (/ 1 3), (- (/ 1 3))."""
    inner = re.fullmatch(r"\((-|/) (.+)\)", text)
    if inner is None:
        return Fraction(text)
    if inner[1] == "-":
        return -_number(inner[2])
    over, _, under = inner[2].rpartition(" ")
    return _number(over) / _number(under)


def point_of(variables: Mapping[str, Any], model: Mapping[str, str]) -> tuple[Element, ...]:
    """The values of variables in a model; one that the model does not name is the least of them all."""
    return tuple(
        element(v.dtype, model[name])
        if name in model
        else (False if v.dtype is bool_ else 0.0 if v.dtype.is_float else 0)
        for name, v in variables.items()
    )
