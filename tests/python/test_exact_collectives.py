"""Collectives in exact ranks carry what stands behind their operands' elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
import torch.distributed as dist
from simmesh._core.exact import Values

import simmesh
from exact_fractions import rounded, same_bits, tensor
from simmesh.torch.exact import companions

RANKS = 3
Program = Callable[[int], list[tuple[torch.Tensor, list[Fraction]]]]


def part(rank: int, count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Elements (rank + 1) * (1 ... count) / 7 behind which the fractions stand."""
    result = torch.arange(1, count + 1, dtype=dtype)
    result.mul_(rank + 1).div_(7)
    return result


def fractions_of(rank: int, count: int) -> list[Fraction]:
    return [Fraction((rank + 1) * n, 7) for n in range(1, count + 1)]


def summed(count: int) -> list[Fraction]:
    return [sum(column, Fraction(0)) for column in zip(*(fractions_of(r, count) for r in range(3)))]


def behind(of: torch.Tensor) -> list[Fraction]:
    values = companions.carried(of)
    return [Fraction(*values.ratio(index)) for index in range(values.count)]


def checked(program: Program) -> None:
    """Runs a program on ranks: what it returns must have these fractions behind it, rounded."""

    def whole(rank_count: int) -> None:
        for result, expected in program(dist.get_rank()):
            assert behind(result) == expected
            elements = tensor([rounded(x, result.dtype) for x in expected], result.dtype)
            assert same_bits(result.flatten(), elements)

    for schedule in ("fifo", "seeded:3", "pct:2"):
        ran = simmesh.spmd_run(
            whole, RANKS, world_size=RANKS, local="exact", arithmetic="exact", schedule=schedule
        )
        assert ran.outcome.ok, ran.outcome.report


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_sums(dtype: torch.dtype) -> None:
    """If this fails, a member's part is rounded before it is added, or the sum too early."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        whole, mean = part(rank, 6, dtype), part(rank, 6, dtype)
        dist.all_reduce(whole)
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        scattered, mean_part = torch.zeros(2, dtype=dtype), torch.zeros(2, dtype=dtype)
        dist.reduce_scatter_tensor(scattered, part(rank, 6, dtype))
        dist.reduce_scatter_tensor(mean_part, part(rank, 6, dtype), dist.ReduceOp.AVG)
        scaled = part(rank, 6, dtype)
        dist.all_reduce(scaled, dist._make_nccl_premul_sum(1 / 3))  # type: ignore[attr-defined]
        halves = part(rank, 6, dtype)
        dist.all_reduce(halves, dist._make_nccl_premul_sum(0.3))  # type: ignore[attr-defined]
        listed = torch.zeros(2, dtype=dtype)
        dist.reduce_scatter(listed, list(part(rank, 6, dtype).chunk(3)))
        one = part(rank, 4, dtype)
        dist.reduce(one, 1)
        sums = summed(6)
        mine = sums[2 * rank : 2 * rank + 2]
        return [
            (whole, sums),
            (mean, [x / 3 for x in sums]),
            (scattered, mine),
            (mean_part, [x / 3 for x in mine]),
            (scaled, [x / 3 for x in sums]),
            (halves, [x * Fraction(0.3) for x in sums]),
            (listed, mine),
            (one, summed(4) if rank == 1 else fractions_of(rank, 4)),
        ]

    checked(program)


def test_parts_that_cancel() -> None:
    """If this fails, a sum that is small beside its parts has their rounding errors."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        parts = [(1e8, 1 / 3), (-1e8, 1 / 3), (0.0, 1e-9)]
        one = torch.tensor([parts[rank][0]]) + torch.tensor([parts[rank][1]])
        dist.all_reduce(one)
        floats = [Fraction(torch.tensor(x).item()) for pair in parts for x in pair]
        return [(one, [sum(floats, Fraction(0))])]

    checked(program)


