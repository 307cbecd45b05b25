"""The command ``python -m simmesh.rules.pytorch``, also ``simmesh validate --pytorch``."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simmesh.rules.pytorch.survey import Survey

_DESCRIPTION = """\
Judges the sharding rules of the installed PyTorch by values: for the calls that PyTorch's own
samples (OpInfo) make, each row that its propagation claims on 2 and 3 ranks and on 2x2. Ends with
status 1 if a rule is wrong that the recorded list of the release doesn't have."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simmesh.rules.pytorch", description=_DESCRIPTION
    )
    parser.add_argument(
        "--only", action="append", metavar="OP",
        help="an operator, such as softmax, aten.add.Tensor or 'nn.functional.*'; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--part", metavar="K/N", help="the Kth of N parts of all operators, from 1/N to N/N"
    )
    parser.add_argument("--json", action="store_true", help="prints one object")
    parser.add_argument("--quiet", action="store_true", help="prints the last line alone")
    parser.add_argument(
        "--record", action="store_true", help="writes the recorded list of the release"
    )
    parser.add_argument(
        "--page", action="store_true", help="prints the page of the recorded wrong rules, and ends"
    )
    return parser


def _part(text: str, names: Sequence[str]) -> list[str]:
    """Every Nth name, from the Kth. Raises ValueError for anything but K/N."""
    first, _, count = text.partition("/")
    if not (first.isdigit() and count.isdigit() and 1 <= int(first) <= int(count)):
        raise ValueError(f"[rules/pytorch] --part: expected K/N, as in 1/18, got {text!r}")
    return list(names)[int(first) - 1 :: int(count)]


def matches(pattern: str, name: str) -> bool:
    """True if a pattern names an OpInfo or an operator: whole, or without its namespace."""
    short = name.removeprefix("aten.")
    forms = {name, short, short.rsplit(".", 1)[0], name.removeprefix("nn.functional.")}
    return any(fnmatch.fnmatchcase(form, pattern) for form in forms)


def run(words: Sequence[str]) -> int:
    """Runs the command and returns its exit status."""
    options = _parser().parse_args(list(words))
    import torch

    from simmesh.rules.pytorch.recorded import record, recorded, release_of
    from simmesh.rules.pytorch.report import Report

    if options.page:
        from simmesh.rules.pytorch.page import page

        print(page(), end="")
        return 0
    release = release_of(torch.__version__)
    try:
        survey = _survey(options.only, options.part, options.quiet or options.json)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.record:
        record(survey.findings, release)
    report = Report(survey, release, recorded(release))
    if options.json:
        print(json.dumps(report.fields()))
    else:
        text = report.text()
        print(text.splitlines()[-1] if options.quiet else text)
    return 1 if report.new else 0


def _survey(only: Sequence[str] | None, part: str | None, is_quiet: bool) -> Survey:
    """Judges the chosen operators. Raises ValueError for a choice of none."""
    from simmesh.rules.pytorch.survey import Survey
    from simmesh.rules.pytorch.units import Units, surveys

    units = Units()
    names = _part(part, units.names) if part else units.names
    total = Survey()
    if only:
        for survey in units.chosen(lambda name: any(matches(each, name) for each in only)):
            total.merge(survey)
        if not (total.operators or total.skipped):
            raise ValueError(f"[rules/pytorch] expected an operator, got {', '.join(only)}")
        return total
    for name, survey in surveys(units, names, part is None):
        total.merge(survey)
        if not is_quiet and sys.stderr.isatty():
            print(f"\r{name:60}", end="", file=sys.stderr, flush=True)
    return total
