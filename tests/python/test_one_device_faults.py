"""Programs with one silent fault each: the report names the value at fault, or the limit that
explains it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.tensor import DeviceMesh, DTensor, Replicate

import one_device_by_hand as by_hand
import one_device_layers as layers
import one_device_programs as programs
import simmesh
from simmesh.one_device import comparison as comparisons
from simmesh.one_device.judge import judge
from simmesh.one_device.layout import Layout
from simmesh.one_device.snapshot import Exact

ADDED_UP = "a part of a sum: it was not added up over"


def report_of(program: programs.Program, **layout: int) -> str:
    """The report about a program that has a fault."""
    with pytest.raises(simmesh.DiffersFromOneDevice) as raised:
        simmesh.same_as_one_device(program, layouts=[layout])
    return str(raised.value)


def first_line(report: str) -> str:
    """The line about the first value that differs."""
    return next(line for line in report.splitlines() if line.startswith("first: "))


@pytest.mark.parametrize(
    ("fault", "value", "reason"),
    [
        ("no sum of first.weight", "gradient of first.weight", f"{ADDED_UP} dp"),
        ("no sum of norm.bias", "gradient of norm.bias", f"{ADDED_UP} dp"),
        ("averaged sums", "gradient of embed.weight", "1/2 times one device's: it was divided by"),
        ("three quarters", "gradient of embed.weight", "3/4 times one device's"),
        ("bfloat16 reduction", "gradient of embed.weight", "no layout has one device's bits"),
        ("own seeds", "initial parameter embed.weight", "rank 0 and rank 1 have the same piece"),
        ("same rows", "output of embed", "rank 1 has the piece that rank 0 should have"),
        ("decay on rank 1", "parameter first.weight", "rank 0 and rank 1 have the same piece"),
    ],
)
def test_faults_of_data_parallelism(fault: str, value: str, reason: str) -> None:
    """Would fail if a silent fault passed, or another value were blamed."""
    line = first_line(report_of(programs.data_parallel(fault), dp=2))
    assert line.startswith(f"first: {value}") and reason in line


def test_the_same_factor_of_all_gradients_is_one_finding() -> None:
    """Would fail if a wrong scale of the loss were told for each gradient by itself."""
    report = report_of(programs.data_parallel("three quarters"), dp=2)
    assert "all 7 gradients that differ are 3/4 times one device's" in report


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("local counts", "the loss is scaled by each rank's own count"),
        ("local counts", "aten.div"),
        ("local counts", "it has the numbers [28] on one device, and [12] on rank 0"),
        ("rows dropped", "expected pieces of torch.float32 of shape [7, 4, 8]"),
    ],
)
def test_faults_of_uneven_rows(fault: str, expected: str) -> None:
    """Would fail if counts of rows that differ between ranks weren't told."""
    report = report_of(programs.data_parallel(fault, rows=7), dp=3)
    assert expected in report


@pytest.mark.parametrize(
    ("fault", "value", "reason"),
    [
        (
            "no sum in backward",
            "gradient of embed.weight",
            f"{ADDED_UP} tp, as the gradient of the output of norm was not",
        ),
        ("no sum in backward", "gradient of norm.weight", f"{ADDED_UP} tp"),
        ("bias divided", "gradient of rows.bias", "1/2 times one device's"),
        ("no sum in forward", "output of rows", "operand 0 is a part of a sum"),
        ("bias on each", "output of rows", "no layout has one device's bits"),
        ("norm of own pieces", "gradient norm", "rank 0 and rank 1"),
    ],
)
def test_faults_of_tensor_parallelism(fault: str, value: str, reason: str) -> None:
    """Would fail if a missing reduction of plain tensors passed."""
    report = report_of(by_hand.megatron(fault), tp=2)
    assert value in report and reason in report


@pytest.mark.parametrize(
    ("fault", "value", "reason"),
    [
        ("no sum of norm.weight", "gradient of norm.weight", f"{ADDED_UP} tp"),
        ("no sum of places.weight", "gradient of places.weight", f"{ADDED_UP} tp"),
        ("places from 0", "output of places", "rank 1 has the piece that rank 0 should have"),
        ("reversed gather", "output of head", "no layout has one device's bits"),
    ],
)
def test_faults_of_sequence_parallelism(fault: str, value: str, reason: str) -> None:
    """Would fail if a fault of parts of a sequence passed."""
    line = first_line(report_of(by_hand.sequence_parallel(fault), tp=2))
    assert line.startswith(f"first: {value}") and reason in line


