"""The command ``simmesh museum``, which lists, explains and runs the exhibits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simmesh.findings import Findings, add_option
from simmesh.museum.collection import HALLS, Card, chosen

if TYPE_CHECKING:
    from simmesh.museum.score import Score

SUMMARY = "published silent bugs of distributed training, each as a program with it and without"


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, 1 if a bug isn't found or a right program
    has a finding, or 2 where it could not run.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.task == "show":
            return _show(chosen([options.name]))
        if options.task == "run":
            return _run(options)
        if options.task == "page":
            return _page(Path(options.folder), options.jobs)
        return _list(chosen(options.names if options.task == "list" else []))
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        print(f"simmesh: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def _list(cards: Sequence[Card]) -> int:
    hall = ""
    for card in cards:
        if card.hall != hall:
            hall = card.hall
            print(f"{HALLS[hall]} ({hall})")
        print(f"  {card.name}: {card.title}")
    print(f"{len(cards)} exhibits")
    return 0


def _show(cards: Sequence[Card]) -> int:
    for card in cards:
        print(f"{card.title}\n{card.source}, {card.date}\n")
        print(f"{card.story}\n\n{card.program}\n")
        print(f"check: {card.check}\nrun: simmesh museum run {card.name}\n")
    return 0


def _run(options: argparse.Namespace) -> int:
    from simmesh.museum.score import as_json, scores, totals

    found = []
    findings = Findings(options.findings)
    for each in scores(chosen(options.names), options.jobs, options.seed):
        found.append(each)
        _add(findings, each)
        if options.json:
            continue
        print(each.line, flush=True)
        if not options.quiet:
            _print_indented(each.finding)
            if each.noise:
                print("  in the right program:")
                _print_indented(each.noise)
    total = totals(found)
    findings.write()
    if options.json:
        print(as_json(found))
    else:
        print(
            f"{total['found']} of {total['total']} found, {total['named']} named, "
            f"{total['noisy']} noisy, {total['seconds']} s, the longest {total['longest']} s"
        )
    if options.report:
        _write_report(options, found)
    return 0 if all(each.ok for each in found) else 1


def _add(findings: Findings, each: Score) -> None:
    if each.ok:
        findings.passed(each.hall, each.name)
        return
    rule = "museum/noise" if each.noise else "museum/missed"
    expected, got = ("a finding in the wrong program alone", "one in the right program too")
    if not each.finding:
        expected, got = "a finding in the wrong program", "none"
    report = f"{each.name}: expected {expected}, got {got}\n{each.noise}"
    findings.failed(each.hall, each.name, report, rule, reproduce=f"simmesh museum run {each.name}")


def _write_report(options: argparse.Namespace, found: Sequence[Score]) -> None:
    from simmesh.museum.report import parts
    from simmesh.report import write

    line = " ".join(["simmesh museum run", *options.names, "--report", options.report])
    write(Path(options.report), "simmesh museum", parts(chosen(options.names), found), line)


def _report_file(text: str) -> str:
    if not text.endswith(".html"):
        raise argparse.ArgumentTypeError(f"expected a file that ends in .html, got {text!r}")
    return text


def _print_indented(text: str) -> None:
    for line in text.splitlines():
        print(f"  {line}")


def _page(folder: Path, jobs: int) -> int:
    from simmesh.museum.page import write

    count = write(folder, jobs)
    print(f"{count} exhibits")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simmesh museum", description=SUMMARY)
    tasks = parser.add_subparsers(dest="task", metavar="TASK")
    lists = tasks.add_parser("list", help="the titles, by halls; so without a task")
    lists.add_argument("names", nargs="*", metavar="NAME", help="of an exhibit or a hall")
    show = tasks.add_parser("show", help="an exhibit's story and programs")
    show.add_argument("name", metavar="NAME", help="of an exhibit or a hall")
    runs = tasks.add_parser("run", help="runs exhibits: is the bug found, and named?")
    runs.add_argument("names", nargs="*", metavar="NAME", help="of an exhibit or a hall")
    runs.add_argument("--jobs", type=_count, default=1, metavar="N", help="processes")
    runs.add_argument(
        "--seed", type=int, default=0, metavar="N", help="added to the seeds of data and parameters"
    )
    runs.add_argument(
        "--report", type=_report_file, metavar="OUT.html", help="a page with programs and findings"
    )
    runs.add_argument("--json", action="store_true", help="one JSON object")
    runs.add_argument("--quiet", action="store_true", help="without the findings' texts")
    add_option(runs)
    page = tasks.add_parser("page", help="writes the pages of the museum into a folder")
    page.add_argument("folder", metavar="FOLDER")
    page.add_argument("--jobs", type=_count, default=1, metavar="N", help="processes")
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)
