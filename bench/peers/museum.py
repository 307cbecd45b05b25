"""Which of the museum's bugs do other tools find, what do they say of the right programs, and do
they name the line, parameter or operator at fault?

    museum.py [--every N] [--page FILE] [--results FILE] [--again TOOL] [--runs RUN ...]
              [NAME|HALL ...]

Runs the wrong and the right program of each exhibit under simmesh and under its rivals, and prints
one table: bugs that are found, those whose finding names what is at fault, right programs with a
finding (noise), and exhibits that the tool can't run in either form. Below are the exhibits in
which a rival does better than simmesh. --every takes each N-th exhibit. --page writes the same as a
page of the docs, with what museum_noise.py found in other right programs. Results are kept in a
file by the versions of the tools, so that a run that was ended goes on, and several make parts of
it at a time; --again drops those of a tool, and --runs names the runs to make: none for a table of
what is there. A program counts as one that hangs where nothing in it runs any more, so a busy
machine gives the same table.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import museum_noise
import simmesh
from museum_results import VARIANTS, Finding, Results
from museum_rivals import NAMES, RUNS, Rivals
from simmesh.museum.collection import Card, chosen
from simmesh.museum.score import names, score

OURS = "simmesh"
_LOCAL_TENSOR, _ON_GLOO = "local_tensor", "tolerance 1e-4"
_TITLES = {
    "local_tensor": "LocalTensor",
    "threads": "threaded process group",
    "spmd_types": "spmd_types, permissive",
    "gloo DETAIL": "gloo, TORCH_DISTRIBUTED_DEBUG=DETAIL",
    "tolerance 1e-4": "tolerance test, rtol 1e-4, one process",
    "DebugMode hashes": "hashes as DebugMode's, one process",
}


#: The tools of each run, with our own.
TOOLS = {OURS: (OURS,), **RUNS}


@dataclass
class Row:
    """The results of one tool, by the names of exhibits. ``raises`` says that it tells of what it
    finds by errors of its own.
    """

    tried: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    unable: list[str] = field(default_factory=list)
    raises: bool = False

    def add(self, card: Card, wrong: Finding, right: Finding, is_true: bool = True) -> None:
        """Counts an exhibit. A tool that runs programs can't look at one whose right form raises;
        an error of types is what spmd_types finds. Unless ``is_true``, the tool computes other
        values of the right form than ranks do.
        """
        self.tried.append(card.name)
        is_run = right.raises and (wrong.raises or not self.raises)
        if wrong.text is None or right.text is None or is_run or not is_true:
            self.unable.append(card.name)
        elif right.text:
            self.noise.append(card.name)
        elif wrong.text:
            self.found.append(card.name)
            if names(wrong.text, card):
                self.named.append(card.name)


def _spmd_types_rule(card: Card, variant: str) -> Finding:
    """The finding of spmd_types.rulecheck in an exhibit that is a sharding rule."""
    from types import SimpleNamespace

    from rules import UNSAID, peers
    from simmesh.rules.marks import marks_of

    program = getattr(card.load(), variant)
    verdicts = []
    for arguments, options in marks_of(program):
        rule = arguments[0]
        if not isinstance(rule, str):
            return Finding(None)
        inputs = options.get("inputs", arguments[1] if len(arguments) > 1 else None)
        judged: Any = SimpleNamespace(function=program, inputs=inputs)
        try:
            verdicts.append(peers(judged, rule))
        except Exception:  # the rule has no types there
            return Finding(None)
    if not verdicts or UNSAID in verdicts:
        return Finding(None)
    return Finding(next((each for each in verdicts if each != "holds"), ""))


def compare(cards: Sequence[Card], results: Results, runs: Sequence[str]) -> dict[str, Row]:
    """The row of each tool, of the exhibits that are in the results. Before, what is missing of
    these runs is made and kept there.
    """
    rows = {name: Row(raises=name == "spmd_types") for name in (OURS, *NAMES)}
    rivals = Rivals()
    try:
        for number, card in enumerate(cards, 1):
            for run in runs:
                if results.get(TOOLS[run][-1], card.name, card.text) is None:
                    for tool, found in _found(rivals, card, run).items():
                        results.put(tool, card.name, card.text, found)
            for tool, row in rows.items():
                kept = results.get(tool, card.name, card.text)
                if kept is not None:
                    is_true = tool != _LOCAL_TENSOR or _is_true(kept, card, results)
                    row.add(card, kept["wrong"], kept["right"], is_true)
            if runs:
                print(f"{number} of {len(cards)}: {card.name}", file=sys.stderr, flush=True)
    finally:
        rivals.stop()
    return rows


def _is_true(kept: dict[str, Finding], card: Card, results: Results) -> bool:
    """False if LocalTensor's values of the right program aren't one process's, and gloo's are."""
    on_gloo = results.get(_ON_GLOO, card.name, card.text)
    return not kept["right"].text or on_gloo is None or bool(on_gloo["right"].text)


def _found(rivals: Rivals, card: Card, run: str) -> dict[str, dict[str, Finding]]:
    """The findings of a run's tools in the programs of an exhibit."""
    if run == OURS:
        ours = score(card)
        return {OURS: {"wrong": Finding(ours.finding), "right": Finding(ours.noise)}}
    if run == "spmd_types" and card.check.startswith("Rule("):
        return {run: {variant: _spmd_types_rule(card, variant) for variant in VARIANTS}}
    found = {variant: rivals.findings(card, variant, run) for variant in VARIANTS}
    return {tool: {variant: found[variant][tool] for variant in VARIANTS} for tool in RUNS[run]}


