"""Every stage of the compiler keeps the invariant of its chapter, on random programs."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from soundline.impl.arrays import storage
from soundline.impl.codegen.c.target import TARGET
from soundline.impl.lower.callify import callify
from soundline.impl.program.compile import lower
from soundline.spec.pipeline.stages import check_pipeline
from soundline.spec.uop import Op, UOp, buffer

sys.path.insert(0, str(Path(__file__).parent))
from programs import programs


@settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))
@given(programs(steps=4))
def test_every_stage_keeps_its_invariant(roots: list[UOp]) -> None:
    function = callify(roots)
    held = {k: storage.contents(b) for k, b in enumerate(function.src[1:])}
    fresh = (buffer(k, b.arg.size, b.dtype) for k, b in enumerate(function.src[1:]))
    lowered = lower(Op.Function(function.src[0], *fresh), "exact")
    assert check_pipeline(lowered.stages, lowered.source, TARGET, held) == []
