"""Shards of the museum: merged they print what one run prints, and nothing else is merged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from simmesh.museum import collection, command, score, shards
from simmesh.museum.collection import Card
from simmesh.museum.score import Score

NAMES = [card.name for card in collection.chosen(["loaders"])[:3]]
OUTPUTS: tuple[list[str], ...] = ([], ["--json"], ["--quiet"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the present one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores without running the exhibits: the first bug is missed, the second program has a
    finding where it is right, the third isn't named.
    """

    def scores(cards: Sequence[Card], jobs: int = 1, seed: int = 0) -> Iterator[Score]:
        for card in cards:
            number = NAMES.index(card.name)
            finding = f"“{card.name}” differs\n  0.1 + {seed}" if number else ""
            noise = "[x] expected a, got b\nin the right one" if number == 1 else ""
            yield Score(card.name, card.hall, finding, noise, number == 1, 0.1 + number)

    monkeypatch.setattr(score, "scores", scores)


def run_shards(count: int, *arguments: str) -> list[str]:
    """Runs all shards, and returns the names of their files, the last shard first."""
    for number in range(1, count + 1):
        assert command.run(["run", *NAMES, *arguments, "--shard", f"{number}/{count}"]) in (0, 1)
    return [f"museum.{number}-of-{count}.jsonl" for number in range(count, 0, -1)]


def _without_times(text: str) -> str:
    return re.sub(r"[\d.]+ s\b|(?<=\"seconds\": )[\d.]+|(?<=\"longest\": )[\d.]+", "TIME", text)


def test_merged_shards_print_what_one_run_prints(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would fail if an exhibit's result lost anything on its way through a file."""
    files = run_shards(2)
    for output in OUTPUTS:
        capsys.readouterr()
        assert command.run(["run", *NAMES, *output]) == 0
        whole = capsys.readouterr().out
        assert shards.merge([*files, *output]) == 0
        assert _without_times(capsys.readouterr().out) == _without_times(whole)


def test_merged_shards_have_all_bytes_and_the_status(
    folder: Path, told: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Would fail if a time were rounded, an order changed, or a missed bug forgotten."""
    for count in (1, 2, 5):
        files = run_shards(count, "--seed", "3")
        for output in OUTPUTS:
            capsys.readouterr()
            one, two = folder / "one.jsonl", folder / "two.jsonl"
            asked = ["--seed", "3", *output, "--findings", str(one)]
            assert command.run(["run", *NAMES, *asked]) == 1
            whole = capsys.readouterr().out
            assert shards.merge([*files, *output, "--findings", str(two)]) == 1
            assert capsys.readouterr().out == whole
            assert one.read_bytes() == two.read_bytes()


def test_what_is_not_all_shards_of_one_run_is_refused(
    folder: Path, told: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if a part of the museum were taken for all of it."""
    third, second, first = run_shards(3)

    def refusal(*files: str) -> str:
        capsys.readouterr()
        assert shards.merge(files) == 2
        printed = capsys.readouterr()
        assert not printed.out
        return printed.err

    assert "expected the files of 3 shards, got none of 2/3" in refusal(first, third)
    assert "expected another shard than" in refusal(first, second, third, first)
    other = ["run", *NAMES, "--shard", "2/3", "--results", "other"]
    assert command.run([*other, "--seed", "1"]) == 1
    assert "expected the arguments of" in refusal(first, "other", third)
    monkeypatch.setattr(torch, "__version__", "2.0.1")
    assert command.run(other) == 1
    assert 'got {"pytorch":"2.0.1"}' in refusal(first, "other", third)
    text = (folder / second).read_text(encoding="utf-8")
    for there, instead, told_of in [
        ('"revision":"', '"revision":"x', "expected the revision of simmesh of"),
        ('"inputs":"', '"inputs":"x', "other:1: expected a hash of 16 digits, got x"),
        ('"command":"museum"', '"command":"verify"', "expected the command of"),
        ('"named":', '"named":0,"x":', "expected a result with a value under 'named', got "),
        ('"job":1', '"job":2', "other:2: expected a job of shard 2/3"),
        ('"named":', "", "other:2: expected a line of JSON"),
    ]:
        (folder / "other").write_text(text.replace(there, instead, 1), encoding="utf-8")
        assert told_of in refusal(first, "other", third)
    assert "expected a file of results, got 'none'" in refusal(first, "none")


def test_changed_exhibits_are_other_inputs(
    folder: Path, told: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if shards of two versions of an exhibit were merged."""
    second, first = run_shards(2)
    cards = collection.chosen(NAMES)
    changed = folder / f"{cards[0].name}.py"
    changed.write_text(cards[0].text + "\n", encoding="utf-8")
    cards[0] = Card(cards[0].hall, cards[0].name, changed)
    monkeypatch.setattr(command, "chosen", lambda names: cards)
    assert command.run(["run", *NAMES, "--shard", "2/2"]) == 1
    assert shards.merge([first, second]) == 2
    assert "expected the hash of the inputs of" in capsys.readouterr().err


def test_a_shard_is_checked_before_the_work(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if exhibits ran and their results couldn't be kept."""
    monkeypatch.setattr(score, "scores", lambda *_: pytest.fail("exhibits ran"))
    for arguments, message in [
        (["--shard", "3/2"], "expected a shard such as 1/8"),
        (["--results", "r"], "expected --shard with --results"),
        (["--shard", "1/2", "--results", "/none/r"], "/none/r"),
    ]:
        assert command.run(["run", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_an_interrupted_shard_writes_no_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if a part of a shard were taken for all of it."""

    def interrupted(cards: Sequence[Card], jobs: int, seed: int) -> Iterator[Score]:
        yield Score(cards[0].name, cards[0].hall, "found", "", True, 0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(score, "scores", interrupted)
    assert command.run(["run", *NAMES, "--shard", "1/2"]) == 130
    printed = capsys.readouterr()
    assert printed.out.startswith(f"found loaders/{NAMES[0]}")
    assert printed.err == "simmesh: interrupted\n"
    assert not list(folder.iterdir())


def test_a_page_is_of_the_shard(folder: Path, told: None) -> None:
    """Would fail if the page's command ran other exhibits than the page shows."""
    assert command.run(["run", *NAMES, "--shard", "2/3", "--report", "out.html"]) == 1
    text = (folder / "out.html").read_text(encoding="utf-8")
    assert f"loaders/{NAMES[1]}" in text and f"loaders/{NAMES[0]}" not in text
    assert " --shard 2/3 --report out.html" in text


def test_only_files_of_the_museum_are_merged_here(folder: Path, told: None) -> None:
    """Would fail if `simmesh merge` of other commands' shards, or of a pipe, ended here."""
    (only,) = run_shards(1)
    (folder / "other").write_text("garbage\n", encoding="utf-8")
    assert shards.is_ours(["--json", only])
    assert not shards.is_ours(["--json", "other", "none"])
