"""Finds from its bits how a tensor lies on the ranks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import simmesh


def found_on(ranks: int, piece: Any, whole: torch.Tensor) -> list[str | None]:
    """Returns the finding of each rank, where ``piece(rank)`` is what the rank holds."""

    def program() -> str | None:
        return simmesh.placement_of(piece(dist.get_rank()), whole)

    result = simmesh.spmd_run(program, world_size=ranks)
    assert result.outcome.ok, result.outcome.report
    return list(result.results)


WHOLE = torch.randn(7, 4, generator=torch.Generator().manual_seed(1))


def test_pieces_copies_and_terms_are_found() -> None:
    """Would fail if a placement were taken for another one, or ranks disagreed."""
    assert found_on(3, lambda rank: WHOLE, WHOLE) == ["R"] * 3
    assert found_on(3, lambda rank: WHOLE.chunk(3)[rank], WHOLE) == ["S(0)"] * 3
    assert found_on(2, lambda rank: WHOLE.chunk(2, 1)[rank], WHOLE) == ["S(1)"] * 2
    terms = torch.randint(-8, 9, (3, 4, 2), generator=torch.Generator().manual_seed(2)).float()
    assert found_on(3, lambda rank: terms[rank], terms.sum(0)) == ["P"] * 3
    assert found_on(3, lambda rank: terms[rank], terms.sum(0) + 1) == [None] * 3
    assert found_on(3, lambda rank: WHOLE + rank, WHOLE) == [None] * 3


def test_each_dim_of_a_mesh_has_its_own() -> None:
    """Would fail if the dims of a mesh were taken in another order."""

    def program() -> str | None:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        dp, tp = mesh.get_local_rank("dp"), mesh.get_local_rank("tp")
        piece = WHOLE.chunk(2)[dp] if tp == 0 else torch.zeros_like(WHOLE.chunk(2)[dp])
        return simmesh.placement_of(piece, WHOLE, mesh)

    assert list(simmesh.spmd_run(program, world_size=4).results) == ["S(0), P"] * 4


def test_what_is_no_tensor_is_refused() -> None:
    """Would fail if tensors of two dtypes were compared."""
    with pytest.raises(TypeError, match="expected a tensor and the whole tensor, got int"):
        simmesh.placement_of(3, WHOLE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected tensors of one dtype"):
        simmesh.placement_of(WHOLE.double(), WHOLE)
