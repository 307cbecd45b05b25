"""The bench page: what is read, how figures are judged, and that pages quote what was measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from changed_files import ROOT

sys.path.insert(0, str(ROOT / "bench" / "page"))

import bench_page
import quotes
from figures import Book, Figure, Peer, Quote, Section, read
from measuring import Measured, Place, benchmark_filter, measure, read_benchmarks, read_lines
from page_text import page
from verdicts import changes, counts, judge, limit_of, number, quotable, with_unit

BOOK = read(bench_page.FIGURES)
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
PAGES += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
FIGURE = Figure("a sum", "ours: sum", "us", peer="theirs: sum", beside="p", least=10)


def result(ours: float, peer: float, figure: Figure = FIGURE, **more: float) -> tuple[str, str]:
    """The state of a figure and what is said of it."""
    values = {"ours: sum": ours, "theirs: sum": peer, **more}
    found = judge(figure, Measured(values))
    return found.state, found.said


def test_benchmarks_are_read_with_their_counters() -> None:
    """Would fail if a time had another unit, or a counter got lost."""
    entries = [
        {"name": "sum/ranks:8/iterations:5/manual_time", "real_time": 2.0, "time_unit": "ms",
         "cpu_time": 1.0, "iterations": 5, "ratio": 3.5},
        {"name": "sum/ranks:8/iterations:5/manual_time", "real_time": 1.5, "time_unit": "ms",
         "ratio": 4.5},
        {"name": "sum/ranks:8/iterations:5/manual_time", "real_time": 1.7, "time_unit": "ms",
         "ratio": 2.5},
        {"name": "bad", "real_time": 1.0, "time_unit": "ms", "error_occurred": True},
        {"name": "mean", "real_time": 1.0, "time_unit": "ms", "run_type": "aggregate"},
    ]  # fmt: skip
    assert read_benchmarks("b", json.dumps({"benchmarks": entries})) == {
        "b: sum/ranks:8": 1500.0, "b: sum/ranks:8 ratio": 4.5,
    }  # fmt: skip
    assert read_benchmarks("b", "") == {}


def test_lines_of_scripts_are_read() -> None:
    """Would fail if a script's other words were taken for figures."""
    text = 'a table\n{"name": "x", "us": 3}\n{"name": "y", "value": 2.5}\n'
    assert read_lines("s.py", text) == {"s.py: x": 3.0, "s.py: y": 2.5}


def test_only_the_benchmarks_of_the_page_run() -> None:
    """Would fail if a name that begins alike ran too, which takes its time."""
    listed = ["sum/8/iterations:5/manual_time", "sum/80", "mean"]
    assert benchmark_filter(["sum/8 ratio", "sum/8"], listed) == f"^({listed[0]})$"
    assert benchmark_filter(["none"], listed) == ""


@pytest.mark.parametrize(
    ("ours", "peer", "figure", "state"),
    [
        (1.0, 10.0, FIGURE, "holds"),
        (1.0, 9.9, FIGURE, "missed"),
        (2.0, 1.0, Figure("", "ours: sum", "", "theirs: sum", ratio="longer", most=2), "holds"),
        (2.1, 1.0, Figure("", "ours: sum", "", "theirs: sum", ratio="longer", most=2), "missed"),
        (5.0, 1.0, Figure("", "ours: sum", "", value_most=5), "holds"),
        (5.1, 1.0, Figure("", "ours: sum", "", value_most=5), "missed"),
        (5.1, 1.0, Figure("", "ours: sum", "", value_most=5, why="x"), "known"),
        (4.9, 1.0, Figure("", "ours: sum", "", value_least=5), "missed"),
        (4.9, 1.0, Figure("", "ours: sum", ""), ""),
    ],
)
def test_limits_are_judged(ours: float, peer: float, figure: Figure, state: str) -> None:
    """Would fail if a figure below its limit passed."""
    assert result(ours, peer, figure)[0] == state


def test_a_limit_that_the_disk_bounds_is_not_missed() -> None:
    """Would fail if a save were asked to be faster than a write of its bytes."""
    figure = Figure("", "ours: sum", "us", "theirs: sum", possible="theirs: write", least=5)
    assert result(3.0, 10.0, figure, **{"theirs: write": 2.5}) == (
        "bounded", "at most 4 times possible",
    )  # fmt: skip
    assert result(3.0, 10.0, figure, **{"theirs: write": 1.0})[0] == "missed"


