"""Rules in the forms that users have: objects of PyTorch, factors, types, wrappers, hooks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor._ops.single_dim_strategy import _ShardingPlaceholder
from torch.distributed.tensor.experimental import local_map, register_sharding
from torch.distributed.tensor.placement_types import _MaskPartial, _StridedShard
from torch.nn import functional as F

import simmesh

aten = torch.ops.aten


def holds(*arguments: Any, **options: Any) -> bool:
    """True for a rule that was judged and holds; False with a counter-example."""
    check = simmesh.rulecheck(*arguments, **{"unclaimed": False, **options})
    assert check.holds or check.counter_example is not None, check.text
    return check.holds


# Functions under register_sharding. ---------------------------------------------------------------


def softmax_sharding(x: Any, dim: int, half_to_float: bool) -> list[Any]:
    cut = dim if dim >= 0 else dim + x.ndim
    rows: list[Any] = [([Replicate()], [Replicate(), None, None])]
    rows += [([Shard(d)], [Shard(d), None, None]) for d in range(x.ndim) if d != cut]
    return rows


def softmax_sharding_wrong(x: Any, dim: int, half_to_float: bool) -> list[Any]:
    return [([Shard(d)], [Shard(d), None, None]) for d in range(x.ndim)]


def view_sharding(x: Any, size: list[int]) -> list[Any]:
    """Rows that depend on sizes: a cut that the view keeps whole."""
    even = x.shape[0] % x.mesh.size() == 0
    return [([Shard(0)], [Shard(0), None])] if even else []


def test_functions_under_register_sharding() -> None:
    """Would fail if None for other arguments, negative dims or sizes were read wrongly."""
    inputs = ["abc", -1, False]
    assert holds(aten._softmax.default, softmax_sharding, inputs)
    assert not holds(aten._softmax.default, softmax_sharding_wrong, inputs)
    assert holds(aten.view.default, view_sharding, [("m", 4), (-1, 2)])


def test_a_decorated_function_is_the_rule_and_can_be_left_out() -> None:
    """Would fail if what ``register_sharding`` registers weren't found."""
    propagator = torch.distributed.tensor.DTensor._op_dispatcher.sharding_propagator
    registries = [propagator.op_single_dim_strategy_funcs, propagator.op_strategy_funcs]
    kept = [each.pop(aten._softmax.default, None) for each in registries]
    try:
        decorated = register_sharding(aten._softmax.default)(softmax_sharding_wrong)
        assert not holds(aten._softmax.default, decorated, ["mn", 1, False])
        assert not holds(aten._softmax.default, inputs=["mn", 1, False])
    finally:
        for registry, rule in zip(registries, kept):
            registry.pop(aten._softmax.default, None)
            if rule is not None:
                registry[aten._softmax.default] = rule
    assert holds(aten._softmax.default, inputs=["mn", 1, False])


def test_sizes_that_dtensor_does_not_cut_are_not_judged() -> None:
    """Would fail if a rule were refuted by pieces that DTensor never makes."""

    def rows(x: Any, dims: Any, keepdim: bool) -> list[Any]:
        return [([Partial("max")], [Shard(0), None, None])]

    assert holds(aten.amax.default, rows, ["mn", [0], False], meshes=[(2,)])
    # Five rows on four ranks leave one without any, which DTensor doesn't look at.
    assert not holds(aten.amax.default, rows, ["mn", [0], False])


# Single-dim strategies. ---------------------------------------------------------------------------


def mm_strategy(op: Any, args_schema: Any, kwargs_schema: Any) -> list[Any]:
    assert op is aten.mm.default and len(args_schema[0].shape) == 2
    return [
        [_ShardingPlaceholder(0), _ShardingPlaceholder(0), Replicate()],
        [Partial(), _ShardingPlaceholder(1), _ShardingPlaceholder(0)],
    ]


def mm_strategy_wrong(op: Any, args_schema: Any, kwargs_schema: Any) -> list[Any]:
    return [[Partial("avg"), Shard(1), Shard(0)]]


def test_single_dim_strategies() -> None:
    assert holds(aten.mm.default, mm_strategy, ["mk", "kn"])
    assert not holds(aten.mm.default, mm_strategy_wrong, ["mk", "kn"])


