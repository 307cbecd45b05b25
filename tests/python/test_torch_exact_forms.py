"""Trainings under every parallelism have the bits of one device with ``local="exact"``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy

import exact_programs as programs
import simmesh
from exact_programs import Recipe, Record, train
from simmesh.torch import exact

BFLOAT, FLOAT = torch.bfloat16, torch.float32


@functools.cache
def one_device(**options: Any) -> Record:
    """The training of one device, the reference of all forms with the same options."""
    record: Record = exact.one_device(lambda: train(Recipe(**options)))
    return record


def of_ranks(make: Callable[[], Recipe], ranks: int, **options: Any) -> list[Record]:
    """The records of a training's ranks."""
    ran = simmesh.spmd_run(lambda: train(make()), world_size=ranks, **options)
    if ran.outcome.exception is not None:
        raise ran.outcome.exception
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


def differing(records: list[Record], reference: Record) -> list[str]:
    """The names of what has other bits than the reference on some rank."""
    names = [name for record in records for name in record]
    assert len(names) > 40 * len(records)
    return [
        name
        for record in records
        for name in record
        if not torch.equal(record[name], reference[name])
    ]


FORMS: dict[str, tuple[int, Callable[[], Recipe]]] = {
    "2 micro-batches": (1, lambda: Recipe(micro=2)),
    "8 micro-batches": (1, lambda: Recipe(micro=8)),
    "checkpointing": (1, lambda: Recipe(checkpoints=True)),
    "DDP 2": (2, lambda: programs.data_parallel(2)),
    "DDP 4, accumulation": (4, lambda: programs.data_parallel(4, micro=2, syncs_each=False)),
    "DDP 2, checkpointing": (2, lambda: programs.data_parallel(2, checkpoints=True)),
    "FSDP2 2": (2, lambda: programs.fully_sharded(2)),
    "FSDP2 4, accumulation": (4, lambda: programs.fully_sharded(4, micro=2)),
    "FSDP2 4, no sync": (4, lambda: programs.fully_sharded(4, micro=2, syncs_each=False)),
    "FSDP2 2, no reshard": (2, lambda: programs.fully_sharded(2, reshard=False)),
    "FSDP2 2, checkpointing": (2, lambda: programs.fully_sharded(2, checkpoints=True)),
    "HSDP 2 x 2": (4, programs.hybrid_sharded),
    "TP 2": (2, lambda: programs.tensor_parallel(2)),
    "TP 2, sequence": (2, lambda: programs.tensor_parallel(2, True)),
    "TP 2, sequence, loss": (2, lambda: programs.tensor_parallel(2, True, True)),
    "TP 4, sequence": (4, lambda: programs.tensor_parallel(4, True)),
    "TP 2 x FSDP2 2": (4, programs.tensor_and_fully_sharded),
    "TP 2 x FSDP2 2, loss, accumulation": (
        4, lambda: programs.tensor_and_fully_sharded(True, micro=2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_form_has_the_bits_of_one_device(form: str) -> None:
    """Would fail if a sum were rounded in parts, or an element had other bits in its shard."""
    ranks, make = FORMS[form]
    assert differing(of_ranks(make, ranks, local="exact"), one_device()) == []


OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "AdamW, for-loop": lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=False),
    "AdamW, foreach": lambda p: torch.optim.AdamW(p, lr=1e-2, foreach=True),
    "AdamW, fused": lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True),
    "SGD": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=1e-2, momentum=0.5),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=1e-2),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=1e-2),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_has_the_bits_of_one_device(name: str) -> None:
    """Would fail if a step read more than the elements, or wrote it."""
    options: dict[str, Any] = {"optimizer": OPTIMIZERS[name], "layers": 1, "steps": 3}
    reference = exact.one_device(lambda: train(Recipe(**options)))
    for ranks, make in (
        (2, lambda: programs.data_parallel(2, **options)),
        (2, lambda: programs.fully_sharded(2, **options)),
    ):
        assert differing(of_ranks(make, ranks, local="exact"), reference) == [], name


