"""Records the events of PyTorch's FSDP2 in a rank's event log."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch.distributed as dist
from torch.distributed.fsdp._fully_shard import _fsdp_collectives, _fsdp_param_group
from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam, ShardedState
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.distributed.fsdp._fully_shard._fsdp_state import FSDPState

from simmesh import _core
from simmesh.recording.fsdp.event_log import EventLog

_logs: dict[int, EventLog] = {}


@contextmanager
def logged(log: EventLog) -> Iterator[EventLog]:
    """Sends this rank's events to ``log``."""
    rank = _core.rank()
    assert rank is not None
    _logs[rank] = log
    try:
        yield log
    finally:
        del _logs[rank]


@contextmanager
def observed() -> Iterator[None]:
    """Puts observers into PyTorch's classes for the time of a run; entered on the host's thread."""
    undo: list[Callable[[], None]] = []
    try:
        for owner, name, observer in _OBSERVERS:
            undo.append(_put(owner, name, observer))
        yield
    finally:
        for step in reversed(undo):
            step()


def _put(owner: Any, name: str, observer: Callable[..., Any]) -> Callable[[], None]:
    kept = vars(owner)[name]
    original = kept.__func__ if isinstance(kept, staticmethod) else kept

    @functools.wraps(original)
    def observing(*arguments: Any, **keywords: Any) -> Any:
        rank = _core.rank()
        log = None if rank is None else _logs.get(rank)
        if log is None:
            return original(*arguments, **keywords)
        return observer(
            log, functools.partial(original, *arguments, **keywords), *arguments, **keywords
        )

    setattr(owner, name, staticmethod(observing) if isinstance(kept, staticmethod) else observing)
    return lambda: setattr(owner, name, kept)


def _training(group: FSDPParamGroup) -> str:
    return group._training_state.name.lower()


def _lazy_init(log: EventLog, call: Any, state: FSDPState) -> Any:
    if state._is_root is None:
        log.add("lazy_init", log.state(state))
    return call()


def _group_lazy_init(log: EventLog, call: Any, group: FSDPParamGroup) -> Any:
    log.add("group_lazy_init", log.group(group))
    return call()


def _reset_sharded_param(log: EventLog, call: Any, parameter: FSDPParam) -> Any:
    log.add("reset_sharded_param", log.parameter(parameter))
    return call()


def _root_pre_forward(log: EventLog, call: Any, state: FSDPState, *rest: Any) -> Any:
    had_root = state._state_ctx.iter_forward_root is not None
    result = call()
    if not had_root and state._state_ctx.iter_forward_root is state:
        log.add("forward_root", log.state(state))
    return result


def _in_state(log: EventLog, call: Any, state: FSDPState, *rest: Any) -> Any:
    with log.inside_state(state):
        return call()


def _unshard(log: EventLog, call: Any, group: FSDPParamGroup, async_op: bool = False) -> Any:
    is_unwanted = not group.unshard_in_backward and _training(group) == "pre_backward"
    if group._all_gather_result is None and not group.is_unsharded and not is_unwanted:
        log.add("unshard", log.group(group), _training(group), "async" if async_op else "sync")
    with log.inside_group(group):
        return call()


def _wait(log: EventLog, call: Any, group: FSDPParamGroup) -> Any:
    if group._all_gather_result:
        log.add("wait", log.group(group), _training(group))
    with log.inside_group(group):
        return call()


def _copy_out(log: EventLog, call: Any, result: Any, *rest: Any, **options: Any) -> Any:
    returned = call()
    log.gathered(log.current_group, result.all_gather_output)
    return returned


def _all_gather(
    log: EventLog,
    call: Any,
    comm: Any,
    output_tensor: Any,
    input_tensor: Any,
    group: Any,
    async_op: bool = False,
) -> Any:
    return log.collective("all_gather", input_tensor, output_tensor.numel(), group, call)


def _reduce_scatter(
    log: EventLog,
    call: Any,
    comm: Any,
    output_tensor: Any,
    input_tensor: Any,
    group: Any,
    op: Any,
    async_op: bool = False,
) -> Any:
    return log.collective(
        "reduce_scatter",
        input_tensor,
        output_tensor.numel(),
        group,
        call,
        reduction=op,
        output=output_tensor,
    )