def test_the_rule_that_pytorch_has_is_taken() -> None:
    check = simmesh.rulecheck(aten.mm.default, inputs=["mk", "kn"])
    assert check.holds and check.covered == check.coverable == 5
    assert holds(aten.view.default, inputs=[("m", 4), (-1, 2)])
    with pytest.raises(ValueError, match="an operator with a sharding rule in PyTorch"):
        simmesh.rulecheck(aten.kaiser_window.default, inputs=[4])
    with pytest.raises(ValueError, match="expected a rule, got none"):
        simmesh.rulecheck(torch.relu, inputs=["mn"])


def test_an_operator_is_judged_on_samples_of_pytorch() -> None:
    """Would fail if samples were read wrongly, or sizes that arguments name were changed."""
    for operator in (aten.mm.default, aten.native_layer_norm.default):
        check = simmesh.rulecheck(operator, unclaimed=False, meshes=[(2,)])
        assert check.holds, check.text
    with pytest.raises(ValueError, match="or -1 among the sizes"):
        simmesh.rulecheck(aten.view.default, inputs=[(4, 4), (16,)])
    with pytest.raises(ValueError, match="PyTorch has no samples that call it"):
        simmesh.rulecheck(aten.softmax.int)


def test_placements_without_a_meaning_of_their_own_are_left_out() -> None:
    indices = simmesh.RuleInput("m", torch.tensor([0, 3, 1]))
    check = simmesh.rulecheck(aten.embedding.default, inputs=[(5, "n"), indices])
    assert check.holds
    assert check.left_out == ["a row with _MaskPartial, a partial with a reduction of its own"]
    mask = _MaskPartial(offset_shape=torch.Size([5, 3]), offset_dim=0)
    with pytest.raises(ValueError, match="expected a row that can be judged, got a row with _Mask"):
        simmesh.rulecheck(torch.relu, [[mask, mask]], ["mn"])


# Placements as objects. ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "rule", "inputs", "is_right"),
    [
        (torch.matmul, [([Partial()], [Shard(-1), Shard(0)])], ["mk", "kn"], True),
        (torch.matmul, [([Shard(0)], [Shard(-1), Shard(0)])], ["mk", "kn"], False),
        (torch.matmul, ([Shard(0)], [Shard(0), Replicate()]), ["mk", "kn"], True),
        (torch.matmul, [Shard(-1), Replicate(), Shard(1)], ["mk", "kn"], True),
        (torch.matmul, [Shard(0), Replicate(), Shard(1)], ["mk", "kn"], False),
        (F.gelu, [[_StridedShard(0, split_factor=2)] * 2], ["mn"], True),
        (F.gelu, [[Shard(0), _StridedShard(0, split_factor=2)]], ["mn"], False),
        (torch.relu, [[Partial("max")] * 2, "S(0) -> S(0)"], ["mn"], True),
        (torch.relu, [[Partial("avg")] * 2], ["mn"], False),
        (torch.relu, simmesh.RuleRow([Shard(0)], [Shard(0)]), ["mn"], True),
        (torch.relu, simmesh.RuleRow(["S(0)"], ["S(1)"]), ["mn"], False),
        (torch.relu, "Shard(dim=1) -> Shard(1)", ["mn"], True),
        (torch.relu, "Partial(sum) -> Partial()", ["mn"], False),
        (torch.aminmax, [[Replicate(), Replicate(), Replicate()]], ["mn"], True),
    ],
)
def test_placements_are_objects(
    function: Callable[..., Any], rule: Any, inputs: list[Any], is_right: bool
) -> None:
    assert holds(function, rule, inputs, pieces=["even", "uneven", "few"]) is is_right


def test_rows_of_two_mesh_dims_hold_together() -> None:
    """Would fail if rows of several mesh dims were judged on one, or each apart."""
    row = simmesh.RuleRow([[Shard(0), Shard(1)], [Replicate(), Shard(0)]], [[Shard(0), Partial()]])
    check = simmesh.rulecheck(torch.matmul, row, ["mk", "kn"], unclaimed=False)
    assert check.holds
    wrong = simmesh.rulecheck(torch.matmul, "S(0), R -> S(0); S(1), R -> S(1)", ["mk", "kn"])
    assert wrong.counter_example is not None and wrong.counter_example.mesh == (2, 2)
    assert "S(0), R -> S(0); S(1), R -> S(1) on a mesh of 2 x 2" in wrong.text
    with pytest.raises(ValueError, match="expected one of 2 dims"):
        simmesh.rulecheck(torch.matmul, row, ["mk", "kn"], meshes=[(2,)])


# Factors. -----------------------------------------------------------------------------------------

