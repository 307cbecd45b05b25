"""Processes of ranks that die, hang, or outlive the one that started them."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist

import simmesh


def after_one_all_reduce(end: Callable[[], Any]) -> Callable[[], None]:
    """A program in which rank 1 comes to its end in a way of its own."""

    def program() -> None:
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        if dist.get_rank() == 1:
            end()
        dist.all_reduce(tensor)

    return program


def read_null() -> None:
    ctypes.string_at(0)


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    os._exit(7)


def compute_for_ever() -> None:
    while True:
        pass


def children() -> list[str]:
    """The processes whose parent is this one, also those that nobody has waited for."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if len(state) > 1 and state[1] == str(os.getpid()):
            found.append(entry.name)
    return found


def left_since(files: list[str]) -> list[str]:
    """The files of shared memory that are new and that no process has: others' programs make some,
    too.
    """
    new = set(os.listdir("/dev/shm")) - set(files)
    used = ""
    for each in Path("/proc").glob("[0-9]*/maps") if new else ():
        with contextlib.suppress(OSError):  # it has ended
            used += each.read_text()
    return [name for name in new if f"/dev/shm/{name}" not in used]


def test_a_file_that_nobody_has_is_left() -> None:
    """Would fail if the tests here found no file that a killed process left."""
    files = os.listdir("/dev/shm")
    name = f"simmesh_left_{os.getpid()}"
    with open(f"/dev/shm/{name}", "w+b") as file:
        file.write(b"1")
        file.flush()
        try:
            assert name in left_since(files)
            with mmap.mmap(file.fileno(), 1):
                assert name not in left_since(files)
        finally:
            os.unlink(file.name)


@pytest.mark.parametrize(
    ("end", "words", "function"),
    [
        (read_null, "was ended by SIGSEGV", "read_null"),
        (kill_myself, "was ended by SIGKILL, as the system sends it", None),
        (leave, "ended with status 7", "leave"),
    ],
)
def test_a_death_is_reported(end: Callable[[], Any], words: str, function: str | None) -> None:
    """Fails if the run hangs, ends this process, or doesn't say where the rank was."""
    before, files = children(), os.listdir("/dev/shm")
    ran = simmesh.spmd_run(after_one_all_reduce(end), world_size=3, seats="processes")
    assert ran.outcome.kind == "error"
    assert ran.outcome.rank == 1
    assert f"rank 1: expected a process that ends with its program, got one that {words}" in (
        ran.outcome.report
    )
    assert " at " in ran.outcome.report and "test_torch_process_deaths.py" in ran.outcome.report
    if function is not None:
        assert f"in {function}" in ran.outcome.report
    assert "pytest/__main__.py" not in ran.outcome.report
    assert children() == before
    assert not left_since(files)
    assert simmesh.spmd_run(torch.tensor, 1, world_size=2, seats="processes").outcome.ok


def test_a_rank_that_computes_for_ever_is_ended() -> None:
    """Fails if the run waits for it, or doesn't say what it computed."""
    program = after_one_all_reduce(compute_for_ever)
    begin = time.monotonic()
    ran = simmesh.spmd_run(program, world_size=2, seats="processes", timeout=2)
    assert time.monotonic() - begin < 60
    assert ran.outcome.rank == 1
    assert "rank 1 has not given up its turn for 2 s of wall time after" in ran.outcome.report
    assert "in compute_for_ever" in ran.outcome.report
    assert children() == []
    assert simmesh.spmd_run(torch.tensor, 1, world_size=2, seats="processes").outcome.ok


def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    """Fails if the ranks of a process that is killed go on, or leave a file in /dev/shm."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, time
            import simmesh

            def program():
                file = open({str(tmp_path)!r} + "/" + str(os.getpid()), "w")
                file.close()
                while True:
                    pass

            simmesh.spmd_run(program, world_size=2, seats="processes")
            """
        )
    )
    files = os.listdir("/dev/shm")
    parent = subprocess.Popen([sys.executable, str(script)])
    ranks: list[str] = []
    end = time.monotonic() + 120
    while len(ranks) < 2 and time.monotonic() < end:
        time.sleep(0.1)
        ranks = [each for each in os.listdir(tmp_path) if each.isdigit()]
    assert len(ranks) == 2
    parent.kill()
    parent.wait()
    while any(is_running(each) for each in ranks) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(is_running(each) for each in ranks)
    assert not left_since(files)


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
