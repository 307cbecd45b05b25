"""The plugin of pytest that writes each test's verdict down as soon as it is known, so that what a
test leaves in a process can't lose the verdicts of others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Any, TextIO

from simmesh.spmd import settings
from simmesh.torch_tests import ranks


class Recorder:
    """Writes one line of JSON for each begin and each end of a test, and leaves out those of
    ``done``. The process ends at once after a test whose rank blocked, since its thread can't be
    ended.
    """

    def __init__(self, stream: TextIO, done: Collection[str], only: Collection[str]) -> None:
        self._stream, self._done, self._only = stream, done, only
        self._verdict, self._message, self._runs = "", "", 0

    def _write(self, **line: Any) -> None:
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()

    def pytest_collectreport(self, report: Any) -> None:
        """Writes why a file can't be collected."""
        if report.failed:
            self._write(file=str(report.longrepr)[-2000:], verdict="failed")
        elif report.skipped:
            self._write(file=str(report.longrepr)[-2000:], verdict="skipped")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leaves out what is done or wasn't asked for."""
        items[:] = [
            item for item in items if name_of(item.nodeid) not in self._done
            and (not self._only or name_of(item.nodeid) in self._only)
        ]  # fmt: skip
        self._write(collected=[name_of(item.nodeid) for item in items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Writes that a test begins."""
        self._verdict, self._message, self._runs = "passed", "", ranks.runs
        self._write(begin=name_of(nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keeps the worst of a test's reports: of its setup, its call and what follows."""
        if report.failed:
            self._verdict = "failed"
            self._message = self._message or str(report.longrepr)[-2000:]
        elif report.skipped and self._verdict == "passed":
            self._verdict = "skipped"
            self._message = str(report.longrepr)[-300:]

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Writes a test's verdict."""
        has_ranks = ranks.runs > self._runs
        self._write(
            end=name_of(nodeid), verdict=self._verdict, message=self._message, ranks=has_ranks
        )
        if settings.spoiled is not None:
            os._exit(0)

    def finish(self) -> None:
        """Writes that every test ended."""
        self._write(finished=True)


def name_of(nodeid: str) -> str:
    """The id of a test without its file."""
    return nodeid.split("::", 1)[-1]
