"""Differences that rounding explains are limits, and no faults, however they follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh
from torch.nn.parallel import DistributedDataParallel

import simmesh
from one_device_programs import Program, rows_of, seeded


class Twice(nn.Module):
    """A layer that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.tanh(self.linear(x)))


class Centred(nn.Module):
    """A mean behind a norm of the same elements: its gradients are zero but for rounding."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.group_norm(x.unflatten(1, (2, 4)), 2).mean(-1).repeat(1, 4) + x


class Chosen(nn.Module):
    """An expert that gets the rows whose score is largest."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.experts = nn.Linear(8, 2), nn.ModuleList(nn.Linear(8, 8) for _ in "ab")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.score(x).softmax(-1)
        chosen = scores.argmax(-1)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            (rows,) = (chosen == number).nonzero(as_tuple=True)
            result = result.index_add(
                0, rows, (expert(x[rows]) * scores[rows, number, None]).to(x.dtype)
            )
        return x + result


class Level(nn.Module):
    """Adds a level to elements."""

    def __init__(self, start: float) -> None:
        super().__init__()
        self.level = nn.Parameter(torch.full((2, 1), start))
        self.start = start

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + (self.level - self.start)


class Levelled(nn.Module):
    """A norm behind levels, which have no effect: an optimizer steps them by rounding errors."""

    START = 1000.0

    def __init__(self) -> None:
        super().__init__()
        self.level = Level(self.START)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(self.level(x.unflatten(1, (2, 4))), (4,)).flatten(1) + x


class LevelledFromZero(Levelled):
    """Levels that differ by as much as they are large."""

    START = 0.0


MIDDLES = [Twice, Centred, Chosen, Levelled, LevelledFromZero]


def thirds(
    middle: type[nn.Module], micro: int, autocast: bool, faulty: tuple[int, ...] = ()
) -> Program:
    """Two steps of DDP with means of local means over any number of ranks. In those that are
    ``faulty``, rank 1 scales its loss.
    """

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model: Any = nn.Sequential(nn.Linear(8, 8), middle(), nn.LayerNorm(8), nn.Linear(8, 3))
        model = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
        levels = [each for name, each in model.named_parameters() if "level" in name]
        others = [each for name, each in model.named_parameters() if "level" not in name]
        groups = [{"params": others}, {"params": levels, "lr": 10.0, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=0.01)
        losses = []
        for step in range(2):
            mine = rows_of(mesh, "dp", seeded(12, 8, seed=step))
            for part in mine.chunk(micro):
                with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                    y = model(part)
                loss = y.float().square().mean() / micro
                if step in faulty and mesh.get_local_rank() == 1:
                    loss = loss * 1.5
                loss.backward()
                losses.append(loss.detach())
            optimizer.step()
            optimizer.zero_grad()
        return torch.stack(losses).sum()

    return program


@pytest.mark.parametrize("autocast", [False, True], ids=["float32", "autocast"])
@pytest.mark.parametrize("micro", [1, 2])
@pytest.mark.parametrize("middle", MIDDLES)
def test_thirds_are_a_limit_in_all_that_follows(
    middle: type[nn.Module], micro: int, autocast: bool
) -> None:
    """Would fail if rounding in a coarse dtype, of rows in another order, or of gradients that
    cancel out, counted as a fault, or what follows from a step of these.
    """
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="3 is no power of two"):
        comparison = simmesh.same_as_one_device(thirds(middle, micro, autocast), ranks=3)
    assert not comparison.has_faults


@pytest.mark.parametrize("autocast", [False, True], ids=["float32", "autocast"])
@pytest.mark.parametrize("middle", MIDDLES)
@pytest.mark.parametrize(("step", "time"), [(0, ""), (1, "time 2, ")])
def test_limits_hide_no_fault(
    middle: type[nn.Module], autocast: bool, step: int, time: str
) -> None:
    """Would fail if what rounding explains hid a rank's wrong scale, in a step behind a step of
    rounding errors too.
    """
    expected = f"first: gradient of the output of 3, {time}test_one_device_limits.py:.*rank 1's are"
    with pytest.raises(simmesh.DiffersFromOneDevice, match=expected):
        simmesh.same_as_one_device(thirds(middle, 1, autocast, faulty=(step,)), ranks=3)


def test_recorded_values_may_differ_behind_a_step_of_rounding_errors(tmp_path: Path) -> None:
    """Would fail if values of a file, from which nothing can go on, were judged as others are."""
    program, path = thirds(LevelledFromZero, 1, False), tmp_path / "one_device"
    simmesh.record_one_device(program, path)
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="3 is no power of two"):
        simmesh.same_as_one_device(program, ranks=3, recorded=path)


def scaled_rate(mesh: DeviceMesh) -> None:
    """DDP with a learning rate that is scaled by the number of ranks."""
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 3))
    model = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * mesh.size())
    model(rows_of(mesh, "dp", seeded(12, 8))).square().mean().backward()
    optimizer.step()


def scaled_after_clipping(mesh: DeviceMesh) -> None:
    """DDP with small gradients that ranks scale after they were clipped."""
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 3))
    model = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        y = model(rows_of(mesh, "dp", seeded(12, 8)))
    y.float().square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.001)
    for each in model.parameters():
        each.grad *= 0.75 if mesh.size() > 1 else 1.0
    optimizer.step()


def other_betas(mesh: DeviceMesh) -> None:
    """AdamW whose second moment decays faster on ranks."""
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 3))
    model = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
    betas = (0.9, 0.999 if mesh.size() == 1 else 0.95)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, betas=betas)
    model(rows_of(mesh, "dp", seeded(12, 8))).square().mean().backward()
    optimizer.step()


def other_statistics(mesh: DeviceMesh) -> torch.Tensor:
    """A batch norm that reads running statistics, which ranks don't share."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).eval()
    model[1].running_mean.add_(mesh.get_local_rank())  # type: ignore[operator, union-attr]
    return model(rows_of(mesh, "dp", seeded(12, 8)))


@pytest.mark.parametrize(
    ("program", "ranks", "text"),
    [
        (scaled_rate, 3, "parameter 0.weight, .*: the step that changed it is 3 times"),
        (scaled_rate, 2, "parameter 0.weight, .*: the step that changed it is 2 times"),
        (scaled_after_clipping, 3, "first: clipped gradient of 0.weight, "),
        (other_betas, 2, "optimizer state exp_avg_sq of .*: all elements are 50 times"),
        (other_statistics, 2, "first: output of 1, "),
    ],
    ids=["rate, 3", "rate, 2", "clipped", "betas", "statistics"],
)
def test_steps_and_statistics_are_judged(program: Program, ranks: int, text: str) -> None:
    """Would fail if a limit before it excused a step of another length, clipped gradients of
    another scale, a state of another optimizer, or statistics that aren't of rows.
    """
    with pytest.raises(simmesh.DiffersFromOneDevice, match=text):
        simmesh.same_as_one_device(program, ranks=ranks)
