"""The table of frameworks: which rows are red, and where the table goes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from frameworks import BEGIN, END, Ended, Row, _run, table, with_rows

PASSED, FAILED = Ended("", 4.0), Ended("ValueError: no", 2.0)


def row(gloo: Ended, ranks: Ended, has_values: bool = True, differs: bool = False) -> Row:
    """A row of the table."""
    return Row("framework", "1.0", "a training", gloo, ranks, has_values, differs)


def test_a_row_is_red_where_ranks_alone_fail_or_differ() -> None:
    """Would fail if a failure on ranks, or other bits, passed."""
    assert row(PASSED, FAILED).is_red and row(PASSED, PASSED, differs=True).is_red
    assert not row(FAILED, FAILED).is_red and not row(FAILED, PASSED).is_red
    assert not row(PASSED, PASSED).is_red


def test_cells_say_verdict_and_time() -> None:
    """Would fail if the table hid a failure, or said of a script that its bits are equal."""
    assert row(PASSED, Ended("", 2.0)).cells[3:] == ("passes, 4.0 s", "equal bits, 2.0 s", "2.0")
    assert row(PASSED, PASSED, has_values=False).cells[4] == "passes, 4.0 s"
    assert row(PASSED, PASSED, differs=True).cells[4] == "other bits, 4.0 s"
    failed = ("fails: `ValueError: no`, 2.0 s", "passes, 4.0 s", "")
    assert row(FAILED, PASSED).cells[3:] == failed


def test_a_program_that_a_signal_ended_says_so(tmp_path: Path) -> None:
    """Would fail if the last line of its output were taken for its error."""
    (tmp_path / "dies.py").write_text(
        "import os, sys\nprint('a warning', file=sys.stderr, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    assert _run(sys.executable, ["dies"], None, tmp_path).error == "ended by SIGKILL"


def test_the_rows_of_a_page_are_renewed() -> None:
    """Would fail if rows of other programs, or the rest of the page, changed."""
    other = Row("other", "2.0", "a training", FAILED, FAILED, True)
    old = table([row(FAILED, PASSED), other])
    page = with_rows(f"before\n{BEGIN}{old}{END}behind\n", [row(PASSED, PASSED)])
    assert page == f"before\n{BEGIN}{table([row(PASSED, PASSED), other])}{END}behind\n"
    with pytest.raises(ValueError, match="expected a page with the lines"):
        with_rows("a page\n", [other])
