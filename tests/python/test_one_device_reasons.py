"""Reasons and names that a stranger's program needs: rows in another order or twice, modules that a
rank calls by themselves, steps that a rank skips.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
import torch.distributed as dist
from simmesh._core.exact import Values
from torch import nn
from torch.distributed.tensor import DeviceMesh

import simmesh
from one_device_programs import Program, seeded
from simmesh.one_device.assembly import rounded
from simmesh.one_device.layout import Layout
from simmesh.one_device.nearest import steady_factor
from simmesh.one_device.notebook import GRADIENT, INITIAL, RETURNED, Key
from simmesh.one_device.reasons import cause, difference
from simmesh.one_device.rows import rows_reason
from simmesh.one_device.search import Allowed, find
from simmesh.one_device.snapshot import Exact
from test_one_device_faults import first_line, report_of

ROWS = torch.arange(12.0).view(4, 3)


def pieces(*places: list[int]) -> list[Exact | None]:
    """Each rank's rows, by their places in ROWS."""
    return [Exact(ROWS[each]) for each in places]


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        (pieces([0, 2], [1, 3]), "the ranks have one device's rows in another order"),
        (
            pieces([0, 1], [2, 3, 0]),
            "the ranks have 5 rows where one device has 4: row 0 of one device more than once",
        ),
        (
            pieces([0, 1], [3]),
            "the ranks have 3 rows where one device has 4: no row 2 of one device",
        ),
        (
            pieces([0, 1], [1, 3]),
            "the ranks have row 1 of one device more than once, and no row 2 of one device",
        ),
        (
            [Exact(4 * ROWS[[2, 0]]), Exact(4 * ROWS[[1, 3]])],
            "the ranks have one device's rows in another order, and all elements are 4 times one "
            "device's",
        ),
        ([Exact(ROWS[[2, 0]] / 2), Exact(3 * ROWS[[1, 3]])], ""),
        (pieces([0, 1, 2, 3], [0, 1, 2, 3]), ""),
        (pieces([0, 1], [2, 3]), ""),
        ([Exact(ROWS[:2] + 1), Exact(ROWS[2:])], ""),
        ([Exact(torch.tensor(1.0)), None], ""),
    ],
)
def test_rows(ranks: list[Exact | None], reason: str) -> None:
    """Would fail if other rows counted as one device's, or replicas as rows that come twice."""
    assert rows_reason(Exact(ROWS), ranks) == reason


def test_rows_of_which_two_are_the_same_tell_nothing() -> None:
    """Would fail if a reason rested on a row that can't be told from another one."""
    twice = torch.cat([ROWS[:1], ROWS[:1]])
    assert rows_reason(Exact(twice), [Exact(twice[:1]), Exact(ROWS[1:2])]) == ""


def alone(fault: str = "") -> Program:
    """Two modules, of which each of two ranks calls one by itself."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        first, second = nn.Linear(3, 3), nn.Linear(3, 1)
        here = range(mesh.get_local_rank(), 2, mesh.size())
        hidden = first(seeded(4, 3)).detach() if 0 in here else torch.empty(4, 3)
        dist.broadcast(hidden, src=0)
        if 1 in here:
            second(hidden).sum().backward()
            if fault and mesh.size() > 1 and second.bias.grad is not None:
                second.bias.grad += 1
            torch.optim.SGD(second.parameters(), lr=0.1).step()

    return program


def sequential(mesh: DeviceMesh) -> None:
    """The same with modules that have others inside: one device's first one has no prefix."""
    torch.manual_seed(0)
    stages = [nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Sequential(nn.Linear(3, 1))]
    x = seeded(4, 3)
    for index, stage in enumerate(stages):
        if index % mesh.size() == mesh.get_local_rank():
            x = stage(x)
        elif index == 0:
            x = torch.empty(4, 3)
        if index == 0:
            x = x.detach()
            dist.broadcast(x, src=0)