def _all_reduce(
    log: EventLog,
    call: Any,
    tensor: Any,
    op: Any = dist.ReduceOp.SUM,
    group: Any = None,
    *rest: Any,
) -> Any:
    return log.collective(
        "all_reduce", tensor, tensor.numel(), group, call, reduction=op, output=tensor
    )


def _prefetch(log: EventLog, call: Any, target: FSDPParamGroup, direction: str) -> Any:
    log.prefetch(target, direction)
    return call()


def _reshard(log: EventLog, call: Any, group: FSDPParamGroup) -> Any:
    log.in_reshard += 1
    try:
        return call()
    finally:
        log.in_reshard -= 1


def _reset_iter_state(log: EventLog, call: Any, group: FSDPParamGroup) -> Any:
    # The recovery isn't part of any pass, so cases don't list its reshards.
    begin = len(log.events)
    call()
    del log.events[begin:]


def _becomes(new: ShardedState) -> Callable[..., Any]:
    def changes(log: EventLog, call: Any, group: FSDPParamGroup) -> Any:
        if group._sharded_state != new:
            state = _training(group) if log.in_reshard else "state_dict"
            log.add("reshard", log.group(group), state, new.name.lower())
        return call()

    return changes


def _record_post_forward(log: EventLog, call: Any, group: FSDPParamGroup) -> Any:
    log.add("record_post_forward", log.group(group), len(group.comm_ctx.post_forward_order))
    return call()


def _pre_backward(log: EventLog, call: Any, group: FSDPParamGroup, *rest: Any) -> Any:
    if _training(group) != "pre_backward":
        log.add("pre_backward", log.group(group))
    return call()


def _post_backward(log: EventLog, call: Any, group: FSDPParamGroup, *rest: Any) -> Any:
    log.add("post_backward", log.group(group))
    with log.inside_group(group):
        return call()


def _root_callback(log: EventLog, call: Any, state: FSDPState) -> Any:
    log.add("root_callback", log.state(state))
    return call()


def _finalize(log: EventLog, call: Any, group: FSDPParamGroup) -> Any:
    drops = group._all_gather_result is not None
    log.add("finalize", log.group(group), "drops_gather" if drops else "clean")
    return call()


_OBSERVERS: list[tuple[Any, str, Callable[..., Any]]] = [
    (FSDPState, "_lazy_init", _lazy_init),
    (FSDPState, "_root_pre_forward", _root_pre_forward),
    (FSDPState, "_pre_forward", _in_state),
    (FSDPState, "_pre_backward", _in_state),
    (FSDPState, "_root_post_backward_final_callback", _root_callback),
    (FSDPParam, "reset_sharded_param", _reset_sharded_param),
    (FSDPParamGroup, "lazy_init", _group_lazy_init),
    (FSDPParamGroup, "unshard", _unshard),
    (FSDPParamGroup, "wait_for_unshard", _wait),
    (FSDPParamGroup, "reshard", _reshard),
    (FSDPParamGroup, "_reset_iter_state", _reset_iter_state),
    (FSDPParamGroup, "_to_sharded", _becomes(ShardedState.SHARDED)),
    (FSDPParamGroup, "_to_sharded_post_forward", _becomes(ShardedState.SHARDED_POST_FORWARD)),
    (FSDPParamGroup, "_record_post_forward", _record_post_forward),
    (FSDPParamGroup, "_prefetch_unshard", _prefetch),
    (FSDPParamGroup, "pre_backward", _pre_backward),
    (FSDPParamGroup, "post_backward", _post_backward),
    (FSDPParamGroup, "finalize_backward", _finalize),
    (_fsdp_param_group, "foreach_all_gather_copy_out", _copy_out),
    (_fsdp_collectives.DefaultAllGather, "__call__", _all_gather),
    (_fsdp_collectives.ProcessGroupAllocAllGather, "__call__", _all_gather),
    (_fsdp_collectives.DefaultReduceScatter, "__call__", _reduce_scatter),
    (_fsdp_collectives.ProcessGroupAllocReduceScatter, "__call__", _reduce_scatter),
    (dist, "all_reduce", _all_reduce),
]
