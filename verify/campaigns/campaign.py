"""
The campaign
============

Every rule of many files, layer by layer, on several workers. A file that does not end, a goal that does not come back,
a solver that crashes: each costs its own verdict and nothing else. Results are reported as they arrive, and the order
of the final report does not depend on the workers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from soundline.verify.advice.results import Advice
from soundline.verify.campaigns.cluster import ClusterLost
from soundline.verify.campaigns.workers import Job, Outcome, Pool
from soundline.verify.files.finding import Found, named
from soundline.verify.files.problems import Problem, displayed
from soundline.verify.reports.cases import Case, Reading, duplicates, matches, no_rules
from soundline.verify.reports.report import Listener, Report, Silence
from soundline.verify.verdicts.as_json import layer_from_json
from soundline.verify.verdicts.cache import Cache, Key
from soundline.verify.verdicts.effort import BUDGETS, GOALS_PER_RULE, SLACK, Effort, next_budget
from soundline.verify.verdicts.metering import LayerCost, from_json
from soundline.verify.verdicts.verdict import INTERNAL, LayerResult, RuleReport

PROVER = "soundline.verify.judging.judge"
"""The module whose `prove_layer` decides."""

OFFLINE = "not in the cache (offline)"
EXHAUSTED = "budget exhausted"
RETRIES = 1
"""How often a goal whose process died is tried again."""
SECONDS_PER_OPINION = 60
"""How much longer a layer may take for each who is asked for a second opinion."""
SKIPS = 5
"""How many statements of one file may block or end its process before the rest of the file is given up."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a campaign runs."""

    jobs: int = 1
    effort: Effort = BUDGETS["normal"]
    offline: bool = False
    cache: Cache | None = None
    filters: tuple[str, ...] = ()
    reading_seconds: float = 30.0
    rule_seconds: float | None = None
    """How long all layers of a rule may take together; by default as long as `GOALS_PER_RULE` goals."""
    prover: str = field(default_factory=lambda: PROVER)
    opinions: tuple[str, ...] = ()
    """Who else is asked about each layer (`second.opinions`)."""
    executor: str | None = None
    """A cluster that proves, as ``dask://HOST:PORT``; None for processes of this machine."""
    advise: bool = False
    """Whether to look for advice on the rules after they are judged."""

    @property
    def limit_of_rule(self) -> float:
        """How many seconds a rule may take."""
        return self.rule_seconds or GOALS_PER_RULE * self.effort.seconds


def verify(found: Found, settings: Settings, listener: Listener | None = None) -> Report:
    """Read the files and judge their rules; after Ctrl-C, report what is known by then."""
    began, interrupted, advice = time.monotonic(), False, None
    with Campaign(settings, listener) as campaign:
        try:
            campaign.read(found, judge=True)
            campaign.look_for_duplicates()
            campaign.look_for_nothing()
            advice = campaign.advice() if settings.advise else None
        except KeyboardInterrupt:
            interrupted = True
        except ClusterLost as lost:
            interrupted = True
            campaign.note(Problem("lost-cluster", str(settings.executor), None, str(lost), lost.hint))
        seconds = time.monotonic() - began
        return Report(
            campaign.reports(),
            campaign.mistakes(),
            seconds,
            interrupted,
            advice,
            campaign.costs(),
            tuple(str(p["id"]) for p in campaign.procedures),
        )


