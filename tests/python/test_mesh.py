"""A mesh outside of ranks: for plans, and to see who stands where."""

from __future__ import annotations

import pytest

from simmesh import DeviceMesh


def test_is_seen_by_a_rank() -> None:
    mesh = DeviceMesh((2, 4), ("dp", "tp"), rank=5)
    assert mesh.shape == (2, 4) and mesh.ndim == 2 and mesh.size() == 8 and mesh.size("tp") == 4
    assert mesh.mesh_dim_names == ("dp", "tp")
    assert mesh.get_rank() == 5 and mesh.get_coordinate() == (1, 1)
    assert mesh.get_local_rank("dp") == 1
    assert mesh.get_group_ranks("dp") == [1, 5]
    assert mesh["tp"].ranks() == [4, 5, 6, 7]
    assert mesh.flatten().get_local_rank() == 5


def test_may_list_its_ranks() -> None:
    mesh = DeviceMesh([2, 2], rank=7, ranks=[0, 3, 7, 1])
    assert mesh.ranks() == [0, 3, 7, 1]
    assert mesh.get_coordinate() == (1, 0)
    assert mesh.mesh_dim_names is None
    with pytest.raises(ValueError):
        DeviceMesh([2, 2], ranks=[0, 1, 2])


def test_is_a_value() -> None:
    assert DeviceMesh((2, 4), ("dp", "tp")) == DeviceMesh([2, 4], ["dp", "tp"])
    assert DeviceMesh((2, 4)) != DeviceMesh((4, 2))
    assert hash(DeviceMesh((2, 4))) == hash(DeviceMesh((2, 4)))
    assert repr(DeviceMesh((2,), ("dp",))) == "DeviceMesh((dp=2), ranks [0, 1])"


def test_is_unflattened() -> None:
    mesh = DeviceMesh((8,), ("world",)).unflatten("world", (2, 4), ("dp", "tp"))
    assert mesh.shape == (2, 4)
    assert mesh[["dp", "tp"]] == mesh
