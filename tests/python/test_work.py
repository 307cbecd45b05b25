"""Operations that are started and waited for, and messages."""

from __future__ import annotations

import simmesh
from simmesh import Tensor, Work, World


def result(work: Work) -> Tensor:
    """Waits for work that has a result."""
    tensor = work.wait()
    assert tensor is not None
    return tensor


def test_started_collectives() -> None:
    def body(rank: int) -> tuple[float, list[float]]:
        total = simmesh.all_reduce_async(simmesh.full((), rank))
        whole = simmesh.all_gather_async(simmesh.full((1,), rank))
        gathered = result(whole).tolist()
        assert whole.is_completed()
        return result(total).item(), gathered

    assert World(3).results(body) == [(3.0, [0.0, 1.0, 2.0])] * 3


def test_messages() -> None:
    def body(rank: int) -> float:
        if rank == 0:
            simmesh.send(simmesh.full((2,), 7), 1)
            work = simmesh.isend(simmesh.full((2,), 8), 1, tag=5)
            assert work.wait() is None
            return 0.0
        first, sender = simmesh.recv((2,), 0)
        second = result(simmesh.irecv((2,), 0, tag=5))
        assert sender == 0
        return (first + second).tolist()[0]

    assert World(2).results(body) == [0.0, 15.0]


def test_receives_from_any_sender_depend_on_the_schedule() -> None:
    def body(rank: int) -> list[int]:
        if rank > 0:
            simmesh.send(simmesh.zeros(()), 0)
            return []
        return [simmesh.recv(())[1] for _ in range(2)]

    orders = {tuple(World(3, schedule=f"seeded:{i}").results(body)[0]) for i in range(20)}
    assert orders == {(1, 2), (2, 1)}
