"""The command that runs PyTorch's own tests of a checkout, on checkouts made here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simmesh.torch_tests.__main__ import main
from simmesh.torch_tests.page import BEGIN, END, renew_page, table
from simmesh.torch_tests.verdict_list import Reasons, VerdictList, read_list

RANKS = """
import os, signal, time, unittest
import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiProcessTestCase

class Small(MultiProcessTestCase):
    world_size = 2

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def sum(self):
        store = dist.FileStore(self.file_name, self.world_size)
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=self.world_size)
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        return tensor.item()

    def test_passes(self):
        self.assertEqual(self.sum(), 2)

    def test_fails(self):
        self.assertEqual(self.sum(), 3)

    def test_differs(self):
        # Ranks share this module, which processes have for themselves.
        global seen
        seen = globals().get("seen", 0) + 1
        self.sum()
        self.assertEqual(seen, 1)

    def test_skips(self):
        raise unittest.SkipTest("on purpose")

class Processless(MultiProcessTestCase):
    world_size = 0

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    def test_passes(self):
        raise AssertionError("no process runs this")
"""
HOST = """
import os, signal, time, unittest
import neighbour

class Host(unittest.TestCase):
    def test_a_crash(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def test_b_hang(self):
        time.sleep(1000)

    def test_c_passes(self):
        pass

    def test_d_parts(self):
        for part in range(2):
            with self.subTest(part=part):
                self.assertEqual(part, 0)
"""
LIST = """\
folder/test_host.py
  Host::test_a_crash crashed -
  Host::test_b_hang late -
  Host::test_c_passes host -
  Host::test_d_parts failed -
test_ranks.py
  1 skipped
  Processless::test_passes host -
  Small::test_differs failed -
  Small::test_fails failed -
  Small::test_passes passed -
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with two files, and one that is left out unless it is named."""
    folder = tmp_path_factory.mktemp("checkout")
    for name, text in (
        ("test_ranks.py", RANKS), ("folder/test_host.py", HOST), ("rpc/test_agent.py", HOST),
        ("folder/__init__.py", ""), ("folder/neighbour.py", ""),
    ):  # fmt: skip
        path = folder / "test" / "distributed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


# Runs the command several times, since it takes long to import PyTorch, and keeps the lists.
DRIVER = """
import json, pathlib, shutil, sys
from simmesh.torch_tests.__main__ import main
listed = pathlib.Path(sys.argv[1])
for number, words in enumerate(json.loads(sys.argv[2])):
    print("RUN", main(words), flush=True)
    shutil.copy(listed, listed.with_suffix(f".{number}"))
"""


def runs(listed: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Runs the command with several lists of words; returns each one's status, its output and the
    list that it leaves, without the head.
    """
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER, listed, json.dumps(commands)],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    parts = re.split(r"RUN (\d)\n", ran.stdout)[:-1]
    assert len(parts) == 2 * len(commands), ran.stdout + ran.stderr
    lists = []
    for number in range(len(commands)):
        lines = listed.with_suffix(f".{number}").read_text().splitlines(keepends=True)
        lists.append("".join(line for line in lines if not line.startswith("#")))
    return [(int(parts[2 * i + 1]), parts[2 * i], lists[i]) for i in range(len(commands))]


