"""Runs a call on distributed tensors on simulated ranks, as a program of PyTorch does."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.utils import _pytree as pytree

from simmesh.rules.pytorch.placed import cut
from simmesh.rules.pytorch.propagation import Call, Placements
from simmesh.rules.pytorch.trial import (
    Mismatch,
    are_close,
    changed_tensors,
    flat_outputs,
    run_whole,
)

_SEED = 7


def outcome_on_ranks(call: Call, mesh: Sequence[int], placements: Placements) -> str:
    """The outcome of PyTorch's own program: "wrong values", "raises ...", or "right"."""
    try:
        found = run_on_ranks(call, mesh, placements)
    except RuntimeError as error:
        return f"raises {error}"
    return "right" if found is None else "wrong values"


def run_on_ranks(call: Call, mesh: Sequence[int], placements: Placements) -> Mismatch | None:
    """Runs PyTorch's own program and compares what it gathers with the whole call.

    Each rank makes distributed tensors of its pieces, calls the operator and gathers the results.
    Raises RuntimeError with the first line of what the program raises.
    """
    from simmesh.spmd import spmd_run

    generator = torch.Generator().manual_seed(_SEED)
    pieces = [
        cut(tensor.clone(), each, mesh, generator) for tensor, each in zip(call.tensors, placements)
    ]
    whole = run_whole(call)
    places = list(itertools.product(*map(range, mesh)))

    def program() -> tuple[list[Any], list[Any]]:
        rank = torch.distributed.get_rank()
        device_mesh = init_device_mesh("cpu", tuple(mesh))
        made = [
            DTensor.from_local(
                of_ranks[places[rank]].clone(), device_mesh, each, run_check=False,
                shape=tensor.shape, stride=tensor.stride(),
            )
            for of_ranks, each, tensor in zip(pieces, placements, call.tensors)
        ]  # fmt: skip
        args, kwargs = call.with_tensors(made)
        outputs = flat_outputs(call.op(*args, **kwargs))
        changed = [made[at] for at in changed_tensors(call)]
        return [_gathered(each) for each in outputs], [_gathered(each) for each in changed]

    try:
        ran = spmd_run(program, world_size=len(places), seats="threads")
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {_first_line(error)}") from None
    if not ran.outcome.ok:
        raise RuntimeError(_first_line(ran.outcome.exception or ran.outcome.report))
    expected = pytree.tree_leaves((whole.outputs, list(whole.changed.values())))
    for rank, result in enumerate(ran.results):
        found = _first_difference(expected, pytree.tree_leaves(tuple(result)), rank)
        if found is not None:
            return found
    return None


def _gathered(output: Any) -> Any:
    return output.full_tensor().detach() if isinstance(output, DTensor) else output


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [""])[0][:160]


def _first_difference(expected: list[Any], got: list[Any], rank: int) -> Mismatch | None:
    if len(expected) != len(got):
        return Mismatch("shape", "outputs", f"expected {len(expected)}, got {len(got)}")
    for at, (a, b) in enumerate(zip(expected, got)):
        what = f"output {at}, gathered on rank {rank}"
        if not isinstance(a, Tensor):
            if a != b and not (a != a and b != b):
                return Mismatch("values", what, f"expected {a!r}, got {b!r}")
            continue
        if not isinstance(b, Tensor) or (a.shape, a.dtype) != (b.shape, b.dtype):
            shape = list(b.shape) if isinstance(b, Tensor) else b
            return Mismatch("shape", what, f"expected the shape {list(a.shape)}, got {shape}")
        differs = ~are_close(a, b) if a.is_floating_point() or a.is_complex() else a != b
        if bool(differs.any()):
            index = tuple(int(i) for i in differs.nonzero()[0])
            return Mismatch("values", what, "", index, a[index].item(), b[index].item())
    return None
