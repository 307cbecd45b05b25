"""The parts of a report about exhibits: what was found in each program, beside its story."""

from __future__ import annotations

from collections.abc import Sequence

from simmesh.museum.collection import HALLS, Card
from simmesh.museum.score import Score
from simmesh.report import (
    Part,
    Section,
    checks_section,
    failure_section,
    fault_section,
    text_section,
)


def parts(cards: Sequence[Card], found: Sequence[Score]) -> list[Part]:
    """A part for each exhibit that was run."""
    by_name = {each.name: each for each in found}
    return [_part(card, by_name[card.name]) for card in cards if card.name in by_name]


def _part(card: Card, score: Score) -> Part:
    finding, noise = score.finding.partition("\n")[0], score.noise.partition("\n")[0]
    checks = checks_section(
        [
            ("bug found", bool(score.finding), "a finding", finding or "none"),
            ("fault named", score.named, "the name of what is at fault", "so it is" if score.named
             else "another one"),
            ("right program", not score.noise, "no finding", noise or "none"),
        ],
        f"simmesh museum run {card.name}",
    )  # fmt: skip
    sections: list[Section | None] = [checks, fault_section(score.finding)]
    if score.finding:
        sections.append(failure_section("The finding", score.finding))
    if score.noise:
        sections.append(failure_section("In the right program", score.noise))
    sections.append(text_section("The story", f"{card.source}, {card.date}\n\n{card.story}"))
    sections.append(text_section("The programs", card.program))
    return Part(
        f"{card.hall}/{card.name}", score.ok, card.title, [("hall", HALLS[card.hall])],
        [each for each in sections if each is not None],
    )  # fmt: skip
