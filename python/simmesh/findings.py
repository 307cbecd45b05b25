"""Findings for programs that read them: editors, code hosts and agents.

    findings = Findings("found.sarif")
    findings.passed("train.py", "ranks")
    findings.failed("train.py", "loss", report)
    findings.write()

The ending of the file is the format: ``.jsonl`` has each finding as a line of JSON, ``.sarif`` as
SARIF 2.1.0, and ``.xml`` has all checks as JUnit's XML.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from simmesh import _core


class Findings:
    """The checks of a command or of a test run. Without a file nothing is kept.

    Raises ValueError for a file that has no such ending, or can't be written.
    """

    def __init__(self, path: str | None) -> None:
        if path is not None:
            _core.expect_findings_file(path)
        self._path = path
        self.checks: list[dict[str, Any]] = []

    @property
    def is_asked(self) -> bool:
        """True if there is a file."""
        return self._path is not None

    def passed(self, suite: str, name: str) -> None:
        """Adds a check that holds."""
        if self.is_asked:
            self.checks.append({"suite": suite, "name": name})

    def failed(self, suite: str, name: str, report: str, rule: str = "", **known: Any) -> None:
        """Adds a check that failed.

        Rule, rank, place, what was expected, what came, and the command that reproduces it come
        from the report, unless they are given. A place in ``file`` is given its whole path.
        """
        if not self.is_asked:
            return
        finding = json.loads(_core.finding_from_report("", report))
        finding["rule"] = finding["rule"] or rule
        file, line = known.pop("file", None), known.pop("line", None)
        if file is not None and os.path.basename(file) != os.path.basename(finding["file"] or ""):
            finding["line"] = line
        finding["file"] = file or finding["file"]
        finding["message"] = finding["message"] or name
        finding |= known
        self.checks.append({"suite": suite, "name": name, "finding": finding})

    def write(self) -> None:
        """Writes the file."""
        if self._path is not None:
            _core.write_findings(self._path, json.dumps(self.checks))


def add_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option --findings to a command."""
    parser.add_argument(
        "--findings", metavar="OUT",
        help="file for each finding as a line of JSON (.jsonl), as SARIF (.sarif), or for all "
             "checks as JUnit's XML (.xml)",
    )  # fmt: skip
