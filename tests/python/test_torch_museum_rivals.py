"""The museum's score beside other tools: what is kept of a run, and what is counted as found."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from repository import ROOT

sys.path.insert(0, str(ROOT / "bench" / "peers"))

import museum
import museum_noise
from museum_idle import Activity, ends
from museum_results import Finding, Results
from simmesh.museum import collection
from swarm_programs import FAULTY, program_of

CARD = collection.cards()[0]
NOTHING = {"wrong": Finding(""), "right": Finding("")}


def test_two_runs_keep_both_results(tmp_path: Path) -> None:
    """Would fail if a run lost what another one has found since it began."""
    first, second = (Results(tmp_path / "results.json", "1") for _ in range(2))
    first.put("threads", "one", "text", NOTHING)
    second.put("gloo", "one", "text", {**NOTHING, "wrong": Finding("raises", True)})
    kept = Results(tmp_path / "results.json", "1")
    assert kept.get("threads", "one", "text") == NOTHING
    assert kept.get("gloo", "one", "text") == {**NOTHING, "wrong": Finding("raises", True)}
    assert kept.get("gloo", "one", "other text") is None
    assert Results(tmp_path / "results.json", "2").get("gloo", "one", "text") is None


def test_values_that_no_rank_has_are_no_noise(tmp_path: Path) -> None:
    """Would fail if LocalTensor had a false alarm in a program that it can't run as ranks do, or
    one less where the values on gloo have the same finding.
    """
    results = Results(tmp_path / "results.json", "1")
    differs = {**NOTHING, "right": Finding("differs from one process's")}
    results.put("local_tensor", CARD.name, CARD.text, differs)
    for on_gloo, noise, unable in ((NOTHING, [], [CARD.name]), (differs, [CARD.name], [])):
        results.put("tolerance 1e-4", CARD.name, CARD.text, on_gloo)
        row = museum.compare([CARD], results, [])["local_tensor"]
        assert (row.tried, row.noise, row.unable) == ([CARD.name], noise, unable)


def test_an_exhibit_that_a_rival_wins_is_told(tmp_path: Path) -> None:
    """Would fail if the page left out what simmesh misses, or took what it has not run for that."""
    pytest.importorskip("spmd_types")  # the page names its version
    results = Results(tmp_path / "results.json", "1")
    found = {**NOTHING, "wrong": Finding(CARD.at_fault)}
    results.put("threads", CARD.name, CARD.text, found)
    rows = museum.compare([CARD], results, [])
    assert f"| {CARD.name} | found by threaded process group |" in museum.lost(rows)
    assert "None." in museum.page(rows, [CARD], 1, [])
    results.put(museum.OURS, CARD.name, CARD.text, NOTHING)
    rows = museum.compare([CARD], results, [])
    assert f"- {CARD.name}" in museum.page(rows, [CARD], 1, [])


def test_a_thread_that_computes_is_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would fail if a rank that works for long counted as one that waits in vain, or the other way
    round.
    """
    monkeypatch.setattr(Activity, "EACH", 0.01)
    monkeypatch.setattr(Activity, "LAST", 0.3)
    until = time.monotonic() + 1.0
    worker = threading.Thread(target=lambda: [None for _ in iter(lambda: time.monotonic() < until,
                                                                False)])  # fmt: skip
    worker.start()
    assert ends(lambda: not worker.is_alive())
    assert not ends(lambda: False)


def test_a_fault_in_a_drawn_program_is_a_finding(tmp_path: Path) -> None:
    """Would fail if the run over right programs could find nothing."""
    seed = next(
        seed for seed in range(1, 10_000, 4) if seed % FAULTY == 0 and program_of(seed).fault
    )
    verdict = museum_noise.judge(program_of(seed), tmp_path)
    assert "DiffersFromOneDevice" in verdict.found["same_as_one_device"]
    told = "\n".join(museum_noise.told([verdict]))
    assert "| `same_as_one_device` | 1 | 0 | 1 |" in told


def test_a_program_that_ends_its_process_costs_no_other(tmp_path: Path) -> None:
    """Would fail if a crash lost verdicts, or were no finding."""
    programs = [program_of(seed) for seed in (1, 2)]
    path = tmp_path / "noise.jsonl"
    assert museum_noise.without_verdict(programs, path, -11) == programs[1:]
    kept = museum_noise.kept(path, 1, 2)
    assert [each.seed for each in kept] == [1]
    assert kept[0].found == {"same_as_one_device": "the process ended with status -11"}