def test_a_missing_peer_is_said() -> None:
    """Would fail if a row without its peer were left out, or passed."""
    measured = Measured({"ours: sum": 1.0}, {"theirs": "smpirun isn't installed"})
    found = judge(FIGURE, measured)
    assert (found.state, found.said) == ("missing", "smpirun isn't installed")
    kept = {"machine": "m", "peers": {"p": ""}, "before": "", "changes": []}
    text = page(Book((), {"p": Peer("P", "deb p")}), [found], kept)
    assert "- a sum: smpirun isn't installed." in text
    assert "| P | not installed |" in text


def test_programs_that_are_missing_or_fail_are_said(tmp_path: Path) -> None:
    """Would fail if one program that fails ended the whole run, or nobody heard of it."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "fails.py").write_text("raise SystemExit('no disk')")
    (tmp_path / "bench" / "works.py").write_text('print(\'{"name": "a", "value": 2}\')')
    place = Place(tmp_path, tmp_path, Path(sys.executable), tmp_path)
    names = ["none_bench: x", "bench/fails.py: a", "bench/works.py: a", "bench/lacks.py: a"]
    said: list[str] = []
    measured = measure(place, names, {"bench/lacks.py": "command no-such-command"}, said.append)
    assert measured.values == {"bench/works.py: a": 2.0}
    assert [measured.reason(name) for name in names] == [
        "the benchmark wasn't built", "ended with status 1: no disk", "not measured",
        "no-such-command isn't installed",
    ]  # fmt: skip
    assert "bench/lacks.py is left out: no-such-command isn't installed" in said


def test_regressions_are_listed() -> None:
    """Would fail if a figure got worse since the last page and nobody saw it."""
    rate = Figure("a rate", "ours: rate", "/s", value_least=1)
    last = Measured({"ours: sum": 2.0, "theirs: sum": 20.0, "ours: rate": 100.0})
    now = Measured({"ours: sum": 4.0, "theirs: sum": 20.0, "ours: rate": 200.0})
    found = changes([FIGURE, rate], last, now)
    assert found == [("a sum", 10.0, 5.0, True), ("a rate", 100.0, 200.0, False)]
    kept = {"machine": "m", "peers": {}, "before": "n", "changes": found}
    text = page(Book((), {}), [], kept)
    assert "| a sum | 10 | 5 | worse |" in text and "measured on n" in text
    assert changes([FIGURE, rate], last, last) == []
    kept["changes"] = []
    assert "changed by more than 25 %" in page(Book((), {}), [], kept)


def test_a_part_of_the_page_can_be_renewed(tmp_path: Path) -> None:
    """Would fail if a run of one figure dropped the others, or kept why it was missing."""
    book = Book((Section("s", "", (FIGURE,)),), {"p": Peer("P")})
    last = {"machine": "m", "peers": {}, "changes": [], "missing": {"theirs": "none"},
            "measured": {"ours: sum": 3.0, "old: gone": 1.0}}  # fmt: skip
    place = Place(tmp_path, tmp_path, Path(sys.executable), tmp_path)
    kept = bench_page.merged(book, last, Measured({"theirs: sum": 30.0}), place)
    assert kept["measured"] == {"ours: sum": 3.0, "theirs: sum": 30.0}
    assert kept["missing"] == {} and kept["before"] == "m"
    lost = bench_page.merged(book, last, Measured(), place, ["ours: sum"])
    assert lost["measured"] == {}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0123, "us", "12 ns"), (1234.0, "us", "1.23 ms"), (2.5e6, "us", "2.5 s"),
     (523456.0, "/s", "523,456 /s"), (3 << 20, "bytes", "3 MiB"),
     (0.95, "of Eigen", "0.95 of Eigen"), (14.2, "us", "14 us")],
)  # fmt: skip
def test_values_are_shown_with_units(value: float, unit: str, text: str) -> None:
    """Would fail if a page showed a time in the wrong unit."""
    assert with_unit(value, unit) == text


def test_limits_are_shown() -> None:
    """Would fail if the page didn't say what is asked."""
    assert limit_of(Figure("", "", "ms", least=300, value_most=50)) == (
        "at least 300 times, at most 50 ms"
    )
    assert number(1.234) == "1.23"


QUOTE = Quote("a.md", "takes {b: x|.1f} us, which is {ratio of b: x|.0f} times less")
VALUES: dict[str, float | None] = {"b: x": 3.14, "ratio of b: x": 20.4}


