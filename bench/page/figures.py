"""The figures that the docs claim: what is measured, beside which peer, and which limit holds.

``figures.toml`` lists them, section by section. A measurement has the name ``SOURCE: NAME``: the
source is a program of benchmarks, or a script that prints one JSON object a line. A figure with
``each`` stands for one figure for each of its entries, which replace ``{}`` in its texts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import tomllib

#: How a ratio is formed: the peer's time over ours, ours over the peer's, or ours of the peer's.
RATIOS = ("faster", "longer", "rate")


@dataclass(frozen=True)
class Figure:
    """A row of the page. ``least`` and ``most`` bound the ratio, ``value_least`` and
    ``value_most`` our own value. ``possible`` names the time of the work that can't be left out.
    ``why`` says what stands in the way of a limit that is known to be missed.
    """

    title: str
    ours: str
    unit: str
    peer: str = ""
    beside: str = ""
    ratio: str = "faster"
    least: float | None = None
    most: float | None = None
    value_least: float | None = None
    value_most: float | None = None
    possible: str = ""
    why: str = ""

    def measurements(self) -> list[str]:
        """The names of all that has to be measured for it."""
        return [name for name in (self.ours, self.peer, self.possible) if name]


@dataclass(frozen=True)
class Section:
    """A table of the page."""

    title: str
    text: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Peer:
    """A program or library that figures stand beside. ``version`` says where its version is:
    ``pip NAME``, ``deb NAME``, or nothing.
    """

    title: str
    version: str = ""


@dataclass(frozen=True)
class Quote:
    """A text of a page in which ``{NAME|FORMAT}`` stands for a measured value."""

    page: str
    text: str


@dataclass(frozen=True)
class Book:
    """All of ``figures.toml``. ``needs`` has the command or module that a script can't do without,
    and ``settings`` the texts of pages with times that aren't measured, such as timeouts.
    """

    sections: tuple[Section, ...]
    peers: Mapping[str, Peer]
    needs: Mapping[str, str] = field(default_factory=dict)
    quotes: tuple[Quote, ...] = ()
    settings: tuple[Quote, ...] = ()

    def figures(self) -> list[Figure]:
        """The figures of all sections."""
        return [figure for section in self.sections for figure in section.figures]


def read(path: Path) -> Book:
    """Reads the list. Ends the program with an error if the list contradicts itself."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    sections = []
    for entry in table.get("section", []):
        figures = [figure for row in entry.get("figure", []) for figure in _figures(path, row)]
        sections.append(Section(entry["title"], entry.get("text", ""), tuple(figures)))
    peers = {name: Peer(**entry) for name, entry in table.get("peer", {}).items()}
    quotes = tuple(Quote(**entry) for entry in table.get("quote", []))
    settings = tuple(Quote(**entry) for entry in table.get("setting", []))
    book = Book(tuple(sections), peers, table.get("needs", {}), quotes, settings)
    seen: set[str] = set()
    for figure in book.figures():
        if figure.ours in seen:
            _refuse(path, f"expected each figure once, got '{figure.ours}' twice")
        seen.add(figure.ours)
        if figure.beside and figure.beside not in peers:
            listed = ", ".join(peers)
            _refuse(path, f"'{figure.ours}': expected a peer of {listed}, got '{figure.beside}'")
    return book


def _figures(path: Path, row: dict[str, Any]) -> list[Figure]:
    """One figure for each entry of ``each``; a limit may be a list with one for each, too."""
    known = {each.name for each in fields(Figure)}
    each = row.pop("each", [""])
    unknown = sorted(set(row) - known)
    if unknown or row.get("ratio", "faster") not in RATIOS:
        wrong = unknown or [row["ratio"]]
        _refuse(path, f"'{row.get('ours')}': expected keys of a figure, got {', '.join(wrong)}")
    figures = []
    for place, entry in enumerate(each):
        values: dict[str, Any] = {}
        for key, value in row.items():
            chosen = value[place] if isinstance(value, list) else value
            is_text = isinstance(chosen, str)
            values[key] = chosen.replace("{}", str(entry)) if is_text else chosen
        figures.append(Figure(**values))
    return figures


def _refuse(path: Path, message: str) -> None:
    print(f"bench: {path}: {message}", file=sys.stderr)
    sys.exit(2)
