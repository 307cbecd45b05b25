"""Pages of reports: what came of tests, exhibits and runs, as one file of HTML that needs no other.

    parts = [Part("test_step", passed=False, sections=[failure_section("A deadlock", text)])]
    write(Path("report.html"), "My tests", parts)

The page is that of ``simmesh run --report``; the C++ side makes it from the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simmesh import _core

Section = dict[str, Any]

_FIRST = re.compile(r"^first: (.*)$", re.MULTILINE)
_OPERATOR = re.compile(r"^\s*first operator that differs: (.*)$", re.MULTILINE)
_VALUES = re.compile(r"(first on [^\n]*?): expected ([^\n]*?), got ([^\n]*)$", re.MULTILINE)


@dataclass
class Part:
    """A part of a report: a test, an exhibit. ``figures`` are pairs of a name and a value."""

    name: str
    passed: bool
    title: str = ""
    figures: list[tuple[str, Any]] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)


def checks_section(rows: Iterable[tuple[str, bool, str, str]], reproduce: str = "") -> Section:
    """Checks: the name, whether it passed, what was expected and what came."""
    shown = [
        {"name": name, "passed": passed, "expected": expected, "got": got}
        for name, passed, expected, got in rows
    ]
    section: Section = {"kind": "checks", "title": "Checks", "rows": shown}
    if reproduce:
        section["reproduce"] = reproduce
    return section


def table_section(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Section:
    """A table with a value for each column in each row."""
    return {
        "kind": "table",
        "title": title,
        "columns": list(columns),
        "rows": list(map(list, rows)),
    }


def text_section(title: str, text: str) -> Section:
    """Text as it is."""
    return {"kind": "text", "title": title, "text": text}


def failure_section(title: str, text: str) -> Section:
    """The report of a failed run: the page shows what each rank was doing at which line."""
    return {"kind": "failure", "title": title, "text": text}


def fault_section(text: str) -> Section | None:
    """The first value that isn't one device's, as a comparison with one device tells it: where,
    which operator made it, expected and got. None where the text has no such value.
    """
    values, first = _VALUES.search(text), _FIRST.search(text)
    if values is None:
        return None
    where, expected, got = values.groups()
    facts = [["value", first.group(1)]] if first else []
    operator = _OPERATOR.search(text)
    if operator:
        facts.append(["first operator that differs", operator.group(1)])
    return {
        "kind": "fault", "title": "The first value that differs", "where": where, "facts": facts,
        "expected": expected, "got": got,
    }  # fmt: skip


def calls_section(calls: Sequence[Any]) -> Section | None:
    """The operations that ranks started, with bytes; None where there are none."""
    rows = [
        [rank, name, each.count(name), each.nbytes(name), ", ".join(each.lines(name))]
        for rank, each in enumerate(calls)
        for name in each.names()
    ]
    if not rows:
        return None
    return table_section("Collectives and messages",
                         ["rank", "operation", "calls", "bytes", "lines"], rows)  # fmt: skip


def page(title: str, parts: Sequence[Part], command: str = "") -> str:
    """The page of some parts; ``command`` is the line that makes it again."""
    failed = sum(not each.passed for each in parts)
    data: dict[str, Any] = {
        "title": title,
        "summary": f"{len(parts) - failed} passed, {failed} failed",
        "passed": failed == 0,
        "entries": [_entry(each) for each in parts],
    }
    if command:
        data["command"] = command
    return _core.report_page(json.dumps(data))


def write(path: Path, title: str, parts: Sequence[Part], command: str = "") -> None:
    """Writes the page of some parts, the whole file or nothing."""
    text = page(title, parts, command)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def file_name(name: str) -> str:
    """A name of a test as the name of a page: "test_a.py::test[1]" is "test_a.py-test-1-.html"."""
    return re.sub(r"[^\w.]+", "-", name)[-200:] + ".html"


def _entry(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "passed": part.passed,
        "title": part.title,
        "figures": [list(each) for each in part.figures],
        "sections": part.sections,
    }