def test_verdicts_on_ranks_and_on_processes(checkout: Path, tmp_path: Path) -> None:
    """Would fail if a crash, a hang, a failed part or a skip were lost, took others with it, or
    counted as a pass on ranks; if the processes were ranks; or if a reason were ignored.
    """
    listed, reasons, page = (tmp_path / name for name in ("list.txt", "reasons.txt", "page.md"))
    reasons.write_text("It counts in its module.\n  test_ranks.py::*::test_differs\n")
    page.write_text(f"before\n{BEGIN}old\n{END}behind\n")
    common = ["--checkout", str(checkout), "--list", str(listed), "--renew", "--limit", "20"]
    common += ["--logs", str(tmp_path)]
    bad = [*common, "--ids", "bad", "test_ranks.py"]
    first, processes, again, explained, new, part = runs(
        listed,
        [*common, "--jobs", "2"],
        [*bad, "--on", "processes"],
        bad,
        [*bad, "--reasons", str(reasons), "--page", str(page)],
        [*common, "--ids", "new", "folder"],
        [*common, "-k", "c_passes or d_parts", "--file-limit", "0", "folder"],
    )

    assert first[0] == 1
    assert first[2] == LIST
    assert "test_ranks.py::Small::test_fails failed: AssertionError: Scalars are not" in first[1]
    assert "Host::test_b_hang late: took longer than 20 s" in first[1]
    assert "Host::test_a_crash crashed: ended its process: SIGKILL" in first[1]
    assert "test_fails" in (tmp_path / "ranks-test_ranks.py.txt").read_text()

    assert processes[0] == 0
    assert "  Small::test_differs failed passed\n" in processes[2]
    assert "  Small::test_fails failed failed\n" in processes[2]
    assert "  Small::test_passes passed -\n" in processes[2]

    assert again[0] == 1
    assert "Small::test_differs failed" in again[1] and "Small::test_fails" not in again[1]
    assert explained[0] == 0
    assert "Small::test_differs failed: It counts in its module." in explained[1]
    assert "- It counts in its module.\n  - `test_ranks.py::Small::test_differs`" in (
        page.read_text()
    )
    assert new[1].startswith("folder/test_host.py: no tests\n")
    assert part[0] == 0 and part[1].startswith("folder/test_host.py: 1 host\n")


def test_what_the_command_refuses(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would fail if a wrong name ran nothing and passed."""
    for folder, words, message in (
        (tmp_path, [], "expected a checkout of PyTorch with test/distributed"),
        (checkout, ["absent.py"], "expected a file or folder of"),
        (checkout, ["--renew"], "expected a list to renew"),
        (checkout, ["--jobs", "0"], "expected --jobs of at least 1"),
    ):
        assert main(["--checkout", str(folder), *words]) == 2
        assert message in capsys.readouterr().err


def verdicts() -> VerdictList:
    """A list with each kind of pair."""
    result = VerdictList()
    for on_ranks, words in (
        (True, {"A::a": "passed", "A::b": "failed", "A::c": "late", "A::d": "host", "A::e[x y]":
                "skipped", "A::f": "skipped"}),
        (False, {"A::a": "passed", "A::b": "failed", "A::c": "passed", "A::e[x y]": "passed"}),
    ):  # fmt: skip
        result.set("test_a.py", on_ranks, words)
    return result


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Would fail if an id with a space, a count or a verdict got lost on the way."""
    path = tmp_path / "list.txt"
    verdicts().write(path)
    again = read_list(path)
    assert again.text() == path.read_text() == verdicts().text()
    assert "  1 skipped\n  A::a passed passed\n" in again.text()
    path.write_text("test_a.py\n  A::a passed\n")
    with pytest.raises(ValueError, match=r"list\.txt:2: expected a file, or a test with two"):
        read_list(path)


def test_a_table_names_what_ranks_alone_fail(tmp_path: Path) -> None:
    """Would fail if a test that passes on processes and not on ranks needed no reason, or one that
    fails on both did.
    """
    assert verdicts().alone() == ["test_a.py::A::c", "test_a.py::A::e[x y]"]
    text = table(verdicts(), Reasons("# a comment\nSlow.\n  test_a.py::A::c\n"))
    assert text.startswith(
        "1 tests pass on ranks and 2 fail. 1 more pass and start no ranks. Of those that pass on "
        "ranks, 1 also ran on processes; 1 pass there.\n"
    )
    assert "| `distributed/test_a.py` | 1 | 2 | 2 | 1 | 2 |\n" in text
    assert text.endswith(
        "- Slow.\n  - `test_a.py::A::c`\n- No reason is known.\n  - `test_a.py::A::e[x y]`\n"
    )
    page = tmp_path / "page.md"
    page.write_text("a page\n")
    with pytest.raises(ValueError, match="expected the lines"):
        renew_page(page, verdicts(), Reasons())
