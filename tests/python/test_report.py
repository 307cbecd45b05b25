"""Pages of reports from Python: what is on them, and when pytest writes them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simmesh import report
from simmesh.report import Part


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def test_a_page_has_its_parts_and_no_markup_of_theirs() -> None:
    """Would fail if a name in a test could end the script element."""
    part = Part("</script><b>", False, sections=[report.text_section("t", "<i>")])
    text = report.page("A & B", [part], "pytest")
    assert "<b>" not in text and "<i>" not in text and "<title>A &amp; B</title>" in text
    data = data_of(text)
    assert data["summary"] == "0 passed, 1 failed" and data["command"] == "pytest"
    assert data["entries"][0]["name"] == "</script><b>"


def test_a_comparison_gives_both_values() -> None:
    """Would fail if the page of a silent bug didn't say which values differ."""
    text = (
        "[one_device] tp=2: expected one device's bits in 3 values, got others in 1\n"
        "first: weight.grad, train.py:12: each rank has only its part\n"
        "    nearest layout R over (tp=2): 4 of the ranks' 4 elements differ, first on rank 0 at "
        "[0] of [2]: expected 0.5, got 0.25\n"
        "  first operator that differs: mm, train.py:9: a sum is missing"
    )
    section = report.fault_section(text)
    assert section is not None
    assert (section["expected"], section["got"]) == ("0.5", "0.25")
    assert section["where"] == "first on rank 0 at [0] of [2]"
    assert section["facts"][1] == ["first operator that differs",
                                   "mm, train.py:9: a sum is missing"]  # fmt: skip
    assert report.fault_section("no values") is None


def test_names_of_tests_are_names_of_files() -> None:
    """Would fail if a parametrised test had no page, or one outside of the folder."""
    assert report.file_name("tests/test_a.py::test[a/../b]") == "tests-test_a.py-test-a-..-b-.html"


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    """Would fail if an interrupted test left half a page."""
    path = tmp_path / "folder" / "out.html"
    report.write(path, "t", [Part("a", True)])
    assert [each.name for each in path.parent.iterdir()] == ["out.html"]
    assert data_of(path.read_text())["passed"] is True


PROGRAM = """
import simmesh

@simmesh.spmd(world_size=2, schedules=3)
def test_deadlock():
    import torch
    import torch.distributed as dist
    if dist.get_rank() == 0:
        dist.all_reduce(torch.ones(2))

def test_other_failure():
    assert False

@simmesh.spmd(world_size=2, schedules=3)
def test_fine():
    pass
"""


def test_pytest_writes_a_page_for_each_finding(tmp_path: Path) -> None:
    """Would fail if a deadlock in CI left no page, or other failures left one."""
    pytest.importorskip("torch")
    (tmp_path / "test_ranks.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, "--simmesh-report", "pages", "test_ranks.py"],
        cwd=tmp_path, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert "2 failed, 1 passed" in ran.stdout, ran.stdout
    (page,) = (tmp_path / "pages").iterdir()
    assert page.name == "test_ranks.py-test_deadlock.html"
    assert f"simmesh: report: pages/{page.name}" in ran.stdout
    (entry,) = data_of(page.read_text())["entries"]
    kinds = [section["kind"] for section in entry["sections"]]
    assert kinds[:2] == ["checks", "failure"] and not entry["passed"]
    failure = entry["sections"][1]["text"]
    assert "rank 0: waited in all_reduce" in failure and "test_ranks.py:9" in failure
    assert "pytest" in entry["sections"][0]["reproduce"]


def test_a_run_writes_its_page(tmp_path: Path) -> None:
    """Would fail if the page of a run lacked what its ranks called."""
    pytest.importorskip("torch")
    import torch
    import torch.distributed as dist

    import simmesh

    def program() -> None:
        dist.all_reduce(torch.ones(3))

    path = tmp_path / "run.html"
    simmesh.spmd_run(program, world_size=2, report=path)
    (entry,) = data_of(path.read_text())["entries"]
    assert entry["passed"]
    table = next(each for each in entry["sections"] if each["kind"] == "table")
    assert [row[:4] for row in table["rows"]] == [
        [0, "all_reduce", 1, 12], [1, "all_reduce", 1, 12]
    ]  # fmt: skip
    everything = tmp_path / "all.html"
    simmesh.spmd_run(program, world_size=2, explore="all", report=everything)
    assert data_of(everything.read_text())["passed"]


def test_an_exhibit_has_its_finding_and_its_programs() -> None:
    """Would fail if the page of the museum lacked what was found, or passed a missed bug."""
    from simmesh.museum.collection import cards
    from simmesh.museum.report import parts
    from simmesh.museum.score import Score

    card, other = cards()[:2]
    found = Score(card.name, card.hall, "[one_device] first", "", True, 0.1)
    missed = Score(other.name, other.hall, "", "", False, 0.1)
    one, two = parts([card, other], [found, missed])
    assert one.passed and not two.passed
    assert [each["title"] for each in one.sections] == [
        "Checks", "The finding", "The story", "The programs"
    ]  # fmt: skip
    assert card.program in one.sections[-1]["text"]
    assert two.sections[0]["rows"][0]["got"] == "none"
