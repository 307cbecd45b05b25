"""Types of plain tensors: statements, conversions with their backward passes, and modes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

import simmesh
from simmesh import typed
from simmesh.typed import I, P, PartitionSpec, R, S, V


def on_ranks(program: Callable[[DeviceMesh], Any], **axes: int) -> list[Any]:
    """The results of a program on the ranks of a mesh, of four ranks "tp" by default."""
    axes = axes or {"tp": 4}

    def body() -> Any:
        mesh = init_device_mesh("cpu", tuple(axes.values()), mesh_dim_names=tuple(axes))
        with typed.set_current_mesh(mesh), typed.typecheck():
            return program(mesh)

    count = 1
    for size in axes.values():
        count *= size
    ran = simmesh.spmd_run(body, world_size=count)
    if ran.outcome.exception is not None:
        raise ran.outcome.exception
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


def leaf(shape: tuple[int, ...], types: dict[str, Any], first: float = 0.0) -> torch.Tensor:
    """A tensor of typed whole numbers that requires a gradient."""
    with typed.no_typecheck():
        count = torch.Size(shape).numel()
        made = torch.arange(first, first + count).reshape(shape).requires_grad_()
    return typed.assert_type(made, types)  # type: ignore[no-any-return]


def test_a_block_has_the_types_of_megatron() -> None:
    """Would fail if a type were lost or another one came out on the way through a block."""

    def block(mesh: DeviceMesh) -> Any:
        x, w = leaf((2, 4), {"tp": I}), leaf((4, 2), {"tp": S(1)})
        v = leaf((2, 4), {"tp": S(0)})
        hidden = torch.relu(typed.convert(x, "tp", src=I, dst=R) @ w)
        terms = typed.reinterpret(hidden @ v, "tp", src=V, dst=P)
        y = typed.all_reduce(terms, "tp", dst=I)
        y.sum().backward()
        return [typed.type_of(each, "tp") for each in (hidden, terms, y, x.grad, w.grad)]

    assert on_ranks(block) == [[V, P, I, I, S(1)]] * 4


def test_errors_name_axis_call_line_and_conversions() -> None:
    """Would fail if a refused call didn't say where it is and which conversion helps."""

    def program(mesh: DeviceMesh) -> None:
        leaf((2,), {"dp": R, "tp": I}) + leaf((2,), {"dp": R, "tp": V})

    with pytest.raises(typed.SpmdTypeError) as error:
        on_ranks(program, dp=2, tp=2)
    found = error.value
    assert (found.code, found.axis, found.op) == ("invariant_mixed", "tp", "add")
    assert found.line.startswith("test_typed.py:")
    assert 'convert(operand 0, "tp", src=I, dst=R)' in found.candidates
    assert "{dp: R, tp: I}, {dp: R, tp: V}" in str(found)


def test_bad_arguments_say_what_fits() -> None:
    """Would fail if a conversion between types that it can't connect ran on the ranks."""

    def program(mesh: DeviceMesh) -> list[str]:
        texts = []
        x, cut = leaf((4,), {"tp": R}), leaf((4,), {"tp": S(0)})
        calls: list[Callable[[], Any]] = [
            lambda: typed.all_reduce(x, "tp", src=R, dst=I),
            lambda: typed.convert(x, "tp", src=R, dst=I),
            lambda: typed.all_gather(cut, "tp", src=S(0), gather_dim=1, dst=R),
            lambda: typed.convert(x, "dp", src=R, dst=V),
        ]
        for call in calls:
            with pytest.raises((ValueError, RuntimeError)) as error:
                call()
            texts.append(str(error.value))
        return texts

    texts = on_ranks(program)[0]
    assert "src must be P or V, got src=R" in texts[0]
    assert "requires expert_mode=True" in texts[1]
    assert "gather_dim: expected 0" in texts[2]
    assert "expected an axis of the current mesh (tp), got 'dp'" in texts[3]