def test_quotes_are_compared_and_renewed() -> None:
    """Would fail if a page could keep a figure that isn't the measured one."""
    right = "It takes 3.1 us,\nwhich is 20 times less."
    assert quotes.faults(QUOTE, right, VALUES) == []
    old = right.replace("3.1", "2.9").replace("20", "1,000")
    assert quotes.faults(QUOTE, old, VALUES) == [
        "a.md: b: x: expected 3.1, got 2.9", "a.md: ratio of b: x: expected 20, got 1,000",
    ]  # fmt: skip
    assert quotes.renewed(QUOTE, old, VALUES) == right
    assert "got it 0 times" in quotes.faults(QUOTE, "gone", VALUES)[0]
    assert quotes.renewed(QUOTE, old, {}) == old
    assert "no value is kept for 'b: x'" in quotes.faults(QUOTE, right, {})[0]


@pytest.mark.parametrize(
    "text",
    ["A call takes 2 to 3 us more.", "It is 100 times as fast.", "in less than a second",
     "some hundredths of a second", "87.7 GB/s", "It lasts 20 minutes."],
)  # fmt: skip
def test_claims_are_found(text: str) -> None:
    """Would fail if a figure could stand in a page without having been measured."""
    book = Book((), {}, quotes=(QUOTE,), settings=(Quote("a.md", "waits for 60 seconds"),))
    assert len(quotes.claims("a.md", text, book)) == 1
    assert quotes.claims("a.md", f"```\n{text}\n```\n", book) == []
    said = "It waits for 60\nseconds, takes 3 us, which is 20 times less."
    assert quotes.claims("a.md", said, book) == []
    assert quotes.claims("b.md", said, book) == ["b.md:1: 60\nseconds", "b.md:2: 3 us"]


def test_pages_claim_only_what_was_measured() -> None:
    """Would fail if a page had a time or a ratio that neither the bench page nor a setting has."""
    written = {"docs/performance.md", "docs/scale.md", "docs/frameworks.md"}
    found = [
        claim
        for name in PAGES
        if name not in written
        for claim in quotes.claims(name, (ROOT / name).read_text(encoding="utf-8"), BOOK)
    ]
    assert found == [], "quote it in bench/page/figures.toml, or take it out"


def test_settings_are_on_their_pages() -> None:
    """Would fail if the list of settings kept one that no page has."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
    assert quotes.unused_settings(BOOK, texts) == []
    book = Book((), {}, settings=(Quote("README.md", "waits for 61 hours"),))
    assert quotes.unused_settings(book, texts) == ["README.md: 'waits for 61 hours'"]


def test_pages_quote_what_was_measured() -> None:
    """Would fail if a page and bench/last.json said different things."""
    kept = bench_page.read_kept()
    results = bench_page.results_of(BOOK.figures(), bench_page.measured_of(kept))
    values = quotable(results, kept["measured"])
    found = [
        fault
        for quote in BOOK.quotes
        for fault in quotes.faults(quote, (ROOT / quote.page).read_text(encoding="utf-8"), values)
    ]
    assert found == [], "bench_page.py --render renews the quotes"


def test_the_page_shows_what_is_kept() -> None:
    """Would fail if the page were edited by hand, or a figure added and the page not made again."""
    kept = bench_page.read_kept()
    results = bench_page.results_of(BOOK.figures(), bench_page.measured_of(kept))
    assert page(BOOK, results, kept) == bench_page.PAGE.read_text(encoding="utf-8")


def test_every_measurement_has_a_source() -> None:
    """Would fail if a figure named a script or program that isn't there."""
    sources = {name.split(": ")[0] for each in BOOK.figures() for name in each.measurements()}
    for source in sources:
        if source.endswith(".py"):
            assert (ROOT / source).is_file()
        else:
            assert (ROOT / "bench" / source.removesuffix("_bench")).is_dir()
    assert set(BOOK.needs) <= sources


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[section.figure]]\ntitle = "a"\nours = "b: c"\nunit = ""\nleats = 1', "got leats"),
        ('[[section.figure]]\ntitle = "a"\nours = "b: c"\nunit = ""\nbeside = "x"', "got 'x'"),
        ('[[section.figure]]\ntitle = "a"\nours = "b: c"\nunit = ""\neach = [1, 2]', "twice"),
    ],
)
def test_a_wrong_list_is_refused(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would fail if a misspelt limit were no limit."""
    path = tmp_path / "figures.toml"
    path.write_text(f'[[section]]\ntitle = "s"\n{text}\n')
    with pytest.raises(SystemExit) as raised:
        read(path)
    assert raised.value.code == 2 and message in capsys.readouterr().err


def test_counts_of_states() -> None:
    """Would fail if the last line counted other things than the rows say."""
    values = {"ours: sum": 1.0, "theirs: sum": 20.0}
    assert counts([judge(FIGURE, Measured(values)), judge(FIGURE, Measured())]) == {
        "holds": 1, "missing": 1,
    }  # fmt: skip
