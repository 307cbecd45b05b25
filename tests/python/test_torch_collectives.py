"""Each collective of torch.distributed gives what its documentation says, also in the dtypes that
the core doesn't know.
"""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.algorithms.join import Join

import simmesh
from simmesh.torch.rank_state import of_rank

RANKS = 4


def run(program: Callable[[], Any], **options: Any) -> list[Any]:
    """Returns the value of ``program`` on each rank; fails if the run does."""
    ran = simmesh.spmd_run(program, world_size=RANKS, **options)
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


def own(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor full of the rank's number plus one."""
    return torch.full(shape, dist.get_rank() + 1, dtype=dtype)


REDUCTIONS = [
    (dist.ReduceOp.SUM, 10.0),
    (dist.ReduceOp.AVG, 2.5),
    (dist.ReduceOp.PRODUCT, 24.0),
    (dist.ReduceOp.MIN, 1.0),
    (dist.ReduceOp.MAX, 4.0),
]


@pytest.mark.parametrize(("operator", "expected"), REDUCTIONS)
def test_all_reduce(operator: Any, expected: float) -> None:
    def program() -> list[float]:
        tensor = own(3)
        dist.all_reduce(tensor, operator)
        return tensor.tolist()

    assert run(program) == [[expected] * 3] * RANKS


def test_all_reduce_of_bits() -> None:
    def program() -> list[int]:
        results = []
        for operator in (dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR):
            tensor = own(1, dtype=torch.int32)
            dist.all_reduce(tensor, operator)
            results.append(int(tensor))
        return results

    assert run(program) == [[0, 7, 4]] * RANKS


def test_premultiplied_sum_uses_its_factor() -> None:
    """Would fail if the factor, which torch's operators don't tell, were lost or that of another
    operation.
    """

    def program() -> list[float]:
        make = dist._make_nccl_premul_sum
        half, quarter = make(0.5), make(0.25)
        one, other = own(1), own(1)
        dist.all_reduce(one, half)
        dist.all_reduce(other, quarter)
        return [one.item(), other.item()]

    assert run(program) == [[5.0, 2.5]] * RANKS


def test_strided_tensors_are_reduced_in_place() -> None:
    def program() -> list[Any]:
        tensor = torch.zeros(4, 6)
        view = tensor.t()[1:5:2]
        view.fill_(dist.get_rank())
        dist.all_reduce(view)
        return tensor.tolist()

    expected = torch.zeros(4, 6)
    expected[:, 1:5:2] = 6
    assert run(program, allow_strided=True) == [expected.tolist()] * RANKS


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int8, torch.complex64],
)
def test_sums_of_dtypes(dtype: torch.dtype) -> None:
    def program() -> tuple[Any, torch.dtype]:
        tensor = own(2, dtype=dtype)
        dist.all_reduce(tensor)
        return tensor[0].item(), tensor.dtype

    assert run(program) == [(10, dtype)] * RANKS


def test_int8_has_its_order() -> None:
    """Would fail if its bits were compared as those of unsigned numbers."""

    def program() -> list[int]:
        results = []
        for operator in (dist.ReduceOp.MIN, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT):
            tensor = torch.tensor([-128, 3, 1, 127], dtype=torch.int8)[dist.get_rank()].clone()
            dist.all_reduce(tensor, operator)
            results.append(tensor.item())
        return results

    assert run(program) == [[-128, 127, -128]] * RANKS


