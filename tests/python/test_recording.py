"""Cases recorded from the installed PyTorch: each kind passes, and no schedule changes a byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import simmesh
from repository import CASES
from simmesh import recording
from simmesh.recording import cases, formula
from simmesh.recording_command import run

SEEDS = range(20)
KINDS = [
    "local_shape",
    "redistribute",
    "op",
    "op_grad",
    "fsdp_events",
    "fsdp_layout",
    "train_exact",
    "train",
    "in_place",
]
MESHES = [(2,), (2, 3), (2, 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_cases_pass(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    for mesh in MESHES[1:] if kind not in ("fsdp_layout", "fsdp_events") else MESHES[:1]:
        found = recording.random_cases([kind], seeds=SEEDS, mesh=mesh, out=path)
        result = simmesh.verify(path)
        assert result.failed == 0, [
            (failure.id, failure.mismatches[:3]) for failure in result.failures[:5]
        ]
        assert result.passed == len(found) == len(SEEDS)
        assert {case["source"] for case in found} == {recording.source()}


@pytest.mark.parametrize("kind", KINDS)
def test_no_schedule_changes_a_byte(kind: str, tmp_path: Path) -> None:
    files = []
    for schedule in ("fifo", "seeded:7", "pct:3"):
        path = tmp_path / f"{schedule[:3]}.jsonl"
        settings = recording.Settings(schedule=schedule)
        recording.random_cases([kind], seeds=range(4), mesh=(2, 2), out=path, settings=settings)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("kind", ["redistribute", "op", "local_shape", "train_exact"])
def test_mutated_cases_fail(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "mutated.jsonl"
    (case,) = recording.random_cases([kind], seeds=[3], mesh=(2, 2))
    if kind == "redistribute":
        case["after"][1]["hash"] = "0" * 16
    elif kind == "op":
        case["outputs"][0]["full_hash"] = "0" * 16
    elif kind == "local_shape":
        case["local"][0]["offset"][0] += 1
    else:
        case["losses"][0] += 1
    cases.write([case], path)
    assert simmesh.verify(path).failed == 1


RECORDED = [
    ("fsdp/events.jsonl", 9, "pytorch 2.13"),
    ("fsdp/layout.jsonl", 7, "pytorch 2.13"),
    ("fsdp/train_exact.jsonl", 9, "pytorch 2.13"),
    ("pytorch/redistribute.jsonl", 60, "pytorch 2.13"),
    ("pytorch/local_shape.jsonl", 20, "pytorch 2.13"),
    ("fsdp_2_15/events.jsonl", 9, "pytorch 2.15"),
    ("fsdp_2_15/layout.jsonl", 7, "pytorch 2.15"),
    ("pytorch_autograd/in_place.jsonl", 15, "pytorch 2.15"),
    ("pytorch_ops/op.jsonl", 40, "pytorch 2.15"),
    ("pytorch_ops/op_grad.jsonl", 15, "pytorch 2.15"),
]


@pytest.mark.parametrize(("file", "every", "source"), RECORDED)
def test_answers_as_processes_did(file: str, every: int, source: str) -> None:
    if not recording.source().startswith(source):
        pytest.skip(f"the cases are of {source}, PyTorch is {torch.__version__}")
    # Functions that the recorder of a case brought along can't be asked.
    chosen = [
        case
        for case in list(cases.read(CASES / file))[::every]
        if not case.get("torch", "").startswith("recorder.")
    ]
    assert len(chosen) > 5
    for case in chosen:
        # simmesh does not compare these fields, or they say how an answer was checked.
        unasked = ["oracle", "used", "steps", "aten"] if "op" in case else ["oracle"]
        # That recorder counted their gathers twice: docs/differences.md.
        unasked += ["comm"] if case.get("op") in ("argmax", "argmin") else []
        again = recording.answered(case)
        for name in unasked:
            case.pop(name, None), again.pop(name, None)
        found = recording.differences(case, again)
        assert [line for line in found if ": nothing, then" not in line] == [], case["id"]


def test_own_cases_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    recording.random_cases(["dtensor", "fsdp"], seeds=[1, 2], mesh=(2,), out=first)
    recording.again(first, out=second)
    assert first.read_bytes() == second.read_bytes()


def test_differences_between_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would fail if another answer, or a field that only one version has, were not named."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    found = recording.random_cases(["redistribute"], seeds=range(3), mesh=(2, 2), out=first)
    assert run(["--again", str(first), "--out", str(second)]) == 0
    assert capsys.readouterr().out.endswith(f"3 recorded, 0 differ from {first}\n")
    other = json.loads(json.dumps(found[1]))
    other |= {"source": "pytorch 1.0", "from": ["R", "R"], "extra": 1}
    assert recording.differences(found[1], other) == [
        *(
            f"from[{i}]: {word!r}, then 'R'"
            for i, word in enumerate(found[1]["from"])
            if word != "R"
        ),
        "extra: nothing, then 1",
    ]
    assert recording.differences(other, other) == []
    assert recording.differences({"a": [1]}, {"a": [1, 2]}) == ["a: [1], then [1, 2]"]
    assert recording.differences({"a": 1}, {"a": True}) == ["a: 1, then True"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "uint8"])
@pytest.mark.parametrize("rule", ["wide", "small", "unit", "positive"])
def test_formulas_are_those_of_simmesh(rule: str, dtype: str) -> None:
    scale: dict[str, Any] = {}
    if rule == "unit":
        if "float" not in dtype:
            return
        scale = {"scale": 0.3}
    ours = formula.values([50], {"rule": rule, "seed": 9, **scale}, dtype)
    theirs = simmesh.formula([50], dtype=dtype, rule=rule, seed=9, **scale)
    assert ours.double().tolist() == theirs.to("float64").tolist()


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"expected one of .*fsdp.*, got 'fsdq'"):
        recording.random_cases(["fsdq"])
    with pytest.raises(ValueError, match="one or two dims"):
        recording.random_cases(["fsdp"], seeds=[0], mesh=(2, 2, 2))
    with pytest.raises(ValueError, match="expected an input_shape"):
        recording.fsdp(lambda: nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(ValueError, match="fsdp_layout"):
        recording.fsdp(
            lambda: nn.Sequential(nn.Conv1d(2, 2, 1)), input_shape=[2, 2, 2], kinds=["fsdp_events"]
        )


def test_any_model_has_a_layout(tmp_path: Path) -> None:
    path = tmp_path / "layout.jsonl"
    recording.fsdp(
        lambda: nn.Sequential(nn.Conv1d(3, 5, 2)),
        mesh=(2,),
        wrap=["0"],
        kinds=["fsdp_layout"],
        out=path,
    )
    assert simmesh.verify(path).passed == 1


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m simmesh record` with arguments."""
    words = [sys.executable, "-m", "simmesh", "record", *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_command(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    ran = command("--kind", "redistribute,op", "--count", "3", "--mesh", "2x2", "--out", str(path))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("6 recorded\n")
    assert {json.loads(line)["kind"] for line in path.read_text().splitlines()} == {
        "redistribute",
        "op",
    }
    refused = command("--mesh", "2y", "--out", str(path))
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "simmesh: [recording_command] --mesh: expected sizes such as 2x4, got '2y'\n"
    )
