"""The page of the wrong rules: ``python -m simmesh.rules.pytorch --page``."""

from __future__ import annotations

from itertools import groupby

from simmesh.rules.pytorch.recorded import recorded, releases
from simmesh.rules.pytorch.survey import Finding

_INTRODUCTION = """\
# Wrong sharding rules of PyTorch
`python -m simmesh.rules.pytorch` judges the sharding rules that PyTorch registers, and those that
it derives from decompositions, by values ([rules.md](rules.md#rules-of-pytorch)). Here are the rows
that are wrong in its releases, each with a counter-example: the first one found. The page is
written by `python -m simmesh.rules.pytorch --page > docs/wrong_pytorch_rules.md` from the recorded
lists of the package.

A row has the placements of the tensors among the arguments and of the outputs, one a mesh dim. A
call has the shapes of tensors; they are float64 where nothing else is said. The last column says
what PyTorch itself does on ranks with distributed tensors of these placements: it returns wrong
values without a word, or raises.
"""


def page() -> str:
    """The text of docs/wrong_pytorch_rules.md."""
    return "".join([_INTRODUCTION, *map(_section, reversed(releases()))])


def _section(release: str) -> str:
    findings = sorted(recorded(release), key=lambda each: (each.op, each.row))
    silent = [each for each in findings if not _is_loud(each)]
    loud = [each for each in findings if _is_loud(each)]
    parts = [f"\n## PyTorch {release}\n"]
    parts.append(_table("Wrong values without a word", silent))
    parts.append(_table("Errors on some ranks, or of the result", loud))
    return "".join(parts)


def _is_loud(finding: Finding) -> bool:
    return finding.on_ranks.startswith("raises")


def _table(title: str, findings: list[Finding]) -> str:
    if not findings:
        return ""
    lines = [f"### {title}\n", "| operator | row | mesh | call | counter-example | on ranks |\n"]
    lines.append("| --- | --- | --- | --- | --- | --- |\n")
    for op, rows in groupby(findings, key=lambda each: each.op):
        for each in rows:
            mesh = "x".join(map(str, each.mesh))
            outcome = each.on_ranks.split(" ")[0] if _is_loud(each) else each.on_ranks
            lines.append(
                f"| `{op.removeprefix('aten.')}` | `{each.row}` | {mesh} | `{each.call}` | "
                f"{_escaped(each.example)} | {outcome} |\n"
            )
    return "".join(lines)


def _escaped(text: str) -> str:
    """Text for a cell of a table."""
    for mark in ("|", "<", "*", "_"):
        text = text.replace(mark, f"\\{mark}")
    return text