@pytest.mark.parametrize(
    ("dtype", "operator"),
    [
        (torch.int16, dist.ReduceOp.SUM),
        (torch.int8, dist.ReduceOp.AVG),
        (torch.float8_e4m3fn, dist.ReduceOp.MAX),
        (torch.float32, dist.ReduceOp.BAND),
    ],
)
def test_reductions_without_meaning_are_refused(dtype: torch.dtype, operator: Any) -> None:
    def program() -> None:
        with pytest.raises(TypeError, match=str(dtype).removeprefix("torch.")):
            dist.all_reduce(torch.zeros(2).to(dtype), operator)

    run(program)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.int8, torch.uint8),
        (torch.int16, torch.float16),
        (torch.float8_e4m3fn, torch.float8_e5m2),
    ],
)
def test_dtypes_that_differ_are_reported(one: torch.dtype, other: torch.dtype) -> None:
    """Would fail if dtypes that simmesh carries in the same one of its own counted as equal."""

    def program() -> None:
        tensor = torch.zeros(2).to(one if dist.get_rank() == 0 else other)
        dist.all_gather([torch.empty_like(tensor) for _ in range(RANKS)], tensor)

    report = simmesh.spmd_run(program, world_size=RANKS).outcome.report
    assert "the dtypes differ" in report
    for dtype in (one, other):
        assert str(dtype).removeprefix("torch.") in report


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.complex128, torch.float8_e4m3fn, torch.int16, torch.uint64]
)
def test_moves_of_dtypes(dtype: torch.dtype) -> None:
    def program() -> bool:
        tensors = [
            torch.tensor([rank, rank * 2], dtype=torch.float32).to(dtype) for rank in range(4)
        ]
        mine = tensors[dist.get_rank()].clone()
        pieces = [torch.empty_like(mine) for _ in range(RANKS)]
        dist.all_gather(pieces, mine)
        whole = torch.empty(2 * RANKS, dtype=dtype)
        dist.all_gather_into_tensor(whole, mine)
        stacked = torch.empty(RANKS, 2, dtype=dtype)
        dist.all_gather_into_tensor(stacked, mine)
        sent = mine.clone()
        dist.broadcast(sent, 2)
        byte = torch.uint8
        return (
            all(torch.equal(a.view(byte), b.view(byte)) for a, b in zip(pieces, tensors))
            and torch.equal(whole.view(byte), torch.cat([t.view(byte) for t in tensors]))
            and torch.equal(stacked.view(byte).flatten(), whole.view(byte))
            and torch.equal(sent.view(byte), tensors[2].view(byte))
        )

    assert run(program) == [True] * RANKS


def test_reduce_gather_scatter() -> None:
    def program() -> list[Any]:
        rank = dist.get_rank()
        reduced = own(2)
        dist.reduce(reduced, 1)
        gathered = [torch.zeros(2) for _ in range(RANKS)] if rank == 3 else None
        dist.gather(own(2), gathered, 3)
        piece = torch.zeros(2)
        dist.scatter(
            piece, [torch.full((2,), 10.0 * i) for i in range(RANKS)] if rank == 2 else None, 2
        )
        return [reduced[0].item() if rank == 1 else None,
                [t[0].item() for t in gathered] if gathered else None, piece[0].item()]  # fmt: skip

    assert run(program) == [
        [None, None, 0.0], [10.0, None, 10.0], [None, None, 20.0],
        [None, [1.0, 2.0, 3.0, 4.0], 30.0],
    ]  # fmt: skip


def test_reduce_scatter() -> None:
    def program() -> list[float]:
        rank = dist.get_rank()
        inputs = [torch.full((2,), float(rank * 10 + i)) for i in range(RANKS)]
        one, other = torch.zeros(2), torch.zeros(2)
        dist.reduce_scatter(one, inputs)
        dist.reduce_scatter_tensor(other, torch.cat(inputs))
        return [one[0].item(), other[0].item()]

    assert run(program) == [[60.0 + 4 * rank] * 2 for rank in range(RANKS)]


def test_all_to_all() -> None:
    def program() -> list[Any]:
        rank = dist.get_rank()
        outputs = [torch.zeros(1) for _ in range(RANKS)]
        dist.all_to_all(outputs, [torch.tensor([10.0 * rank + i]) for i in range(RANKS)])
        splits = [rank + 1] * RANKS
        ragged = torch.zeros(sum(range(1, RANKS + 1)))
        dist.all_to_all_single(ragged, own(sum(splits)), list(range(1, RANKS + 1)), splits)
        return [[t.item() for t in outputs], ragged.tolist()]

    ragged = [1.0, 2, 2, 3, 3, 3, 4, 4, 4, 4]
    assert run(program) == [
        [[10.0 * i + rank for i in range(RANKS)], ragged] for rank in range(RANKS)
    ]