def test_backward_passes_are_those_of_the_types() -> None:
    """Would fail if a gradient were summed once too often, or not at all, or cut wrongly."""

    def program(mesh: DeviceMesh) -> list[list[float]]:
        rank = mesh.get_local_rank("tp")
        found = []
        with typed.no_typecheck():
            scale = torch.tensor(float(rank + 1))

        def gradient(x: torch.Tensor, y: torch.Tensor, of: torch.Tensor) -> None:
            with typed.no_typecheck():
                y.backward(of * torch.ones_like(y))
                assert x.grad is not None
                found.append(x.grad.flatten().tolist())

        x = leaf((2,), {"tp": I})
        gradient(x, typed.convert(x, "tp", src=I, dst=R), scale)
        x = leaf((2,), {"tp": P})
        gradient(x, typed.all_reduce(x, "tp", dst=R), scale)
        x = leaf((2,), {"tp": P})
        gradient(x, typed.all_reduce(x, "tp", dst=I), scale)
        x = leaf((2,), {"tp": S(0)})
        gradient(x, typed.all_gather(x, "tp", src=S(0), dst=R), scale)
        x = leaf((4,), {"tp": R})
        gradient(x, typed.shard(x, "tp", src=R, dst=S(0)), scale)
        x = leaf((4,), {"tp": I})
        gradient(x, typed.shard(x, "tp", src=I, dst=S(0)), scale)
        x = leaf((4, 2), {"tp": P})
        gradient(x, typed.reduce_scatter(x, "tp", dst=V), scale)
        return found

    results = on_ranks(program)
    own = [[0.0] * rank + [rank + 1.0] + [0.0] * (3 - rank) for rank in range(4)]
    for rank, found in enumerate(results):
        assert found[:4] == [[10.0] * 2, [10.0] * 2, [rank + 1.0] * 2, [10.0] * 2]
        assert found[4] == own[rank]
        assert found[5] == [1.0, 2.0, 3.0, 4.0]
        assert found[6] == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]


def test_uneven_pieces_go_there_and_back() -> None:
    """Would fail if five rows on four ranks lost a row, or their gradient came back elsewhere."""

    def program(mesh: DeviceMesh) -> Any:
        x = leaf((5, 2), {"tp": I})
        mine = typed.shard(x, "tp", src=I, dst=S(0))
        whole = typed.all_gather(mine, "tp", src=S(0), dst=I, split_sizes=[2, 2, 1, 0])
        with typed.no_typecheck():
            (whole * whole).sum().backward()
            assert x.grad is not None
            return len(mine), bool((whole == x).all()), bool((x.grad == 2 * x).all())

    assert [each[0] for each in on_ranks(program)] == [2, 2, 1, 0]
    assert all(each[1] and each[2] for each in on_ranks(program))


def test_low_precision_asks_for_the_dtype_of_sums() -> None:
    """Would fail if gradients were summed in bfloat16 without a word."""

    def program(mesh: DeviceMesh) -> Any:
        with typed.no_typecheck():
            x = torch.ones(2, dtype=torch.bfloat16).requires_grad_()
        typed.assert_type(x, {"tp": I})
        with pytest.raises(ValueError, match="op_dtype"):
            typed.convert(x, "tp", src=I, dst=R)
        y = typed.convert(x, "tp", src=I, dst=R, backward_options={"op_dtype": torch.float32})
        with typed.no_typecheck():
            y.sum().backward()
            assert x.grad is not None
            return x.grad.dtype, x.grad.tolist()

    assert on_ranks(program) == [(torch.bfloat16, [4.0, 4.0])] * 4


def test_several_axes_are_one() -> None:
    """Would fail if a call over two axes changed the type on one of them only."""

    def program(mesh: DeviceMesh) -> Any:
        x = leaf((2,), {"dp": P, "tp": P})
        y = typed.all_reduce(x, ("dp", "tp"), dst=I)
        return typed.type_of(y), y.tolist()

    assert on_ranks(program, dp=2, tp=2)[0] == ({"dp": I, "tp": I}, [0.0, 4.0])


def test_calls_of_torch_distributed_are_typed() -> None:
    """Would fail if a raw call took a tensor of another type, or one without a rule ran."""

    def program(mesh: DeviceMesh) -> Any:
        with typed.no_typecheck():
            x = torch.ones(2)
        typed.assert_type(x, {"tp": P})
        dist.all_reduce(x)
        with pytest.raises(typed.SpmdTypeError, match="expected input type"):
            dist.all_reduce(x)
        with pytest.raises(typed.SpmdTypeError, match="broadcast has no rule"):
            dist.broadcast(x, 0)
        return typed.type_of(x, "tp"), x.tolist()

    assert on_ranks(program) == [(R, [4.0, 4.0])] * 4


