"""Campaigns on a Dask cluster of real processes: the same verdicts, whatever is killed, and typed errors."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from soundline.spec.errors import UsageError
from soundline.verify.campaigns import cluster as cluster_module
from soundline.verify.campaigns.campaign import Settings, verify
from soundline.verify.campaigns.cluster import GIVEN_UP, ClusterLost, ClusterPool, address_of
from soundline.verify.campaigns.workers import Job
from soundline.verify.cli.main import main
from soundline.verify.files.finding import named
from soundline.verify.reports.as_json import as_json
from soundline.verify.reports.report import INTERRUPTED, Report, Silence
from soundline.verify.verdicts.cache import Cache
from soundline.verify.verdicts.effort import Effort
from soundline.verify.verdicts.verdict import RuleReport

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cluster_processes import Cluster, running

HEAD = "from soundline.verify import *\n\n"
DOUBLE = "prover_double"
TWINS = Path(__file__).resolve().parents[1] / "wrong_twins"
EFFORT = Effort(5_000_000, 30.0)


def rule(name: str, doc: str = "Says so.") -> str:
    """A rule of a structure of its own: true, but for the prover of these tests only its name counts."""
    number = zlib.crc32(name.encode()) % 100
    return f'@rule(dtypes=[int8])\ndef {name}(x: Value):\n    """{doc}"""\n    return x + {number}, {number} + x\n\n'


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that are started again when they die."""
    with running(tmp_path_factory.mktemp("cluster"), 2, nanny=True) as found:
        yield found


@pytest.fixture
def cluster(started: Cluster) -> Cluster:
    """The two workers, both there, whatever another test did to them."""
    started.wait()
    return started


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def written(name: str, *parts: str) -> str:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEAD + "".join(parts))
        return str(file)

    return written


class At(Silence):
    """Does something when so many rules are decided."""

    def __init__(self, count: int, act: Callable[[], object]) -> None:
        self.left, self.act = count, act

    def decided(self, report: RuleReport, seconds: float) -> None:
        self.left -= 1
        if self.left == 0:
            self.act()


def settings(at: Cluster | None = None, *, prover: str = DOUBLE, cache: Cache | None = None) -> Settings:
    executor = None if at is None else at.address
    return Settings(jobs=2, effort=EFFORT, prover=prover, cache=cache, executor=executor)


def verdicts(report: Report) -> dict[str, Any]:
    """The report without what it took."""
    found = as_json(report)
    del found["summary"]["seconds"]
    found.pop("times", None)
    return found


def on_this_machine(files: list[str], prover: str = DOUBLE) -> Report:
    return verify(named(files), settings(prover=prover))


# the same verdicts ------------------------------------------------------------------------------------------------


def test_real_rules_have_the_verdicts_of_a_local_run(cluster: Cluster, write: Callable[..., str]) -> None:
    right = write("right.py", rule("add_zero"), rule("add_nothing"))
    files = [right, str(TWINS / "shifts.py")]
    prover = "soundline.verify.judging.judge"
    here = on_this_machine(files, prover)
    there = verify(named(files), settings(cluster, prover=prover))
    assert verdicts(there) == verdicts(here)
    assert here.count("proved") == 2
    assert here.count("refuted") >= 6


def test_every_end_of_a_goal_is_the_same(cluster: Cluster, write: Callable[..., str]) -> None:
    names = (
        "fine_a",
        "wrong_a",
        "hard_a",
        "empty_a",
        "fails_a",
        "exits_a",
        "crashes_a",
        "illtyped_a",
        "prints_a",
    )
    file = write("all.py", *(rule(n) for n in names))
    assert verdicts(verify(named([file]), settings(cluster))) == verdicts(on_this_machine([file]))


def test_a_file_takes_the_modules_beside_it_along(cluster: Cluster, write: Callable[..., str]) -> None:
    """The workers share no disk with the campaign: here they are given what the file imports, and no more."""
    write("pack/__init__.py", "SEEN = 1\n")
    write("pack/inner/__init__.py")
    write("pack/inner/shapes.py", "def same(x):\n    return x\n")
    write("names.py", "from pack import SEEN\n")
    text = "from .shapes import same\nfrom names import SEEN\nassert SEEN == 1 and same(2) == 2\n"
    files = [
        write("pack/inner/rules.py", text, rule("fine_inside")),
        write("beside.py", "import names\n", rule("fine")),
    ]
    report = verify(named(files), settings(cluster))
    assert verdicts(report) == verdicts(on_this_machine(files))
    assert [r.verdict for r in report.rules] == ["proved", "proved"]