def test_coalesced_operations() -> None:
    """Would fail if a group of operations were waited for by a handle that doesn't know them."""

    def program() -> list[Any]:
        tensors = [own(2), own(3)]
        with dist._coalescing_manager(async_ops=True) as manager:
            for tensor in tensors:
                dist.all_reduce(tensor)
        manager.wait()
        outputs = [torch.zeros(2 * RANKS), torch.zeros(RANKS)]
        with dist._coalescing_manager():
            dist.all_gather_into_tensor(outputs[0], own(2))
            dist.all_gather_into_tensor(outputs[1], own(1))
        rank = dist.get_rank()
        received = torch.zeros(1)
        with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
            dist.isend(own(1), (rank + 1) % RANKS)
            dist.irecv(received, (rank - 1) % RANKS)
        manager.wait()
        return [t[-1].item() for t in (*tensors, *outputs, received)]

    assert run(program) == [
        [10.0, 10.0, 4.0, 4.0, float((r - 1) % RANKS + 1)] for r in range(RANKS)
    ]


def test_point_to_point() -> None:
    def program() -> list[Any]:
        rank = dist.get_rank()
        received, tagged = torch.zeros(2), torch.zeros(1)
        requests = dist.batch_isend_irecv([
            dist.P2POp(dist.isend, own(2), (rank + 1) % RANKS),
            dist.P2POp(dist.irecv, received, (rank - 1) % RANKS),
        ])  # fmt: skip
        for request in requests:
            request.wait()
        if rank == 0:
            for request in [dist.isend(torch.tensor([float(tag)]), 1, tag=tag) for tag in (7, 8)]:
                request.wait()
        if rank == 1:
            dist.recv(tagged, 0, tag=8)
            dist.recv(tagged, 0, tag=7)
        source = dist.recv(torch.zeros(1)) if rank == 2 else None
        if rank == 3:
            dist.send(own(1), 2)
        return [received[0].item(), tagged.item(), source]

    results = run(program, schedule="seeded:5")
    assert [each[0] for each in results] == [4.0, 1.0, 2.0, 3.0]
    assert results[1][1] == 7.0
    assert results[2][2] == 3


def test_objects() -> None:
    def program() -> list[Any]:
        rank = dist.get_rank()
        gathered: list[Any] = [None] * RANKS
        dist.all_gather_object(gathered, {"rank": rank})
        sent = [f"from {rank}", (rank,)]
        dist.broadcast_object_list(sent, 1)
        scattered: list[Any] = [None]
        dist.scatter_object_list(scattered, list("abcd") if rank == 0 else None, 0)
        return [[each["rank"] for each in gathered], sent, scattered]

    assert run(program) == [[[0, 1, 2, 3], ["from 1", (1,)], [letter]] for letter in "abcd"]


def test_functional_collectives() -> None:
    """Would fail if C++ code that waits for a Work didn't give the turn away, or found its Python
    half gone.
    """

    def program() -> list[float]:
        group = dist.group.WORLD
        one = functional.all_reduce(own(2), "sum", group)
        two = functional.all_gather_tensor(own(2), 0, group)
        three = functional.reduce_scatter_tensor(own(RANKS), "sum", 0, group)
        four = functional.all_to_all_single(own(RANKS), None, None, group)
        return [(one + 0)[0].item(), two.sum().item(), (three + 0).item(), four.sum().item()]

    assert run(program) == [[10.0, 20.0, 10.0, 10.0]] * RANKS


