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
_RANKS = ("every_rank", "every_rank_frames", "every_rank_reductions", *_TENSORS)
_RULES = ("mutants_rules", "mutants_building", "rule_language_ranges", "prover_scalars")

TARGETS: tuple[Target, ...] = (
    _target("spec/abstract_machine.py", "abstract_machine", "hazard_reports"),
    _target("spec/gradients/table.py", "adjoints", "gradients"),
    _target("spec/gradients/elementwise.py", "adjoints", "gradients"),
    _target("spec/gradients/tensor.py", "adjoints", "gradients"),
    _target("spec/arrays/arrays.py", "mutants_movement", "evaluate_values", "evaluate_memory"),
    _target("spec/ops/axes.py", "workgroups", "kernels", "mutants_memory"),
    _target("spec/spork/synchronization/barriers.py", "barriers"),
    _target("spec/ops/walks.py", "cached_checks", "derived_props"),
    _target("spec/ops/bounds.py", "bounds", "mutants_bounds"),
    _target("spec/rules/building.py", *_RULES),
    _target(
        "spec/rules/choices.py", "rule_language", "rule_language_ranges", "mutants_rules", "mutants_building"
    ),
    _target(
        "spec/ops/bodies.py",
        "mutants_memory",
        "derived_props",
        "constraints",
        "evaluate_memory",
        "evaluate_values",
    ),
    _target("spec/spork/threads/units.py", "collective_units", "tilings"),
    _target("spec/compositions/collectives.py", "collectives"),
    _target("spec/compositions/tensors.py", "compositions"),
    _target("spec/ops/constraints.py", "constraints", "ops_table"),
    _target("spec/values/decompositions.py", "decompositions"),
    _target("spec/kernels/dependences.py", "kernels", "optops"),
    _target("spec/derived_props.py", "derived_props"),
    _target("spec/devices/evaluation.py", "devices", "collectives"),
    _target("spec/spork/threads/distributed_memory.py", "distributed_memory"),
    _target("spec/values/double_word.py", "transcendentals", "decompositions"),
    _target("spec/dtypes.py", "dtypes", "elementwise"),
    _target("spec/values/elementwise.py", "elementwise", "decompositions"),
    _target("spec/values/error_bounds.py", "fast_numerics"),
    _target("spec/errors.py", "errors", "mutants_structure"),
    _target("spec/evaluate.py", "mutants_memory", "evaluate_memory", "evaluate_values"),
    _target("spec/spork/machine/events.py", "unfolding"),
    _target("spec/values/exponentials.py", "decompositions"),
    _target("spec/spork/language/expressions.py", "spork_programs", "spork_front_end"),
    _target("spec/spork/synchronization/fences.py", "fences"),
    _target("spec/evaluation/frames.py", "mutants_memory", "evaluate_memory", "evaluate_values"),
    _target("spec/evaluation/functions.py", "spec_functions"),
    _target("spec/gradients/backward.py", "gradients", "adjoints"),
    _target("spec/spork/diagnosis/causes.py", "hazard_reports"),
    _target("spec/spork/diagnosis/fixes.py", "hazard_reports"),
    _target("spec/spork/diagnosis/reports.py", "hazard_reports"),
    _target("spec/spork/diagnosis/same_code.py", "hazard_same_code"),
    _target("spec/rules/instances.py", *_RULES),
    _target("spec/pipeline/instructions.py", "pipeline"),
    _target("spec/spork/library/parts.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/spork/library/schema.py", "instructions", "spork_instr"),
    _target("spec/spork/library/text.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/spork/library/table.py", "instructions"),
    _target("spec/spork/library/copies.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/spork/library/sm80.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/spork/library/sm90.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/spork/library/tma.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/spork/library/warps.py", "instructions", "instruction_programs", "spork_instr"),
    _target("spec/kernels/iteration_spaces.py", "kernels", "optops"),
    _target("spec/rules/kinds.py", "mutants_rules", "rule_language_ranges"),
    _target("spec/evaluation/lanes.py", "warps", "workgroups"),
    _target("spec/evaluation/linear.py", "mutants_memory", "evaluate_memory"),
    _target("spec/evaluation/loops.py", "mutants_memory", "evaluate_memory", "workgroups"),
    _target("spec/spork/library/memories.py", "memories"),
    _target("spec/evaluation/memory.py", "mutants_memory", "evaluate_memory"),
    _target("spec/evaluation/memory_effects.py", "mutants_memory", "evaluate_memory"),
    _target(
        "spec/arrays/movement.py",
        "mutants_movement",
        "movement_law",
        "mutants_shape_prover",
        "evaluate_values",
    ),
    _target("spec/ops/node.py", "mutants_structure", "derived_props", "constraints", "bounds"),
    _target("spec/rules/notation.py", "mutants_rules", "loader"),
    _target("spec/rules/mistakes.py", "rule_mistakes", "mutants_rules"),
    _target("spec/ops/polynomials.py", "polynomials", "mutants_structure"),
    _target("spec/ops/schema.py", "ops_table", "mutants_structure"),
    _target("spec/ops/table.py", "ops_table", "constraints"),
    _target("spec/kernels/groups.py", "optops"),
    _target("spec/kernels/padto.py", "optops"),
    _target("spec/kernels/tc.py", "optops"),
    _target("spec/kernels/optops.py", "optops"),
    _target("spec/spork/readings/parallel.py", "parallel"),
    _target("spec/spork/interleavings/jobs.py", "parallel"),
    _target("spec/spork/interleavings/memory.py", "parallel"),
    _target("spec/spork/interleavings/queues.py", "parallel"),
    _target("spec/spork/interleavings/registers.py", "parallel"),
    _target("spec/spork/interleavings/search.py", "parallel"),
    _target("spec/spork/interleavings/state.py", "parallel"),
    _target("spec/spork/interleavings/threads.py", "parallel"),
    _target("spec/spork/interleavings/values.py", "parallel"),
    _target("spec/ops/parsing.py", "text"),
    _target("spec/pipeline/stages.py", "pipeline"),
    _target("spec/values/power.py", "transcendentals", "decompositions"),
    _target("spec/rules/procedures.py", "procedures"),
    _target("spec/spork/language/calls.py", "spork_programs"),
    _target("spec/spork/language/conditions.py", "spork_programs", "spork_front_end"),
    _target("spec/spork/language/well_formedness.py", "spork_programs"),
    _target("spec/spork/language/names.py", "spork_programs"),
    _target("spec/spork/language/text.py", "spork_programs", "spork_front_end"),
    _target("spec/spork/language/nodes.py", "spork_programs", "spork_front_end"),
    _target("spec/spork/language/statements.py", "spork_programs", "spork_front_end"),
    _target("spec/spork/language/types.py", "spork_programs", "spork_front_end"),
    _target("spec/spork/language/programs.py", "spork_programs", "spork_front_end"),
    _target("spec/rules/ranks.py", *_RULES),
    _target("spec/rules/ranges.py", "rule_language_ranges", "rule_language"),
    _target("spec/spork/synchronization/rings.py", "rings"),
    _target("spec/rules/language.py", "mutants_rules", "mutants_building", "loader"),
    _target("spec/spork/machine/arguments.py", "unfolding", "sequential"),
    _target("spec/spork/machine/conditions.py", "unfolding", "sequential"),
    _target("spec/spork/machine/names.py", "unfolding", "sequential"),
    _target("spec/spork/machine/statements.py", "unfolding", "sequential"),
    _target("spec/spork/machine/addresses.py", "run_storage", "unfolding"),
    _target("spec/spork/machine/values.py", "unfolding", "sequential"),
    _target("spec/spork/language/scopes.py", "static_devices", "unfolding", "fences"),
    _target("spec/spork/readings/sequential.py", "sequential"),
    _target("spec/ops/shards.py", "mutants_structure", "derived_props", "constraints"),
    _target("spec/values/sine.py", "transcendentals", "decompositions"),
    _target("spec/ops/sizes.py", "mutants_structure", "derived_props", "constraints", "bounds"),
    _target("spec/pipeline/programs.py", "pipeline"),
    _target("spec/rules/statements.py", "mutants_rules", "rule_language_ranges", "loader"),
    _target("spec/rules/spellings.py", "spellings"),
    _target("spec/spork/static/barriers.py", "static_barriers"),
    _target("spec/spork/static/calls.py", "static_calls"),
    _target("spec/spork/static/conditions.py", "static_devices", "static_calls"),
    _target("spec/spork/static/law.py", "static_devices", "static_calls", "static_memory", "static_barriers"),
    _target("spec/spork/static/memory.py", "static_memory"),
    _target("spec/spork/static/pairing.py", "static_barriers", "static_calls"),
    _target("spec/spork/static/queues.py", "static_barriers"),
    _target("spec/spork/static/scope.py", "static_devices", "static_memory"),
    _target("spec/spork/static/shards.py", "static_shards"),
    _target("spec/spork/static/sizes.py", "static_sizes"),
    _target("spec/spork/static/windows.py", "static_shards", "static_memory"),
    _target("spec/values/steps.py", "decompositions", "transcendentals"),
    _target("spec/spork/machine/storage.py", "visibility"),
    _target("spec/evaluation/strides.py", "spellings"),
    _target("spec/values/tensor_cores.py", "tensor_cores", "warps"),
    _target("spec/rules/terms.py", "mutants_rules", "loader"),
    _target("spec/ops/textual_form.py", "text"),
    _target("spec/spork/threads/domains.py", "tilings", "distributed_memory"),
    _target("spec/values/threefry.py", "transcendentals"),
    _target("spec/spork/threads/tilings.py", "tilings", "distributed_memory"),
    _target("spec/spork/synchronization/timelines.py", "timelines"),
    _target("spec/devices/transfers.py", "devices"),
    _target("spec/spork/machine/transitions.py", "abstract_machine", "rings"),
    _target("spec/spork/machine/unfolding.py", "unfolding", "sequential"),
    _target("spec/uop.py", "mutants_structure", "derived_props", "constraints", "evaluate_values"),
    _target("spec/spork/machine/algebras.py", "sequential"),
    _target(
        "spec/evaluation/values.py",
        "mutants_memory",
        "mutants_movement",
        "evaluate_values",
        "evaluate_memory",
    ),
    _target("spec/spork/synchronization/visibility.py", "visibility"),
    _target("spec/rules/vocabulary.py", "mutants_rules", "rule_language"),
    _target("spec/spork/threads/warps.py", "warp_configs"),
    _target("spec/kernels/warps.py", "optops"),
    _target("spec/evaluation/workgroups.py", "workgroups", "warps"),
    _target("verify/verdicts/layers.py", *_RULES),
    _target("verify/judging/judge.py", *_RULES),
    _target("verify/smt/goals/algebra.py", *_SCALARS),
    _target("verify/smt/values/algebras.py", *_SCALARS),
    _target("verify/smt/integers/arithmetic.py", *_TENSORS),
    _target("verify/smt/values/bit_vectors.py", "prover_bits", *_SCALARS),
    _target("verify/smt/counterexamples/closing.py", *_FOLDS),
    _target("verify/smt/proving/comparison.py", *_TENSORS),
    _target("verify/smt/integers/congruences.py", "congruences", *_SCALARS),
    _target("verify/smt/counterexamples/scalars.py", *_SCALARS),
    _target("verify/smt/counterexamples/sizes.py", *_TENSORS),
    _target("verify/smt/counterexamples/tensors.py", *_TENSORS),
    _target("verify/smt/counterexamples/demands.py", "index_shifts", *_SCALARS),
    _target("verify/smt/elements/text.py", "rule_mistakes"),
    _target("verify/smt/elements/denotation.py", *_TENSORS),
    _target("verify/smt/elements/bits.py", "prover_bitcasts"),
    _target("verify/smt/elements/reductions.py", *_FOLDS),
    _target("verify/smt/elements/movement.py", "movement_law", *_TENSORS),
    _target("verify/smt/elements/numbers.py", *_TENSORS),
    _target("verify/smt/proving/digit_products.py", "digit_products", *_TENSORS),
    _target("verify/smt/integers/divisibility.py", "prover_divisibility", *_SCALARS),
    _target("verify/smt/integers/division.py", *_SCALARS),
    _target("verify/smt/elements/elements.py", *_TENSORS),
    _target("verify/smt/ranks/every_rank.py", *_RANKS),
    _target("verify/smt/ranks/blocks.py", *_RANKS),
    _target("verify/smt/ranks/conditions.py", *_RANKS),
    _target("verify/smt/ranks/counts.py", *_RANKS),
    _target("verify/smt/ranks/elements.py", "every_rank_elements", *_RANKS),
    _target("verify/smt/ranks/reductions.py", "every_rank_paddings", *_RANKS),
    _target("verify/smt/ranks/frames.py", *_RANKS),
    _target("verify/smt/ranks/homomorphisms.py", *_RANKS),
    _target("verify/smt/ranks/leading_axes.py", *_RANKS),
    _target("verify/smt/ranks/parts.py", "every_rank_parts", *_RANKS),
    _target("verify/smt/ranks/shapes.py", *_RANKS),
    _target("verify/smt/ranks/permutations.py", *_RANKS),
    _target("verify/smt/counterexamples/exhaustive.py", *_SCALARS),
    _target("verify/smt/counterexamples/first_inputs.py", *_FOLDS),
    _target("verify/smt/reductions/bijections.py", *_FOLDS),
    _target("verify/smt/reductions/bounds.py", *_FOLDS),
    _target("verify/smt/reductions/comparisons.py", *_FOLDS),
    _target("verify/smt/reductions/covers.py", *_FOLDS),
    _target("verify/smt/reductions/guesses.py", *_FOLDS),
    _target("verify/smt/reductions/homomorphisms.py", *_FOLDS),
    _target("verify/smt/reductions/inductions.py", "prover_inductions", *_FOLDS),
    _target("verify/smt/counterexamples/reduction_inputs.py", *_FOLDS),
    _target("verify/smt/reductions/orders.py", *_FOLDS),
    _target("verify/smt/reductions/sums.py", *_FOLDS),
    _target("verify/smt/reductions/counting.py", *_FOLDS),
    _target("verify/smt/reductions/validity.py", *_FOLDS),
    _target("verify/smt/reductions/zeros.py", *_FOLDS),
    _target("verify/smt/reductions/equality.py", *_FOLDS),
    _target("verify/smt/integers/formulas.py", "mutants_conditions", *_TENSORS),
    _target("verify/smt/counterexamples/gather_inputs.py", *_TENSORS),
    _target("verify/smt/values/ieee.py", *_SCALARS),
    _target("verify/smt/elements/indexing.py", "digit_lemmas", *_TENSORS),
    _target("verify/smt/integers/bits.py", "prover_divisibility", *_SCALARS),
    _target("verify/smt/integers/laws.py", *_SCALARS),
    _target("verify/smt/integers/powers.py", "index_shifts", *_SCALARS),
    _target("verify/smt/integers/terms.py", *_SCALARS),
    _target("verify/smt/integers/residue_classes.py", *_SCALARS),
    _target("verify/smt/proving/instances.py", *_TENSORS),
    _target("verify/smt/proving/leaves.py", *_TENSORS),
    _target("verify/smt/values/licensed_values.py", "theories", "prover_floats_wrong"),
    _target("verify/smt/values/machine_numbers.py", *_SCALARS),
    _target("verify/smt/counterexamples/minimal.py", *_SCALARS),
    _target("verify/smt/values/narrowing.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/goals/obligations.py", *_SCALARS),
    _target("verify/smt/goals/order.py", "counterexample_order", *_SCALARS),
    _target("verify/smt/elements/atoms.py", *_FOLDS),
    _target("verify/smt/reductions/pieces.py", *_FOLDS),
    _target("verify/smt/goals/points.py", *_SCALARS),
    _target(
        "verify/smt/integers/polynomials.py",
        "polynomials",
        "mutants_conditions",
        "digit_lemmas",
        *_TENSORS,
        "prover_scalars",
    ),
    _target("verify/smt/counterexamples/python_text.py", *_TENSORS),
    _target("verify/smt/values/reals.py", *_SCALARS),
    _target("verify/smt/ranks/instances.py", "ranks_seen"),
    _target("verify/smt/elements/substitution.py", *_FOLDS),
    _target("verify/smt/counterexamples/replays.py", *_TENSORS),
    _target("verify/smt/integers/residues.py", "prover_divisibility", *_SCALARS),
    _target("verify/smt/values/rounding.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/values/rounding_facts.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/values/rounding_pairs.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/goals/sampling.py", *_SCALARS),
    _target("verify/smt/proving/scalars.py", *_SCALARS),
    _target("verify/smt/goals/solving.py", *_SCALARS),
    _target("verify/smt/values/special_values.py", "prover_rounding", *_SCALARS),
    _target("verify/smt/goals/trial.py", "advice_weakest", *_RANKS),
    _target("verify/smt/goals/steps.py", "reports", *_SCALARS),
    _target("verify/smt/goals/strategies.py", "prover_determinism", *_SCALARS),
    _target("verify/smt/tensors.py", *_TENSORS),
    _target("verify/smt/values/theories.py", "theories", "prover_floats_right", "prover_floats_wrong"),
    _target("verify/smt/integers/truncation.py", "prover_truncation", *_SCALARS),
    _target("verify/smt/proving/strategies.py", *_SCALARS),
)

