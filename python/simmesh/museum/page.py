"""The pages of the museum: an index, and a page for each hall."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from simmesh.museum import checks
from simmesh.museum.collection import HALLS, Card, cards
from simmesh.museum.score import excerpt, scores

_INDEX = """\
# The museum of silent bugs
Each exhibit is a bug that a project has published: what its program meant to do, what went wrong,
and how it is seen. Beside the story stands the smallest program that has the bug, written anew, and
the same program without it. No exhibit has a check of its own: each bug is found by what any user
can ask of any program.

```text
simmesh museum                      lists the exhibits
simmesh museum show NAME            tells one
simmesh museum run [NAME|HALL]      runs wrong and right programs: what is found and named?
```

`simmesh museum run` ends with status 0 if every bug is found and no right program has a finding.
It takes `--jobs N`, `--json` and `--quiet`. With `--seed N` all programs have other data and
parameters, and with `--shard I/N` it runs one of several [shards](../shards.md). [The museum's
score](scores.md) says what other tools find in the same exhibits.

| check | is | expects |
| --- | --- | --- |
"""

_CHECKS = (
    "SameAsOneDevice",
    "Replicas",
    "Resumed",
    "SameCheckpoint",
    "Schedules",
    "Accesses",
    "Rule",
    "Typed",
    "Counts",
)

_WIDTH = 140
_COMMAND = "run: simmesh museum run "


def pages(findings: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The text of each page by its file's name. ``findings`` has the first lines of each exhibit's
    finding.
    """
    halls = {hall: [card for card in cards() if card.hall == hall] for hall in HALLS}
    filled = {hall: exhibits for hall, exhibits in halls.items() if exhibits}
    found = {f"{hall}.md": _hall(hall, exhibits, findings) for hall, exhibits in filled.items()}
    return {"README.md": _index(filled), **found}


def write(folder: Path, jobs: int = 1) -> int:
    """Runs the exhibits, writes the pages into a folder and returns the number of exhibits."""
    found = {each.name: excerpt(each.finding) for each in scores(cards(), jobs)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(found).items():
        (folder / name).write_text(text, encoding="utf-8")
    return len(found)


def findings_in(folder: Path) -> dict[str, list[str]]:
    """The findings that the pages in a folder show."""
    text = "".join(each.read_text(encoding="utf-8") for each in sorted(folder.glob("*.md")))
    blocks = re.findall(rf"{_COMMAND}(\w+)\n(.*?)\n?```", text, re.DOTALL)
    return {name: lines.splitlines() for name, lines in blocks}


def _index(halls: dict[str, list[Card]]) -> str:
    lines = [_INDEX + "\n".join(_row_of_check(name) for name in _CHECKS)]
    lines += ["", "| hall | exhibits |", "| --- | --- |"]
    for hall, exhibits in halls.items():
        lines.append(f"| [{HALLS[hall]}]({hall}.md) | {len(exhibits)} |")
    for hall, exhibits in halls.items():
        lines += ["", f"## {HALLS[hall]}", *_table(hall, exhibits)]
    return "\n".join(lines) + "\n"


def _row_of_check(name: str) -> str:
    """The first sentence of a check's docstring, which begins with the call that it is."""
    told = " ".join(str(getattr(checks, name).__doc__).split()).partition(". ")[0].rstrip(".")
    call, _, expects = told.replace("``", "`").partition("`: ")
    return f"| `{name}` | {call}` | {expects} |"


def _table(hall: str, exhibits: Sequence[Card]) -> list[str]:
    rows = [
        f"| [{card.title}]({hall}.md#{_anchor(card.title)}) | {card.source}, {card.date} | "
        f"`{card.check.partition('(')[0]}` |"
        for card in exhibits
    ]
    return ["| exhibit | published as | seen by |", "| --- | --- | --- |", *rows]


def _hall(hall: str, exhibits: Sequence[Card], findings: Mapping[str, Sequence[str]]) -> str:
    lines = [f"# {HALLS[hall]}", "[All halls](README.md)"]
    for card in exhibits:
        lines += ["", f"## {card.title}", f"{card.source}, {card.date}", "", _prose(card.story)]
        lines += ["", "```python", *_code(card), "```", "", "```text"]
        lines += [f"check: {card.check}", f"{_COMMAND}{card.name}"]
        lines += [*(line.rstrip() for line in findings.get(card.name, ())), "```"]
    return "\n".join(lines) + "\n"


def _code(card: Card) -> list[str]:
    """The program without the line that every file has."""
    lines = card.program.splitlines()
    while lines and lines[0] in ("", "from __future__ import annotations"):
        del lines[0]
    return lines


def _prose(story: str) -> str:
    """The story in lines of the pages' width."""
    paragraphs = [" ".join(each.split()) for each in story.split("\n\n")]
    return "\n\n".join(textwrap.fill(each, _WIDTH) for each in paragraphs)


def _anchor(heading: str) -> str:
    kept = [letter for letter in heading.lower() if letter.isalnum() or letter in " -_"]
    return "".join(kept).replace(" ", "-")
