"""Programs of other people: right ones that are written in unusual ways, and faults that pass for
rounding or chance.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh, Shard, distribute_tensor

import simmesh
from one_device_programs import Program

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
DP, TP = {"dp": 2}, {"tp": 2}


def part(mesh: DeviceMesh, whole: torch.Tensor, dim: int = 0) -> torch.Tensor:
    return whole.chunk(mesh.size(), dim)[mesh.get_local_rank()].clone()


class Packed(nn.Module):
    """Two matrices side by side, each cut by itself."""

    def __init__(self, mesh: DeviceMesh) -> None:
        super().__init__()
        self.first, self.second = (nn.Parameter(part(mesh, torch.randn(4, 4))) for _ in "ab")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x @ self.first.t(), x @ self.second.t()], -1)


def packed(mesh: DeviceMesh) -> None:
    torch.manual_seed(0)
    model = Packed(mesh["tp"])
    model(part(mesh["dp"], X)).square().sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, group=mesh["dp"].get_group())


class Words(nn.Module):
    """Scores of seven words, filled up so that all ranks have as many."""

    def __init__(self, mesh: DeviceMesh, fill: float) -> None:
        super().__init__()
        each = -(-7 // mesh.size())
        first = mesh.get_local_rank() * each
        self.weight = nn.Parameter(torch.randn(7, 4)[first : first + each].clone())
        self.missing, self.fill = max(first + each - 7, 0), fill

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.pad(x @ self.weight.t(), (0, self.missing), value=self.fill)


def filled(fill: float) -> Program:
    def program(mesh: DeviceMesh) -> Any:
        torch.manual_seed(0)
        total = Words(mesh["tp"], fill)(X).exp().sum(-1).detach()
        dist.all_reduce(total, group=mesh["tp"].get_group())
        return total

    return program


def repeated(averages_first: bool) -> Program:
    """Nine rows: a loader repeats one, and what is gathered is cut again."""
    rows = torch.cat([X, X[:1] + 1])

    def program(mesh: DeviceMesh) -> Any:
        torch.manual_seed(0)
        each = -(-9 // mesh.size())
        mine = torch.cat([rows, rows])[mesh.get_local_rank() * each :][:each]
        scores = nn.Linear(4, 1)(mine)[:, 0].detach()
        if averages_first:
            scores = scores.mean()[None]
        parts = [torch.empty_like(scores) for _ in range(mesh.size())]
        dist.all_gather(parts, scores, group=mesh["dp"].get_group())
        return {"score": torch.cat(parts)[:9].mean()}

    return program


def local_steps(averages: bool) -> Program:
    """Each rank steps alone, and the steps are averaged."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        model(part(mesh["dp"], X)).square().mean().backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
        for parameter in model.parameters() if averages else ():
            dist.all_reduce(parameter.data, group=mesh["dp"].get_group())
            parameter.data /= mesh.size()

    return program


def eight_bits(reduces: bool) -> Program:
    def program(mesh: DeviceMesh) -> Any:
        torch.manual_seed(0)
        mine = part(mesh["dp"], X * torch.arange(1, 9)[:, None])
        largest = mine.abs().max()
        if reduces:
            dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=mesh["dp"].get_group())
        small = simmesh.note("in eight bits", (mine * 448 / largest).to(torch.float8_e4m3fn))
        return nn.Linear(4, 2)(small.float() * largest / 448)

    return program


def infinite(mesh: DeviceMesh) -> torch.Tensor:
    """An infinity that the ranks lose."""
    torch.manual_seed(0)
    x = X.clone()
    x[5, 1] = torch.inf if mesh.size() == 1 else 3.0
    return nn.Linear(4, 2)(part(mesh["dp"], x))