@pytest.mark.parametrize(
    ("fault", "value", "reason"),
    [
        ("no sum of 1.router.weight", "gradient of 1.router.weight", f"{ADDED_UP} ep"),
        ("wrong way back", "output of 1", "no layout has one device's bits"),
    ],
)
def test_faults_of_expert_parallelism(fault: str, value: str, reason: str) -> None:
    """Would fail if a fault of experts passed."""
    line = first_line(report_of(by_hand.expert_parallel(fault), ep=2))
    assert line.startswith(f"first: {value}") and reason in line


@pytest.mark.parametrize(
    ("program", "layout", "value", "reason"),
    [
        (layers.fused("cut as one"), {"tp": 2}, "output of 1", "_for_cpu in 1"),
        (layers.vocabulary("not masked"), {"tp": 2}, "output of 0", "aten.embedding in 0"),
        (layers.context("queries from 0"), {"cp": 2}, "output of out", "aten.masked_fill"),
        (layers.masked("own tokens"), {"dp": 2}, "gradient of the output of head",
         "the loss is scaled by each rank's own count"),
        (layers.ignored, {"dp": 2}, "gradient of norm.weight", "it was not averaged over dp"),
    ],
    ids=["fused", "vocabulary", "context", "masked", "ignored"],
)  # fmt: skip
def test_faults_of_layers(
    program: programs.Program, layout: dict[str, int], value: str, reason: str
) -> None:
    """Would fail if rows in a wrong order, or of another rank, passed."""
    report = report_of(program, **layout)
    assert first_line(report).startswith(f"first: {value}") and reason in report


def test_a_stage_that_is_not_averaged() -> None:
    """Would fail if gradients that only some ranks have weren't compared."""
    line = first_line(report_of(by_hand.pipeline("last stage"), pp=2, dp=2))
    assert line.startswith("first: gradient of layers.2.weight") and f"{ADDED_UP} dp" in line


AVERAGED = "a part of a mean: it was not averaged over"


@pytest.mark.parametrize(
    ("fault", "layout", "value", "reason"),
    [
        ("no_sync", {"dp": 2}, "gradient of embed.weight", f"{AVERAGED} dp"),
        ("inner mesh", {"ddp": 2, "fsdp": 2}, "gradient of embed.weight", f"{AVERAGED} ddp"),
        ("inner mesh", {"ddp": 4, "fsdp": 1}, "gradient of embed.weight", f"{AVERAGED} ddp"),
        ("stale optimizer", {"dp": 2}, "", "7 parameters that belong to no module"),
    ],
)
def test_wrappers_that_are_used_wrongly(
    fault: str, layout: dict[str, int], value: str, reason: str
) -> None:
    """Would fail if a misuse of DDP or FSDP2 passed."""
    line = first_line(report_of(programs.wrapped(fault), **layout))
    assert line.startswith(f"first: {value}") and reason in line


def test_a_ring_is_another_formula_and_stale_keys_are_a_fault() -> None:
    """Would fail if differences by rounding hid a fault, or counted as one."""
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="output of RingAttention"):
        simmesh.same_as_one_device(by_hand.ring(), layouts=[{"cp": 4}])
    line = first_line(report_of(by_hand.ring("stale keys"), cp=4))
    assert line.startswith("first: gradient of the output of")


@pytest.mark.parametrize(
    ("program", "ranks", "reason"),
    [
        (programs.batch_norm, 2, "the statistics are those of each rank's own rows"),
        (programs.local_means, 3, "3 is no power of two"),
        (layers.dropout, 2, "random numbers, which each rank draws for its own rows"),
    ],
)
def test_limits_are_no_faults(program: Any, ranks: int, reason: str) -> None:
    """Would fail if a difference that can't be avoided counted as a fault, or as none."""
    with pytest.warns(simmesh.LimitOfExactArithmetic, match=reason):
        comparison = simmesh.same_as_one_device(program, ranks=ranks)
    assert not comparison.equal and not comparison.has_faults


