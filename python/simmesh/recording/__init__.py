"""Records cases from the installed PyTorch, which ``simmesh verify`` then compares with simmesh.

    simmesh.recording.random_cases(["fsdp"], seeds=range(20), mesh=(2, 2), out="cases.jsonl")
    simmesh.recording.fsdp(build, mesh=(4,), wrap=["0", "2"], input_shape=[8, 16], out="own.jsonl")
    simmesh.recording.again("cases.jsonl", out="newer.jsonl")

PyTorch's code runs unedited; its ranks are those of a simulated job in this process.
docs/record_cases.md describes each kind.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from simmesh.recording import cases
from simmesh.recording.cases import Case
from simmesh.recording.comparison import differences
from simmesh.recording.kinds import FAMILIES, KINDS, answered, kinds_of, recorded
from simmesh.recording.own_model import fsdp
from simmesh.recording.ranks import Settings, source

__all__ = [
    "FAMILIES",
    "KINDS",
    "Case",
    "Settings",
    "again",
    "answered",
    "differences",
    "fsdp",
    "kinds_of",
    "random_cases",
    "source",
]


def random_cases(
    kinds: Iterable[str],
    *,
    seeds: Iterable[int] = range(20),
    mesh: Sequence[int] = (2, 2),
    out: str | os.PathLike[str] | None = None,
    settings: Settings = Settings(),
) -> list[Case]:
    """Records random cases on a mesh, one for each seed and kind, and writes them to ``out``."""
    found = list(recorded(kinds, seeds, mesh, settings))
    if out is not None:
        cases.write(found, out)
    return found


def again(
    path: str | os.PathLike[str],
    *,
    kinds: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
    settings: Settings = Settings(),
) -> list[Case]:
    """Asks the installed PyTorch the questions of a file's cases, whoever recorded them.

    With ``kinds``, only cases of these kinds.
    """
    wanted = set(kinds_of(kinds)) or set(KINDS)
    found = [answered(case, settings) for case in cases.read(path) if case["kind"] in wanted]
    if out is not None:
        cases.write(found, out)
    return found
