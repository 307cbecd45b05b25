"""The museum: each bug is found and named, right programs have no finding, and the pages are those
that the exhibits make.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from repository import ROOT
from simmesh.museum import collection, command, page, score
from simmesh.museum.collection import Card

CARDS = collection.cards()
FOLDER = ROOT / "docs" / "museum"
PAGES = page.findings_in(FOLDER)
SENTENCES_LEAST, SENTENCES_MOST = 4, 16


@pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.hall}-{card.name}")
def test_an_exhibit_is_found_and_named(card: Card) -> None:
    """Would fail if the bug passed, if something else were blamed, as by a text that several lines
    have, or if the right program had a finding.
    """
    found = score.score(card)
    assert found.finding
    shown = [line.rstrip() for line in score.excerpt(found.finding)]
    assert PAGES[card.name] == shown or not torch.__version__.startswith("2.15")
    assert not found.noise, found.noise
    assert found.named, found.finding
    assert card.at_fault in found.finding or len(card.lines_at_fault) == 1


@pytest.mark.parametrize("card", CARDS, ids=lambda card: f"{card.hall}-{card.name}")
def test_a_card_is_whole(card: Card) -> None:
    """Would fail for a story of a few words, or a name that any finding has."""
    story = card.story.replace("\n", " ")
    assert SENTENCES_LEAST <= story.count(". ") + 1 <= SENTENCES_MOST
    assert card.title and card.source and card.check
    assert [len(each) for each in card.date.split("-")] in ([4, 2, 2], [4, 2], [4])
    assert len(card.at_fault) > 4 and not card.at_fault.endswith((" of", " "))


def test_names_of_exhibits_differ() -> None:
    """Would fail if `simmesh museum run NAME` meant two exhibits."""
    names = [card.name for card in CARDS]
    assert len(set(names)) == len(names)
    assert len({card.title for card in CARDS}) == len(names)
    assert not set(names) & set(collection.HALLS)


def test_the_pages_are_the_exhibits() -> None:
    """Would fail if an exhibit were changed and not its page: run
    `python -m simmesh museum page docs/museum`. Other tools' scores take hours, and are written by
    a benchmark.
    """
    there = {each.name: each.read_text(encoding="utf-8") for each in FOLDER.glob("*.md")}
    assert there.pop("scores.md").startswith("# The museum's score")
    assert there == page.pages(PAGES)


def test_a_name_in_what_follows_is_not_named(tmp_path: Path) -> None:
    """Would fail if an exhibit counted as named by a value that only follows, or by another line
    whose number begins alike.
    """
    file = tmp_path / "two.py"
    file.write_text('"""Story."""\nx = 1\ny = x / 2\nEXHIBIT = Exhibit(at_fault="x / 2")\n')
    card = Card("zero", "two", file)
    assert card.lines_at_fault == [3]
    assert score.names("first: gradient, two.py:3: differs", card)
    assert not score.names("first: gradient, two.py:31: differs", card)
    assert not score.names("first: y\n  after it, these differ too: x / 2", card)


def test_the_command_lists_shows_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Would fail if the command lost an exhibit, or ended well where it had nothing to run."""
    first = CARDS[0]
    assert command.run([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{len(CARDS)} exhibits"
    assert command.run(["show", first.name]) == 0
    assert first.source in capsys.readouterr().out
    assert command.run(["run", first.name, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["found"], result["named"], result["noisy"]) == (1, 1, 0)
    assert result["exhibits"][0]["name"] == first.name
    assert command.run(["run", first.name]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 of 1 found, 1 named, 0 noisy, ")


def test_the_command_refuses_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Would fail if a misspelt name ran nothing and passed."""
    for task in ("run", "show"):
        assert command.run([task, "no_such_exhibit"]) == 2
        assert "got 'no_such_exhibit'" in capsys.readouterr().err


@pytest.mark.parametrize("seed", [1, 12345])
def test_other_data_change_no_verdict(seed: int) -> None:
    """Would fail if an exhibit were found by the numbers that its data happen to have."""
    for card in CARDS[:: len(CARDS) // 8]:
        found = score.score(card, seed)
        assert found.ok and found.named, (card.name, found.finding, found.noise)


def test_a_seed_changes_the_data() -> None:
    """Would fail if other seeds were the same data."""
    card = next(each for each in CARDS if each.name == "last_micro_batch_stays_local")
    assert score.score(card).finding != score.score(card, 1).finding


def test_several_processes_give_the_same_scores() -> None:
    """Would fail if `--jobs` lost an exhibit or changed their order."""
    some = CARDS[:2]
    alone, together = list(score.scores(some)), list(score.scores(some, jobs=2))
    assert [(each.name, each.finding, each.noise) for each in alone] == [
        (each.name, each.finding, each.noise) for each in together
    ]
