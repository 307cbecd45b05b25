"""Operators on tensors: the ops of the library."""

from __future__ import annotations

import simmesh
from simmesh import World

X = simmesh.tensor([[1.0, 2.0], [3.0, 4.0]])
Y = simmesh.tensor([[5.0, 6.0], [7.0, 8.0]])


def test_operators() -> None:
    assert (X + Y).tolist() == [[6, 8], [10, 12]]
    assert (X - 1).tolist() == [[0, 1], [2, 3]]
    assert (X * Y).tolist() == [[5, 12], [21, 32]]
    assert (Y / 2.0).tolist() == [[2.5, 3], [3.5, 4]]
    assert (X @ Y).tolist() == [[19, 22], [43, 50]]
    assert (-X).tolist() == [[-1, -2], [-3, -4]]
    assert X.sum().item() == 10
    assert X.sum([0], keepdim=True).tolist() == [[4, 6]]
    assert (simmesh.tensor([1, 2]) + 1).dtype == "int64"


def test_operators_on_pieces() -> None:
    def body(rank: int) -> list[list[float]]:
        mesh = simmesh.init_device_mesh((2,))
        x, y = (simmesh.distribute_tensor(t, mesh, "S(0)") for t in (X, Y))
        total = (x * y + 1).sum([0])
        assert total.placements == simmesh.parse_placements("P(sum)")
        return total.full_tensor().tolist()

    assert World(2).results(body) == [(X * Y + 1).sum([0]).tolist()] * 2