def test_futures_complete_with_their_operations() -> None:
    """Would fail if asking for a future waited for the other ranks, or callbacks never ran."""

    def program() -> list[Any]:
        rank = dist.get_rank()
        called: list[float] = []
        if rank == 1:
            dist.recv(torch.zeros(1), 0)
        future = dist.all_reduce(own(1), async_op=True).get_future()
        doubled = future.then(lambda each: each.value()[0] * 2)
        doubled.add_done_callback(lambda each: called.append(each.value().item()))
        failing = future.then(lambda each: 1 // 0)
        if rank == 0:
            dist.send(torch.zeros(1), 1)
        results = [each.wait() for each in (doubled, torch.futures.collect_all([future, doubled]))]
        dist.barrier()
        try:
            failing.wait()
        except Exception as error:
            called.append(float("division" in str(error)))
        return [results[0].item(), len(results[1]), called]

    assert run(program) == [[20.0, 2, [20.0, 1.0]]] * RANKS


def test_uneven_inputs_under_ddp() -> None:
    """Would fail if a rank that waits for a future of torch's C++ code kept its turn."""

    def program() -> list[Any]:
        torch.manual_seed(0)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        with Join([model]):
            for _ in range(1 + dist.get_rank()):
                model(own(1, 2)).sum().backward()
        return model.module.weight.grad.tolist()

    # Gradients add up from step to step; each is the mean over all ranks, also those that ended.
    expected = 0.0
    for ranks in ([1, 2, 3, 4], [2, 3, 4], [3, 4], [4]):
        expected = sum(expected + rank for rank in ranks) / RANKS
    assert run(program, schedule="seeded:1")[3] == [[expected] * 2]


def test_tensors_are_let_go() -> None:
    """Would fail if a long program kept every tensor that it ever communicated, or left those to
    Python's collector.
    """

    def program() -> int:
        group = dist.group.WORLD
        seen: list[list[Any]] = [[], [], []]
        for _ in range(300):
            tensor, other = own(2), own(2)
            dist.all_reduce(tensor)
            dist.all_reduce(other, async_op=True).get_future().wait()
            gathered = functional.all_gather_tensor(own(2), 0, group) + 0
            for references, each in zip(seen, (tensor, other, gathered)):
                references.append(weakref.ref(each))
        kept = [sum(each() is not None for each in references) for references in seen]
        return max(*kept, len(of_rank().works))

    gc.collect()
    gc.disable()
    try:
        assert max(run(program)) <= 16
    finally:
        gc.enable()


def test_works_that_only_torch_refers_to_are_kept() -> None:
    """Would fail if the Python half of a Work were gone while C++ code still waits for it."""

    def program() -> list[float]:
        group = dist.group.WORLD
        early = [functional.all_reduce(own(1), "sum", group) for _ in range(300)]
        gc.collect()
        assert len(of_rank().works) >= 300
        return [tensor.item() for tensor in early]

    assert run(program) == [[10.0] * 300] * RANKS


def test_sparse_sums_are_coalesced() -> None:
    def program() -> list[Any]:
        rank = dist.get_rank()
        tensor = torch.sparse_coo_tensor([[rank, 3]], [1.0, 2.0], (5,))
        dist.all_reduce(tensor)
        several = [torch.sparse_coo_tensor([[place]], [1.0], (2,)) for place in (0, 1)]
        group: Any = dist.group.WORLD
        group.allreduce(several, dist.AllreduceOptions()).wait()
        return [tensor.is_coalesced(), tensor.to_dense().tolist(),
                [each.to_dense().tolist() for each in several]]  # fmt: skip

    assert run(program) == [[True, [1.0, 1.0, 1.0, 9.0, 0.0], [[4.0, 4.0]] * 2]] * RANKS


def test_several_tensors_of_a_rank_become_one_sum() -> None:
    """Would fail if each tensor were reduced for itself, as gloo doesn't."""

    def program() -> list[Any]:
        rank = dist.get_rank()
        group: Any = dist.group.WORLD
        found = []
        for operator in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
            options = dist.AllreduceOptions()
            options.reduceOp = operator
            tensors = [torch.tensor([2.0 * rank]), torch.tensor([2.0 * rank + 1])]
            group.allreduce(tensors, options).wait()
            found.append([tensor.item() for tensor in tensors])
        return found

    assert run(program) == [[[28.0] * 2, [7.0] * 2, [7.0] * 2]] * RANKS


def test_several_tensors_of_two_shapes_are_refused() -> None:
    """Would fail if the message named neither what was expected nor what came."""

    def program() -> None:
        group: Any = dist.group.WORLD
        group.allreduce([torch.ones(2), torch.ones(3)], dist.AllreduceOptions())

    report = simmesh.spmd_run(program, world_size=RANKS).outcome.report
    assert "expected tensors of one shape, [2] as the first, got [3] at place 1" in report


def test_groups_are_of_their_members_only() -> None:
    def program() -> list[Any]:
        rank = dist.get_rank()
        pairs = [dist.new_group([0, 2]), dist.new_group([3, 1])]
        mine = pairs[rank % 2]
        tensor = own(1)
        dist.all_reduce(tensor, group=mine)
        split = dist.split_group(split_ranks=[[0, 3], [1, 2]])
        other = own(1)
        dist.all_reduce(other, group=split)
        outside = pairs[1 - rank % 2]
        return [tensor.item(), other.item(), outside == dist.GroupMember.NON_GROUP_MEMBER,
                dist.get_process_group_ranks(split), mine.size(),
                dist.get_backend(mine)]  # fmt: skip

    results = run(program)
    assert [each[0] for each in results] == [4.0, 6.0, 4.0, 6.0]
    assert [each[1] for each in results] == [5.0] * RANKS
    assert [each[3] for each in results] == [[0, 3], [1, 2], [1, 2], [0, 3]]
    assert all(each[2] and each[4:] == [2, "gloo"] for each in results)


def test_groups_can_be_made_again() -> None:
    """Would fail if a group that was destroyed met one of the same name."""

    def program() -> float:
        for backend in ("gloo", "nccl", "cpu:gloo,cuda:nccl", None):
            dist.destroy_process_group()
            dist.init_process_group(backend)
        tensor = own(1)
        dist.all_reduce(tensor)
        return tensor.item()

    assert run(program) == [10.0] * RANKS


def test_stores_are_shared_by_their_place() -> None:
    def program() -> list[Any]:
        rank = dist.get_rank()
        store = dist.PrefixStore("mine", dist.TCPStore("localhost", 29501, RANKS, rank == 0))
        total = store.add("count", rank)
        if rank == 3:
            store.set("key", "value")
        value = store.get("key")
        swapped = store.compare_set(f"own {rank}", "", "first")
        kept = store.compare_set(f"own {rank}", "second", "third")
        store.wait([f"own {other}" for other in range(RANKS)])
        store.append(f"own {rank}", "+")
        several = store.multi_get([f"own {rank}", "key"])
        store.multi_set([f"one {rank}", f"two {rank}"], ["1", "2"])
        return [total <= 6, value, swapped, kept, store.check(["key", "none"]),
                store.delete_key("none"),
                several, store.get(f"two {rank}"), store.num_keys() > 6]  # fmt: skip

    expected = [True, b"value", b"first", b"first", False, False, [b"first+", b"value"], b"2", True]
    assert run(program, schedule="seeded:9") == [expected] * RANKS


def test_ranks_may_be_numbered_differently() -> None:
    """Would fail if a program's own numbers of ranks were taken for those of the run."""

    def program() -> list[Any]:
        rank = dist.get_rank()
        dist.destroy_process_group()
        dist.init_process_group(
            "gloo", "tcp://localhost:29502", rank=RANKS - 1 - rank, world_size=RANKS
        )
        tensor = torch.tensor([float(rank)])
        dist.broadcast(tensor, 0)
        return [dist.get_rank(), tensor.item()]

    assert run(program) == [[RANKS - 1 - rank, 3.0] for rank in range(RANKS)]


def test_other_groups_of_the_process_keep_their_kernels(tmp_path: Any) -> None:
    """Would fail if simmesh's kernels answered for a real backend outside of ranks."""
    run(lambda: None)
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        tensor, whole, received = torch.ones(2), torch.zeros(2), [torch.zeros(2)]
        dist.all_reduce(tensor)
        dist.all_gather_into_tensor(whole, tensor)
        dist.all_gather(received, tensor)
        dist.barrier()
        dist.reduce_scatter_tensor(torch.zeros(2), tensor)
        assert torch.equal(whole, torch.ones(2))
        assert run(program_of_ranks) == [10.0] * RANKS
        dist.broadcast(tensor, 0)
    finally:
        dist.destroy_process_group()


def program_of_ranks() -> float:
    """A sum that is 10 on every rank."""
    tensor = own(1)
    dist.all_reduce(tensor)
    return tensor.item()


@pytest.mark.parametrize("culprit", range(3))
@pytest.mark.parametrize(
    ("output", "error", "text"),
    [
        (torch.zeros(5), ValueError, "expected an output of 6 elements of float32, got float32[5]"),
        (torch.zeros(6, dtype=torch.int8), TypeError, "of float32, got int8[6]"),
    ],
)
def test_a_wrong_output_is_the_error_of_its_rank(
    culprit: int, output: torch.Tensor, error: type[Exception], text: str
) -> None:
    """Would fail if another rank got the error, or one went on with an output nobody wrote."""

    def program() -> None:
        rank = dist.get_rank()
        target = output.clone() if rank == culprit else torch.zeros(6)
        dist.all_gather_into_tensor(target, torch.full((2,), rank + 1.0))

    for schedule in ("fifo", "seeded:1", "pct:2"):
        outcome = simmesh.spmd_run(program, world_size=3, schedule=schedule).outcome
        assert outcome.rank == culprit
        assert isinstance(outcome.exception, error)
        assert text in outcome.message
        assert "#0 of group 0 [0, 1, 2]" in outcome.message
        assert "at test_torch_collectives.py:" in outcome.message


def _lists(wrong: int) -> dict[str, Callable[[], Any]]:
    ones, many = torch.ones(2), [torch.zeros(2) for _ in range(RANKS)]
    if dist.get_rank() == wrong:
        many[wrong] = torch.zeros(3)
    root = [torch.ones(2)] * RANKS if dist.get_rank() == 0 else None
    mine = many[dist.get_rank()]
    return {
        "all_gather": lambda: dist.all_gather(many, ones),
        "all_gather short": lambda: dist.all_gather(many[1:] if len(mine) == 3 else many, ones),
        "all_to_all": lambda: dist.all_to_all(many, [ones] * RANKS),
        "scatter": lambda: dist.scatter(mine, root),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(mine, torch.ones(2 * RANKS)),
        "reduce_scatter list": lambda: dist.reduce_scatter(mine, [ones] * RANKS),
        "all_to_all_single": lambda: dist.all_to_all_single(
            torch.zeros(RANKS + len(mine) - 2), torch.ones(RANKS)
        ),
    }


LISTS = ("all_gather", "all_gather short", "all_to_all", "scatter", "reduce_scatter",
         "reduce_scatter list", "all_to_all_single")  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_wrong_outputs_of_every_collective_are_found(name: str) -> None:
    """Would fail if an output of another size was left as it was."""

    def program() -> None:
        _lists(1)[name]()

    outcome = simmesh.spmd_run(program, world_size=RANKS).outcome
    assert outcome.kind == "error"
    assert "rank 1" in outcome.message
    assert isinstance(outcome.exception, (ValueError, RuntimeError))


def test_one_side_of_all_to_all_may_have_equal_parts() -> None:
    def program() -> list[float]:
        output = torch.zeros(4)
        splits = [1, 1, 1, 1] if dist.get_rank() % 2 else None
        dist.all_to_all_single(output, own(4), output_split_sizes=splits)
        return output.tolist()

    assert run(program) == [[1.0, 2.0, 3.0, 4.0]] * RANKS


def _strided(rows: int = 2) -> torch.Tensor:
    return torch.ones(rows, 2)[:, 0]


STRIDED: dict[str, Callable[[], Any]] = {
    "all_reduce": lambda: dist.all_reduce(_strided()),
    "broadcast": lambda: dist.broadcast(_strided(), 0),
    "reduce": lambda: dist.reduce(_strided(), 0),
    "scatter": lambda: dist.scatter(
        torch.zeros(2), [_strided()] * RANKS if dist.get_rank() == 0 else None
    ),
    "all_to_all": lambda: dist.all_to_all_single(torch.zeros(RANKS), _strided(RANKS)),
    "all_gather": lambda: dist.all_gather_into_tensor(torch.zeros(2 * RANKS), _strided()),
}


@pytest.mark.parametrize("backend", ["gloo", "nccl", "cpu:gloo,cuda:nccl"])
@pytest.mark.parametrize("name", STRIDED)
def test_tensors_with_gaps_are_refused_as_the_backend_would(name: str, backend: str) -> None:
    """Would fail if a program that computes something else on gloo, or fails on NCCL, passed."""
    outcome = simmesh.spmd_run(STRIDED[name], backend=backend).outcome
    if name == "all_gather" and backend != "nccl":  # gloo copies them
        assert outcome.ok, outcome.report
        return
    assert isinstance(outcome.exception, ValueError)
    assert f"[torch/strides] rank 0: {name}" in outcome.message
    assert "at test_torch_collectives.py:" in outcome.message
    assert "got strides (2,)" in outcome.message
    assert simmesh.spmd_run(STRIDED[name], backend=backend, allow_strided=True).outcome.ok


def test_transposed_tensors_are_dense() -> None:
    """Would fail if gloo's sums of dense tensors were refused."""

    def program() -> list[Any]:
        tensor = torch.arange(6.0).reshape(2, 3).t()
        dist.all_reduce(tensor)
        return tensor.tolist()

    expected = (torch.arange(6.0).reshape(2, 3).t() * RANKS).tolist()
    assert run(program) == [expected] * RANKS


def waits_twice(again: int = 0) -> None:
    """Waits for a collective as often as it likes, and for a message twice."""
    total = dist.all_reduce(own(2), async_op=True)
    assert total is not None
    for _ in range(2):
        total.wait()
    right, left = (dist.get_rank() + 1) % RANKS, (dist.get_rank() - 1) % RANKS
    buffer = torch.zeros(2)
    works = [dist.isend(own(2), right), dist.irecv(buffer, left)]
    for work in works:
        assert work is not None
        work.wait()
    assert buffer[0] == left + 1
    works[again].wait()  # type: ignore[union-attr]


@pytest.mark.parametrize(("which", "what"), [(0, "a send"), (1, "a receive")])
@pytest.mark.parametrize("schedule", ["fifo", "seeded:3", "pct:2"])
def test_a_message_of_gloo_ends_one_wait(which: int, what: str, schedule: str) -> None:
    """Would fail if a program passed that waits on gloo until its time is over."""
    program = functools.partial(waits_twice, which)
    outcome = simmesh.spmd_run(program, world_size=RANKS, schedule=schedule).outcome
    assert outcome.report is not None
    assert f"expected one wait for {what} of group" in outcome.report, outcome.report
    assert "so this one would hang until its timeout" in outcome.report, outcome.report
    assert "test_torch_collectives.py:" in outcome.report


def test_messages_of_nccl_end_each_wait() -> None:
    """Would fail if a program that is right on GPUs were refused."""
    run(waits_twice, device="cuda")


def test_a_receive_from_any_rank_waits_once() -> None:
    """Would fail if the receive's sender counted as a second wait."""

    def program() -> Any:
        if dist.get_rank() > 0:
            return dist.send(own(1), 0)
        return sorted(dist.recv(torch.zeros(1)) for _ in range(RANKS - 1))

    assert run(program)[0] == [1, 2, 3]