def test_the_operator_at_fault_is_named() -> None:
    """Would fail if the second run found no operator, or another line than the program's."""
    report = report_of(by_hand.megatron("no sum in forward"), tp=2)
    line = next(line for line in report.splitlines() if "first operator that differs" in line)
    assert "aten.add in rows, one_device_by_hand.py:" in line
    assert "its operand 0 is a part of a sum: it was not added up over tp before it is read" in line


def test_a_parameter_without_a_gradient_on_some_ranks() -> None:
    """Would fail if a gradient that one rank lacks counted as replicated."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Linear(2, 2)
        y = model(programs.seeded(3, 2))
        if mesh.get_local_rank() == 0:
            y.sum().backward()

    line = first_line(report_of(program, dp=2))
    assert "gradient of Linear.weight" in line and "rank 0 has one, rank 1 has none" in line


def test_ranks_that_are_not_what_they_declare() -> None:
    """Would fail if one group of ranks that hold other elements hid behind a healthy group."""

    def program(mesh: DeviceMesh) -> None:
        x = programs.seeded(4, 2)
        if mesh["dp"].get_local_rank() == 1 and mesh["tp"].get_local_rank() == 1:
            x = x + 1
        for _ in range(2):
            simmesh.note("x", DTensor.from_local(x, mesh["tp"], [Replicate()], run_check=False))

    line = first_line(report_of(program, dp=2, tp=2))
    assert "declared as replicated, but rank 3 has other elements than rank 2" in line


def test_parameters_with_other_names_are_told() -> None:
    """Would fail if a comparison that has nothing in common passed."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        layer = nn.Linear(2, 2)
        name = "a" if mesh.size() == 1 else "b"
        nn.Sequential(OrderedDict({name: layer}))(programs.seeded(3, 2))

    assert "such as a.bias and a.weight, on the ranks, got b.bias and b.weight" in first_line(
        report_of(program, dp=2)
    )


def test_buffers_are_compared() -> None:
    """Would fail if a buffer that ranks don't share passed."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2))
        model.register_buffer("steps", torch.tensor([1.0, 2.0]) * (mesh.get_local_rank() + 1))
        model(programs.seeded(3, 2))

    line = first_line(report_of(program, dp=2))
    assert "buffer steps" in line and "rank 0 and rank 1 have the same piece" in line


def test_a_buffer_that_is_replaced_is_compared_as_it_is_now() -> None:
    """Would fail if the tensor were compared that the module had when it was called last."""

    def program(mesh: DeviceMesh, scale: float) -> None:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2))
        model.register_buffer("seen", torch.zeros(2))
        for part in programs.seeded(4, 2).chunk(1 if mesh.size() == 1 else 2):
            model.seen = model.seen + model(part).detach().sum(0) * scale ** (mesh.size() - 1)

    assert simmesh.same_as_one_device(lambda mesh: program(mesh, 1), ranks=2).equal
    line = first_line(report_of(lambda mesh: program(mesh, 2), dp=2))
    assert "buffer seen, at the end" in line and "2 times" in line


def test_every_value_is_looked_at() -> None:
    """Would fail if a value of a healthy program could be changed on a rank without a finding."""
    layout = Layout(("dp",), (2,))
    program = programs.data_parallel()
    one = comparisons.observe(program, layout.on_one_device(), {})[0]
    ranks = comparisons.observe(program, layout, {})
    assert not judge(one, ranks, layout).findings
    changed = 0
    for key, entry in list(ranks[1].entries.items()):
        if entry.snapshot is None or not entry.snapshot.exact.elements.numel():
            continue
        elements = entry.snapshot.exact.elements.clone()
        elements.view(-1)[0] = elements.view(-1)[0] * 2 + 1
        snapshot = type(entry.snapshot)(Exact(elements), entry.snapshot.declared)
        ranks[1].entries[key] = replace(entry, snapshot=snapshot)
        found = {each.key for each in judge(one, ranks, layout).findings}
        assert found == {key}, key
        ranks[1].entries[key] = entry
        changed += 1
    assert changed > 50