def test_reductions_of_views() -> None:
    """If this fails, a coalesced or strided operand takes the values of other elements."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        bucket = part(rank, 12)
        dist.all_reduce(bucket[3:6])
        first, second = part(rank, 3), part(rank, 5)
        dist.all_reduce_coalesced([first, second])
        with_hole = part(rank, 12)
        dist.all_reduce(with_hole.view(3, 4)[:, 1:2].contiguous())
        sums, own = summed(12), fractions_of(rank, 12)
        return [
            (bucket, own[:3] + sums[3:6] + own[6:]),
            (first, summed(3)),
            (second, summed(5)),
            (with_hole, own),
        ]

    checked(program)


def test_movement() -> None:
    """If this fails, a value is rounded on its way, or arrives behind another element."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        of = [fractions_of(r, 4) for r in range(RANKS)]
        gathered, pieces = torch.zeros(12), [torch.zeros(4) for _ in range(RANKS)]
        dist.all_gather_into_tensor(gathered, part(rank, 4))
        dist.all_gather(pieces, part(rank, 4))
        shared = part(rank, 4)
        dist.broadcast(shared, 2)
        mine = torch.zeros(4)
        dist.scatter(mine, [part(r + 5, 4) for r in range(3)] if rank == 1 else None, src=1)
        collected = [torch.zeros(4) for _ in range(RANKS)] if rank == 0 else None
        dist.gather(part(rank, 4), collected, dst=0)
        results = [(gathered, of[0] + of[1] + of[2]), *zip(pieces, of), (shared, of[2])]
        results += [(mine, fractions_of(rank + 5, 4))]
        if collected is not None:
            results += list(zip(collected, of))
        return results

    checked(program)


def test_all_to_all() -> None:
    """If this fails, rows with splits take the values of other rows."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        even = torch.zeros(6)
        dist.all_to_all_single(even, part(rank, 6))
        # Rank r sends r + 1 rows of two to rank 0, one to rank 1, none to rank 2.
        sent = [rank + 1, 1, 0]
        rows = part(rank, 2 * sum(sent)).view(-1, 2)
        taken = [[1, 2, 3], [1, 1, 1], [0, 0, 0]][rank]
        uneven = torch.zeros(sum(taken), 2)
        dist.all_to_all_single(uneven, rows, taken, sent)
        expected: list[Fraction] = []
        for other in range(RANKS):
            own = fractions_of(other, 2 * (other + 2))
            start = 0 if rank == 0 else other + 1
            expected += own[2 * start : 2 * (start + taken[other])]
        lists = [torch.zeros(2) for _ in range(RANKS)]
        dist.all_to_all(lists, list(part(rank, 6).chunk(3)))
        parts = [fractions_of(r, 6)[2 * rank : 2 * rank + 2] for r in range(RANKS)]
        return [(even, parts[0] + parts[1] + parts[2]), (uneven, expected), *zip(lists, parts)]

    checked(program)


def test_messages() -> None:
    """If this fails, a message rounds."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        ring = torch.zeros(4)
        operations = [
            dist.P2POp(dist.isend, part(rank, 4), (rank + 1) % RANKS),
            dist.P2POp(dist.irecv, ring, (rank - 1) % RANKS),
        ]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        if rank == 0:
            dist.send(part(7, 2), 1)
        got = torch.zeros(2)
        if rank == 1:
            dist.recv(got, 0)
        return [
            (ring, fractions_of((rank - 1) % RANKS, 4)),
            (got, fractions_of(7, 2) if rank == 1 else [Fraction(0)] * 2),
        ]

    checked(program)


