"""Runs torch's own distributed test cases, unedited, with simmesh's ranks.

    pytest -p simmesh.torch_tests test/distributed/...

Tests that derive from MultiProcessTestCase (also DTensorTestBase and FSDPTest),
MultiThreadedTestCase or MultiProcContinuousTest start no process and no thread: every rank of a
test runs in this process, under the schedule that comes first, and with ``--simmesh-schedules N``
also under N - 1 others. With ``--simmesh-local exact`` their operators are exact, and accesses to
buffers under way are reported.
"""

from __future__ import annotations

from typing import Any

from simmesh.torch_tests import continuous, processes, ranks, threads
from simmesh.torch_tests.harness import processes_as_ranks

__all__ = ["processes_as_ranks"]


def pytest_configure(config: Any) -> None:
    """Installs the ranks before tests are collected."""
    ranks.schedules = config.getoption("simmesh_schedules", None) or 1
    processes.install()
    threads.install()
    continuous.install()
