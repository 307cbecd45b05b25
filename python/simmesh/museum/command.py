"""The command ``simmesh museum``, which lists, explains and runs the exhibits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simmesh.findings import Findings, add_option
from simmesh.museum.collection import HALLS, Card, chosen
from simmesh.museum.output import conclude, print_score
from simmesh.museum.shards import Share, add_shard_options

if TYPE_CHECKING:
    from simmesh.museum.score import Score

SUMMARY = "published silent bugs of distributed training, each as a program with it and without"


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, 1 if a bug isn't found or a right program
    has a finding, 2 where it could not run, or 130 after Ctrl-C.
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
    except KeyboardInterrupt:
        print("simmesh: interrupted", file=sys.stderr)
        return 130
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
    from simmesh.museum.score import scores

    findings = Findings(options.findings)
    share = Share(options, chosen(options.names))
    found = []
    for each in scores(share.cards, options.jobs, options.seed):
        found.append(each)
        print_score(options, each)
    status = conclude(options, found, findings)
    if options.report:
        _write_report(options, found)
    share.write(found)
    return status


def _write_report(options: argparse.Namespace, found: Sequence[Score]) -> None:
    from simmesh.museum.report import parts
    from simmesh.report import write

    words = ["simmesh museum run", *options.names]
    words += [f"--seed {options.seed}"] if options.seed else []
    words += [f"--shard {options.shard}"] if options.shard else []
    line = " ".join([*words, "--report", options.report])
    write(Path(options.report), "simmesh museum", parts(chosen(options.names), found), line)


def _report_file(text: str) -> str:
    if not text.endswith(".html"):
        raise argparse.ArgumentTypeError(f"expected a file that ends in .html, got {text!r}")
    return text


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
    add_shard_options(runs)
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
