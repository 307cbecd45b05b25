"""Rules that spmd_types derives for a function: by the hook of an autograd function, or from the
types of the operators that a function calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from simmesh.rules.calls import Applied, Call, on_mesh
from simmesh.rules.pieces import pieces, repeated
from simmesh.rules.rule import NONE, PARTIAL, REPLICATE, Row, Rule, RulePlacement, dual, shard
from simmesh.rules.sizes import RuleInput

_HOOKS = ("spmd_typecheck", "typecheck_forward")
_RANKS = 2
_SIZE = 4
# More combinations of types than that aren't tried.
_CANDIDATES_MAX = 1024


def hooked_class(function: Any) -> Any:
    """The class of an autograd function that has a hook of spmd_types; None for others."""
    owner = function.owner if isinstance(function, Applied) else None
    return owner if any(hasattr(owner, hook) for hook in _HOOKS) else None


def is_spmd_types(rule: Any) -> bool:
    """True for the module spmd_types, which stands for the types that it derives."""
    return isinstance(rule, ModuleType) and rule.__name__ == "spmd_types"


def rule_of_types(call: Call, inputs: Sequence[RuleInput]) -> Rule:
    """The rows of types that spmd_types accepts for a function, tried on two ranks.

    Raises ValueError where it is missing or accepts no row.
    """
    try:
        import spmd_types
    except ImportError:
        raise ValueError(
            "[rules] expected spmd_types to be installed, whose types are to be judged"
        ) from None
    rows: list[Row] = []
    refusals: dict[str, None] = {}
    for types in _candidates(inputs):
        row, refusal = _derived(spmd_types, call, inputs, types)
        if row is not None:
            rows.append(row)
        else:
            refusals[refusal] = None
    if not rows:
        raise ValueError(
            "[rules] expected types that spmd_types accepts, got none: " + "; ".join(refusals)
        )
    return Rule(tuple(rows))


def _candidates(inputs: Sequence[RuleInput]) -> list[tuple[tuple[str, RulePlacement], ...]]:
    """The types of the inputs that are tried, each with its name and its placement."""
    alphabets = []
    for each in inputs:
        shards = [(f"S({dim})", shard(dim)) for dim in range(len(each.dims))]
        terms = [("P", PARTIAL)] if each.values is None else []
        alphabets.append([("R", REPLICATE), ("I", REPLICATE), *shards, *terms])
    found = list(itertools.islice(itertools.product(*alphabets), _CANDIDATES_MAX + 1))
    if len(found) > _CANDIDATES_MAX:
        raise ValueError(
            f"[rules] expected at most {_CANDIDATES_MAX} combinations of types, got more: give "
            "rows of types as the rule"
        )
    return found


def _derived(
    spmd: Any,
    call: Call,
    inputs: Sequence[RuleInput],
    types: Sequence[tuple[str, RulePlacement]],
) -> tuple[Row | None, str]:
    """The row that spmd_types derives for types of the inputs; or None and why it refuses them."""
    from simmesh.spmd import spmd_run

    wholes = []
    letters = {d for each in inputs for d in each.dims if isinstance(d, str)}
    for each in inputs:
        shape = each.shape(dict.fromkeys(letters, _SIZE))
        if each.values is None:
            wholes.append(torch.rand(shape) + 1)
        else:
            wholes.append(repeated(each.values, shape))

    def body() -> list[tuple[str, RulePlacement]]:
        from spmd_types import checker
        from torch.distributed.device_mesh import init_device_mesh

        mesh = init_device_mesh("cpu", (_RANKS,), mesh_dim_names=("rule",))
        axis, rank = mesh.get_group(), mesh.get_local_rank()
        tensors = []
        with on_mesh(mesh), spmd.set_current_mesh(mesh):
            for whole, (name, placement) in zip(wholes, types):
                kept = REPLICATE if placement == PARTIAL else placement
                piece = pieces(whole, kept, _RANKS)[rank].clone()
                if piece.is_floating_point():
                    piece.requires_grad_()
                spmd.assert_type(piece, {axis: _type(spmd, name, placement)})
                tensors.append(piece)
            with checker.typecheck(local=False):
                result = call(*tensors)
        outputs = result if isinstance(result, (tuple, list)) else [result]
        return [_type_of(spmd, output, axis) for output in outputs]

    ran = spmd_run(body, world_size=_RANKS, seats="threads")
    if not ran.outcome.ok:
        error = ran.outcome.exception
        return None, str(error or ran.outcome.message).split("\n")[0]
    outputs = ran.results[0]
    return Row(
        tuple(placement for _, placement in types),
        tuple(placement for _, placement in outputs),
        tuple(dual(placement, name == "I") for name, placement in types),
        tuple(dual(placement, name == "I") for name, placement in outputs),
        is_typed=True,
    ), ""


def _type(spmd: Any, name: str, placement: RulePlacement) -> Any:
    return spmd.S(placement.dim) if placement.is_shard else getattr(spmd, name)


def _type_of(spmd: Any, tensor: Any, axis: Any) -> tuple[str, RulePlacement]:
    if not isinstance(tensor, torch.Tensor):
        return "", NONE
    kind = spmd.get_local_type(tensor).get(spmd.normalize_axis(axis))
    name = getattr(kind, "name", "")
    if name in ("R", "I"):
        return name, REPLICATE
    if name == "P":
        return name, PARTIAL
    for dim, entry in enumerate(spmd.get_partition_spec(tensor) or ()):
        if entry is not None:
            return f"S({dim})", shard(dim)
    raise ValueError(f"[rules] expected a type of every output on the mesh, got {kind!r}")
