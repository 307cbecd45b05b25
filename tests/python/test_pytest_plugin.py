"""The plugin: schedules by option, a failure that a file replays, and tests that outlive a blocked
rank.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from simmesh import replay_file
from simmesh.replay_file import Replay

RACE = """
import torch, torch.distributed as dist, simmesh

@simmesh.spmd(world_size=3, schedules=30)
def test_race():
    tensor = torch.ones(2)
    work = dist.all_reduce(tensor, async_op=True)
    early = tensor.clone()
    work.wait()
    return early
"""

BLOCKED = """
import os, pytest, torch, torch.distributed as dist, simmesh

def test_before(): pass

@simmesh.spmd(world_size=2, schedules=2, timeout=1)
def test_blocks():
    if dist.get_rank() == 1:
        os.read(os.pipe()[0], 1)
    dist.barrier()

@simmesh.spmd(world_size=2, schedules=2)
def test_after():
    dist.barrier()

def test_last(): assert {last}
"""


CASE = """
import torch, torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcessTestCase

class TestSums(MultiProcessTestCase):
    world_size = 2

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def test_sum(self):
        store = dist.FileStore(self.file_name, 2)
        dist.init_process_group("gloo", rank=self.rank, world_size=2, store=store)
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        self.assertEqual(tensor.item(), 2)
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest in ``folder`` with the plugin."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--color=no",
        "--rootdir",
        str(folder),
        *arguments,
    ]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


def test_a_failure_is_replayed_from_its_file(tmp_path: Path) -> None:
    """Would fail if the line that a failure ends with didn't fail in the same way."""
    (tmp_path / "test_race.py").write_text(RACE)
    first = run_pytest(tmp_path, "test_race.py")
    assert first.returncode == 1
    line = re.search(
        r"^E? +reproduce: pytest (.* --simmesh-replay .*)$", first.stdout, re.MULTILINE
    )
    assert line is not None, first.stdout
    test, _, file = shlex.split(line[1])
    assert test == "test_race.py::test_race"
    assert json.loads(Path(file).read_text())["schedule"].startswith("guided:")
    again = run_pytest(tmp_path, test, "--simmesh-replay", file)
    assert again.returncode == 1
    hashes = [
        re.findall(r"got data hash (\w+) after (\w+)", run.stdout)[-1] for run in (first, again)
    ]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    "options",
    [["--simmesh-seats", "processes"], ["--simmesh-local", "exact"]],
    ids=lambda options: options[1],
)
def test_the_line_has_the_kind_of_ranks(tmp_path: Path, options: list[str]) -> None:
    """Would fail if the line ran the test on ranks of another kind."""
    (tmp_path / "test_race.py").write_text(RACE)
    first = run_pytest(tmp_path, "test_race.py", *options)
    lines = re.findall(r"^E? +reproduce: (pytest .*)$", first.stdout, re.MULTILINE)
    assert lines, first.stdout
    words = shlex.split(lines[-1])
    assert words[2:4] == options
    assert run_pytest(tmp_path, *words[1:]).returncode == 1


QUOTED = """
import os, pytest, simmesh, torch, torch.distributed as dist

@pytest.mark.parametrize("name", ["it's; touch ran #", "a/x", "b/x"])
@simmesh.spmd
def test_race(name):
    gradient = torch.full((2,), float(dist.get_rank()))
    work = dist.all_reduce(gradient, async_op=True)
    gradient *= 0.5
    work.wait()
    return gradient
"""


def test_lines_that_reproduce_are_quoted_and_each_has_a_file(tmp_path: Path) -> None:
    """Would fail if pasting a line ran what stands in a test's name, or replayed another test."""
    (tmp_path / "test_race.py").write_text(QUOTED)
    failed = run_pytest(tmp_path, "test_race.py").stdout
    lines = re.findall(r"^E? +reproduce: (pytest .*)$", failed, re.MULTILINE)
    words = [shlex.split(line) for line in lines]
    assert [test for _, test, *_ in words] == [
        "test_race.py::test_race[it's; touch ran #]",
        "test_race.py::test_race[a/x]",
        "test_race.py::test_race[b/x]",
    ]
    assert len({file for *_, file in words}) == 3
    replayed = run_pytest(tmp_path, *words[0][1:])
    assert "got data hash" in replayed.stdout
    assert not (tmp_path / "ran").exists()


