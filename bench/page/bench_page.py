"""Measures the figures that the docs claim, and writes them as one page.

    bench_page.py [--filter RE] [--write | --render]

Each figure stands beside its peer, measured in the same run, with its limit and with what comes of
it. Without --filter all are measured, bench/last.json keeps them, docs/performance.md is written,
and the sentences of pages that quote figures get the new ones. With it the figures whose title or
name matches are measured and printed, and with --write only these are renewed. --render measures
nothing, and writes page and quotes of what is kept. Ends with status 1 if a limit is missed for no
known reason or a figure couldn't be measured.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from figures import Book, Figure, read
from measuring import Measured, Place, measure
from page_text import machine, page, peer_version, row_of
from quotes import renewed
from verdicts import Result, changes, counts, judge, quotable

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "bench" / "page" / "figures.toml"
KEPT = ROOT / "bench" / "last.json"
PAGE = ROOT / "docs" / "performance.md"

Kept = dict[str, Any]  # machine, peers, measured, missing, changes, before


def read_kept() -> Kept:
    """Reads the last measurements; empty if there are none."""
    if KEPT.exists():
        kept: Kept = json.loads(KEPT.read_text(encoding="utf-8"))
        return kept
    return {"machine": "", "peers": {}, "measured": {}, "missing": {}, "changes": []}


def measured_of(kept: Kept) -> Measured:
    """The measurements that are kept."""
    return Measured(dict(kept["measured"]), dict(kept["missing"]))


def results_of(figures: Sequence[Figure], measured: Measured) -> list[Result]:
    """Judges each figure."""
    return [judge(each, measured) for each in figures]


def merged(
    book: Book, last: Kept, found: Measured, place: Place, asked: Collection[str] = ()
) -> Kept:
    """Joins the values of a run with last ones. Those that were asked for and not found are left
    out.
    """
    wanted = {name for each in book.figures() for name in each.measurements()}
    old = {name: value for name, value in last["measured"].items() if name not in asked}
    measured = {**old, **found.values}
    missing = {source: reason for source, reason in last["missing"].items()
               if not any(name.startswith(f"{source}: ") for name in found.values)}  # fmt: skip
    here = machine()
    before = measured_of(last)
    listed = changes(book.figures(), before, Measured({**before.values, **found.values}))
    return {
        "machine": here,
        "peers": {name: peer_version(each.version, place.python)
                  for name, each in book.peers.items() if each.version},
        "measured": {name: measured[name] for name in sorted(measured) if name in wanted},
        "missing": {**missing, **found.missing},
        "before": last["machine"],
        "changes": [list(each) for each in listed],
    }  # fmt: skip


def write(book: Book, kept: Kept) -> None:
    """Writes the page, what is kept, and the quotes."""
    results = results_of(book.figures(), measured_of(kept))
    PAGE.write_text(page(book, results, kept), encoding="utf-8")
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    renew_quotes(book, quotable(results, kept["measured"]))


def renew_quotes(book: Book, values: Mapping[str, float | None]) -> None:
    """Writes measured values into the sentences that quote them."""
    for name in dict.fromkeys(quote.page for quote in book.quotes):
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        for quote in book.quotes:
            if quote.page == name:
                text = renewed(quote, text, values)
        path.write_text(text, encoding="utf-8")


def print_results(results: list[Result], book: Book) -> None:
    """Prints the results as a table of text."""
    header = ["work", "ours", "peer", "beside", "ratio", "limit", ""]
    cells = [header, *(row_of(each, book) for each in results)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def say(text: str) -> None:
    """Prints a line of progress."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def options_of(words: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--filter", default="", metavar="RE", help="only figures that match")
    parser.add_argument("--write", action="store_true", help="renew them on the page")
    parser.add_argument("--render", action="store_true", help="only write what is kept")
    parser.add_argument("--programs", type=Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--python", type=Path, default=Path(sys.executable),
                        help="of an environment with PyTorch")  # fmt: skip
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measures, prints and writes; returns the exit status."""
    options = options_of(words)
    book, last = read(FIGURES), read_kept()
    if options.render:
        write(book, last)
        return 0
    chosen = [
        each
        for each in book.figures()
        if re.search(options.filter, each.title) or re.search(options.filter, each.ours)
    ]
    if not chosen:
        say(f"expected a filter that matches a figure, got '{options.filter}'")
        return 2
    out = ROOT / "build" / "bench"
    out.mkdir(parents=True, exist_ok=True)
    place = Place(ROOT, options.programs, options.python, out)
    names = dict.fromkeys(name for each in chosen for name in each.measurements())
    begin = time.monotonic()

    def keep(found: Measured, asked: Collection[str] = ()) -> None:
        if options.write or not options.filter:
            write(book, merged(book, last, found, place, asked))

    # Kept after each source, so that an interruption loses little.
    found = measure(place, names, book.needs, say, keep)
    results = results_of(chosen, found)
    print_results(results, book)
    keep(found, names)
    states = counts(results)
    listed = ", ".join(f"{count} {state or 'without a limit'}" for state, count in states.items())
    print(f"{listed}; {(time.monotonic() - begin) / 60:.1f} minutes")
    return 1 if states.get("missed") or states.get("missing") else 0


if __name__ == "__main__":
    sys.exit(main())
