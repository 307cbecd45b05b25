"""``simmesh validate --python FILE`` judges the rules of a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401

RULES = """
import pytest
import torch
import torch.distributed as dist

import simmesh

@simmesh.rule("S(0), R -> S(0)", inputs=["mk", "kn"])
@simmesh.rule("S(1), S(0) -> P", inputs=["mk", "kn"])
def product(x, w):
    return x @ w

@simmesh.rule("S(0) -> R", ["mn"], backward=False)
def total(x, group):
    x = x.sum(0)
    dist.all_reduce(x, group=group)
    return x

@pytest.mark.simmesh_rule("mk, kn -> mn")
def test_matmul():
    return torch.matmul

check = simmesh.rulecheck(torch.relu, "S(0) -> S(0)", ["mn"])
"""

WRONG = """
import torch
import simmesh

@simmesh.rule("S(1) -> S(1)", inputs=["mn"])
def softmax(x):
    return x.softmax(1)
"""


def validate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs ``simmesh validate`` in a folder."""
    code = "import sys; from simmesh.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "validate", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "right.py").write_text(RULES)
    (tmp_path / "wrong.py").write_text(WRONG)
    return tmp_path


def test_every_rule_of_a_file_is_judged(folder: Path) -> None:
    """Would fail if a mark, a marker or a verdict of a file were left out."""
    ran = validate(folder, "--python", "right.py")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[-1] == "5 rules, 0 wrong, 0 not judged"
    named = [line for line in lines if line.startswith("right.py:")]
    assert [line.split(" rule of ")[1] for line in named] == [
        "product: confirmed", "product: confirmed", "total: confirmed", "matmul: confirmed",
        "relu: confirmed",
    ]  # fmt: skip
    quiet = validate(folder, "--python=right.py", "--quiet")
    assert quiet.stdout == "5 rules, 0 wrong, 0 not judged\n"


def test_a_wrong_rule_ends_with_status_1(folder: Path) -> None:
    ran = validate(folder, "--python", "right.py", "--python", "wrong.py")
    assert ran.returncode == 1
    assert "wrong.py:5 'S(1) -> S(1)': rule of softmax: REFUTED" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "6 rules, 1 wrong, 0 not judged"


def test_json_has_counter_examples(folder: Path) -> None:
    ran = validate(folder, "--python", "wrong.py", "--json")
    assert ran.returncode == 1
    found = json.loads(ran.stdout)
    assert (found["wrong"], found["not_judged"]) == (1, 0)
    (rule,) = found["rules"]
    assert (rule["name"], rule["line"], rule["verdict"]) == ("softmax", 5, "wrong")
    example = rule["counter_examples"][0]
    assert (example["rows"], example["mesh"]) == (["S(1) -> S(1)"], [2])
    assert example["inputs"] == [[3, 2]] and example["index"] == [0, 0]
    assert example["expected"] != example["got"]


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("x = 1", 2, "expected functions with @simmesh.rule"),
        ("import no_such_module", 2, "expected its modules and PyTorch, got No module named"),
        ("raise KeyError('gone')", 2, "KeyError: 'gone'"),
        ("import simmesh\n@simmesh.rule('S(0)')\ndef f(x): return x", 1, "NOT JUDGED"),
        (
            "import pytest\n@pytest.mark.simmesh_rule('S(0) -> S(0)')\ndef test_x(tmp_path): ...",
            1,
            "expected a test without arguments, got tmp_path",
        ),
    ],
)
def test_what_cannot_be_judged_is_said(
    tmp_path: Path, text: str, status: int, message: str
) -> None:
    (tmp_path / "rules.py").write_text(text)
    ran = validate(tmp_path, "--python", "rules.py")
    assert ran.returncode == status
    assert message in ran.stdout + ran.stderr


def test_files_that_are_not_there_and_builtins_are_refused(tmp_path: Path) -> None:
    ran = validate(tmp_path, "--python", "none.py")
    assert ran.returncode == 2
    assert "expected a file of Python, got 'none.py'" in ran.stderr
    (tmp_path / "rules.py").write_text(
        "import simmesh, torch\nsimmesh.rule('S(0) -> S(0)')(torch.relu)"
    )
    ran = validate(tmp_path, "--python", "rules.py")
    assert ran.returncode == 2 and "expected a function of Python" in ran.stderr
