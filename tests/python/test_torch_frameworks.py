"""Frameworks train on ranks as they do on processes of gloo, unedited, with the same bits."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from framework_programs import PROGRAMS
from simmesh.torch.isolation.packages import KNOWN
from titan_programs import TRAININGS, Training, write_data

HERE = Path(__file__).parent
RANKS = 2


def needs(package: str) -> None:
    """Skips a test where a package isn't installed."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs the package {package}")


def ended(*words: str) -> str:
    """Runs Python with these words, and returns what it printed; fails where it does."""
    ran = subprocess.run([sys.executable, *words], text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-6000:]
    return ran.stdout + ran.stderr


def saved(folder: Path) -> list[list[Any]]:
    """The values that each rank saved."""
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(RANKS)]


def on_gloo(folder: Path, *words: str) -> None:
    """Runs a program by torchrun."""
    store = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--nproc-per-node", str(RANKS)]
    folder.mkdir()
    ended("-m", "torch.distributed.run", *store, *words, str(folder))


def on_ranks(folder: Path, *words: str) -> str:
    """Runs a program by ``simmesh torchrun``, under three schedules."""
    folder.mkdir()
    options = ["--nproc-per-node", str(RANKS), "--schedules", "3", "--timeout", "300",
               "--no-certificate"]  # fmt: skip
    return ended("-m", "simmesh", "torchrun", *options, *words, str(folder))


def are_equal(one: Any, other: Any) -> bool:
    """True for equal bits."""
    if isinstance(one, torch.Tensor):
        return bool(one.dtype == other.dtype and torch.equal(one, other))
    return bool(one == other)


@pytest.mark.parametrize("name", PROGRAMS)
def test_trainings_have_the_bits_of_gloo(name: str, tmp_path: Path) -> None:
    """Would fail if a framework found another rank's state, or computed other values."""
    package = name.partition("-")[0]
    needs(package)
    words = [str(HERE / "framework_programs.py"), name]
    text = on_ranks(tmp_path / "ranks", *words)
    isolated = "accelerate" if package == "transformers" else package
    if isolated in KNOWN and name not in ("transformers-tp", "spmd_types"):
        assert f"isolated: {isolated}" in text
    on_gloo(tmp_path / "gloo", *words)
    for expected, found in zip(saved(tmp_path / "gloo"), saved(tmp_path / "ranks"), strict=True):
        assert len(expected) == len(found) > 4
        assert all(map(are_equal, expected, found))


@pytest.mark.parametrize("script", ["test_script", "test_sync"])
def test_accelerates_own_scripts_pass(script: str) -> None:
    """Would fail if a check of accelerate's own failed on ranks."""
    needs("accelerate")
    module = f"accelerate.test_utils.scripts.{script}"
    options = ["--nproc-per-node", str(RANKS), "--timeout", "300", "--schedules", "2",
               "--no-certificate"]  # fmt: skip
    text = ended("-m", "simmesh", "torchrun", *options, "-m", module)
    assert "isolated: accelerate" in text
    assert "2 schedules, data hash" in text


@pytest.mark.parametrize("training", TRAININGS[1:4:2], ids=lambda each: each.title)
def test_torchtitans_own_trainer_runs(training: Training, tmp_path: Path) -> None:
    """Would fail if the trainer, which asks for GPUs, needed more than an option of the command."""
    for package in ("torchtitan", "datasets"):
        needs(package)
    write_data(tmp_path)
    options = ["--nproc-per-node", str(training.ranks), "--timeout", "300", "--device", "cuda",
               "--no-certificate"]  # fmt: skip
    words = ["-m", "simmesh", "torchrun", *options, "-m", "torchtitan.train", *training.words()]
    ran = subprocess.run(
        [sys.executable, *words], text=True, capture_output=True, check=False, cwd=tmp_path
    )
    text = ran.stdout + ran.stderr
    assert ran.returncode == 0 and "Training completed" in text, text[-6000:]
