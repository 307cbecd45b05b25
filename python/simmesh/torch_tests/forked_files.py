"""Runs files of tests one after another, each in a fork of this process, which has imported PyTorch
once; a test that takes too long, or ends its process, is noted, and the file goes on in another
fork.
"""

from __future__ import annotations

import json
import math
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, TextIO


@dataclass
class Verdict:
    """The end of a test: ``passed``, ``failed``, ``skipped``, ``late`` or ``crashed``; why; whether
    ranks ran, and how long it took.
    """

    word: str
    message: str = ""
    has_ranks: bool = False
    seconds: float = 0.0


@dataclass
class FileRun:
    """The verdicts of a file's tests by id, and why the file has none, where it can't be
    collected.
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    refusal: str = ""


#: The pytest run of a file in a fork: what it writes to, what is done already, and what to run.
Body = Callable[[TextIO, Collection[str], Collection[str]], None]


@dataclass(frozen=True)
class Limits:
    """Seconds for each test, and for the collection; and seconds after which no other test of a
    file begins.
    """

    test: float
    file: float = math.inf


def run_file(
    body: Body, log: Path, limits: Limits, done: Collection[str] = (), only: Collection[str] = ()
) -> FileRun:
    """Runs ``body`` in forks until all of its tests have a verdict: those of ``only``, or all, but
    for those of ``done``. What the tests print goes to the file ``log``.
    """
    result = FileRun()
    known, stop = 0, time.monotonic() + limits.file
    while _run_fork(body, log, (limits.test, stop), (done, only), result):
        if len(result.verdicts) == known or time.monotonic() > stop:
            break
        known = len(result.verdicts)
    return result


def _run_fork(
    body: Body, log: Path, until: tuple[float, float],
    ids: tuple[Collection[str], Collection[str]], result: FileRun,
) -> bool:  # fmt: skip
    """Runs one fork; returns whether another one has something left to do."""
    limit, stop = until
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    folder = tempfile.mkdtemp(prefix="simmesh-tests-")
    child = os.fork()
    if child == 0:
        os.close(reader)
        _become_fork(body, log, folder, writer, frozenset([*ids[0], *result.verdicts]), ids[1])
    os.close(writer)
    reading = _Reading(result)
    try:
        for line in _lines(reader, child, lambda: reading.since + limit):
            reading.take(json.loads(line))
            if reading.finished or ("end" in line and reading.since > stop):
                reading.finished = True
                break
    except TimeoutError:
        reading.give_up("late", f"took longer than {limit:g} s")
    finally:
        os.close(reader)
        _end_group(child)
        status = os.waitpid(child, 0)[1]
        shutil.rmtree(folder, ignore_errors=True)
    if not reading.finished and reading.current:
        reading.give_up("crashed", f"ended its process: {_ending(status)}")
    if not reading.finished and reading.collected is None and not result.refusal:
        result.refusal = f"ended its process while it was read: {_ending(status)}"
    left = [each for each in reading.collected or () if each not in result.verdicts]
    return bool(left) and not reading.finished


class _Reading:
    """Takes a fork's lines into the file's result."""

    def __init__(self, result: FileRun) -> None:
        self.result = result
        self.since = time.monotonic()
        self.current, self.finished = "", False
        self.collected: list[str] | None = None

    def take(self, line: dict[str, Any]) -> None:
        now = time.monotonic()
        if "begin" in line:
            self.current = line["begin"]
        elif "end" in line:
            self.result.verdicts[line["end"]] = Verdict(
                line["verdict"], line["message"], line["ranks"], now - self.since
            )
            self.current = ""
        elif "collected" in line:
            self.collected = line["collected"]
        elif "file" in line:
            self.result.refusal = line["file"]
        else:
            self.finished = True
        self.since = now

    def give_up(self, word: str, message: str) -> None:
        """Notes that the current test, or the collection, came to no end of its own."""
        if self.current:
            seconds = time.monotonic() - self.since
            self.result.verdicts[self.current] = Verdict(word, message, True, seconds)
            self.current = ""
        elif self.collected is None:
            self.result.refusal = message


def _lines(reader: int, child: int, deadline: Callable[[], float]) -> Iterator[str]:
    """The lines that come from a pipe until the child ends. Raises TimeoutError when the deadline
    passes before the next one. Processes that the child left behind may hold the pipe open.
    """
    rest = b""
    while True:
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if not select.select([reader], [], [], 0.0 if ended else 0.5)[0]:
            if ended:
                return
            if time.monotonic() > deadline():
                raise TimeoutError
            continue
        chunk = os.read(reader, 65536)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() for line in lines)


def _become_fork(
    body: Body, log: Path, folder: str, writer: int, done: Collection[str], only: Collection[str]
) -> None:
    """Runs the body and ends this process, in a group of its own and in a folder of its own."""
    status = 1
    try:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None
        os.chdir(folder)
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            body(stream, done, only)
        status = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _end_group(child: int) -> None:
    """Ends the fork and what it started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        # It may not have made its group yet.
        os.kill(child, signal.SIGKILL)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.WEXITSTATUS(status)}"
