"""The page from CUDA to Spork: idioms side by side, what is refused, and what is left out."""

from __future__ import annotations

from textwrap import dedent, indent

from cuda_idioms import IDIOMS, LEFT_OUT, REFUSED, Idiom
from rst import bullets, code, prose, title

from soundline.spec.abstract_machine import check
from soundline.spec.errors import SoundlineError


def idioms() -> str:
    """Each idiom, its mistake, and what is said of it."""
    return "\n".join(_idiom(i) for i in IDIOMS)


def _idiom(idiom: Idiom) -> str:
    old, new = idiom.wrong
    twin = f"{code(old)} {f'is {code(new)}' if new else 'is left out'}"
    said = f"*A mistake*: {idiom.mistake} ({twin}). {_report(idiom)}"
    parts = [title(idiom.title, "-"), _side_by_side(idiom), idiom.note, said]
    return "\n".join(f"{p}\n" for p in parts if p)


def _side_by_side(idiom: Idiom) -> str:
    cells = [
        (language, dedent(text).strip("\n"))
        for language, text in (("cuda", idiom.cuda), ("python", idiom.spork))
    ]
    rows = [
        f".. code-block:: {'cpp' if language == 'cuda' else 'python'}\n\n{indent(text, '   ')}"
        for language, text in cells
    ]
    body = "\n".join(f"     - {indent(cell, '       ').lstrip()}" for cell in rows).replace(
        "     - ", "   * - ", 1
    )
    head = ".. list-table::\n   :header-rows: 1\n   :widths: 42 58\n   :class: side-by-side\n"
    return f"{head}\n   * - CUDA\n     - Spork\n{body}\n"


def _report(idiom: Idiom) -> str:
    """What is reported of the twin: the first hazard, and the fix that was tried."""
    try:
        found = check(idiom.proc(twin=True), {}).findings[0]
    except SoundlineError as error:
        return f"It is refused: {prose(error.message)} (:law:`{idiom.hazard}`)."
    fix = f" It offers: {code(found.fix.text)}." if found.fix is not None else ""
    return f"The machine reports :law:`{found.id}`.{fix}"


def refused() -> str:
    """Idioms that are refused, by id."""
    return bullets(f"{what} (:law:`{rule}`)" for what, (_, rule) in REFUSED.items())


def left_out() -> str:
    """What CUDA has and Spork has not."""
    return bullets(f"{what}: {instead}" for what, instead in LEFT_OUT.items())