SHARDY = "([i, k], [k, j]) -> ([i, j]) {i=4, k=2, j=4} reduction={k}"


@pytest.mark.parametrize(
    ("function", "rule", "is_right"),
    [
        (torch.matmul, SHARDY, True),
        (torch.matmul, f"#sdy.op_sharding_rule<{SHARDY}>", True),
        (torch.matmul, "([i, k], [k, j]) -> ([i, j]) {i=4, k=2, j=4}", False),
        (lambda x: x.softmax(1), "([i, j]) -> ([i, j]) {i=4, j=4}", False),
        (lambda x: x.softmax(1), "([i, j]) -> ([i, j]) {i=4, j=4} need_replication={j}", True),
        (lambda x: x.reshape(-1, 4), "([ij]) -> ([i, j]) {i=4, j=4} need_replication={j}", True),
        (lambda x: x.reshape(4, -1), "([ij]) -> ([i, j]) {i=4, j=4} need_replication={i}", True),
        (lambda x: x.reshape(4, -1), "([ij]) -> ([j, i]) {i=4, j=4} need_replication={i}", False),
        (torch.mul, "b 1, b c -> b c", True),
        (lambda x: x.flatten(1), "b h d -> b (h d) {h=4, d=4}", True),
        (lambda x: x.flatten(1), "b h d -> b (d h) {h=4, d=4}", False),
        (lambda x: x.sum(0), "mn -> n", True),
        (lambda x: x.mean(0), "mn -> n", False),
    ],
)
def test_factors(function: Callable[..., Any], rule: str, is_right: bool) -> None:
    pieces = ["even", "uneven", "few"]
    assert holds(function, rule, pieces=pieces) is is_right


def test_factors_that_need_communication_are_named() -> None:
    rule = "([i, j]) -> ([i, j]) {i=4, j=4} need_replication={j}"
    check = simmesh.rulecheck(lambda x: x.softmax(1), rule)
    assert check.left_out == ["factor j, whose cut needs communication"]
    assert "not judged: factor j" in check.text


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("([i, k]) -> [i]", "expected a rule of factors, as in"),
        ("([ij]) -> ([i, j])", "expected the size of factor"),
        ("([i]) -> ([i]) {i=x}", "expected sizes such as i=4"),
        ("([i]) -> ([i]) {i=4} reductions={i}", "expected reduction, need_replication"),
        ("([i]) -> ([i]) {i=4} reduction={j}", "reduction: expected a factor of the inputs"),
        ("b ... d -> b d", "expected letters or names of dims"),
        (["mk -> m", "mk -> k"], "expected one rule of letters, got 2"),
    ],
)
def test_what_is_no_rule_of_factors_is_refused(rule: Any, text: str) -> None:
    with pytest.raises(ValueError) as raised:
        simmesh.rulecheck(torch.relu, rule)
    assert text in str(raised.value)


# local_map. ---------------------------------------------------------------------------------------


def mapped(function: Callable[..., Any], **placements: Any) -> Any:
    return local_map(function, **placements)


def test_local_map_is_judged_with_its_gradients() -> None:
    """Would fail if a gradient that local_map leaves as terms passed as a replicated one."""
    placements: dict[str, Any] = {
        "out_placements": [Shard(0)], "in_placements": ([Shard(0)], [Replicate()]),
    }  # fmt: skip
    check = simmesh.rulecheck(mapped(torch.matmul, **placements), inputs=["mk", "kn"])
    assert check.counter_example is not None
    assert check.counter_example.what == "gradient of input 1"
    assert "it holds as S(0), R -> S(0) with gradients S(0), P(sum)" in check.text
    placements["in_grad_placements"] = ([Shard(0)], [Partial()])
    assert holds(mapped(torch.matmul, **placements), inputs=["mk", "kn"])
    assert holds(torch.matmul, placements, ["mk", "kn"])
    wrong = {**placements, "out_placements": [Shard(1)]}
    assert not holds(torch.matmul, wrong, ["mk", "kn"])


def test_local_map_on_two_mesh_dims() -> None:
    placements: dict[str, Any] = {
        "out_placements": [Shard(0), Shard(1)],
        "in_placements": ([Shard(0), Replicate()], [Replicate(), Shard(1)]),
        "in_grad_placements": ([Shard(0), Partial()], [Partial(), Shard(1)]),
    }
    assert holds(mapped(torch.matmul, **placements), inputs=["mk", "kn"])
    placements["out_placements"] = [Shard(1), Shard(0)]
    assert not holds(mapped(torch.matmul, **placements), inputs=["mk", "kn"])


