"""Tests on workers of pytest-xdist: what a worker has found goes to the process that reports, and a
worker in which a rank blocks runs its other tests in fresh processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable

import pytest

# The variable names the file into which a fresh process for one test writes.
_FILE = "SIMMESH_TEST_FILE"
_KEY = "simmesh"

# Taken out of the environment, since programs under test may start pytest, too.
_file = os.environ.pop(_FILE, None)
_reports: list[Any] = []


def is_worker(config: pytest.Config) -> bool:
    """True in a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def keep_report(config: pytest.Config, report: Any) -> None:
    """Keeps a report of the test for which this fresh process runs."""
    if _file is not None:
        _reports.append(config.hook.pytest_report_to_serializable(config=config, report=report))


def tell(config: pytest.Config, found: dict[str, Any]) -> bool:
    """Hands on what was found, if this process is a worker or runs for one. Returns True if so."""
    if is_worker(config):
        config.workeroutput[_KEY] = json.dumps(found)  # type: ignore[attr-defined]
        return True
    if _file is not None:
        Path(_file).write_text(json.dumps([_reports, found]), encoding="utf-8")
        return True
    return False


def found_by(node: Any) -> dict[str, Any] | None:
    """The findings of a worker that has ended; None for one that died."""
    output = getattr(node, "workeroutput", {})
    if _KEY not in output:
        return None
    found: dict[str, Any] = json.loads(output[_KEY])
    return found


def run_afresh(item: pytest.Item, take: Callable[[dict[str, Any]], None]) -> None:
    """Runs a test of a worker in a fresh process, and reports it here."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test.json"
        ran = subprocess.run(
            _command(item.config, item), capture_output=True, text=True, check=False,
            env={**os.environ, _FILE: str(file)}, cwd=item.config.invocation_params.dir,
        )  # fmt: skip
        reports, found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else ([], {})
    if found:
        take(found)
    for each in reports:
        report = hook.pytest_report_from_serializable(config=item.config, data=each)
        hook.pytest_runtest_logreport(report=report)
    if not reports:
        text = (
            f"[python/pytest_workers] {item.nodeid}: expected reports of a fresh process, got none "
            f"and status {ran.returncode}\n{ran.stdout}{ran.stderr}"
        )
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _command(config: pytest.Config, item: pytest.Item) -> list[str]:
    """The command of the whole run with one test in place of all, and without workers."""
    words = config.workerinput["mainargv"][1:]  # type: ignore[attr-defined]
    files = set(config.getoption("file_or_dir"))
    file, *name = item.nodeid.split("::", 1)
    place = os.path.relpath(config.rootpath / file, config.invocation_params.dir)
    options = [each for each in words if each not in files]
    return [sys.executable, "-m", "pytest", *options, "-n", "0", "::".join([place, *name])]