def masked(has_own_seed: bool) -> Program:
    """Dropout of a tensor that each rank has whole."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        torch.manual_seed(7 + mesh.get_local_rank() * has_own_seed)
        return model(X)

    return program


RIGHT: list[tuple[Program, dict[str, int]]] = [
    (packed, {"dp": 2, "tp": 2}), (filled(-torch.inf), TP), (repeated(False), DP),
    (local_steps(True), DP), (eight_bits(True), DP), (masked(False), TP),
]  # fmt: skip


@pytest.mark.parametrize("right", RIGHT, ids=lambda each: each[0].__qualname__.partition(".")[0])
def test_a_right_program_has_no_finding(right: tuple[Program, dict[str, int]]) -> None:
    """Would fail if matrices side by side, pieces that are filled up, rows that come twice and are
    dropped again, steps that are averaged, numbers of eight bits, or dropout on replicas were
    called wrong.
    """
    program, layout = right
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", simmesh.LimitOfExactArithmetic)
        assert not simmesh.same_as_one_device(program, layouts=[layout]).has_faults


WRONG: list[tuple[Program, dict[str, int], str]] = [
    (filled(0.0), TP, r"returned value, at the end"),
    (repeated(True), DP, r"output of Linear, .*row 0 of one device more than once"),
    (local_steps(False), DP, r"gradient of Linear.weight, .*not averaged over dp"),
    (eight_bits(False), DP, r"noted value in eight bits"),
    (infinite, DP, r"output of Linear, .*\n.*expected -?inf, got"),
    (masked(True), TP, r"output of 1, .*rank 1 has not: .* drew other random numbers"),
]


@pytest.mark.parametrize(
    "wrong", WRONG, ids=lambda each: each[0].__qualname__.partition(".")[0]
)  # fmt: skip
def test_its_wrong_twin_is_found(wrong: tuple[Program, dict[str, int], str]) -> None:
    """Would fail if what the right programs may do hid a fault: a fill that counts, a mean of
    repeated rows, steps that nobody averages, scales of each rank, an infinity that passes for
    rounding, or masks of each rank that pass for chance.
    """
    program, layout, text = wrong
    with pytest.raises(simmesh.DiffersFromOneDevice, match=text):
        simmesh.same_as_one_device(program, layouts=[layout])


def test_an_operator_that_no_rank_calls_is_named() -> None:
    """Would fail if a value that ranks make by other operators were reported without a line."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        x = distribute_tensor(X, mesh, [Shard(0)])
        return x.sigmoid() if mesh.size() == 1 else x.tanh()

    with pytest.raises(simmesh.DiffersFromOneDevice, match=r"sigmoid, .* and no rank does"):
        simmesh.same_as_one_device(program, ranks=2)


def averaged(times: int) -> Program:
    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            optimizer.zero_grad()
            model(part(mesh["dp"], X) + step).square().mean().backward()
            optimizer.step()
            for parameter in model.parameters() if step + 1 == times else ():
                dist.all_reduce(parameter.data, group=mesh["dp"].get_group())
                parameter.data /= mesh.size()

    return program


def test_replicas_of_local_steps_are_compared_at_the_end() -> None:
    """Would fail if steps between two averages were compared, or the end was not."""
    assert simmesh.same_on_replicas(averaged(4), ranks=2, at_end=True) == 2
    with pytest.raises(simmesh.ReplicasDiffer, match=r"parameter Linear.weight"):
        simmesh.same_on_replicas(averaged(3), ranks=2, at_end=True)
    with pytest.raises(simmesh.ReplicasDiffer, match=r"gradient of Linear.weight"):
        simmesh.same_on_replicas(averaged(4), ranks=2)


def by_hand(loses: str) -> Callable[[DeviceMesh, Path, int], Any]:
    """Steps without an optimizer, with full copies of weights in half precision."""

    def train(mesh: DeviceMesh, folder: Path, steps: int) -> Any:
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        masters = [each.detach().clone() for each in model.parameters()]
        model.bfloat16()
        file, first = folder / "state.pt", 0
        if file.exists():
            first, weights, kept = torch.load(file)
            model.load_state_dict(weights)
            masters = [each.float() for each in weights.values()] if loses == "bits" else kept
            if loses == "bias":
                nn.init.zeros_(model.bias)
        for _ in range(first, steps):
            model.zero_grad()
            model(X.bfloat16()).float().square().mean().backward()
            for master, parameter in zip(masters, model.parameters()):
                assert parameter.grad is not None
                master.sub_(0.001 * parameter.grad.float())
                parameter.data.copy_(master)
        if mesh.get_local_rank() == 0:
            torch.save((steps, model.state_dict(), masters), file)
        dist.barrier()
        return masters

    return train


def resumed(train: Any, layouts: list[dict[str, int]]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simmesh.same_when_resumed(train, layouts=layouts, steps=[2, 4])


@pytest.mark.parametrize("layouts", [[DP, DP], [DP, {"dp": 4}]])
def test_a_training_without_an_optimizer_resumes(layouts: list[dict[str, int]]) -> None:
    """Would fail if loaded parameters were compared with those of the first step, or if exact
    values, which no checkpoint has, made a right training wrong.
    """
    assert not resumed(by_hand(""), layouts).has_faults


def test_a_restart_that_rounds_is_no_limit() -> None:
    """Would fail if bits that a restart loses passed for rounding by another formula, or if a
    parameter that isn't loaded passed where no optimizer steps it.
    """
    with pytest.raises(simmesh.DiffersFromOneDevice, match="in a run on the same ranks without a"):
        resumed(by_hand("bits"), [DP, DP])
    with pytest.raises(simmesh.DiffersFromOneDevice, match=r"first: initial parameter Linear.bias"):
        resumed(by_hand("bias"), [DP, DP])


def test_empty_pieces_have_no_rows() -> None:
    """Would fail if the search for repeated rows ended in an error where a rank has none."""
    from simmesh.one_device.rows import rows_reason
    from simmesh.one_device.snapshot import Exact

    pieces = [Exact(X[:0]), Exact(torch.cat([X, X[2:3]]))]
    assert rows_reason(Exact(X), pieces).endswith("row 2 of one device more than once")