def reduced_matmul(mesh: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    product = torch.mm(x, w)
    dist.all_reduce(product, group=mesh.get_group())
    return product


def test_local_map_of_a_function_that_communicates() -> None:
    placements: dict[str, Any] = {
        "out_placements": [Replicate()], "in_placements": (None, [Shard(1)], [Shard(0)]),
    }  # fmt: skip
    inputs = [None, "mk", "kn"]
    check = simmesh.rulecheck(mapped(reduced_matmul, **placements), inputs=inputs, backward=False)
    assert check.holds and check.communicates
    placements["in_placements"] = (None, [Shard(0)], [Replicate()])
    assert not holds(mapped(reduced_matmul, **placements), inputs=inputs, backward=False)


def test_local_map_needs_placements() -> None:
    with pytest.raises(ValueError, match="a local_map with in_placements"):
        simmesh.rulecheck(mapped(torch.relu, out_placements=[Shard(0)]), inputs=["mn"])
    with pytest.raises(ValueError, match="got a dict with 'inputs'"):
        simmesh.rulecheck(torch.relu, {"inputs": [Shard(0)]}, ["mn"])


# Types. -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "is_right"),
    [
        ("R, S(1) -> S(1)", True),
        ("I, S(1) -> S(1)", False),
        ("V, R -> V", True),
        ("V, V -> V", False),
        ("V, V -> P", True),
        ("I, I -> I", True),
        ("I, I -> R", False),
        ("P, R -> P", True),
    ],
)
def test_types_say_gradients(rule: str, is_right: bool) -> None:
    """Would fail if R and I meant the same, or V a dim that the values contradict."""
    assert holds(torch.matmul, rule, ["mk", "kn"]) is is_right


def test_varying_is_read_as_a_dim() -> None:
    check = simmesh.rulecheck(torch.matmul, "V, R -> V", ["mk", "kn"])
    assert "V, R -> V is read as S(0), R -> S(0)" in check.text
    wrong = simmesh.rulecheck(torch.matmul, "V, V -> V", ["mk", "kn"])
    assert "V is read as S(0) here; no other dims hold either" in wrong.text


# Hooks of spmd_types. -----------------------------------------------------------------------------


def test_types_that_spmd_types_derives() -> None:
    spmd = pytest.importorskip("spmd_types")
    check = simmesh.rulecheck(torch.matmul, spmd, ["mk", "kn"], unclaimed=False)
    assert check.holds, check.text
    assert check.trials > 100


@pytest.mark.parametrize("is_right", [True, False])
def test_hooks_of_autograd_functions(is_right: bool) -> None:
    """Would fail if what a hook claims weren't judged: here of a softmax."""
    spmd = pytest.importorskip("spmd_types")

    class Hooked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            y = x.softmax(1)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            (y,) = ctx.saved_tensors
            return y * (grad - (y * grad).sum(1, keepdim=True))

    if hasattr(spmd, "rules"):
        equation = "a_->a_" if is_right else "ab->ab"
        Hooked.spmd_typecheck = staticmethod(  # type: ignore[attr-defined]
            lambda *, x: spmd.rules.einsum(equation, x)
        )
    else:
        dim = 0 if is_right else 1

        def typecheck(x: torch.Tensor) -> torch.Tensor:
            axis = simmesh.rule_mesh().get_group()
            spmd.assert_type(x, {axis: spmd.S(dim)})
            y = Hooked.apply(x)
            spmd.assert_type(y, {axis: spmd.S(dim)})
            return y

        Hooked.typecheck_forward = staticmethod(typecheck)  # type: ignore[attr-defined]
        spmd.register_autograd_function(Hooked)
    check = simmesh.rulecheck(Hooked, inputs=["mn"], unclaimed=False)
    assert check.holds is is_right, check.text


# Arguments, and functions within others. ----------------------------------------------------------


def test_other_arguments() -> None:
    assert holds(F.softmax, "S(0) -> S(0)", ["mn", simmesh.RuleArgument(1)])
    assert not holds(F.softmax, "S(0) -> S(0)", ["mn", simmesh.RuleArgument(0)])
    assert holds(functools.partial(torch.softmax, dim=1), "S(0) -> S(0)", ["mn"])
    assert holds(F.dropout, "S(0) -> S(0)", ["mn", 0.5, False])
    assert holds(aten.sum.dim_IntList, [[Partial(), Shard(0), None, None]], ["mn", [0], False])