@pytest.mark.parametrize(
    ("program", "second"), [(alone(), "Linear#2.weight"), (sequential, "Sequential.0.weight")]
)
def test_a_module_that_a_rank_calls_alone_has_its_name(program: Program, second: str) -> None:
    """Would fail if the second module were compared with one device's first."""
    comparison = simmesh.same_as_one_device(program, layouts=[{"pp": 2}])
    assert comparison.equal
    assert Key(INITIAL, second, 0) in comparison.verdicts[0].layouts


def test_a_fault_in_a_module_that_a_rank_calls_alone() -> None:
    """Would fail if such a module were left out, or had a rank's own name."""
    assert first_line(report_of(alone("one more"), pp=2)).startswith("first: gradient of Linear#2.")


def skipping(mesh: DeviceMesh) -> None:
    """Rank 0 steps twice, by so little that the difference could be one of rounding."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for step in range(2):
        optimizer.zero_grad()
        model(seeded(4, 3)).sum().backward()
        if step == 0 or (mesh.size() > 1 and mesh.get_local_rank() == 0):
            optimizer.step()


def stepping_twice(mesh: DeviceMesh) -> None:
    """Each rank takes a step more than one device, by a rate of zero."""
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    model(seeded(4, 3)).sum().backward()
    for _ in range(mesh.size()):
        optimizer.step()


def test_a_step_that_all_ranks_take() -> None:
    """Would fail if a rank were said to decide alone where all do the same."""
    line = first_line(report_of(stepping_twice, dp=2))
    assert line.endswith("of Linear.weight, as on one device, got 2 on each rank")


def test_a_step_that_one_rank_takes_alone() -> None:
    """Would fail if a rank could step more often than one device, where the step is small."""
    line = first_line(report_of(skipping, dp=2))
    assert "expected 1 optimizer step of Linear.weight, as on one device, got 2 on rank 0" in line


def reordered(mesh: DeviceMesh) -> Any:
    """A weight whose rows each rank exchanges."""
    torch.manual_seed(0)
    model = nn.Linear(3, 4)
    if mesh.size() > 1:
        model.weight.data = model.weight.data[[1, 0, 3, 2]]
    return model(seeded(2, 3))


def test_a_parameter_in_another_order_is_named() -> None:
    """Would fail if the first layer with such a parameter were blamed without a word about it."""
    line = first_line(report_of(reordered, dp=2))
    assert line.endswith("and initial parameter Linear.weight has its rows in another order")


def test_one_number_is_no_factor() -> None:
    """Would fail if any two numbers were told as a ratio, as 43/61."""
    key, layout = Key(RETURNED, "", 0), Layout(("dp",), (2,))
    told = [difference(key, factor, False, Exact(torch.ones(())), [], None, layout)
            for factor in (43 / 61, 0.5, -0.5)]  # fmt: skip
    assert [each.startswith("all elements") for each in told] == [False, True, False]


def test_causes_of_factors() -> None:
    """Would fail if one of two dims of a size were blamed, or a loss scale weren't thought of."""
    key, layout = Key(GRADIENT, "weight", 0), Layout(("dp", "cp"), (2, 2))
    assert cause(key, 2.0, layout).startswith(": it was added up over dp or cp where")
    assert cause(key, 4.0, layout).startswith(": it was added up over dp and cp where")
    assert "a loss scale was not divided out" in cause(key, 1024.0, layout)
    assert "a loss scale" not in cause(key, 8.0, layout)


def test_parts_that_look_alike_are_parts() -> None:
    """Would fail if bfloat16 sums of two ranks that round alike were taken for one whole."""
    exact = [0.6213, 0.9313, 1.0871, 0.4660]
    parts = [
        rounded(Values.of(torch.tensor([each], dtype=torch.float64)), torch.ones(1).bfloat16())
        for each in exact
    ]
    total = Values.of(torch.tensor([sum(exact)], dtype=torch.float64))
    one = rounded(total, torch.ones(1).bfloat16())
    found = find(one, parts, Layout(("replicate", "shard"), (2, 2)), Allowed())
    assert found is not None and found.text == "P, P"