_PROSE = "rows of prose and data: what they say is held where it is computed, see constraints, derived_props, bounds"
_CONSTRUCTS = "rows of prose; their programs are run by the tests of the documentation"
LEFT_OUT: dict[str, str] = {
    "spec/values/accuracy.py": "numbers that were measured, which verify/accuracy measures again",
    "spec/gradients/schema.py": "the form of a row of adjoints",
    "spec/spork/constructs/schema.py": "the form of a row of constructs",
    "spec/spork/constructs/table.py": _CONSTRUCTS,
    "spec/spork/constructs/device.py": _CONSTRUCTS,
    "spec/spork/constructs/programs.py": _CONSTRUCTS,
    "spec/spork/constructs/synchronization.py": _CONSTRUCTS,
    "spec/decisions/schema.py": "the form of a row of decisions",
    "spec/decisions/table.py": "the decisions as prose; the findings among them are computed, see verify/findings",
    "spec/decisions/spork.py": "the decisions as prose",
    "spec/decisions/structure.py": "the decisions as prose",
    "spec/decisions/values.py": "the decisions as prose",
    "spec/examples.py": "the inputs of the examples in the table of ops",
    "spec/rules/licences.py": "sentences that say what each licence permits",
    "spec/kernels/opt.py": "the form of an optimization and its text",
    "spec/kernels/schema.py": "the form of a row of optimizations, and of what refuses one",
    "spec/ops/elementwise.py": _PROSE,
    "spec/ops/program.py": _PROSE,
    "spec/ops/tensor.py": _PROSE,
    "spec/spork/library/fragments.py": "formulae stated a second time, to hold those of spec/values/tensor_cores.py",
    "verify/smt/elements/reader.py": "an interface; its methods have no bodies",
    "verify/smt/integers/algebra.py": "an interface; its methods have no bodies",
    "verify/smt/values/rounded.py": "an interface; its methods have no bodies",
    "spec/pipeline/schema.py": "the form of a row of stages",
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
                f"{name} is not a target of mutation", hint=f"did you mean {near[0]}?" if near else None
            )
        found += hits
    return tuple(dict.fromkeys(found)) if names else targets