def test_a_function_that_always_refuses_is_not_confirmed() -> None:
    def refuses(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("never")

    check = simmesh.rulecheck(refuses, "S(0) -> S(0)", ["mn"])
    assert not check.holds and check.counter_example is None
    assert "NOT JUDGED" in check.text and "RuntimeError: never" in check.text


def test_the_counter_example_is_the_smallest_of_all_rows() -> None:
    rows = ["S(1) -> S(0)", "S(0) -> S(1)", "P(avg) -> P(avg)"]
    check = simmesh.rulecheck(lambda x: x.softmax(1) * x, rows, ["mn"], pieces=["even", "uneven"])
    assert len(check.refuted) == 3
    assert check.counter_example == min(check.refuted, key=lambda each: each.order)


def test_a_whole_function_is_what_is_right() -> None:
    """Would fail if a function were compared with itself though another one is right."""
    assert not holds(F.relu, "S(0) -> S(0)", ["mn"], whole=F.gelu)
    assert holds(F.relu, "S(0) -> S(0)", ["mn"], whole=torch.relu)


# Sizes. -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "rule", "inputs", "is_right"),
    [
        (aten.view.default, "S(0) -> S(0)", ["abc", ["a", "bc"]], True),
        (aten.view.default, "S(0) -> S(1)", ["abc", ["a", "bc"]], False),
        (aten.view.default, "S(1) -> S(1)", ["abc", ["a", "bc"]], False),
        (aten.view.default, "S(2) -> S(1)", ["abc", ["a", "bc"]], False),
        (aten.view.default, "P -> P", ["abc", ["ab", "c"]], True),
        (aten.view.default, "_S(0,2) -> _S(0,2)", ["ab", ["a", "b", 1]], True),
        (aten.expand.default, "S(0) -> S(0)", [("a", 1), ["a", 4]], True),
        (aten.expand.default, "R -> S(1)", [("a", 1), ["a", 4]], True),
        (aten.expand.default, "S(0) -> S(1)", [("a", 1), ["a", 4]], False),
        (aten.new_zeros.default, "S(0) -> S(1)", ["ab", ["b", "a"]], True),
        (torch.Tensor.reshape, "S(0) -> S(0)", ["ab", simmesh.RuleSizes(["ab"])], False),
        (torch.Tensor.reshape, "S(1) -> S(2)", ["ab", simmesh.RuleSizes(["a", 1, "b"])], True),
    ],
)
def test_sizes_are_those_of_each_rank(
    function: Callable[..., Any], rule: str, inputs: list[Any], is_right: bool
) -> None:
    """Would fail if ranks got the sizes of the whole output, or of another placement. Uneven pieces
    of b aren't those of bc.
    """
    assert holds(function, rule, inputs) is is_right


def test_even_pieces_of_a_dim_are_pieces_of_its_product() -> None:
    assert holds(aten.view.default, "S(1) -> S(1)", ["abc", ["a", "bc"]], pieces=["even"])


def test_sizes_are_those_of_each_rank_on_two_dims_and_beside_communication() -> None:
    """Would fail if sizes were cut along one mesh dim alone, or a rank's thread had none."""

    def gathered_view(x: torch.Tensor, sizes: list[int], group: Any) -> torch.Tensor:
        torch.distributed.barrier(group)
        return x.reshape(sizes)

    inputs = ["abc", simmesh.RuleSizes(["a", "bc"])]
    rows = ["S(0) -> S(0)", "S(1) -> S(1)"]
    assert holds(torch.Tensor.reshape, rows, inputs, pieces=["even"])
    assert holds(gathered_view, "S(0) -> S(0)", inputs, pieces=["even", "uneven"])
    assert not holds(gathered_view, "S(2) -> S(1)", inputs, pieces=["even"])


def test_own_rule_of_an_operator_with_sizes() -> None:
    """Would fail if PyTorch's rule of a view weren't asked with its sizes."""
    check = simmesh.rulecheck(aten.view.default, None, ["ab", ["a", 1, "b"]], meshes=[(2,)])
    assert check.holds and check.trials > 0, check.text
    assert check.covered == check.coverable > 0, check.text


def test_sizes_have_letters_of_the_inputs() -> None:
    with pytest.raises(ValueError, match=r"sizes \['a', 'x'\]: expected letters.*got x"):
        simmesh.rulecheck(aten.view.default, "R -> R", ["ab", ["a", "x"]])
