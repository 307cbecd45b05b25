"""The collectives, against what NumPy says they give."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

import simmesh
from simmesh import Tensor, World

RANKS = 4


def piece(rank: int) -> Tensor:
    """A tensor of 4x3 that differs on every rank."""
    return simmesh.formula((4, 3), dtype="float64", rule="small", seed=rank)


PIECES = [piece(rank).numpy() for rank in range(RANKS)]
TOTAL = np.add.reduce(PIECES)


def on_ranks(body: Callable[[int], NDArray[Any]]) -> list[NDArray[Any]]:
    """Returns the value of body on each rank, the same under two schedules."""
    first, second = (World(RANKS, schedule=s).results(body) for s in ("fifo", "seeded:3"))
    for one, other in zip(first, second):
        assert np.array_equal(one, other)
    return first


def check(body: Callable[[int], Tensor], expected: list[NDArray[Any]]) -> None:
    for got, wanted in zip(on_ranks(lambda rank: body(rank).numpy()), expected):
        assert np.array_equal(got, wanted)


def test_all_reduce() -> None:
    check(lambda rank: simmesh.all_reduce(piece(rank)), [TOTAL] * RANKS)
    check(lambda rank: simmesh.all_reduce(piece(rank), "max"), [np.max(PIECES, axis=0)] * RANKS)


def test_reduce_scatter() -> None:
    check(lambda rank: simmesh.reduce_scatter(piece(rank)), list(np.split(TOTAL, RANKS)))
    check(
        lambda rank: simmesh.reduce_scatter(piece(rank), dim=1, uneven=True),
        [TOTAL[:, rank : rank + 1] for rank in range(RANKS)],
    )


def test_all_gather() -> None:
    check(lambda rank: simmesh.all_gather(piece(rank)), [np.concatenate(PIECES)] * RANKS)
    check(lambda rank: simmesh.all_gather(piece(rank), dim=1), [np.hstack(PIECES)] * RANKS)
    lists = World(RANKS).results(lambda rank: simmesh.all_gather_list(piece(rank)))
    for gathered in lists:
        assert all(np.array_equal(got.numpy(), piece) for got, piece in zip(gathered, PIECES))


def test_rooted_collectives() -> None:
    def body(rank: int) -> None:
        reduced = simmesh.reduce(piece(rank), 1)
        gathered = simmesh.gather(piece(rank), 2)
        scattered = simmesh.scatter([piece(i) for i in range(RANKS)] if rank == 3 else [], 3)
        assert (reduced is not None) == (rank == 1)
        assert reduced is None or np.array_equal(reduced.numpy(), TOTAL)
        assert len(gathered) == (RANKS if rank == 2 else 0)
        assert np.array_equal(scattered.numpy(), PIECES[rank])

    World(RANKS).results(body)
    check(lambda rank: simmesh.broadcast(piece(rank), 2), [PIECES[2]] * RANKS)


def test_exchanges() -> None:
    check(
        lambda rank: simmesh.all_to_all(piece(rank)),
        [np.stack([PIECES[i][rank] for i in range(RANKS)]) for rank in range(RANKS)],
    )
    check(
        lambda rank: simmesh.all_to_all_single(piece(rank), (1, 1, 1, 1), [1, 1, 1, 1]),
        [np.stack([PIECES[i][rank] for i in range(RANKS)]) for rank in range(RANKS)],
    )


def test_groups_of_a_mesh() -> None:
    def body(rank: int) -> float:
        mesh = simmesh.init_device_mesh((2, 2), ("dp", "tp"))
        group = mesh.get_group("tp")
        assert group.size == 2 and group.rank == rank % 2
        return simmesh.all_reduce(simmesh.full((), rank), group=group).item()

    assert World(4).results(body) == [1.0, 1.0, 5.0, 5.0]
