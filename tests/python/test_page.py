"""The sessions on the page about Python print what they show."""

from __future__ import annotations

import doctest

from repository import ROOT


def test_sessions_print_what_they_show() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert tried > 0 and failed == 0
