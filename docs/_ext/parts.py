"""The computed parts of pages by name, for `.. generated::`; without Sphinx, so that tests can ask for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import adequacy_pages
import attack_pages
import below_pages
import beside_pages
import bounds_pages
import chapter_pages
import cli_pages
import collective_pages
import composition_pages
import conformance_pages
import cuda_pages
import decision_pages
import engine_pages
import error_pages
import famous_pages
import from_spork_pages
import function_pages
import grammar_pages
import hazard_pages
import history_pages
import inference
import instruction_pages
import measurement_pages
import memory_pages
import mutation_pages
import op_pages
import optop_pages
import peer_pages
import rule_index
import rule_pages
import seeing_pages
import spork_laws
import spork_pages
import status_matrix
import synchronization_pages

PARTS: dict[str, Callable[[], str]] = {
    "beside": beside_pages.beside,
    "bounds": bounds_pages.bounds,
    "changes": history_pages.changes,
    "chapters-of-the-law": partial(chapter_pages.index, "spec"),
    "chapters-of-the-road": partial(chapter_pages.index, "impl"),
    "chapters-of-the-court": partial(chapter_pages.index, "verify"),
    "citation": history_pages.citation_blocks,
    "collective-conditions": partial(spork_laws.conditions, "collective_units"),
    "collective-units": collective_pages.units,
    "commands": cli_pages.commands,
    "compositions": composition_pages.compositions_and_collectives,
    "conformance-graphs": conformance_pages.graphs,
    "conformance-groups": conformance_pages.groups,
    "conformance-suites": conformance_pages.suites,
    "conformance-summary": conformance_pages.summary,
    "kinds": cli_pages.kinds,
    "cuda-idioms": cuda_pages.idioms,
    "cuda-left-out": cuda_pages.left_out,
    "cuda-refused": cuda_pages.refused,
    "decisions": decision_pages.decisions,
    "licences": decision_pages.licences,
    "engine": engine_pages.engine,
    "engine-blame": engine_pages.blame,
    "engine-procedures": engine_pages.procedures,
    "errors": error_pages.errors,
    "famous": famous_pages.famous,
    "flagships": below_pages.flagships,
    "flagships-compiled": below_pages.compiler,
    "gpu-measured": below_pages.on_a_gpu,
    "waterline-tested": below_pages.waterline,
    "from-spork-limits": from_spork_pages.limits,
    "from-spork-interoperation": from_spork_pages.interoperation,
    **from_spork_pages.PARTS,
    "function-accuracy": function_pages.accuracy,
    "function-kinks": function_pages.kinks,
    "function-values": function_pages.special_values,
    **hazard_pages.PARTS,
    "grammar": grammar_pages.grammar,
    "grammar-rest": grammar_pages.rest,
    "measurements": measurement_pages.measurements,
    "runtime-costs": measurement_pages.runtime_costs,
    "peers": peer_pages.peers,
    "mutation": mutation_pages.mutation,
    "rule_mutation": mutation_pages.rule_mutation,
    "notation": inference.notation,
    "op-index": op_pages.index_of_ops,
    "axis-types": optop_pages.axis_types,
    "optops": optop_pages.optops,
    "schedule-extensions": optop_pages.extensions,
    "schedule-on-a-cpu": optop_pages.on_a_cpu,
    "seeing-bench": seeing_pages.bench,
    "seeing-check": seeing_pages.check,
    "seeing-compile": seeing_pages.compile_,
    "seeing-explain": seeing_pages.explain,
    "seeing-file": seeing_pages.file,
    "seeing-log": seeing_pages.log,
    "seeing-pictures": seeing_pages.pictures,
    "seeing-run": seeing_pages.run,
    "stages": optop_pages.stages,
    "sync-tls": synchronization_pages.timelines,
    "timeline-pairs": synchronization_pages.pairs,
    "fence-pieces": synchronization_pages.fences,
    "barrier-pieces": synchronization_pages.barriers,
    "pieces-in-cuda": synchronization_pages.spelled,
    "memories": memory_pages.memories,
    "memory-summary": memory_pages.summary,
    "instructions": instruction_pages.instructions,
    "instruction-summary": instruction_pages.summary,
    "adequacy": adequacy_pages.adequacy,
    "checker-costs": measurement_pages.checker_costs,
    "checker-trials": measurement_pages.checker_trials,
    "attack": attack_pages.attack,
    "synchronization-conditions": partial(spork_laws.conditions, "synchronization"),
    "tensor-cores": optop_pages.tensor_cores,
    "id-index": op_pages.index_of_ids,
    "rules": rule_pages.library,
    "rules-by-id": rule_index.by_id,
    "rules-by-op": rule_index.by_op,
    "spork-conditions": partial(spork_laws.conditions, "spork_conditions"),
    "spork-examples": spork_pages.examples,
    "spork-index": spork_pages.index,
    "spork-kernel": spork_pages.kernel,
    "spork-words": spork_pages.words,
    "status": status_matrix.matrix,
    "status-summary": status_matrix.summary,
    "typing": partial(inference.rules, op_pages.GROUPS),
}
