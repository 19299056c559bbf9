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


_SCALARS = ("mutants_scalar_prover", "prover_scalars", "prover_floats", "smt_against_spec")
_TENSORS = ("mutants_shape_prover", "prover_indexing", "prover_tensors")
_FOLDS = ("prover_reduce", *_TENSORS)
_RANKS = ("every_rank", "every_rank_frames", "every_rank_folds", *_TENSORS)
_RULES = ("mutants_rules", "mutants_building", "rule_language_ranges", "prover_scalars")

TARGETS: tuple[Target, ...] = (
    _target("spec/abstract_machine.py", "abstract_machine", "hazard_reports"),
    _target("spec/adjoints.py", "adjoints", "gradients"),
    _target("spec/adjoints_elementwise.py", "adjoints", "gradients"),
    _target("spec/adjoints_tensor.py", "adjoints", "gradients"),
    _target("spec/arrays.py", "mutants_movement", "evaluate_values", "evaluate_memory"),
    _target("spec/axes.py", "workgroups", "kernels", "mutants_memory"),
    _target("spec/barriers.py", "barriers"),
    _target("spec/bounds.py", "bounds", "mutants_bounds"),
    _target("spec/building.py", *_RULES),
    _target("spec/choices.py", "rule_language", "rule_language_ranges", "mutants_rules", "mutants_building"),
    _target(
        "spec/closed.py",
        "mutants_memory",
        "derived_props",
        "constraints",
        "evaluate_memory",
        "evaluate_values",
    ),
    _target("spec/collective_units.py", "collective_units", "tilings"),
    _target("spec/collectives.py", "collectives"),
    _target("spec/compositions.py", "compositions"),
    _target("spec/constraints.py", "constraints", "ops_table"),
    _target("spec/decompositions.py", "decompositions"),
    _target("spec/dependences.py", "kernels", "optops"),
    _target("spec/derived_props.py", "derived_props"),
    _target("spec/devices.py", "devices", "collectives"),
    _target("spec/distributed_memory.py", "distributed_memory"),
    _target("spec/double_word.py", "transcendentals", "decompositions"),
    _target("spec/dtypes.py", "dtypes", "elementwise"),
    _target("spec/elementwise.py", "elementwise", "decompositions"),
    _target("spec/error_bounds.py", "fast_numerics"),
    _target("spec/errors.py", "errors", "mutants_structure"),
    _target("spec/evaluate.py", "mutants_memory", "evaluate_memory", "evaluate_values"),
    _target("spec/events.py", "unfolding"),
    _target("spec/exponentials.py", "decompositions"),
    _target("spec/expressions.py", "spork_programs", "spork_front_end"),
    _target("spec/fences.py", "fences"),
    _target("spec/frames.py", "mutants_memory", "evaluate_memory", "evaluate_values"),
    _target("spec/functions.py", "spec_functions"),
    _target("spec/gradients.py", "gradients", "adjoints"),
    _target("spec/hazard_causes.py", "hazard_reports"),
    _target("spec/hazard_fixes.py", "hazard_reports"),
    _target("spec/hazard_reports.py", "hazard_reports"),
    _target("spec/hazard_same_code.py", "hazard_same_code"),
    _target("spec/instances.py", *_RULES),
    _target("spec/instruction_invariants.py", "pipeline"),
    _target("spec/instruction_parts.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/instruction_schema.py", "instructions", "spork_instr"),
    _target("spec/instruction_text.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/instructions.py", "instructions"),
    _target("spec/instructions_copies.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/instructions_sm80.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/instructions_sm90.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/instructions_tma.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/instructions_warps.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/kernels.py", "kernels", "optops"),
    _target("spec/kinds.py", "mutants_rules", "rule_language_ranges"),
    _target("spec/lanes.py", "warps", "workgroups"),
    _target("spec/linear.py", "mutants_memory", "evaluate_memory"),
    _target("spec/loops.py", "mutants_memory", "evaluate_memory", "workgroups"),
    _target("spec/memories.py", "memories"),
    _target("spec/memory_effects.py", "mutants_memory", "evaluate_memory"),
    _target("spec/movement.py", "mutants_movement", "evaluate_values"),
    _target("spec/node.py", "mutants_structure", "derived_props", "constraints", "bounds"),
    _target("spec/notation.py", "mutants_rules", "loader"),
    _target("spec/rule_mistakes.py", "rule_mistakes", "mutants_rules"),
    _target("spec/op_schema.py", "ops_table", "mutants_structure"),
    _target("spec/ops.py", "ops_table", "constraints"),
    _target("spec/opt_groups.py", "optops"),
    _target("spec/opt_padto.py", "optops"),
    _target("spec/opt_tc.py", "optops"),
    _target("spec/optops.py", "optops"),
    _target("spec/parallel.py", "parallel"),
    _target("spec/parallel_jobs.py", "parallel"),
    _target("spec/parallel_memory.py", "parallel"),
    _target("spec/parallel_queues.py", "parallel"),
    _target("spec/parallel_registers.py", "parallel"),
    _target("spec/parallel_search.py", "parallel"),
    _target("spec/parallel_state.py", "parallel"),
    _target("spec/parallel_threads.py", "parallel"),
    _target("spec/parallel_values.py", "parallel"),
    _target("spec/parsing.py", "text"),
    _target("spec/pipeline.py", "pipeline"),
    _target("spec/power.py", "transcendentals", "decompositions"),
    _target("spec/procedures.py", "procedures"),
    _target("spec/program_calls.py", "spork_programs"),
    _target("spec/program_conditions.py", "spork_programs", "spork_front_end"),
    _target("spec/program_laws.py", "spork_programs"),
    _target("spec/program_names.py", "spork_programs"),
    _target("spec/program_text.py", "spork_programs", "spork_front_end"),
    _target("spec/program_types.py", "spork_programs", "spork_front_end"),
    _target("spec/programs.py", "spork_programs", "spork_front_end"),
    _target("spec/ranks.py", *_RULES),
    _target("spec/ranges.py", "rule_language_ranges", "rule_language"),
    _target("spec/rings.py", "rings"),
    _target("spec/rules.py", "mutants_rules", "mutants_building", "loader"),
    _target("spec/run_arguments.py", "unfolding", "sequential"),
    _target("spec/run_conditions.py", "unfolding", "sequential"),
    _target("spec/run_names.py", "unfolding", "sequential"),
    _target("spec/run_statements.py", "unfolding", "sequential"),
    _target("spec/run_storage.py", "run_storage", "unfolding"),
    _target("spec/run_values.py", "unfolding", "sequential"),
    _target("spec/scopes.py", "static_devices", "unfolding", "fences"),
    _target("spec/sequential.py", "sequential"),
    _target("spec/shard.py", "mutants_structure", "derived_props", "constraints"),
    _target("spec/sine.py", "transcendentals", "decompositions"),
    _target("spec/sizes.py", "mutants_structure", "derived_props", "constraints", "bounds"),
    _target("spec/stage_invariants.py", "pipeline"),
    _target("spec/statements.py", "mutants_rules", "rule_language_ranges", "loader"),
    _target("spec/spellings.py", "rule_words"),
    _target("spec/static_barriers.py", "static_barriers"),
    _target("spec/static_calls.py", "static_calls"),
    _target("spec/static_conditions.py", "static_devices", "static_calls"),
    _target("spec/static_law.py", "static_devices", "static_calls", "static_memory", "static_barriers"),
    _target("spec/static_memory.py", "static_memory"),
    _target("spec/static_pairing.py", "static_barriers", "static_calls"),
    _target("spec/static_queues.py", "static_barriers"),
    _target("spec/static_scope.py", "static_devices", "static_memory"),
    _target("spec/static_shards.py", "static_shards"),
    _target("spec/static_sizes.py", "static_sizes"),
    _target("spec/static_windows.py", "static_shards", "static_memory"),
    _target("spec/steps.py", "decompositions", "transcendentals"),
    _target("spec/storage.py", "visibility"),
    _target("spec/strides.py", "rule_words"),
    _target("spec/tensor_cores.py", "tensor_cores", "warps"),
    _target("spec/terms.py", "mutants_rules", "loader"),
    _target("spec/text.py", "text"),
    _target("spec/thread_domains.py", "tilings", "distributed_memory"),
    _target("spec/threefry.py", "transcendentals"),
    _target("spec/tilings.py", "tilings", "distributed_memory"),
    _target("spec/timelines.py", "timelines"),
    _target("spec/transfers.py", "devices"),
    _target("spec/transitions.py", "abstract_machine", "rings"),
    _target("spec/unfolding.py", "unfolding", "sequential"),
    _target("spec/uop.py", "mutants_structure", "derived_props", "constraints", "evaluate_values"),
    _target("spec/value_algebras.py", "sequential"),
    _target("spec/values.py", "mutants_memory", "mutants_movement", "evaluate_values", "evaluate_memory"),
    _target("spec/visibility.py", "visibility"),
    _target("spec/vocabulary.py", "mutants_rules", "rule_language"),
    _target("spec/warp_configs.py", "warp_configs"),
    _target("spec/warps.py", "optops"),
    _target("spec/workgroups.py", "workgroups", "warps"),
    _target("verify/layers.py", *_RULES),
    _target("verify/rules.py", *_RULES),
    _target("verify/smt/algebra.py", *_SCALARS),
    _target("verify/smt/algebras.py", *_SCALARS),
    _target("verify/smt/arithmetic.py", *_TENSORS),
    _target("verify/smt/bits.py", "prover_bits", *_SCALARS),
    _target("verify/smt/closing.py", *_FOLDS),
    _target("verify/smt/comparison.py", *_TENSORS),
    _target("verify/smt/congruences.py", "congruences", *_SCALARS),
    _target("verify/smt/counterexamples.py", *_SCALARS),
    _target("verify/smt/counterexamples_sizes.py", *_TENSORS),
    _target("verify/smt/counterexamples_tensors.py", *_TENSORS),
    _target("verify/smt/demands.py", "index_shifts", *_SCALARS),
    _target("verify/smt/element_text.py", "rule_mistakes"),
    _target("verify/smt/denotation.py", *_TENSORS),
    _target("verify/smt/denotation_bits.py", "prover_bitcasts"),
    _target("verify/smt/denotation_folds.py", *_FOLDS),
    _target("verify/smt/denotation_movement.py", *_TENSORS),
    _target("verify/smt/denotation_numbers.py", *_TENSORS),
    _target("verify/smt/digit_products.py", "digit_products", *_TENSORS),
    _target("verify/smt/divisibility.py", "prover_divisibility", *_SCALARS),
    _target("verify/smt/division.py", *_SCALARS),
    _target("verify/smt/elements.py", *_TENSORS),
    _target("verify/smt/every_rank.py", *_RANKS),
    _target("verify/smt/every_rank_blocks.py", *_RANKS),
    _target("verify/smt/every_rank_conditions.py", *_RANKS),
    _target("verify/smt/every_rank_counts.py", *_RANKS),
    _target("verify/smt/every_rank_elements.py", "every_rank_elements", *_RANKS),
    _target("verify/smt/every_rank_folds.py", "every_rank_paddings", *_RANKS),
    _target("verify/smt/every_rank_frames.py", *_RANKS),
    _target("verify/smt/every_rank_homomorphisms.py", *_RANKS),
    _target("verify/smt/every_rank_leading.py", *_RANKS),
    _target("verify/smt/every_rank_parts.py", "every_rank_parts", *_RANKS),
    _target("verify/smt/every_rank_shapes.py", *_RANKS),
    _target("verify/smt/every_rank_words.py", *_RANKS),
    _target("verify/smt/exhaustive.py", *_SCALARS),
    _target("verify/smt/first_inputs.py", *_FOLDS),
    _target("verify/smt/fold_bijections.py", *_FOLDS),
    _target("verify/smt/fold_bounds.py", *_FOLDS),
    _target("verify/smt/fold_comparisons.py", *_FOLDS),
    _target("verify/smt/fold_covers.py", *_FOLDS),
    _target("verify/smt/fold_guesses.py", *_FOLDS),
    _target("verify/smt/fold_homomorphisms.py", *_FOLDS),
    _target("verify/smt/fold_inductions.py", "prover_inductions", *_FOLDS),
    _target("verify/smt/fold_inputs.py", *_FOLDS),
    _target("verify/smt/fold_orders.py", *_FOLDS),
    _target("verify/smt/fold_sums.py", *_FOLDS),
    _target("verify/smt/fold_tests.py", *_FOLDS),
    _target("verify/smt/fold_validity.py", *_FOLDS),
    _target("verify/smt/fold_zeros.py", *_FOLDS),
    _target("verify/smt/folds.py", *_FOLDS),
    _target("verify/smt/formulas.py", "mutants_conditions", *_TENSORS),
    _target("verify/smt/gather_inputs.py", *_TENSORS),
    _target("verify/smt/ieee.py", *_SCALARS),
    _target("verify/smt/indexing.py", "digit_lemmas", *_TENSORS),
    _target("verify/smt/integer_bits.py", "prover_divisibility", *_SCALARS),
    _target("verify/smt/integer_laws.py", *_SCALARS),
    _target("verify/smt/integer_powers.py", "index_shifts", *_SCALARS),
    _target("verify/smt/integer_terms.py", *_SCALARS),
    _target("verify/smt/integers.py", *_SCALARS),
    _target("verify/smt/judging.py", *_TENSORS),
    _target("verify/smt/leaves.py", *_TENSORS),
    _target("verify/smt/licensed_values.py", "theories", "prover_floats_wrong"),
    _target("verify/smt/machine.py", *_SCALARS),
    _target("verify/smt/minimal.py", *_SCALARS),
    _target("verify/smt/narrowing.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/obligations.py", *_SCALARS),
    _target("verify/smt/order.py", "counterexample_order", *_SCALARS),
    _target("verify/smt/origins.py", *_FOLDS),
    _target("verify/smt/pieces.py", *_FOLDS),
    _target("verify/smt/points.py", *_SCALARS),
    _target("verify/smt/polynomials.py", "mutants_conditions", "digit_lemmas", *_TENSORS, "prover_scalars"),
    _target("verify/smt/python_text.py", *_TENSORS),
    _target("verify/smt/reals.py", *_SCALARS),
    _target("verify/smt/ranks_seen.py", "ranks_seen"),
    _target("verify/smt/replacing.py", *_FOLDS),
    _target("verify/smt/replays.py", *_TENSORS),
    _target("verify/smt/residues.py", "prover_divisibility", *_SCALARS),
    _target("verify/smt/rounding.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/rounding_facts.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/rounding_pairs.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/sampling.py", *_SCALARS),
    _target("verify/smt/scalars.py", *_SCALARS),
    _target("verify/smt/solving.py", *_SCALARS),
    _target("verify/smt/specials.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/steps.py", "reports", *_SCALARS),
    _target("verify/smt/strategies.py", "prover_determinism", *_SCALARS),
    _target("verify/smt/tensors.py", *_TENSORS),
    _target("verify/smt/theories.py", "theories", "prover_floats_right", "prover_floats_wrong"),
    _target("verify/smt/truncation.py", "prover_truncation", *_SCALARS),
    _target("verify/smt/ways.py", *_SCALARS),
)

