"""The command's output: a line and the findings of each exhibit, and the totals."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from simmesh.findings import Findings
from simmesh.museum.score import Score, as_json, totals


def print_score(options: argparse.Namespace, each: Score) -> None:
    """Prints an exhibit's score."""
    if options.json:
        return
    print(each.line, flush=True)
    if not options.quiet:
        _print_indented(each.finding)
        if each.noise:
            print("  in the right program:")
            _print_indented(each.noise)


def _print_indented(text: str) -> None:
    for line in text.splitlines():
        print(f"  {line}")


def conclude(options: argparse.Namespace, found: Sequence[Score], findings: Findings) -> int:
    """Prints the totals, writes the findings, and returns the exit status."""
    for each in found:
        _add(findings, each)
    findings.write()
    if options.json:
        print(as_json(found))
    else:
        total = totals(found)
        print(
            f"{total['found']} of {total['total']} found, {total['named']} named, "
            f"{total['noisy']} noisy, {total['seconds']} s, the longest {total['longest']} s"
        )
    return 0 if all(each.ok for each in found) else 1


def _add(findings: Findings, each: Score) -> None:
    if each.ok:
        findings.passed(each.hall, each.name)
        return
    rule = "museum/noise" if each.noise else "museum/missed"
    expected, got = ("a finding in the wrong program alone", "one in the right program too")
    if not each.finding:
        expected, got = "a finding in the wrong program", "none"
    report = f"{each.name}: expected {expected}, got {got}\n{each.noise}"
    findings.failed(each.hall, each.name, report, rule, reproduce=f"simmesh museum run {each.name}")
