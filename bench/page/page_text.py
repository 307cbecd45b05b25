"""The bench page as Markdown."""

from __future__ import annotations

import os
import platform
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from figures import Book
from verdicts import WORSE, Result, limit_of, number, with_unit

_HEAD = """
How fast is simmesh, beside what else there is? `./dev bench --peers` measures each figure of this
page beside its peer in one run, writes the page, and renews the sentences of other pages that quote
it. Ratios say how many times as fast as the peer ours is, unless a table says otherwise. Limits are
those that simmesh sets itself. The machine is {machine}.
"""
_TAIL = """
`./dev bench --peers FILTER` prints the figures whose name or title matches an expression; with
`--write` it renews them here. The command ends with status 1 if a limit is missed for no reason
that this page names, or if a figure couldn't be measured. `bench/page/figures.toml` lists the
figures, and `bench/last.json` keeps them. A test compares each time and ratio that a page mentions
with what is kept. [scale.md](scale.md) has time and memory against the number of ranks.
"""


def paragraph(text: str) -> str:
    """A paragraph in the lines of a page."""
    return textwrap.fill(" ".join(text.split()), 130, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def machine() -> str:
    """The processor and the number of its cores that this process has."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    cores = len(os.sched_getaffinity(0))
    return f"an {model} of {cores} cores" if model[:1] in "AI" else f"a {model} of {cores} cores"


def peer_version(source: str, python: Path) -> str:
    """The version of a peer; '' if it isn't installed or has none."""
    kind, _, name = source.partition(" ")
    if kind == "deb":
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", name], check=False, capture_output=True,
            text=True,
        )  # fmt: skip
        return done.stdout.strip() if done.returncode == 0 else ""
    if kind == "pip":
        done = subprocess.run(
            [python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))"],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip() if done.returncode == 0 else ""
    return name if kind == "is" else ""


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table of Markdown."""
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def row_of(result: Result, book: Book) -> list[str]:
    """The cells of a figure."""
    figure = result.figure
    beside = book.peers[figure.beside].title if figure.beside else ""
    ratio = "" if result.ratio is None else number(result.ratio)
    if ratio and figure.ratio != "faster":
        ratio += " times as long" if figure.ratio == "longer" else " times as much"
    return [
        figure.title, with_unit(result.ours, figure.unit), with_unit(result.peer, figure.unit),
        beside, ratio, limit_of(figure), result.said,
    ]  # fmt: skip


def page(book: Book, results: list[Result], kept: Mapping[str, Any]) -> str:
    """The page as Markdown, of what is kept of the last run."""
    by_figure = {each.figure.ours: each for each in results}
    lines = ["# Performance", paragraph(_HEAD.format(machine=kept["machine"])), ""]
    for section in book.sections:
        rows = [row_of(by_figure[each.ours], book) for each in section.figures]
        header = ["work", "ours", "peer", "beside", "ratio", "limit", ""]
        lines += [f"## {section.title}", *([paragraph(section.text), ""] if section.text else [])]
        lines += [*table(header, rows), ""]
    lines += ["## Missed limits", *_missed(results), ""]
    lines += ["## Against the last page", *_changed(kept), ""]
    rows = [[peer.title, kept["peers"].get(name) or "not installed"]
            for name, peer in book.peers.items() if peer.version]  # fmt: skip
    lines += ["## Peers", *table(["peer", "version"], rows), ""]
    return "\n".join([*lines, paragraph(_TAIL)]) + "\n"


def _missed(results: list[Result]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for each in results:
        if each.state in ("missed", "known", "missing"):
            why = each.figure.why if each.state == "known" else each.said
            reasons.setdefault("no reason is known" if each.state == "missed" else why, []).append(
                each.figure.title
            )
    return [f"- {'; '.join(titles)}: {why}." for why, titles in reasons.items()] or ["None."]


def _changed(kept: Mapping[str, Any]) -> list[str]:
    if not kept.get("before"):
        return ["There is none."]
    lines = []
    if kept["before"] != kept["machine"]:
        lines += [f"That was measured on {kept['before']}, so only ratios can be compared.", ""]
    rows = [[title, number(before), number(now), "worse" if is_worse else "better"]
            for title, before, now, is_worse in kept["changes"]]  # fmt: skip
    if not rows:
        percent = f"{100 * (WORSE - 1):.0f}"
        return [*lines, f"No ratio, or value without a peer, changed by more than {percent} %."]
    return [*lines, *table(["work", "before", "now", ""], rows)]