def test_results_end_what_stood_there() -> None:
    """If this fails, a buffer keeps its old values where the result has the same bits."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        buffer = part(0, 3)
        plain = buffer.clone().detach_()
        plain = torch.tensor(plain.tolist())  # the elements, with nothing behind them
        if rank != 1:
            plain.zero_()
        dist.all_reduce(plain)
        dist.broadcast(buffer if rank != 1 else plain, 1)
        result = buffer if rank != 1 else plain
        return [(result, [Fraction(x) for x in result.tolist()])]

    checked(program)


def test_other_reductions_and_dtypes() -> None:
    """If this fails, a maximum or integers carry values, or keep old ones."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        greatest = part(rank, 3)
        dist.all_reduce(greatest, dist.ReduceOp.MAX)
        counts = torch.tensor([rank, 1])
        dist.all_reduce(counts)
        assert counts.tolist() == [3, 3]
        flags = torch.tensor([rank, -1], dtype=torch.int16)
        dist.broadcast(flags, 2)
        assert flags.tolist() == [2, -1]
        as_bytes = part(rank, 2)
        dist.broadcast(as_bytes.view(torch.uint8), 0)
        return [
            (greatest, [Fraction(x) for x in part(2, 3).tolist()]),
            (as_bytes, [Fraction(x) for x in part(0, 2).tolist()]),
        ]

    checked(program)


def test_complex_elements() -> None:
    """If this fails, a part of a complex element is rounded, or exchanged with the other one."""

    def program(rank: int) -> list[tuple[torch.Tensor, list[Fraction]]]:
        whole = torch.view_as_complex(part(rank, 8).view(4, 2))
        dist.all_reduce(whole)
        shared = torch.view_as_complex(part(rank, 8).view(4, 2))
        dist.broadcast(shared, 1)
        return [
            (torch.view_as_real(whole), summed(8)),
            (torch.view_as_real(shared), fractions_of(1, 8)),
        ]

    checked(program)


def test_roots_are_moved() -> None:
    """If this fails, a norm that is moved is rounded, or a sum takes what is under a root."""

    def whole(_: int) -> None:
        rank = dist.get_rank()
        norm = torch.linalg.vector_norm(torch.tensor([1.0, float(rank + 1)]))
        gathered = torch.zeros(RANKS)
        dist.all_gather_into_tensor(gathered, norm.reshape(1))
        values = companions.carried(gathered)
        assert values.is_root
        assert [Fraction(*values.square().ratio(i)) for i in range(3)] == [2, 5, 10]
        total = norm.clone()
        dist.all_reduce(total)
        elements = [torch.tensor(math.sqrt(x)).item() for x in (2, 5, 10)]
        assert behind(total.reshape(1)) == [sum(map(Fraction, elements), Fraction(0))]

    ran = simmesh.spmd_run(whole, RANKS, world_size=RANKS, local="exact", arithmetic="exact")
    assert ran.outcome.ok, ran.outcome.report


def test_plain_ranks_are_what_they_were() -> None:
    """If this fails, ranks without local="exact" compute or carry something else."""

    def whole(_: int) -> list[float]:
        rank = dist.get_rank()
        one = torch.full((2,), (rank + 1) / 7)
        dist.all_reduce(one)
        assert companions.record_of(one) is None
        return one.tolist()

    before = simmesh.spmd_run(whole, RANKS, world_size=RANKS, arithmetic="exact")
    simmesh.spmd_run(whole, RANKS, world_size=RANKS, arithmetic="exact", local="exact")
    after = simmesh.spmd_run(whole, RANKS, world_size=RANKS, arithmetic="exact")
    assert before.results == after.results
    assert before.outcome.data_hash == after.outcome.data_hash
    terms = [Fraction(torch.tensor((r + 1) / 7).item()) for r in range(RANKS)]
    assert before.results[0][0] == rounded(sum(terms, Fraction(0)), torch.float32)


def test_values_are_exact_behind_parts() -> None:
    """If this fails, the parts of these tests are rounded, and nothing is carried."""

    def whole(_: int) -> None:
        assert behind(part(1, 3)) == fractions_of(1, 3)
        assert isinstance(companions.carried(part(1, 3)), Values)

    ran = simmesh.spmd_run(whole, 1, world_size=1, local="exact", arithmetic="exact")
    assert ran.outcome.ok, ran.outcome.report