@pytest.mark.parametrize("reduced", [FLOAT, None, BFLOAT])
def test_mixed_precision_has_the_bits_of_one_rank(reduced: torch.dtype | None) -> None:
    """Would fail if a gradient were rounded to bfloat16 before it is reduced."""
    policy = MixedPrecisionPolicy(param_dtype=BFLOAT, reduce_dtype=reduced)
    options: dict[str, Any] = {"policy": policy, "layers": 1}
    reference = of_ranks(lambda: programs.fully_sharded(1, **options), 1, local="exact")[0]
    forms: dict[str, tuple[int, Callable[[], Recipe]]] = {
        "2": (2, lambda: programs.fully_sharded(2, **options)),
        "hybrid": (4, lambda: programs.hybrid_sharded(**options)),
        "micro": (1, lambda: programs.fully_sharded(1, micro=4, **options)),
        "checkpointing": (2, lambda: programs.fully_sharded(2, checkpoints=True, **options)),
    }
    for name, (ranks, make) in forms.items():
        found = of_ranks(make, ranks, local="exact")
        kept = [{key: each for key, each in one.items() if "loss" not in key} for one in found]
        assert differing(kept, reference) == [], name


def test_autocast_has_the_bits_of_one_device() -> None:
    """Would fail if autocast's conversions rounded the parts of a gradient."""
    options: dict[str, Any] = {"autocast": True, "layers": 1}
    reference = exact.one_device(lambda: train(Recipe(**options)))
    for ranks, make in (
        (2, lambda: programs.data_parallel(2, **options)),
        (2, lambda: programs.tensor_parallel(2, True, **options)),
    ):
        assert differing(of_ranks(make, ranks, local="exact"), reference) == []


def test_uneven_rows_have_the_bits_of_one_device() -> None:
    """Would fail if a scale that is no power of two were rounded: 7 rows on 3 ranks."""

    def program() -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = programs.Transformer(1)
        rows = torch.randint(0, programs.VOCABULARY, (7, programs.LENGTH + 1))
        part = rows.tensor_split(dist.get_world_size())[dist.get_rank()]
        logits = model(part[:, :-1]).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, part[:, 1:].flatten(), reduction="sum")
        (loss / (7 * programs.LENGTH)).backward()
        gradients = [each.grad for each in model.parameters()]
        for gradient in gradients:
            dist.all_reduce(gradient)
        return gradients

    reference = exact.one_device(program)
    found = simmesh.spmd_run(program, world_size=3, local="exact")
    assert found.outcome.ok, found.outcome.report
    for gradients in found.results:
        assert all(map(torch.equal, gradients, reference))


@pytest.mark.parametrize("form", ["2 micro-batches", "DDP 2", "FSDP2 2", "TP 2, sequence"])
def test_plain_operators_differ(form: str) -> None:
    """Would fail if the comparison could not fail: exact collectives alone are not enough."""
    ranks, make = FORMS[form]
    reference = simmesh.spmd_run(lambda: train(Recipe()), world_size=1).results[0]
    assert len(differing(of_ranks(make, ranks), reference)) > 40


def test_exact_operators_that_carry_nothing_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would fail if rounding each operator once were enough, so that nothing need be carried."""
    from simmesh.torch.exact import companions

    def rounds(tensor: torch.Tensor, result: Any) -> None:
        result.round_into(tensor)

    reference = one_device()
    monkeypatch.setattr(companions, "keep", rounds)
    for form in ("DDP 2", "TP 2"):
        ranks, make = FORMS[form]
        assert len(differing(of_ranks(make, ranks, local="exact"), reference)) > 40


def test_one_device_is_near_plain_torch() -> None:
    """Would fail if the exact operators computed something else."""
    plain = simmesh.spmd_run(lambda: train(Recipe(steps=1)), world_size=1).results[0]
    found = exact.one_device(lambda: train(Recipe(steps=1)))
    # AdamW's first step has the sign of a gradient that may be as small as rounding errors.
    names = [name for name in plain if not name.startswith("parameter")]
    assert max((plain[name] - found[name]).abs().max().item() for name in names) < 1e-5


def test_schedules_give_the_same_bits() -> None:
    """Would fail if what stands behind a tensor depended on the order in which ranks run."""
    simmesh.spmd(world_size=2, schedules=4, local="exact")(
        lambda: train(programs.fully_sharded(2, layers=1, steps=1))
    )()
