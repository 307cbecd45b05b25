"""PyTorch's FSDP2 and the C++ one do the same: one process runs both, compares events and bits."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Callable

import pytest
from torch import nn

import simmesh
from simmesh import recording
from simmesh.recording import cases
from simmesh.recording.fsdp import questions

SEEDS = range(20)


def holds(
    found: list[cases.Case], folder: Path, arithmetic: str | None = None
) -> simmesh.Verification:
    """Verifies the cases with the C++ FSDP2."""
    path = folder / "recorded.jsonl"
    cases.write(found, path)
    return simmesh.verify(path, arithmetic=arithmetic)


def expect_equal(found: list[cases.Case], folder: Path, arithmetic: str | None = None) -> None:
    """Fails with the first mismatch unless the C++ FSDP2 does what PyTorch did."""
    result = holds(found, folder, arithmetic)
    assert result.failed == 0, [
        (failure.id, failure.mismatches[:3]) for failure in result.failures[:5]
    ]
    assert result.passed == len(found) > 0


@pytest.mark.parametrize("mesh", [(2,), (4,), (2, 2), (3,)])
def test_random_models(mesh: tuple[int, ...], tmp_path: Path) -> None:
    found = recording.random_cases(["fsdp"], seeds=SEEDS, mesh=mesh)
    assert len(found) == 3 * len(SEEDS)
    expect_equal(found, tmp_path)


@pytest.mark.parametrize(
    "arithmetic", ["rank_order", "as_nccl_ring", "as_nccl_tree", "as_gloo_ring"]
)
def test_declared_orders(arithmetic: str, tmp_path: Path) -> None:
    settings = recording.Settings(arithmetic=arithmetic)
    found = recording.random_cases(["fsdp_layout"], seeds=SEEDS, mesh=(4,), settings=settings)
    expect_equal(found, tmp_path, arithmetic)


def test_sums_round(tmp_path: Path) -> None:
    # Else equal bits would say nothing about the order in which gradients are added.
    found = recording.random_cases(["fsdp_layout"], seeds=SEEDS, mesh=(4,))
    assert holds(found, tmp_path, "as_gloo_ring").failed > 0


def narrow() -> nn.Module:
    """Layers whose rows no mesh of these tests divides evenly."""
    return nn.Sequential(
        nn.Linear(4, 7), nn.ReLU(), nn.Sequential(nn.Linear(7, 5), nn.GELU()), nn.Linear(5, 3)
    )


def even() -> nn.Module:
    """Layers whose rows each mesh of these tests divides evenly."""
    return nn.Sequential(
        nn.Linear(8, 8),
        nn.LayerNorm(8),
        nn.Sequential(nn.Linear(8, 16), nn.SiLU()),
        nn.Linear(16, 8),
    )


@pytest.mark.parametrize("reshard", [None, True, False, 2])
@pytest.mark.parametrize("mesh", [(2,), (4,), (2, 4)])
@pytest.mark.parametrize("model", [narrow, even])
def test_own_models(
    model: Callable[[], nn.Module],
    mesh: tuple[int, ...],
    reshard: bool | int | None,
    tmp_path: Path,
) -> None:
    kinds = ["fsdp_events", "fsdp_layout", "train"]
    if reshard == 2 and model is narrow:
        kinds = ["fsdp_events"]
    width = 4 if model is narrow else 8
    found = recording.fsdp(
        model,
        mesh=mesh,
        wrap=["2.0", "2", "0"],
        reshard_after_forward=reshard,
        input_shape=[16, width],
        kinds=kinds,
    )
    expect_equal(found, tmp_path)


POLICIES = [
    {"param_dtype": "bfloat16"},
    {"param_dtype": "bfloat16", "reduce_dtype": "float32"},
    {"param_dtype": "float16", "reduce_dtype": "float32"},
    {"reduce_dtype": "bfloat16"},
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mesh", [(2,), (2, 2)])
def test_mixed_precision(mesh: tuple[int, ...], policy: dict[str, Any], tmp_path: Path) -> None:
    found = recording.fsdp(
        narrow,
        mesh=mesh,
        wrap=["0", "2"],
        mp_policy=policy,
        input_shape=[8, 4],
        kinds=["fsdp_events", "fsdp_layout"],
    )
    expect_equal(found, tmp_path)


def test_known_difference(tmp_path: Path) -> None:
    # After a partial reshard PyTorch gathers wrong rows if they are uneven; docs/differences.md has
    # the entry.
    found = recording.fsdp(
        narrow, mesh=(4,), wrap=["0"], reshard_after_forward=2, kinds=["fsdp_layout"]
    )
    (failure,) = holds(found, tmp_path).failures
    assert all("after_forward" in mismatch for mismatch in failure.mismatches)


def without_event(case: cases.Case) -> None:
    """The mutation: an event is missing."""
    case["program"][0]["events"].pop()


def swapped_events(case: cases.Case) -> None:
    """The mutation: two events in the other order."""
    events = case["program"][1]["events"]
    events[0], events[1] = events[1], events[0]


def other_totals(case: cases.Case) -> None:
    """The mutation: one more gather."""
    case["totals"]["all_gather"] += 1


def other_sharding(case: cases.Case) -> None:
    """The mutation: the root reshards after forward where it didn't, or the other way round."""
    root = case["wraps"][-1]
    root["reshard_after_forward"] = not root.get("reshard_after_forward")


@pytest.mark.parametrize("mutate", [without_event, swapped_events, other_totals, other_sharding])
def test_other_events_fail(mutate: Callable[[cases.Case], None], tmp_path: Path) -> None:
    (case,) = recording.fsdp(
        narrow, mesh=(2,), wrap=["0"], input_shape=[4, 4], kinds=["fsdp_events"]
    )
    expect_equal([case], tmp_path)
    mutated = copy.deepcopy(case)
    mutate(mutated)
    assert holds([mutated], tmp_path).failed == 1


@pytest.mark.parametrize("field", ["grad_seed", "collectives", "grads"])
def test_other_bits_fail(field: str, tmp_path: Path) -> None:
    (case,) = recording.fsdp(narrow, mesh=(2,), wrap=["0"], kinds=["fsdp_layout"])
    expect_equal([case], tmp_path)
    mutated = copy.deepcopy(case)
    if field == "grad_seed":
        mutated["grad_seed"] += 1
    elif field == "collectives":
        mutated["collectives"][-1]["output_hash"] = "0" * 16
    else:
        next(iter(mutated["grads"].values()))["hash"] = "0" * 16
    assert holds([mutated], tmp_path).failed == 1


def test_questions_are_different() -> None:
    found = [questions.events(seed, (4,)) for seed in SEEDS]
    wraps = [
        wrap.get("reshard_after_forward", "absent") for case in found for wrap in case["wraps"]
    ]
    assert {True, False, None, 2, "absent"} <= set(wraps)
    assert len({str(case["model"]) for case in found}) == len(found)
