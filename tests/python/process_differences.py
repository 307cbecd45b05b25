"""Tests that ranks as processes, by ``--simmesh-seats processes``, can't pass as ranks that are
threads do, and why. ``./dev test --processes`` runs all tests so.

Each of these is expected to fail: one that passes makes the run fail, as its row is wrong then. A
file, or a test of which the row says that it is left out, isn't run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Difference:
    """The reason for which a test differs on processes."""

    reason: str
    is_left_out: bool = False


_HOST = Difference("looks at what ranks put into an object of the host, and processes have copies")
_OWN = Difference("a rank's module, variable or file is its own in a process, so no order shows")
_NUMBERS = Difference("process ids are the system's, and a signal to one arrives")
_COMPILES = Difference("a process compiles what it is told to, for minutes", is_left_out=True)
_THREADS = Difference("starts ranks that are threads in all it does, for minutes", is_left_out=True)

#: The rows by ``file`` or ``file::test``, with or without its parameters.
DIFFERENCES: Mapping[str, Difference] = {
    "test_entry_points.py::test_other_questions_are_asked_each_time": _HOST,
    "test_isolation.py::test_ranks_call_what_the_host_put_in_place": _HOST,
    "test_isolation.py::test_profiler_is_refused": Difference("a process has its own profiler"),
    "test_isolation.py::test_a_group_of_another_rank_is_refused": _OWN,
    "test_isolation.py::test_process_ids_are_known_to_the_system": _NUMBERS,
    "test_one_device_assembly.py::test_blocks_that_no_dim_makes_are_not_judged": _HOST,
    "test_sharding_caches.py::test_strategies_of_an_imported_module_stay": _OWN,
    "test_threads.py::test_state_is_the_ranks": _NUMBERS,
    "test_threads.py::test_a_program_ends_with_its_threads": _HOST,
    "test_threads.py::test_an_exception_of_a_thread_goes_to_the_ranks_hook": _HOST,
    "test_torch_compile.py::test_whole_graphs_count_as_compiled": _COMPILES,
    "test_torch_explore.py::test_no_certificate_for[changes_a_tensor]": _OWN,
    "test_torch_explore.py::test_no_certificate_for[changes_a_list_and_back]": _OWN,
    "test_torch_explore.py::test_no_certificate_for[changes_an_object]": _OWN,
    "test_torch_explore.py::test_no_certificate_for[changes_slots]": _OWN,
    "test_torch_explore.py::test_no_certificate_for[draws_a_number]": _OWN,
    "test_torch_explore.py::test_no_certificate_for[keeps_a_lock]": _OWN,
    "test_torch_explore.py::test_no_certificate_for_closures_and_files": _OWN,
    "test_torch_explore.py::test_processes_make_backward_passes": _HOST,
    "test_torch_museum.py": _THREADS,
    "test_torch_packages.py::test_all_kinds_of_state_are_each_ranks_own[fifo-False]": _OWN,
    "test_torch_packages.py::test_all_kinds_of_state_are_each_ranks_own[seeded:3-False]": _OWN,
    "test_torch_packages.py::test_all_kinds_of_state_are_each_ranks_own[pct:3-False]": _OWN,
    "test_torch_packages.py::test_without_isolate_packages_are_shared": _OWN,
}


def mark(items: Iterable[pytest.Item], rows: Mapping[str, Difference]) -> None:
    """Marks the tests that have a row: they fail, or aren't run."""
    for item in items:
        name = f"{item.path.name}::{item.name}"
        for key in (name, name.partition("[")[0], item.path.name):
            if key in rows:
                item.add_marker(_marker(rows[key]))
                break


def _marker(row: Difference) -> pytest.MarkDecorator:
    if row.is_left_out:
        return pytest.mark.skip(reason=row.reason)
    return pytest.mark.xfail(strict=True, reason=row.reason)
