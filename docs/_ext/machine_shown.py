"""What `.. machine::` asks of the abstract machine; without Sphinx, so that tests can ask the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import spork_runs

from soundline.impl.inspect.machine import svg
from soundline.impl.inspect.machine_growth import growth
from soundline.spec.spork.synchronization.visibility import Policy


class Shown(NamedTuple):
    """What a page asks for."""

    element: str
    program: str
    sizes: dict[str, int]
    policy: Policy
    rows: int | None
    breaks: tuple[str, ...]

    @staticmethod
    def of(element: str, program: str, options: dict[str, Any]) -> Shown:
        """What stands in the directive."""
        pairs = [pair.split("=") for pair in options.get("sizes", "").split()]
        return Shown(
            element,
            program,
            {name: int(value) for name, value in pairs},
            Policy(options.get("policy", "temporal")),
            int(options["rows"]) if "rows" in options else None,
            tuple(options.get("breaks", "").split()),
        )

    def judged(self) -> spork_runs.Judged:
        """What the machine says."""
        return spork_runs.judged(self.program, self.sizes, self.policy)

    def picture(self) -> str:
        """The picture of the records."""
        program = self.judged().program
        assert program is not None
        return svg(growth(program.events(**self.sizes), self.element, self.policy), rows=self.rows)


OPTIONS = ("sizes", "policy", "rows", "breaks")
"""The options that say what is asked."""
