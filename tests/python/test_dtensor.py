"""Distributed tensors on ranks of Python."""

from __future__ import annotations

import numpy as np
import pytest

import simmesh
from simmesh import DTensor, Partial, Replicate, Shard, World

FULL = simmesh.formula((16, 8), seed=1)
LISTS = ["R,R", "S(0),R", "R,S(1)", "S(0),S(0)", "S(1),S(0)", "_S(0,2),S(0)"]


@pytest.mark.parametrize("source", LISTS)
def test_redistributions_keep_every_bit(source: str) -> None:
    def body(rank: int) -> None:
        mesh = simmesh.init_device_mesh((2, 2), ("dp", "tp"))
        x = simmesh.distribute_tensor(FULL, mesh, source)
        for target in LISTS:
            y = x.redistribute(target)
            assert y.placements == simmesh.parse_placements(target)
            simmesh.expect_same_bits(y.full_tensor(), FULL)

    World(4, schedule="seeded:5").results(body)


def test_says_what_it_is() -> None:
    def body(rank: int) -> tuple[object, str]:
        mesh = simmesh.init_device_mesh((2, 2), ("dp", "tp"))
        x = simmesh.distribute_tensor(FULL, mesh, [Shard(0), Replicate()])
        assert x.device_mesh == mesh and x.shape == (16, 8) and x.dtype == "float32"
        assert x.to_local().shape == (8, 8)
        assert x.redistribute_cost_us("R,R") > 0
        return x.placements, repr(x)

    placements, text = World(4).results(body)[0]
    assert placements == (Shard(0), Replicate())
    assert text.startswith("DTensor(float32[16, 8], S(0),R on DeviceMesh((dp=2, tp=2)")


def test_pieces_are_those_of_numpy() -> None:
    def body(rank: int) -> np.ndarray:
        mesh = simmesh.init_device_mesh((4,))
        return simmesh.distribute_tensor(FULL, mesh, "S(0)").to_local().numpy()

    for rank, piece in enumerate(World(4).results(body)):
        assert np.array_equal(piece, FULL.numpy()[4 * rank : 4 * rank + 4])


def test_partial_sums_are_finished() -> None:
    def body(rank: int) -> list[float]:
        mesh = simmesh.init_device_mesh((4,))
        local = simmesh.full((3,), rank)
        x = DTensor.from_local(local, mesh, [Partial()])
        return x.redistribute([Replicate()]).to_local().tolist()

    assert World(4).results(body) == [[6.0, 6.0, 6.0]] * 4


def test_products_run_on_pieces() -> None:
    a, b = simmesh.formula((8, 6), seed=1), simmesh.formula((6, 5), seed=2)

    def body(rank: int) -> None:
        mesh = simmesh.init_device_mesh((2, 2))
        x = simmesh.distribute_tensor(a, mesh, "S(0),S(1)")
        w = simmesh.distribute_tensor(b, mesh, "R,S(0)")
        simmesh.expect_same_bits((x @ w).full_tensor(), a @ b)

    World(4, arithmetic="exact").results(body)


def test_asynchronous_redistribution_is_waited_for() -> None:
    def body(rank: int) -> None:
        mesh = simmesh.init_device_mesh((2,))
        x = simmesh.distribute_tensor(FULL, mesh, "S(0)")
        simmesh.expect_same_bits(x.redistribute("R", async_op=True).to_local(), FULL)

    World(2).results(body)


def test_refuses_with_the_exceptions_of_pytorch() -> None:
    def body(rank: int) -> None:
        mesh = simmesh.init_device_mesh((2,))
        with pytest.raises(ValueError):
            simmesh.distribute_tensor(FULL, mesh, "P(sum)")
        with pytest.raises(RuntimeError):
            simmesh.distribute_tensor(FULL, mesh, "R").redistribute("P(max)")
        with pytest.raises(ValueError, match="expected 0 or None, got 1"):
            simmesh.distribute_tensor(FULL, mesh, "R", src_data_rank=1)

    World(2).results(body)
