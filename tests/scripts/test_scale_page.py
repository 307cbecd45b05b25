"""The page on scale: its exponents, and that page and picture show what was measured."""

from __future__ import annotations

import json
import math
import stat
import sys
from pathlib import Path

import pytest

from changed_files import ROOT

sys.path.insert(0, str(ROOT / "bench" / "scale"))

import scale_page
from scale_page import Point, exponent, measure_all, page


def test_exponents_are_slopes() -> None:
    """Would fail if quadratic growth were called linear."""
    assert exponent([(10, 5), (100, 50), (1000, 500)]) == pytest.approx(1)
    assert exponent([(10, 1), (1000, 10_000)]) == pytest.approx(2)
    assert math.isnan(exponent([(10, 1)]))


def test_worlds_that_need_too_much_memory_are_left_out(tmp_path: Path) -> None:
    """Would fail if a large world took the machine's memory, or were left out silently."""
    program = tmp_path / "one_world"
    program.write_text(
        '#!/bin/sh\necho "{\\"kind\\": \\"$1\\", \\"ranks\\": $2, \\"seconds\\": 3, '
        '\\"bytes\\": $(($2 * 10000))}"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    points, left = measure_all(program, 300_000, 1.5)
    assert max(each.ranks for each in points) == 100_000
    assert left == [(kind, 300_000) for kind in scale_page.KINDS]
    text = page(points, left)
    assert "too little memory: 300,000 ranks with data, 300,000 ranks shapes only" in text
    assert "| 100,000 | 3 s | 954 MiB |" in text
    assert "| with data | 0.00 | 1.00 |" in text
    assert "Left out" not in page(points, [])


def test_the_page_shows_what_is_kept() -> None:
    """Would fail if the page were edited by hand, or not made again."""
    kept = json.loads(scale_page.KEPT.read_text())
    points = [Point(**each) for each in kept["points"]]
    left = [(kind, ranks) for kind, ranks in kept["left"]]
    assert page(points, left) == scale_page.PAGE.read_text(encoding="utf-8")
    picture = scale_page.PICTURE.read_text(encoding="utf-8")
    for kind, title in scale_page.KINDS.items():
        for slope in scale_page.exponents(points, kind):
            assert f"{title}, exponent {slope:.2f}" in picture


def test_growth_is_about_linear() -> None:
    """Would fail if the kept figures said that a rank costs more in a larger world."""
    points = [Point(**each) for each in json.loads(scale_page.KEPT.read_text())["points"]]
    for kind in ("data", "shapes"):
        assert max(scale_page.exponents(points, kind)) < 1.3