def _versions() -> str:
    return (
        f"simmesh {simmesh.__version__}, PyTorch {torch.__version__}, "
        f"spmd_types {version('spmd_types')}"
    )


def table(rows: dict[str, Row], cards: Sequence[Card]) -> list[str]:
    """The table as lines of Markdown."""
    lines = [
        f"{len(cards)} exhibits; {_versions()}",
        "",
        "| tool | exhibits | found | named | noise | can't look |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in rows.items():
        counts = map(len, (row.tried, row.found, row.named, row.noise, row.unable))
        lines.append(f"| {_TITLES.get(name, name)} | {' | '.join(map(str, counts))} |")
    return lines


def lost(rows: dict[str, Row]) -> list[str]:
    """The exhibits in which a rival finds or names what simmesh doesn't."""
    ours, lines = rows[OURS], []
    for name, row in rows.items():
        for kind in ("found", "named"):
            for exhibit in getattr(row, kind):
                if exhibit not in getattr(ours, kind):
                    lines.append(f"| {exhibit} | {kind} by {_TITLES.get(name, name)} |")
    if not lines:
        return ["None: each bug that a rival finds or names, simmesh finds and names too."]
    return ["| exhibit | lost |", "| --- | --- |", *lines]


_HOW = """
The findings of other tools in the {of} exhibits, written by `bench/peers/museum.py`; the first
column has the number of exhibits that a tool has been run on. Each tool looks at the wrong and the
right program. A bug is found if the wrong one has a finding and the right one has none. It is named
if the finding has the line, parameter or operator at fault. A finding in the right program is
noise. A tool can't look at an exhibit whose right program raises in it, or that has nothing for it.
"""

_WHAT = """
The threaded process group and gloo run programs, and find what raises or doesn't end; threads share
one stream of random numbers, so that their values depend on luck and aren't compared. PyTorch
2.15's DistributedDataParallel ends its process by a segmentation fault under DETAIL. The tolerance
test compares what gloo's ranks return, note and end with (parameters, gradients, buffers) with one
process. The hashes are of the same values, bit for bit, with PyTorch's own arithmetic, whose sums
depend on the order. LocalTensor runs all ranks at once, and its values are compared by the same
tolerance; what a rank takes of a list or tensor is written with its rank_map. It can't look at
programs that branch on their rank, or of which it computes other values than gloo's ranks. Where
ranks have pieces, all are given simmesh's search for the layout. spmd_types sees programs without
annotations, which is not what it is made for, and judges rules by its rulecheck. Simulated streams
have no counterpart in the others, which need a device for those programs.
"""

_NOISE = """
Right programs that are drawn, written by `bench/peers/museum_noise.py`: a model, a layout of 2 to 4
ranks, a wrapper, an optimizer, a loss and a schedule of the ranks for each. All run under
`same_as_one_device`, and some also under the other checks. A finding is a false alarm. Where a
program's bits differ by rounding, as a division by three does, the report has to say so.
"""


def page(
    rows: dict[str, Row], cards: Sequence[Card], of: int, noise: Sequence[museum_noise.Verdict]
) -> str:
    """The page of the docs; the exhibits are some of ``of``, and ``noise`` is of other programs."""
    missed = [name for name in rows[OURS].tried if name not in rows[OURS].found]
    how, what, drawn = (
        textwrap.fill(" ".join(text.format(of=of).split()), 130) for text in (_HOW, _WHAT, _NOISE)
    )
    lines = ["# The museum's score", "[All halls](README.md)", "", how, "", *table(rows, cards)]
    lines += ["", what, "", "## Lost to a rival", *lost(rows), "", "## Not found by simmesh"]
    lines += [f"- {name}" for name in missed] or ["None."]
    if noise:
        lines += ["", "## Noise in other right programs", drawn, "", *museum_noise.told(noise)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of an exhibit or a hall")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th exhibit")
    parser.add_argument(
        "--results", type=Path, default=Path("build/museum_scores.json"), metavar="FILE"
    )
    parser.add_argument("--runs", nargs="*", default=list(TOOLS), choices=list(TOOLS))
    parser.add_argument("--again", action="append", default=[], choices=(OURS, *NAMES))
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page of the docs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    every = chosen(options.names)
    cards = every[:: options.every]
    results = Results(options.results, _versions())
    for tool in options.again:
        results.forget(tool)
    rows = compare(cards, results, options.runs)
    print("\n".join([*table(rows, cards), "", "Lost to a rival:", *lost(rows)]))
    if options.page:
        noise = museum_noise.kept(museum_noise.RESULTS)
        options.page.write_text(page(rows, cards, len(every), noise), encoding="utf-8")


if __name__ == "__main__":
    main()
