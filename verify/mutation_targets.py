"""
What is mutated, and who should notice
======================================

Each module of the law and of the prover, with the few fast tests that hold it. A module that is not here is in
`LEFT_OUT`, with the reason. The shipped rules are mutated as rules, see `mutation_rules`.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from soundline.spec.errors import UsageError

THRESHOLD = 0.90
"""The share of mutants that must be noticed for the run to succeed."""


@dataclass(frozen=True, slots=True)
class Target:
    """A module, by its path from the root, and the tests that should notice a change of it, best first."""

    path: str
    tests: tuple[str, ...]


def _target(path: str, *tests: str) -> Target:
    return Target(path, tuple(f"tests/unit/test_{name}.py" for name in tests))


TARGETS: tuple[Target, ...] = (
    _target("spec/arrays.py", "evaluate_values", "evaluate_memory"),
    _target("spec/bounds.py", "bounds"),
    _target("spec/closed.py", "derived_props", "constraints", "evaluate_memory"),
    _target("spec/constraints.py", "constraints", "ops_table"),
    _target("spec/derived_props.py", "derived_props"),
    _target("spec/dtypes.py", "dtypes", "elementwise"),
    _target("spec/elementwise.py", "elementwise"),
    _target("spec/errors.py", "errors"),
    _target("spec/evaluate.py", "evaluate_memory", "evaluate_values"),
    _target("spec/frames.py", "evaluate_memory", "evaluate_values"),
    _target("spec/memory_effects.py", "evaluate_memory"),
    _target("spec/movement.py", "evaluate_values"),
    _target("spec/node.py", "derived_props", "constraints", "bounds"),
    _target("spec/op_schema.py", "ops_table"),
    _target("spec/shard.py", "derived_props", "constraints"),
    _target("spec/sizes.py", "derived_props", "constraints", "bounds"),
    _target("spec/uop.py", "derived_props", "constraints", "evaluate_values"),
    _target("spec/values.py", "evaluate_values"),
)

LEFT_OUT: dict[str, str] = {}

RULES = "impl/rules"
"""The folder of shipped rules."""


def chosen(names: list[str], targets: tuple[str, ...]) -> tuple[str, ...]:
    """The targets that these names mean: a path, a dotted name, or the last part of one. Nothing means all."""
    found = []
    for name in names:
        wanted = name.removesuffix(".py").replace(".", "/").removeprefix("soundline/")
        hits = [t for t in targets if f"/{t.removesuffix('.py')}".endswith(f"/{wanted}")]
        hits += [t for t in targets if t.startswith(f"{wanted}/")]
        if not hits:
            near = get_close_matches(
                name, [*targets, *(t.rsplit("/")[-1].removesuffix(".py") for t in targets)]
            )
            raise UsageError(
                f"{name} is no target of mutation", hint=f"did you mean {near[0]}?" if near else None
            )
        found += hits
    return tuple(dict.fromkeys(found)) if names else targets
