"""Runs exhibits, and says what was found in them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from simmesh.museum.collection import Card


@dataclass(frozen=True)
class Score:
    """The result of an exhibit: the finding in the wrong program, that in the right one (both empty
    where there is none), whether the first names what is at fault, and the seconds that both took.
    """

    name: str
    hall: str
    finding: str
    noise: str
    named: bool
    seconds: float

    @property
    def ok(self) -> bool:
        """True if the bug was found, and nothing in the right program."""
        return bool(self.finding) and not self.noise

    @property
    def line(self) -> str:
        """The score in a line."""
        words = "found" if self.finding else "MISSED"
        if self.finding and not self.named:
            words += ", NOT NAMED"
        if self.noise:
            words += ", NOISE"
        return f"{words} {self.hall}/{self.name} ({self.seconds:.1f} s)"


def score(card: Card) -> Score:
    """Runs an exhibit's programs."""
    exhibit = card.load()
    began = time.perf_counter()
    finding = exhibit.check.find(exhibit.wrong) or ""
    noise = exhibit.check.find(exhibit.right) or ""
    seconds = time.perf_counter() - began
    return Score(card.name, card.hall, finding, noise, names(finding, card), seconds)


def names(finding: str, card: Card) -> bool:
    """True if a finding names what is at fault. Values that differ because of the first one don't
    count.
    """
    told = [line for line in finding.splitlines() if not line.strip().startswith("after it, ")]
    text = "\n".join(told)
    places = [f"{card.name}.py:{number}" for number in card.lines_at_fault]
    return card.at_fault in text or any(_has_place(text, place) for place in places)


def _has_place(text: str, place: str) -> bool:
    rest = text.split(place)[1:]
    return any(not each[:1].isdigit() for each in rest)


def scores(cards: Sequence[Card], jobs: int = 1) -> Iterator[Score]:
    """The scores of exhibits, in their order. Several jobs are as many processes."""
    if jobs == 1 or len(cards) < 2:
        yield from map(score, cards)
        return
    parts = [cards[job::jobs] for job in range(jobs) if cards[job::jobs]]
    command = [sys.executable, "-m", "simmesh", "museum", "run", "--json"]
    running = [
        subprocess.Popen(
            [*command, *(card.name for card in part)], stdout=subprocess.PIPE, text=True
        )
        for part in parts
    ]
    found = {}
    for process in running:
        output = process.communicate()[0]
        for each in json.loads(output)["exhibits"]:
            found[each["name"]] = Score(**each)
    for card in cards:
        yield found[card.name]


def as_json(found: Sequence[Score]) -> str:
    """The scores as a JSON object."""
    return json.dumps({"exhibits": [asdict(each) for each in found], **totals(found)})


def totals(found: Sequence[Score]) -> dict[str, float]:
    """Counts over all exhibits."""
    return {
        "total": len(found),
        "found": sum(bool(each.finding) for each in found),
        "noisy": sum(bool(each.noise) for each in found),
        "named": sum(each.named for each in found),
        "seconds": round(sum(each.seconds for each in found), 1),
    }