class Campaign:
    """Readings and judgements on one pool of workers. Use it as a context: leaving it ends the workers."""

    def __init__(self, settings: Settings, listener: Listener | None = None) -> None:
        self.settings = settings
        self.listener = listener or Silence()
        self.pool = _pool(settings)
        self.cases: list[Case] = []
        self.procedures: list[dict[str, Any]] = []
        self._read = 0
        self._judging = False
        self._problems: dict[tuple[str, int | None, str], tuple[int, Problem]] = {}

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    def read(self, found: Found, *, judge: bool) -> None:
        """Read files, and judge each rule as soon as it is known if that is wanted."""
        self._judging = judge
        for problem in found.problems:
            self._met(problem, -1)
        for place, file in enumerate(found.files):
            self._submit_reading(Reading(file, place))
        self._work()

    def read_one(self, file: str) -> tuple[list[Case], list[Problem]]:
        """Read one more file: its rules, and what is wrong with it."""
        known = len(self.cases), len(self._problems)
        self.read(named([file]), judge=False)
        fresh = sorted(self.cases[known[0] :], key=lambda c: c.order)
        return fresh, [p for _, p in list(self._problems.values())[known[1] :]]

    def judge(self, case: Case) -> RuleReport | Problem:
        """Judge one rule that was read; a rule that turns out to be none is a problem."""
        self._begin(case)
        self._work()
        return case.problem or case.report()

    def look_for_duplicates(self) -> None:
        """Note every id that is used twice."""
        for case, problem in duplicates(self.cases):
            self._met(problem, case.reading.place)

    def note(self, problem: Problem) -> None:
        """Note what went wrong with the campaign itself."""
        self._met(problem, -1)

    def advice(self) -> Advice:
        """What is to be said of the conditions of the rules that were judged, and of the rules as a set."""
        from soundline.verify.campaigns.advice import advise_cases

        settings = self.settings
        return advise_cases(
            self.cases,
            jobs=settings.jobs,
            prover=settings.prover,
            effort=settings.effort,
            reading_seconds=settings.reading_seconds,
            listener=self.listener,
        )

    def look_for_nothing(self) -> None:
        """Note a filter that leaves no rule."""
        if self.settings.filters and self._read and not self.cases:
            message = f"no rule matches {' or '.join(self.settings.filters)} ({self._read} were read)"
            self._met(Problem("no-rules", "--filter", None, message), -1)

    def reports(self) -> tuple[RuleReport, ...]:
        """What is known of every rule, in the order of files and lines."""
        return tuple(c.report() for c in sorted(self.cases, key=lambda c: c.order) if not c.problem)

    def costs(self) -> tuple[LayerCost, ...]:
        """What was judged in this run and what it took, in the same order."""
        cases = sorted(self.cases, key=lambda c: c.order)
        return tuple(cost for c in cases for cost in sorted(c.costs, key=lambda x: x.layer))

    def mistakes(self) -> tuple[Problem, ...]:
        """What is wrong with the input, in the same order."""
        found = sorted(self._problems.values(), key=lambda p: (p[0], p[1].line or 0))
        return tuple(p for _, p in found)

    def _work(self) -> None:
        while not self.pool.idle:
            self.listener.works_on([j.owner[0].id for j in self.pool.running if _solves(j)])
            self._ended(self.pool.next())

    def _ended(self, outcome: Outcome) -> None:
        if _solves(outcome.job):
            self._solved(outcome)
        else:
            self._listed(outcome)

    def _met(self, problem: Problem, place: int) -> None:
        shown = replace(problem, file=displayed(problem.file))
        key = (shown.file, shown.line, shown.message)
        if key not in self._problems:
            self._problems[key] = (place, shown)
            self.listener.met(shown)

    # reading ------------------------------------------------------------------------------------------------------

    def _submit_reading(self, reading: Reading, *, first: bool = False) -> None:
        limit = self.settings.reading_seconds
        self.pool.submit(Job(reading.request("list"), limit, limit, reading), first=first)

    def _listed(self, outcome: Outcome) -> None:
        reading: Reading = outcome.job.owner
        if outcome.end != "done":
            self._blocked(outcome, reading)
            return
        said = outcome.answer
        reading.digest, reading.helpers = said["digest"], tuple(said["helpers"])
        if said["printed"]:
            self.listener.printed(displayed(reading.file.path), said["printed"])
        problems = [Problem.from_json(p) for p in said["problems"]]
        for problem in problems:
            self._met(problem, reading.place)
        if not (said["rules"] or problems or reading.skip) and reading.file.expected:
            self._met(no_rules(reading.file.path, said["imported"], len(said["procedures"])), reading.place)
        self.procedures += said["procedures"]
        self._read += len(said["rules"])
        chosen = [Case(reading, r) for r in said["rules"] if matches(r["id"], self.settings.filters)]
        self.cases += chosen
        self.listener.expects([c.id for c in self.cases])
        for case in chosen if self._judging else ():
            self._begin(case)

    def _blocked(self, outcome: Outcome, reading: Reading) -> None:
        """A statement never ended, or ended the process: report it, and read the file without it."""
        if outcome.end == "overran":
            what = f"reading did not end within {outcome.job.reading_seconds:g} s"
            problem = Problem("timeout", reading.file.path, outcome.reached, what)
        else:
            what = f"reading ended the process ({outcome.status})"
            problem = Problem("crash", reading.file.path, outcome.reached, what)
        self._met(problem, reading.place)
        if outcome.reached is not None and len(reading.skip) < SKIPS:
            skip = (*reading.skip, outcome.reached)
            self._submit_reading(Reading(reading.file, reading.place, skip), first=True)

    # proving ------------------------------------------------------------------------------------------------------

    def _begin(self, case: Case) -> None:
        """Answer from the cache what it knows, and ask the workers for the rest."""
        for n, (name, dtype) in enumerate(case.layers):
            known = self._known(case, n)
            if known is not None:
                case.results[n] = known
            elif self.settings.offline:
                case.results[n] = LayerResult(name, "unknown", "", detail=OFFLINE)
                case.fresh += 1
            else:
                case.fresh += 1
                self.pool.submit(self._proof(case, n, dtype))
        self._tell(case)

    def _proof(self, case: Case, n: int, dtype: str) -> Job:
        effort = self.settings.effort
        opinions = self.settings.opinions
        budget: dict[str, Any] = {
            "rlimit": effort.rlimit,
            "seconds": SLACK * effort.seconds,
            "seed": effort.seed,
        }
        if opinions:
            budget["opinions"] = opinions
        request = {
            **case.reading.request("prove"),
            "digest": case.reading.digest,
            "helpers": list(case.reading.helpers),
            "structure": case.said["structure"],
            "ordinal": case.said["ordinal"],
            "dtype": dtype,
            "budget": budget,
        }
        limit = limit_of_layer(effort, len(opinions))
        return Job(
            request, self.settings.reading_seconds, limit, (case, n), left=lambda: self._time_left(case)
        )

    def _time_left(self, case: Case) -> float:
        """How long a rule may still take. Those who are asked for second opinions have their own time."""
        asked = SECONDS_PER_OPINION * len(self.settings.opinions) * len(case.layers)
        return self.settings.limit_of_rule + asked - case.seconds

    def _solved(self, outcome: Outcome) -> None:
        case, n = outcome.job.owner
        case.seconds += outcome.seconds
        if case.problem:
            return
        job = outcome.job
        if outcome.end == "crashed" and job.attempt <= RETRIES:
            deaths = job.deaths + outcome.deaths
            self.pool.submit(replace(job, attempt=job.attempt + 1, deaths=deaths), first=True)
            return
        if "problem" in outcome.answer:
            self._refused(case, Problem.from_json(outcome.answer["problem"]))
            return
        result = self._result(outcome, case)
        case.results[n] = result
        if result is not None and outcome.end == "done" and "layer" in outcome.answer:
            self._remember(case, n, result, outcome.seconds)
            said = outcome.answer.get("goals", ())
            case.costs.append(from_json(case.id, result.layer, round(outcome.seconds, 4), said))
        if self._time_left(case) <= 0:
            self._out_of_time(case)
        self._tell(case)

    def _out_of_time(self, case: Case) -> None:
        """Leave the layers open that have not begun."""
        begun = {job.owner[1] for job in self.pool.running if _solves(job) and job.owner[0] is case}
        self.pool.drop(lambda job: _solves(job) and job.owner[0] is case)
        for n, (name, _) in enumerate(case.layers):
            if n not in case.results and n not in begun:
                case.results[n] = LayerResult(
                    name, "unknown", "", detail=f"not begun: {self._rule_time_spent()}"
                )

    def _rule_time_spent(self) -> str:
        limit = self.settings.limit_of_rule
        return f"the {limit:g} s of a rule were spent; --rule-time {10 * limit:g} gives it more"

    def _result(self, outcome: Outcome, case: Case) -> LayerResult | None:
        layer = case.layers[outcome.job.owner[1]][0]
        if outcome.end == "done" and "layer" in outcome.answer:
            found = outcome.answer["layer"]
            return None if found is None else self._with_remedy(layer_from_json(found), outcome)
        if outcome.end == "done":
            detail = f"the prover failed: {outcome.answer['failure']}"
        elif outcome.end == "overran" and not outcome.solving:
            detail = f"reading the file again did not end within {outcome.seconds:.0f} s"
        elif outcome.end == "overran":
            detail = f"{EXHAUSTED}: stopped after {outcome.seconds:.0f} s"
            if self._time_left(case) <= 0:
                detail += f", when {self._rule_time_spent()}"
            else:
                detail += f"; --budget {next_budget(self.settings.effort)} gives a layer more"
        else:
            deaths = outcome.job.deaths + outcome.deaths
            detail = f"the prover's process died {deaths} times ({outcome.status})"
        return LayerResult(layer, "unknown", "", detail=detail)

    def _with_remedy(self, found: LayerResult, outcome: Outcome) -> LayerResult:
        """An undecided layer that says whether a larger budget may decide it."""
        if found.verdict != "unknown" or INTERNAL in found.detail:
            return found
        if outcome.answer.get("gave_up"):
            remedy = f"--budget {next_budget(self.settings.effort)} may decide it"
        else:
            remedy = "a larger budget decides nothing more: none was spent"
        return replace(found, detail=f"{found.detail}; {remedy}" if found.detail else remedy)

    def _refused(self, case: Case, problem: Problem) -> None:
        """A rule that has no types is no rule: its other layers are not asked for."""
        case.problem = problem
        self._met(problem, case.reading.place)
        self.pool.drop(lambda job: _solves(job) and job.owner[0] is case)

    def _tell(self, case: Case) -> None:
        if case.complete and not case.problem:
            self.listener.decided(case.report(), case.seconds)

    # the cache ----------------------------------------------------------------------------------------------------

    def _key(self, case: Case, n: int) -> Key:
        name, dtype = case.layers[n]
        return Key(case.said["structure"], name, dtype, case.id, self.settings.effort.seed)

    def _known(self, case: Case, n: int) -> LayerResult | None:
        cache = self.settings.cache
        return None if cache is None else cache.get(self._key(case, n), self.settings.effort)

    def _remember(self, case: Case, n: int, result: LayerResult, seconds: float) -> None:
        """Keep a result, unless the clock had a part in it, which another run might not repeat."""
        cache, effort = self.settings.cache, self.settings.effort
        by_the_clock = seconds >= SLACK * effort.seconds or "time limit" in result.detail
        if cache is not None and not (result.verdict == "unknown" and by_the_clock):
            cache.put(self._key(case, n), effort, result)


def _pool(settings: Settings) -> Pool:
    if settings.executor is None:
        return Pool(settings.jobs, settings.prover)
    from soundline.verify.campaigns.cluster import ClusterPool

    return ClusterPool(settings.jobs, settings.prover, settings.executor)


def _solves(job: Job) -> bool:
    return isinstance(job.owner, tuple)


def limit_of_layer(effort: Effort, opinions: int = 0) -> float:
    """After how many seconds work on one layer is stopped: it may hold many goals, most of them small."""
    return 2 + 3 * SLACK * effort.seconds + SECONDS_PER_OPINION * opinions
