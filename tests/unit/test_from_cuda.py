"""The page from CUDA to Spork: what it accepts is accepted and right, and each mistake is named."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

from soundline.impl.spork import proc_from_text
from soundline.spec.abstract_machine import check
from soundline.spec.errors import SoundlineError
from soundline.spec.spork.readings.parallel import sample

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))

from cuda_idioms import HEAD, IDIOMS, REFUSED, Idiom  # the folder of the pages is no package


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda i: i.title)
def test_an_idiom_is_accepted_and_right(idiom: Idiom) -> None:
    assert check(idiom.proc(), {}).ok
    assert not sample(idiom.proc().events(), schedules=10).wrong


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda i: i.title)
def test_its_mistake_is_named(idiom: Idiom) -> None:
    try:
        found = check(idiom.proc(twin=True), {}).findings[0].id
    except SoundlineError as error:
        found = error.rule or ""
    assert found == idiom.hazard


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_said_to_be_refused_is(what: str) -> None:
    body, rule = REFUSED[what]
    text = HEAD.format(x="4, 64", threads=128) + indent(dedent(body).strip("\n"), " " * 12) + "\n"
    with pytest.raises(SoundlineError) as caught:
        check(proc_from_text(text), {})
    assert caught.value.rule == rule


def test_the_page_stands_for_the_idioms_that_kernels_use() -> None:
    titles = " ".join(i.title + i.spork for i in IDIOMS)
    for word in ("wait_group", "CudaMbarrier", "ReverseAwait", "tma_to_smem_async", "shfl", "CommitGroup"):
        assert word in titles