def test_a_file_that_needs_this_machine_says_so(
    cluster: Cluster, write: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "data.txt").write_text("1")
    read = "import pathlib\nN = int(pathlib.Path(__file__).with_name('data.txt').read_text())\n"
    file = write("needs.py", read, rule("fine_here").replace("x +", "N + x +"))
    report = verify(named([file]), settings(cluster))
    (problem,) = report.problems
    assert problem.kind == "changed-file"
    assert problem.file.endswith("needs.py")
    assert "other rules where they are proved" in problem.message
    assert "data.txt" in problem.message
    assert "its own folder" in (problem.hint or "")
    assert on_this_machine([file]).problems == ()


def test_verdicts_rest_in_the_cache_of_this_machine(
    cluster: Cluster, write: Callable[..., str], tmp_path: Path
) -> None:
    file, cache = write("kept.py", rule("fine_a"), rule("wrong_a")), Cache(tmp_path / "cache")
    first = verify(named([file]), settings(cluster, cache=cache))
    again = verify(named([file]), settings(cache=cache))
    assert (first.cached, again.cached) == (0, 2)
    assert [r.verdict for r in again.rules] == [r.verdict for r in first.rules] == ["proved", "refuted"]


# what is killed ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_no_verdict_is_lost_with_a_worker(tmp_path: Path, write: Callable[..., str]) -> None:
    file = write("many.py", *(rule(f"slow_{n}") + rule(f"wrong_{n}") for n in range(7)))
    with running(tmp_path / "cluster", 2, nanny=False) as cluster:
        report = verify(named([file]), settings(cluster), At(4, cluster.kill_worker))
        assert len(cluster.workers) == 1
    assert not report.interrupted
    assert verdicts(report) == verdicts(on_this_machine([file]))
    assert (report.count("proved"), report.count("refuted")) == (7, 7)


def test_a_goal_that_kills_its_workers_is_undecided_and_costs_no_other(
    cluster: Cluster, write: Callable[..., str]
) -> None:
    file = write("deadly.py", rule("killsworker_a"), *(rule(f"slow_{n}") for n in range(6)))
    report = verify(named([file]), settings(cluster))
    assert not report.interrupted, report.problems
    deadly, *others = report.rules
    assert [(r.verdict, r.layers[0].detail) for r in others] == [("proved", "")] * 6
    assert deadly.verdict == "unknown"
    assert (
        deadly.layers[0].detail == "the prover's process died 4 times (and with it a worker of the cluster)"
    )


@pytest.mark.thorough
def test_a_lost_scheduler_costs_what_was_not_decided(tmp_path: Path, write: Callable[..., str]) -> None:
    file = write("many.py", *(rule(f"slow_{n}") for n in range(8)))
    cache = Cache(tmp_path / "cache")
    with running(tmp_path / "cluster", 1, nanny=False) as cluster:
        report = verify(named([file]), settings(cluster, cache=cache), At(3, cluster.kill_scheduler))
    assert report.interrupted
    assert report.exit_code == INTERRUPTED
    (problem,) = report.problems
    assert problem.kind == "lost-cluster"
    assert "run again" in (problem.hint or "")
    known = report.count("proved")
    assert 3 <= known < 8
    again = verify(named([file]), settings(cache=cache))
    assert again.cached == known
    assert again.count("proved") == 8


@pytest.mark.thorough
def test_a_cluster_without_workers_is_given_up(
    tmp_path: Path, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE", 1.0)
    file = write("many.py", *(rule(f"slow_{n}") for n in range(8)))
    with running(tmp_path / "cluster", 1, nanny=False) as cluster:
        report = verify(named([file]), settings(cluster), At(2, cluster.kill_worker))
    (problem,) = report.problems
    assert "no worker" in problem.message
    assert 2 <= report.count("proved") < 8


def test_an_interrupted_campaign_leaves_nothing_running(
    cluster: Cluster, write: Callable[..., str], tmp_path: Path
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    mark = tmp_path / "pid"
    file = write("some.py", rule("fine_a"), rule("tellspid_b", str(mark)))
    report = verify(named([file]), settings(cluster), At(1, interrupt))
    assert report.interrupted
    assert report.count("proved") == 1
    until = time.monotonic() + 30
    while time.monotonic() < until and (not mark.exists() or alive(int(mark.read_text() or 0))):
        idle = not mark.exists() and not busy(cluster)
        time.sleep(1.0 if idle else 0.1)
        if idle and not mark.exists():
            return  # it was given up before it began
    assert not mark.exists() or not alive(int(mark.read_text()))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" if Path("/proc").exists() else True


def busy(cluster: Cluster) -> bool:
    from distributed import Client

    with Client(cluster.address.replace("dask", "tcp"), set_as_default=False) as client:
        return any(client.processing().values())


# wrong use --------------------------------------------------------------------------------------------------------


def test_addresses() -> None:
    assert address_of("dask://10.0.0.7:8786") == "tcp://10.0.0.7:8786"
    assert address_of("dask://[::1]:8786") == "tcp://[::1]:8786"


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "dask://", "dask://host", "dask://:8786", "dask://host:", "dask://host:x", "dask://host:0"),
        *(
            "dask://host:65536",
            "tcp://host:8786",
            "host:8786",
            "dask://a/b:1",
            "dask://a b:1",
            "dask://host:²",
        ),
    ],
)
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="is not an executor") as refused:
        address_of(wrong)
    assert "dask://HOST:PORT" in (refused.value.hint or "")