def test_a_replay_of_another_test_is_refused(tmp_path: Path) -> None:
    """Would fail if a test passed without the replay that was asked for."""
    (tmp_path / "test_race.py").write_text(RACE)
    replay = Replay("test_other.py::test", "fifo", 0, 2, "pytorch_gloo", 0)
    file = str(replay_file.write(replay, tmp_path))
    refused = run_pytest(tmp_path, "test_race.py", "--simmesh-replay", file)
    assert refused.returncode == 4
    assert "expected the test 'test_other.py::test'" in refused.stderr


def test_one_schedule_hides_a_race(tmp_path: Path) -> None:
    """Would fail if the option for the number of schedules were ignored."""
    (tmp_path / "test_race.py").write_text(RACE)
    assert run_pytest(tmp_path, "--simmesh-schedules", "1").returncode == 0


def test_a_file_that_is_no_replay_is_refused(tmp_path: Path) -> None:
    """Would fail if a wrong file ran something."""
    (tmp_path / "test_race.py").write_text(RACE)
    (tmp_path / "file.json").write_text('{"test": 1}')
    refused = run_pytest(tmp_path, "--simmesh-replay", "file.json")
    assert refused.returncode == 4
    assert "[python/replay_file] file.json: expected the fields" in refused.stderr


MISPLACED = """
import pytest, unittest

{marker}
class Test{base}:
    def test_nothing(self):
        assert False
"""


@pytest.mark.parametrize(
    ("marker", "base", "message"),
    [
        ("@pytest.mark.simmesh(4)", "", "expected the options of the marker simmesh by name"),
        ("@pytest.mark.simmesh", "(unittest.TestCase)", "decorated with simmesh.spmd"),
    ],
)
def test_a_marker_without_effect_is_refused(
    tmp_path: Path, marker: str, base: str, message: str
) -> None:
    """Would fail if a marker that changes nothing were taken for a test on ranks."""
    (tmp_path / "test_marked.py").write_text(MISPLACED.format(marker=marker, base=base))
    refused = run_pytest(tmp_path)
    assert refused.returncode == 4
    assert "test_marked.py::Test::test_nothing: " in refused.stderr
    assert message in refused.stderr


def test_cases_of_torch_run_where_the_plugin_is_found_by_itself(tmp_path: Path) -> None:
    """Would fail if one plugin kept the other from being loaded."""
    pytest.importorskip("torch")
    (tmp_path / "test_case.py").write_text(CASE)
    run = run_pytest(tmp_path, "-p", "simmesh.torch_tests", "--simmesh-schedules", "3")
    assert "1 passed" in run.stdout, run.stdout + run.stderr


def test_a_rank_that_reads_a_tensor_for_ever_fails_alone(tmp_path: Path) -> None:
    """Would fail if the thread that goes on aborted the interpreter at its end."""
    pytest.importorskip("torch")
    (tmp_path / "test_polls.py").write_text(
        "import torch, torch.distributed as dist, simmesh\n"
        "@simmesh.spmd(world_size=2, schedules=2, timeout=2)\n"
        "def test_polls():\n"
        "    flag = torch.zeros(1)\n"
        "    while dist.get_rank() == 0 and flag.item() == 0: pass\n"
        "    dist.barrier()\n"
    )
    run = run_pytest(tmp_path, "test_polls.py")
    assert "rank 0 has not given up its turn" in run.stdout
    assert run.returncode == 1, run.stderr


def test_tests_go_on_after_a_rank_that_blocks(tmp_path: Path) -> None:
    """Would fail if a rank that waits outside of simmesh hung the suite, or ended it."""
    for last, expected in (("True", "2 passed"), ("False", "1 failed, 1 passed")):
        (tmp_path / "test_blocked.py").write_text(BLOCKED.replace("{last}", last))
        run = run_pytest(tmp_path, "test_blocked.py")
        assert run.returncode == 1
        assert "rank 1" in run.stdout
        assert 'test_blocked.py", line 9' in run.stdout
        assert "2 tests go on in a fresh one" in run.stdout
        assert expected in run.stdout
        assert "1 failed, 1 passed" in run.stdout


def test_tests_go_on_in_a_folder_below_the_root(tmp_path: Path) -> None:
    """Would fail if the fresh process looked in pytest's folder for files named from the root."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_blocked.py").write_text(BLOCKED.replace("{last}", "True"))
    run = run_pytest(folder, "test_blocked.py", "--rootdir", str(tmp_path))
    assert "2 passed" in run.stdout, run.stdout + run.stderr
