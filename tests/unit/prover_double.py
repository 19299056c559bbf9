"""A prover whose verdict on a rule is the first word of the rule's id, for tests of everything around the prover."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from soundline.spec.errors import RuleError
from soundline.verify.verdicts.metering import gave_up
from soundline.verify.verdicts.verdict import Counterexample, LayerResult

TEST = "def test_wrong() -> None:\n    assert 1 + 1 == 3"


def prove_layer(stated: Any, dtype: Any, budget: Any) -> LayerResult:
    """Obey the rule's id."""
    layer = f"layer of {dtype}"
    match stated.id.partition("_")[0]:
        case "wrong":
            bindings = (("x", "1"), ("y", "[<&>]\x00"))
            found = Counterexample(f"dtype {dtype}", bindings, "2", "3", TEST, "it differs")
            return LayerResult(layer, "refuted", "all values", found)
        case "wrongint8" if str(dtype) == "int8":
            return LayerResult(layer, "refuted", "", Counterexample("", (("x", "-128"),), "0", "1", TEST))
        case "hard":
            return LayerResult(layer, "unknown", "ranks 0 to 2", detail="x * y resisted")
        case "starved":
            gave_up()
            return LayerResult(layer, "unknown", "", detail="x * y resisted")
        case "empty":
            return LayerResult(layer, "vacuous", "", detail="the condition excludes every input")
        case "illtyped":
            raise RuleError("the right side is no rule", hint="make it one")
        case "fails":
            raise AssertionError("a mistake of ours\nwith many lines")
        case "hangs":
            time.sleep(1000)
        case "spins":
            while True:
                pass
        case "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exits":
            os._exit(7)
        case "killsworker":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1000)
        case "tellspid":
            Path(stated.doc).write_text(str(os.getpid()))
            time.sleep(1000)
        case "crashesonce" if not Path(stated.doc).exists():
            Path(stated.doc).touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        case "slow":
            time.sleep(0.3)
        case "prints":
            print("a prover prints")
            print("a prover complains", file=sys.stderr)
            os.write(1, b"a library writes\n")
        case "counts":
            with Path(stated.doc).open("a") as log:
                log.write(f"{dtype} {budget.rlimit} {budget.seconds} {budget.seed}\n")
    return LayerResult(layer, "proved", f"all values of {dtype}")