def test_note_returns_the_value() -> None:
    """Would fail if a program couldn't note a value where it makes it."""
    x = torch.ones(2)
    assert simmesh.note("x", x) is x


def views(mesh: DeviceMesh) -> torch.Tensor:
    """Writes a parameter by several views, which PyTorch lets no one differentiate."""
    layer = nn.Linear(3, 4)
    with torch.no_grad():
        layer.bias.zero_()
        for place, part in zip(layer.weight.split(2), seeded(4, 3).split(2)):
            place.copy_(part)
    return layer(seeded(2, 3)).detach()


def test_a_parameter_that_views_write() -> None:
    """Would fail if the mode asked such a view for its gradient's node, and PyTorch raised."""
    assert simmesh.same_as_one_device(views, ranks=2).equal


def stepped(mesh: DeviceMesh, factor: float, dtype: torch.dtype) -> None:
    """A layer whose gradients are scaled on ranks."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4).to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    mine = seeded(4, 8)[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), 4)].to(dtype)
    (model(mine).float().square().sum() / 4).backward()
    for each in model.parameters():
        assert each.grad is not None
        dist.all_reduce(each.grad, group=mesh.get_group())
        if mesh.size() > 1:
            each.grad.mul_(factor)
    optimizer.step()


@pytest.mark.parametrize(
    ("factor", "dtype"),
    [(1 + 5e-7, torch.float32), (1 - 2e-6, torch.float32), (1.03125, torch.bfloat16)],
)
def test_a_factor_near_1_is_no_rounding(factor: float, dtype: torch.dtype) -> None:
    """Would fail if gradients that are all too large by a few roundings passed for rounded ones."""
    line = first_line(report_of(lambda mesh: stepped(mesh, factor, dtype), dp=2))
    assert line.startswith("first: gradient of Linear.weight")
    told = Fraction(line.partition("all elements are ")[2].partition(" times")[0])
    assert abs(float(told) - factor) < abs(factor - 1) / 4


def test_steady_factor_is_that_of_every_element() -> None:
    """Would fail if elements on both sides of one device's, or a few of them, had a factor."""
    expected = seeded(64).double()
    ulp = 2.0**-23
    apart = torch.where(torch.arange(64) % 2 == 0, 6.0, -6.0) * ulp
    assert steady_factor(expected, expected * (1 + apart), ulp) is None
    assert steady_factor(expected, expected * (1 + 2 * ulp), ulp) is None
    assert steady_factor(expected[:8], expected[:8] * 2, ulp) is None
    assert steady_factor(expected, expected * (1 + 6 * ulp), ulp) == pytest.approx(1 + 6 * ulp)


@pytest.mark.parametrize(
    ("name", "one", "other"), [("weight_decay", 0.01, 0.02), ("eps", 1e-8, 1e-6), ("lr", 0.1, 0.2)]
)
def test_the_option_of_an_optimizer_is_named(name: str, one: float, other: float) -> None:
    """Would fail if a step with other options were told without saying which."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Linear(8, 4)
        options: dict[str, Any] = {name: other if mesh.size() > 1 else one}
        optimizer = torch.optim.AdamW(model.parameters(), **options)
        model(seeded(4, 8)).square().sum().backward()
        optimizer.step()

    line = first_line(report_of(program, dp=2))
    assert line.startswith("first: parameter Linear.weight")
    assert line.endswith(f"{name} is {one} on one device, and {other} on rank 0")


def test_labels_in_another_order_are_named() -> None:
    """Would fail if rows that don't belong together passed for one device's operands."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Linear(8, 4)
        mine = simmesh.rows_of(mesh.get_local_rank(), mesh.size(), 8)
        labels = torch.tensor([0, 1, 2, 3, 1, 2, 0, 3])[mine]
        if dist.get_rank() == 1:
            labels = labels.flip(0)
        loss = nn.functional.cross_entropy(model(seeded(8, 8)[mine]), labels, reduction="sum")
        loss.backward()

    report = report_of(program, dp=2)
    assert "its operand 0 has one device's rows in another order, and others have not" in report
