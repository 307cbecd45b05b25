"""The part of a report about a program that ran on ranks, and about a test that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simmesh.exploration import Exploration, Trial
from simmesh.report import (
    Part,
    Section,
    calls_section,
    checks_section,
    failure_section,
    fault_section,
    table_section,
    text_section,
)


def run_part(name: str, outcome: Any, calls: Sequence[Any]) -> Part:
    """The part about one run under one schedule."""
    part = Part(name, outcome.ok, sections=[_ending(outcome.ok, _first_line(outcome))])
    _add_figures(part, outcome)
    if not outcome.ok:
        part.sections.append(failure_section("The run that failed", outcome.report))
    _add_calls(part, calls)
    return part


def exploration_part(name: str, found: Exploration, report: str = "") -> Part:
    """The part about a program under many schedules; ``report`` is the text of a failure."""
    shown = found.failure or found.first
    passed = found.failure is None
    reproduce = report.rpartition("\nreproduce: ")[2] if "\nreproduce: " in report else ""
    part = Part(name, passed, sections=[_ending(passed, report.partition("\n")[0], reproduce)])
    part.figures.append(("schedules", found.text()))
    _add_figures(part, shown.outcome)
    if report:
        part.sections.append(failure_section("The run that failed", report))
    if found.failure is not None and found.failure is not found.first:
        rows = [_row("the first", found.first), _row("the failing one", found.failure)]
        part.sections.append(
            table_section("Schedules", ["", "schedule", "steps", "ends with"], rows)
        )
    _add_calls(part, shown.calls)
    return part


def failed_part(name: str, text: str) -> Part:
    """The part about a test that failed with a text, as a comparison with one device does."""
    sections: list[Section | None] = [_ending(False, text.partition("\n")[0]), fault_section(text)]
    sections.append(text_section("The report", text))
    return Part(name, False, sections=[each for each in sections if each is not None])


def _ending(passed: bool, got: str, reproduce: str = "") -> Section:
    expected = "all ranks to return, with equal bits"
    return checks_section([("ranks", passed, expected, "so it was" if passed else got)], reproduce)


def _first_line(outcome: Any) -> str:
    return "" if outcome.ok else str(outcome.report).partition("\n")[0]


def _add_figures(part: Part, outcome: Any) -> None:
    part.figures.append(("data hash", f"{outcome.data_hash:016x}"))


def _add_calls(part: Part, calls: Sequence[Any]) -> None:
    section = calls_section(calls)
    if section is not None:
        part.sections.append(section)


def _row(name: str, trial: Trial) -> list[str]:
    schedule = (
        trial.schedule if isinstance(trial.schedule, str) else getattr(trial.schedule, "text", "")
    )
    outcome = trial.outcome
    ending = f"data hash {outcome.data_hash:016x}" if outcome.ok else _first_line(outcome)
    return [name, schedule, str(getattr(outcome, "steps", "")), ending]
