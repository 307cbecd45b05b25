"""The calls of recorded cases of typed tensors, as programs of PyTorch make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F

from simmesh import typed

_TENSOR = torch.Tensor
_SAME_NAME = {
    of: tuple(names.split())
    for of, names in {
        torch: "addbmm addcdiv addcmul addmm addmv addr amax argmax atan2 baddbmm bernoulli "
        "block_diag bmm broadcast_to cdist chunk clamp clone cumprod cumsum diagonal dot "
        "empty_like exp flatten flip gather greater index_add index_select isnan kron lerp log "
        "logsumexp masked_fill matmul max maximum mean minimum mm movedim mul mv nanmean nansum "
        "narrow neg ones_like outer permute positive pow prod rand_like ravel reshape roll rsqrt "
        "select sigmoid sign sort split sqrt square squeeze sub sum swapaxes t tanh "
        "tile topk trace transpose tril triu unbind unflatten unsqueeze var where zeros_like abs "
        "add div detach repeat_interleave",
        _TENSOR: "contiguous expand expand_as float repeat unfold view view_as",
        F: "cross_entropy dropout embedding gelu l1_loss layer_norm linear log_softmax mse_loss "
        "pad relu rms_norm silu softmax",
    }.items()
}
_FORMS: dict[str, Callable[..., Any]] = {
    "add_": lambda x, y: x.add_(y),
    "add_alpha": torch.add,
    "add_out": lambda x, y, out: torch.add(x, y, out=out),
    "add_scalar": lambda x, y: x + y,
    "add_scalar_": lambda x, y: x.add_(y),
    "alias_getitem": lambda x: x[0],
    "attention": F.scaled_dot_product_attention,
    "cat": lambda *x, dim=0: torch.cat(x, dim),
    "cat3": lambda *x, dim=0: torch.cat(x, dim),
    "copy_": lambda x, y: x.copy_(y),
    "div_": lambda x, y: x.div_(y),
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_other_keyword": lambda x, y: torch.div(x, other=y),
    "div_scalar": lambda x, y: x / y,
    "div_scalar_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "dropout_zero": F.dropout,
    "dsplit": lambda x: torch.hsplit(x, 2),
    "einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
    "einsum3": lambda x, y, z: torch.einsum("ij,jk,kl->il", x, y, z),
    "equal": torch.eq,
    "fill_": lambda x: x.fill_(2.0),
    "gather": lambda x, i: torch.gather(x, 0, i),
    "getitem_tensor": lambda x, i: x[i],
    "index_add": lambda x, i, y: torch.index_add(x, 0, i, y),
    "index_select": lambda x, i: torch.index_select(x, 0, i),
    "layer_norm_affine": lambda x, w, b: F.layer_norm(x, [4], w, b),
    "linear_bias": F.linear,
    "masked_fill": lambda x, mask: x.masked_fill(mask, 0.0),
    "mean_dim": torch.mean,
    "mul_": lambda x, y: x.mul_(y),
    "mul_out": lambda x, y, out: torch.mul(x, y, out=out),
    "mul_scalar": lambda x, y: x * y,
    "mul_scalar_": lambda x, y: x.mul_(y),
    "neg_": lambda x: x.neg_(),
    "new_empty": lambda x: x.new_empty(2),
    "new_zeros": lambda x: x.new_zeros(2),
    "norm": torch.linalg.vector_norm,
    "pow_tensor": torch.pow,
    "relu_": lambda x: x.relu_(),
    "repeat_interleave_tensor": lambda x, i: torch.repeat_interleave(x, i, dim=0),
    "scalar_add": lambda x, y: x + y,
    "scalar_div": lambda x, y: x / y,
    "scalar_mul": lambda x, y: x * y,
    "scalar_sub": lambda x, y: x - y,
    "scatter_add": lambda x, i, y: torch.scatter_add(x, 0, i, y),
    "slice_getitem": lambda x: x[:, 1:],
    "stack": lambda *x, dim=0: torch.stack(x, dim),
    "sub_": lambda x, y: x.sub_(y),
    "sub_scalar": lambda x, y: x - y,
    "sum_dim": torch.sum,
    "sum_int64": lambda x: torch.sum(x, dtype=torch.int64),
    "take_along_dim": lambda x, i: torch.take_along_dim(x, i, 1),
    "tensordot": lambda x, y: torch.tensordot(x, y, dims=1),
    "to_bfloat16": lambda x: x.to(torch.bfloat16),
    "to_float64": lambda x: x.to(torch.float64),
    "view_dtype": lambda x: x.view(torch.int32),
    "zero_": lambda x: x.zero_(),
    "zeros": lambda: torch.zeros(4),
    "ones": lambda: torch.ones(4),
    "full": lambda: torch.full((4,), 2.0),
    "arange": lambda: torch.arange(4),
    "eye": lambda: torch.eye(4),
    "tensor": lambda: torch.tensor([1.0]),
    "rand": lambda: torch.rand(4),
    "randn": lambda: torch.randn(4),
    "randperm": lambda: torch.randperm(4),
    "autograd.backward": lambda x: torch.autograd.backward(x.sum()),
    "autograd.grad": lambda x: torch.autograd.grad(x, x, torch.ones_like(x)),
}

# Positional only, in this order.
_POSITIONAL = {
    "view": ("shape",), "expand": ("size",), "repeat": ("sizes",), "pad": ("pad",),
    "unfold": ("dimension", "size", "step"), "reshape": ("shape",), "permute": ("dims",),
    "tile": ("dims",), "flip": ("dims",), "broadcast_to": ("size",), "swapaxes": ("axis0", "axis1"),
    "pow": ("exponent",), "split": ("split_size_or_sections",), "repeat_interleave": ("repeats",),
}  # fmt: skip


def torch_call(op: str) -> Callable[..., Any]:
    """The function that a recorded local operation is. Raises KeyError for an unknown one."""
    if op in _FORMS:
        return _FORMS[op]
    for module, names in _SAME_NAME.items():
        if op in names:
            return _with_positions(op, getattr(module, op))
    raise KeyError(op)


def _with_positions(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    keys = _POSITIONAL.get(op, ())

    def call(*operands: Any, **args: Any) -> Any:
        return function(*operands, *[args.pop(key) for key in keys if key in args], **args)

    return call


def raw_call(op: str, tensors: list[torch.Tensor], group: Any, ranks: int) -> list[torch.Tensor]:
    """Makes a recorded call of torch.distributed; returns the outputs."""
    if op == "dist.all_reduce":
        dist.all_reduce(tensors[0], group=group)
        return [tensors[0]]
    if op == "dist.all_gather":
        outputs = [tensors[1]]
        with typed.no_typecheck():
            for _ in range(ranks - 1):
                outputs.append(tensors[1].clone())
                outputs[-1].__dict__.update(tensors[1].__dict__)
        dist.all_gather(outputs, tensors[0], group=group)
        return outputs
    {
        "dist.all_gather_into_tensor": dist.all_gather_into_tensor,
        "dist.all_to_all_single": dist.all_to_all_single,
        "dist.reduce_scatter_tensor": dist.reduce_scatter_tensor,
    }[op](tensors[1], tensors[0], group=group)
    return [tensors[1]]