_PROSE = "rows of prose and data: what they say is held where it is computed, see constraints, derived_props, bounds"
_CONSTRUCTS = "rows of prose; their programs are run by the tests of the documentation"
LEFT_OUT: dict[str, str] = {
    "spec/accuracy.py": "numbers that were measured, which verify/accuracy measures again",
    "spec/adjoint_schema.py": "the form of a row of adjoints",
    "spec/construct_schema.py": "the form of a row of constructs",
    "spec/constructs.py": _CONSTRUCTS,
    "spec/constructs_device.py": _CONSTRUCTS,
    "spec/constructs_programs.py": _CONSTRUCTS,
    "spec/constructs_synchronization.py": _CONSTRUCTS,
    "spec/decision_schema.py": "the form of a row of decisions",
    "spec/decisions.py": "the decisions as prose; the findings among them are computed, see verify/findings",
    "spec/decisions_spork.py": "the decisions as prose",
    "spec/decisions_structure.py": "the decisions as prose",
    "spec/decisions_values.py": "the decisions as prose",
    "spec/examples.py": "the inputs of the examples in the table of ops",
    "spec/licences.py": "sentences that say what each licence permits",
    "spec/opt_schema.py": "the form of a row of optimizations, and of what refuses one",
    "spec/ops_elementwise.py": _PROSE,
    "spec/ops_program.py": _PROSE,
    "spec/ops_tensor.py": _PROSE,
    "spec/ptx_fragments.py": "formulae stated a second time, to hold those of spec/tensor_cores.py",
    "spec/stage_schema.py": "the form of a row of stages",
}
"""Modules that are not mutated, and why."""

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