def refused(executor: str, file: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["verify", file, "--executor", executor, "--no-cache"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("soundline: error: ")
    return said.err


def test_where_nobody_listens(write: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster_module.CONNECTING, before = 1.0, cluster_module.CONNECTING
    try:
        text = refused(f"dask://127.0.0.1:{port}", write("r.py", rule("fine")), capsys)
    finally:
        cluster_module.CONNECTING = before
    assert "no Dask scheduler answers" in text
    assert "dask scheduler" in text


def test_where_something_else_listens(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECTING", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"dask://127.0.0.1:{other.getsockname()[1]}"
        assert "no Dask scheduler answers" in refused(address, write("r.py", rule("fine")), capsys)


def test_where_nobody_works(
    tmp_path: Path,
    write: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECTING", 1.0)
    with running(tmp_path / "cluster", 0, nanny=False) as cluster:
        text = refused(cluster.address, write("r.py", rule("fine")), capsys)
    assert "has no worker" in text
    assert "dask worker" in text


def test_where_dask_is_not_installed(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    text = refused("dask://127.0.0.1:1", write("r.py", rule("fine")), capsys)
    assert "soundline[cluster]" in text


def test_workers_of_another_version_are_refused(
    cluster: Cluster,
    write: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_module, "fingerprint", lambda: "of another law")
    text = refused(cluster.address, write("r.py", rule("fine")), capsys)
    assert "2 of 2 workers" in text
    assert "another law, prover or solver" in text


def test_a_worker_that_comes_later_with_another_version_is_noticed(
    cluster: Cluster, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "_look_over", lambda client, executor: None)
    monkeypatch.setattr(cluster_module, "fingerprint", lambda: "of another law")
    with pytest.raises(UsageError, match="another law, prover or solver"):
        verify(named([write("r.py", rule("fine"))]), settings(cluster))


@pytest.mark.parametrize("other", ["--offline", "--law"])
def test_an_executor_goes_with_proving_alone(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--executor", "dask://h:1", other]) == 2
    assert other in capsys.readouterr().err


def test_the_command_proves_on_the_cluster(
    cluster: Cluster, write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write("r.py", rule("add_zero"))
    assert main(["verify", file, "--executor", cluster.address, "--no-cache", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0]["verdict"] == "proved"


class GivenUp:
    """A future of which there will be no result."""

    def __init__(self, status: str) -> None:
        self.status = status

    def result(self) -> dict[str, bool]:
        return {"unwanted": True}


def test_what_a_scheduler_gives_up_is_sent_again_but_not_for_ever() -> None:
    """A worker that dies may take with it what had been decided on it, which the scheduler then calls lost."""
    job = Job({"do": "prove"}, 1.0, 1.0, None)
    pool = object.__new__(ClusterPool)
    pool.proofs, pool.suspects, pool._given_up = deque(), deque(), 0
    pool._client = SimpleNamespace(status="running")
    for future in (GivenUp("lost"), GivenUp("cancelled"), GivenUp("finished")):
        pool._tasks = {future: job}
        pool._collect(future)
        assert pool.proofs.popleft() is job
    pool._tasks = {(future := GivenUp("lost")): job}
    pool._given_up = GIVEN_UP
    with pytest.raises(ClusterLost):
        pool._collect(future)
    pool._tasks, pool._given_up = {future: job}, 0
    pool._client.status = "closed"
    with pytest.raises(ClusterLost):
        pool._collect(future)
