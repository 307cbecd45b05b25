"""``simmesh record PROGRAM`` keeps one device's values of a program, and compares with them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401

SCRIPT = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU())
if "--plain" not in sys.argv:
    model = DistributedDataParallel(model)
rows = torch.randn(8, 4).chunk(dist.get_world_size())[dist.get_rank()]
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
model(rows).square().mean().backward()
optimizer.step()
"""

FUNCTION = """
import torch

def program(mesh, scale="1"):
    x = torch.arange(1.0, 9.0) / 3 * float(scale)
    assert mesh.mesh_dim_names in (("rows", "columns"), ("rows",))
    return x.chunk(mesh["rows"].size())[mesh["rows"].get_local_rank()].sum()

def fails(mesh):
    raise ValueError("on purpose")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "functions.py").write_text(FUNCTION)
    return tmp_path


def record(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs ``simmesh record`` in a folder."""
    code = "import sys; from simmesh.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "record", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_script_is_compared_with_its_recording(folder: Path) -> None:
    """Would fail if a script that makes its groups were not run on ranks, or passed with a bug."""
    ran = record(folder, "train.py", "--out", "one.pt")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0].startswith("source: PyTorch ")
    assert ran.stdout.endswith(" recorded\n")
    again = "train.py", "--again", "one.pt"
    ran = record(folder, *again, "--layout", "dp=2", "--layout", "dp=4")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert ran.stdout.endswith("2 passed, 0 failed\n") and "pass dp=4: " in ran.stdout
    ran = record(folder, *again, "--quiet")
    assert (ran.returncode, ran.stdout) == (0, "1 passed, 0 failed\n")
    ran = record(folder, *again, "--layout", "dp=2", "--", "--plain")
    assert ran.returncode == 1
    assert "FAIL dp=2: " in ran.stdout and ran.stdout.endswith("0 passed, 1 failed\n")
    assert "a part of a mean: it was not averaged over dp" in ran.stdout


def test_function_gets_the_mesh_and_arguments(folder: Path) -> None:
    """Would fail if a function were not called with the mesh of the layout and the arguments."""
    ran = record(folder, "functions.py:program", "--out", "one.pt", "--dims", "rows,columns")
    assert ran.returncode == 0, ran.stderr
    again = "functions.py:program", "--again", "one.pt", "--layout", "rows=2,columns=2", "--json"
    found = json.loads(record(folder, *again).stdout)
    assert (found["passed"], found["failed"]) == (1, 0)
    assert found["layouts"][0]["layout"] == "rows=2,columns=2"
    ran = record(folder, *again, "--", "3")
    assert ran.returncode == 1 and json.loads(ran.stdout)["failed"] == 1


def test_program_that_fails_writes_nothing(folder: Path) -> None:
    """Would fail if a rank's error passed, or left a file that looks like a recording."""
    ran = record(folder, "functions.py:fails", "--out", "one.pt")
    assert ran.returncode == 1
    assert "the program failed on one device" in ran.stderr and "on purpose" in ran.stderr
    assert {each.name for each in folder.iterdir()} == {"train.py", "functions.py"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.py"], "expected --out FILE to record a program, or --again FILE"),
        (["train.py", "--out", "a", "--again", "b"], "expected --out FILE to record a program"),
        (["train.py", "--out", "a", "--layout", "dp=2"], "--layout: expected --again FILE"),
        (["none.py", "--out", "a"], "none.py"),
        (["functions.py:none", "--out", "a"], "functions.py: expected a function 'none', got none"),
        (["train.py", "--again", "train.py"], "expected a file that record_one_device wrote"),
        (["--quiet", "--out", "a"], "unless a program is named"),
        ([], "expected --out FILE.jsonl"),
    ],
)
def test_nonsense_is_refused_in_one_line(folder: Path, arguments: list[str], message: str) -> None:
    """Would fail if bad arguments ended in a traceback, or in status 1."""
    ran = record(folder, *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr and ran.stderr.count("\n") == 1


def test_layouts_that_are_no_sizes_are_refused(folder: Path) -> None:
    """Would fail if "2x2", which other subcommands take, were read in another way."""
    program = "functions.py:program"
    assert record(folder, program, "--out", "one.pt", "--dims", "rows").returncode == 0
    ran = record(folder, program, "--again", "one.pt", "--layout", "2x2")
    assert ran.returncode == 2 and "expected dims and sizes such as dp=2,tp=2" in ran.stderr