def test_global_checking_follows_cuts() -> None:
    """Would fail if a cut were lost, or a contraction over it weren't a sum."""

    def program(mesh: DeviceMesh) -> Any:
        with typed.typecheck(local=False):
            x = leaf((2, 4), {"tp": S(1)})
            w = leaf((4, 3), {"tp": S(0)})
            terms = torch.nn.functional.silu(x) @ w
            with pytest.raises(typed.SpmdTypeError, match="No valid sharding"):
                torch.softmax(x, 1)
            with typed.local():
                typed.type_of(torch.softmax(x, 1))
            assert typed.type_of(x.sum(0, True), "tp") == S(1)
            with pytest.raises(typed.SpmdTypeError, match="non-linear"):
                torch.div(terms, 2, rounding_mode="floor")
            assert typed.type_of(terms.flatten(0, 1), "tp") == P
            return typed.type_of(terms, "tp"), typed.partition_spec_of(x)

    assert on_ranks(program)[0] == (P, PartitionSpec(None, "tp"))


def test_local_axes_stay_local() -> None:
    """Would fail if an outer axis that is local asked for a cut."""

    def program(mesh: DeviceMesh) -> Any:
        with typed.set_current_mesh(mesh, local_axes=("dp",)), typed.typecheck(local=False):
            x = leaf((2, 4), {"dp": V, "tp": S(1)})
            return typed.type_of(torch.relu(x))

    assert on_ranks(program, dp=2, tp=2)[0] == {"dp": V, "tp": S(1)}


def test_partition_specs_order_two_axes_on_one_dim() -> None:
    """Would fail if two cuts of one dim were taken without their order."""

    def program(mesh: DeviceMesh) -> Any:
        with typed.no_typecheck():
            x = torch.ones(4, 4)
        with pytest.raises(typed.SpmdTypeError, match="in an order"):
            typed.assert_type(x, {"dp": S(0), "tp": S(0)})
        typed.assert_type(x, {}, PartitionSpec(("dp", "tp"), None))
        with pytest.raises(typed.SpmdTypeError, match="conflict"):
            typed.assert_type(x, {}, PartitionSpec(("tp", "dp"), None))
        return typed.type_of(x), typed.partition_spec_of(x)

    expected = ({"dp": S(0), "tp": S(0)}, PartitionSpec(("dp", "tp"), None))
    assert on_ranks(program, dp=2, tp=2)[0] == expected


def test_partition_specs_are_copied_with_their_entries() -> None:
    """Would fail if a rank that is a process returned another spec than it made."""
    spec = PartitionSpec(None, ("dp", "tp"))
    assert pickle.loads(pickle.dumps(spec)) == spec == copy.copy(spec)
    assert repr(copy.deepcopy(spec)) == "PartitionSpec(None, ('dp', 'tp'))"


def test_permissive_leaves_untyped_operands_out() -> None:
    """Would fail if a program that is typed in part couldn't be checked."""

    def program(mesh: DeviceMesh) -> Any:
        with typed.no_typecheck():
            plain = torch.ones(2)
        x = leaf((2,), {"tp": V})
        with pytest.raises(typed.SpmdTypeError, match="missing axis"):
            x + plain
        with typed.typecheck("permissive"):
            return typed.type_of(x + plain, "tp")

    assert on_ranks(program) == [V] * 4


def test_boundaries_state_types() -> None:
    """Would fail if a function between stated types kept those of its body."""

    def program(mesh: DeviceMesh) -> Any:
        @typed.local_map(in_types=({"tp": S(0)},), out_types={"tp": S(0)})
        def body(x: torch.Tensor) -> torch.Tensor:
            return torch.cumsum(x, 0)

        @typed.no_typecheck(out_types={"tp": R})
        def opaque(x: torch.Tensor) -> torch.Tensor:
            return x.detach() * 0

        with typed.typecheck(local=False):
            x = leaf((2, 2), {"tp": S(0)})
            y = body(x)
            with pytest.raises(typed.SpmdTypeError, match="mismatch"):
                body(leaf((2, 2), {"tp": R}))
            return typed.type_of(y, "tp"), typed.type_of(opaque(x), "tp")

    assert on_ranks(program)[0] == (S(0), R)


