"""Shards of ``simmesh museum run``: several shares of its exhibits, run apart, and ``simmesh
merge``, which prints what one run prints.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from simmesh import _core
from simmesh.findings import Findings, add_option
from simmesh.museum.collection import Card
from simmesh.museum.output import conclude, print_score
from simmesh.museum.score import Score

_COMMAND = "museum"
_KINDS: dict[str, Any] = {"str": str, "bool": bool, "float": (int, float)}


def add_shard_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options --shard and --results to a command."""
    parser.add_argument(
        "--shard", metavar="I/N", default="",
        help="only one of several shares of the exhibits, such as 2/8",
    )  # fmt: skip
    parser.add_argument(
        "--results", metavar="FILE", default="",
        help="file for the results of a shard, for simmesh merge; default: museum.I-of-N.jsonl",
    )  # fmt: skip


class Share:
    """The exhibits of a shard; all of them if none was asked for.

    Raises ValueError for a text that is no shard, for a file of results without a shard, and for
    one that can't be written.
    """

    def __init__(self, options: argparse.Namespace, cards: Sequence[Card]) -> None:
        asked = " ".join([*options.names, f"--seed {options.seed}"])
        self._shard = _core.begin_shard(_COMMAND, asked, options.shard, options.results)
        self._jobs: Sequence[int] = range(len(cards))
        if self._shard is not None:
            import torch

            facts = json.dumps({"pytorch": torch.__version__})
            self._shard.set_inputs([os.fspath(card.path) for card in cards], facts)
            self._jobs = self._shard.jobs_of(len(cards))
        self.cards = [cards[job] for job in self._jobs]

    def write(self, found: Sequence[Score]) -> None:
        """Writes the scores of a shard into its file."""
        if self._shard is None:
            return
        for job, each in zip(self._jobs, found):
            self._shard.add(job, json.dumps(asdict(each)))
        self._shard.write()


def is_ours(arguments: Sequence[str]) -> bool:
    """True if ``simmesh merge`` with these arguments is to merge a shard of the museum."""
    return any(_core.command_of_shard(each) == _COMMAND for each in arguments)


def merge(arguments: Sequence[str]) -> int:
    """Prints the results of all shards as one run does, and returns its exit status; 2 for files
    that aren't all shards of one run.
    """
    options = _parser().parse_args(arguments)
    try:
        findings = Findings(options.findings)
        found = [_score_from(text) for text in _core.merged_results(options.files)]
        for each in found:
            print_score(options, each)
        return conclude(options, found, findings)
    except (ValueError, OSError) as error:
        print(f"simmesh: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def _score_from(text: str) -> Score:
    values = json.loads(text)
    for field in fields(Score):
        value = values.get(field.name) if isinstance(values, dict) else None
        if not isinstance(value, _KINDS[str(field.type)]):
            raise ValueError(
                f"[museum] expected a result with a value under '{field.name}', got {text[:80]}"
            )
    return Score(**{**values, "seconds": float(values["seconds"])})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simmesh merge", description="prints the results of all shards, as one run does"
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="the files of all shards")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--quiet", action="store_true", help="without the findings' texts")
    add_option(parser)
    return parser