class Doubled(torch.autograd.Function):
    """Twice a tensor."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


class Tripled(Doubled):
    """Registered as local."""


class Quadrupled(Doubled):
    """Registered by what it is made of."""


typed.register_local_autograd_function(Tripled)
typed.register_decomposition(Quadrupled, lambda x: x * 2)


def test_custom_functions_must_be_registered() -> None:
    """Would fail if a function of unknown meaning were typed, or a known one weren't."""

    def program(mesh: DeviceMesh) -> Any:
        x = leaf((2,), {"tp": V})
        with pytest.raises(typed.SpmdTypeError, match="registered"):
            Doubled.apply(x)
        with pytest.raises(typed.SpmdTypeError, match="non-linear"):
            Tripled.apply(leaf((2,), {"tp": P}))
        terms = Quadrupled.apply(leaf((2,), {"tp": P}))
        return [typed.type_of(each, "tp") for each in (Tripled.apply(x), terms)]

    assert on_ranks(program) == [[V, P]] * 4


def test_typed_numbers_are_operands() -> None:
    """Would fail if a number that differs between ranks passed for one that is the same."""

    def program(mesh: DeviceMesh) -> Any:
        rank = typed.Scalar(mesh.get_local_rank("tp"), {"tp": V})
        x = leaf((2,), {"tp": R})
        return typed.type_of(x * rank, "tp"), typed.type_of(x * 2, "tp"), (x * rank).tolist()

    assert on_ranks(program)[3] == (V, R, [0.0, 3.0])


def test_losses_must_be_right_for_a_gradient_of_one() -> None:
    """Would fail if backward() began with the wrong gradient on a replicated loss."""

    def program(mesh: DeviceMesh) -> None:
        leaf((), {"tp": R}).sum().backward()

    with pytest.raises(typed.SpmdTypeError, match="incorrect gradients") as error:
        on_ranks(program)
    assert error.value.candidates


def test_gradients_have_the_dual_types() -> None:
    """Would fail if torch.autograd.grad called a partial gradient replicated."""

    def program(mesh: DeviceMesh) -> Any:
        x = leaf((2,), {"tp": R})
        loss = typed.reinterpret(x * typed.Scalar(2.0, {"tp": V}), "tp", src=V, dst=P).sum()
        (gradient,) = torch.autograd.grad(loss, x)
        return typed.type_of(gradient, "tp")

    assert on_ranks(program) == [P] * 4


def test_meshes_of_the_same_ranks_are_one() -> None:
    """Would fail if a tensor of a finer mesh had no type on one that joins its axes."""

    def program(mesh: DeviceMesh) -> Any:
        x = leaf((2,), {"dp": R, "tp": R})
        flat = init_device_mesh("cpu", (4,), mesh_dim_names=("all",))
        with typed.set_current_mesh(flat):
            return typed.type_of(x + 1)

    assert on_ranks(program, dp=2, tp=2)[0] == {"all": R}


def test_one_device_needs_no_process_group() -> None:
    """Would fail if a typed program didn't run on one device by itself."""
    with typed.set_current_mesh({"tp": 1}), typed.typecheck():
        x = typed.assert_type(torch.ones(2, 2), {"tp": I})
        y = typed.convert(x, "tp", src=I, dst=R)
        y = typed.all_reduce(typed.reinterpret(y, "tp", src=V, dst=P), "tp", dst=I)
        assert typed.all_gather(y, "tp", src=S(0), dst=R).tolist() == [[1.0, 1.0], [1.0, 1.0]]
        assert typed.type_of(y) == {}


def test_a_test_of_ranks_can_be_checked_as_a_whole() -> None:
    """Would fail if the option of the test runner checked nothing, or took any word."""

    def program() -> None:
        mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
        x = torch.ones(2, requires_grad=True)
        typed.assert_type(x, {mesh.get_group("tp"): I})
        x + typed.assert_type(torch.ones(2), {mesh.get_group("tp"): V})

    with pytest.raises(typed.SpmdTypeError, match="cannot mix"):
        simmesh.spmd(world_size=2, schedules=1, typed="strict")(program)()
    simmesh.spmd(world_size=2, schedules=1)(program)()
    with pytest.raises(ValueError, match="typed: expected 'strict', 'permissive'"):
        simmesh.spmd(typed="lenient")(program)
