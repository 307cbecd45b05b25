"""Notes what a rank's program computes: calls of modules, clipping, and steps of optimizers."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import isasyncgen, iscoroutine, isgenerator
from typing import Any, Callable

import torch
import torch.nn.utils.clip_grad
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from simmesh.one_device import notebook as notes
from simmesh.one_device.flat_parameters import FlatParameter
from simmesh.one_device.names import class_of, unwrapped
from simmesh.one_device.notebook import Key, Notebook
from simmesh.torch.exact.companions import scope

# The places in which functions are replaced are those of the process.
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def observed_calls() -> Iterator[None]:
    """Lets calls of modules and of clipping note what they compute, in threads that have a
    notebook. As it was before on leaving.
    """
    clipping = torch.nn.utils.clip_grad
    module = torch.nn.Module
    with _ONE_AT_A_TIME:
        call, clip = module.__call__, clipping._clip_grads_with_norm_
        public = torch.nn.utils.clip_grads_with_norm_
        clip_observed = _clip_observed(clip)
        flat = FullyShardedDataParallel
        clip_flat = flat.clip_grad_norm_
        try:
            flat.clip_grad_norm_ = _flat_clip_observed(clip_flat)  # type: ignore[method-assign]
            module.__call__ = _call_observed(call)
            clipping._clip_grads_with_norm_ = clip_observed
            torch.nn.utils.clip_grads_with_norm_ = clip_observed
            yield
        finally:
            module.__call__, clipping._clip_grads_with_norm_ = call, clip
            torch.nn.utils.clip_grads_with_norm_ = public
            flat.clip_grad_norm_ = clip_flat  # type: ignore[method-assign]


def run_observed(program: Callable[..., Any], mesh: Any, notebook: Notebook) -> None:
    """Runs a program on this rank and notes into the notebook what it computes and returns."""
    handles = [
        register_optimizer_step_pre_hook(lambda optimizer, *_: _before_step(notebook, optimizer)),
        register_optimizer_step_post_hook(lambda optimizer, *_: _after_step(notebook, optimizer)),
    ]
    notes.open_notebook(notebook)
    log = notebook.listener
    try:
        with contextlib.nullcontext() if log is None else _logged(log):
            returned = program(mesh)
        if iscoroutine(returned) or isgenerator(returned) or isasyncgen(returned):
            raise TypeError(
                "[one_device] expected a function that runs when it is called, got one whose body "
                f"has not run: it returns a {type(returned).__name__}"
            )
        notebook.settle()
        notebook.is_ended = True
        notebook.add_all(notes.RETURNED, "", returned)
        has_gradients = any(kind == notes.GRADIENT for kind, _ in notebook.counts)
        _note_gradients(notebook, notes.LEFT_GRADIENT if has_gradients else notes.GRADIENT)
        _note_parameters(notebook, notes.PARAMETER, list(notebook.names.parameters))
        _note_buffers(notebook)
    finally:
        notes.open_notebook(None)
        for each in handles:
            each.remove()


@contextmanager
def _logged(log: Any) -> Iterator[None]:
    """Logs operators. Nodes of the graph remember the lines that made them."""
    with torch.autograd.set_detect_anomaly(True, check_nan=False), log:
        yield


def _call_observed(call: Callable[..., Any]) -> Callable[..., Any]:
    def observed(self: torch.nn.Module, *arguments: Any, **keywords: Any) -> Any:
        notebook = notes.current()
        if notebook is None or notebook.is_paused or _is_recomputation() or _is_transformed():
            return call(self, *arguments, **keywords)
        if notebook.depth == 0 and _infers_shapes():
            return _paused(notebook, call, self, arguments, keywords)
        if notebook.depth == 0:
            notebook.settle()
            _note_parameters(notebook, notes.INITIAL, notebook.names.add_root(self))
        name = notebook.names.of_module(self)
        if name is None or unwrapped(self) is not self:
            return _nested(notebook, None, call, self, arguments, keywords)
        output = _nested(notebook, name, call, self, arguments, keywords)
        _note_output(notebook, name, self, output)
        return output

    return observed


def _nested(
    notebook: Notebook, name: str | None, call: Callable[..., Any], module: Any,
    arguments: Any, keywords: Any,
) -> Any:  # fmt: skip
    if notebook.depth == 0:
        scope.drawn = ""  # what a program draws before, such as its rows, is no module's
    notebook.depth += 1
    try:
        if name is None or notebook.listener is None:
            return call(module, *arguments, **keywords)
        with notebook.listener.inside(name):
            return call(module, *arguments, **keywords)
    finally:
        notebook.depth -= 1


def _paused(
    notebook: Notebook, call: Callable[..., Any], module: Any, arguments: Any, keywords: Any
) -> Any:
    notebook.is_paused = True
    try:
        return call(module, *arguments, **keywords)
    finally:
        notebook.is_paused = False


def _infers_shapes() -> bool:
    """True while a PipelineStage runs its module on tensors without values, for their shapes."""
    frame = sys._getframe(2)
    for _ in range(4):
        if frame.f_code.co_name == "_forward_metadata_inference":
            return True
        if frame.f_back is None:
            break
        frame = frame.f_back
    return False


def _is_recomputation() -> bool:
    """True while backward runs: activation checkpointing calls modules again then."""
    return torch._C._current_graph_task_id() != -1


def _is_transformed() -> bool:
    """True inside of torch.func's transforms, whose tensors have no elements of their own."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _note_output(notebook: Notebook, name: str, module: torch.nn.Module, output: Any) -> None:
    line = notebook.line()
    shown = name or class_of(module).__name__
    is_of_rows = _looks_at_rows(module)
    for suffix, leaf in notes.leaves(output):
        if not isinstance(leaf, torch.Tensor):
            continue
        key = notebook.next_key(notes.OUTPUT, shown + suffix)
        notebook.add(key, leaf, line, is_of_rows)
        if leaf.requires_grad:
            gradient = notes.Key(notes.OUTPUT_GRADIENT, key.name, key.occurrence)
            notebook.counts[notes.OUTPUT_GRADIENT, key.name] += 1
            leaf.register_hook(_gradient_noter(notebook, gradient, line))


def _looks_at_rows(module: torch.nn.Module) -> bool:
    """True for a batch norm that has the statistics of its own rank's rows."""
    if not isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return False
    has_own = module.training or module.running_mean is None
    return has_own and not isinstance(module, torch.nn.SyncBatchNorm)


def _gradient_noter(
    notebook: Notebook, key: notes.Key, line: str
) -> Callable[[torch.Tensor], None]:
    def note_gradient(gradient: torch.Tensor) -> None:
        notebook.add(key, gradient, line)

    return note_gradient


def _clip_observed(clip: Callable[..., Any]) -> Callable[..., Any]:
    def observed(parameters: Any, max_norm: Any, total_norm: Any, *rest: Any, **more: Any) -> Any:
        notebook = notes.current()
        if notebook is None:
            return clip(parameters, max_norm, total_norm, *rest, **more)
        notebook.settle()
        parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        _note_gradients(notebook, notes.GRADIENT)
        key = notebook.next_key(notes.NORM, "")
        notebook.add(key, total_norm, notebook.line(), is_whole=True)
        notebook.is_clipped = True
        return clip(parameters, max_norm, total_norm, *rest, **more)

    return observed


def _flat_clip_observed(clip: Callable[..., Any]) -> Callable[..., Any]:
    """The clipping of FullyShardedDataParallel, which calls torch's where nothing is cut."""

    def observed(self: Any, *arguments: Any, **keywords: Any) -> Any:
        notebook = notes.current()
        is_cut = any(handle.uses_sharded_strategy for handle in self._all_handles)
        if notebook is None or not is_cut:
            return clip(self, *arguments, **keywords)
        _note_gradients(notebook, notes.GRADIENT)
        line = notebook.line()
        norm = clip(self, *arguments, **keywords)
        notebook.add(notebook.next_key(notes.NORM, ""), norm, line, is_whole=True)
        notebook.is_clipped = True
        return norm

    return observed


def _before_step(notebook: Notebook, optimizer: torch.optim.Optimizer) -> None:
    notebook.step_depth += 1
    if any(each is optimizer for each in notebook.stepped):
        notebook.settle()
    _name_parameters(notebook, optimizer)
    _note_gradients(notebook, notes.CLIPPED if notebook.is_clipped else notes.GRADIENT)
    _note_settings(notebook, optimizer)


#: Options that choose a kernel, and the learning rate that a scheduler begins with.
_WITHOUT_EFFECT = frozenset(("foreach", "fused", "capturable", "differentiable", "initial_lr"))


def _note_settings(notebook: Notebook, optimizer: torch.optim.Optimizer) -> None:
    """Notes the options with which parameters are stepped: numbers, words and pairs of numbers."""
    for group in optimizer.param_groups:
        settings = {
            option: value.item() if isinstance(value, torch.Tensor) else value
            for option, value in group.items()
            if option not in _WITHOUT_EFFECT
            and (
                isinstance(value, (bool, int, float, str, tuple))
                or (isinstance(value, torch.Tensor) and value.numel() == 1)
            )
        }
        for each in group["params"]:
            name = notebook.names.of_parameter(each)
            if name is not None:
                occurrence = notebook.counts[notes.PARAMETER, name]
                notebook.settings[Key(notes.PARAMETER, name, occurrence)] = settings


def _after_step(notebook: Notebook, optimizer: torch.optim.Optimizer) -> None:
    notebook.steps += 1
    notebook.coarsest_product = scope.coarsest_product
    notebook.is_clipped = False
    line = notebook.step_line = notebook.line()
    notebook.step_depth -= 1
    if notebook.step_depth == 0:
        notebook.times_stepped.update(_names_in(notebook, optimizer))
    notebook.stepped.append(optimizer)
    notebook.note_stepped = lambda: _note_stepped(notebook, line)
    for parameter, state in optimizer.state.items():
        name = notebook.names.of_parameter(parameter)
        if name is None:
            continue
        parts = notebook.names.flat_parts(parameter)
        for key, value in state.items():
            if not isinstance(value, torch.Tensor):
                continue
            noted = {part: flat.state(value) for part, flat in parts} if parts else {name: value}
            for part, piece in noted.items():
                next_key = notebook.next_key(notes.STATE, f"{key} of {part}")
                notebook.add(next_key, piece, line)


def _names_in(notebook: Notebook, optimizer: torch.optim.Optimizer) -> list[str]:
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    names = dict.fromkeys(notebook.names.of_parameter(each) for each in parameters)
    return [each for each in names if each is not None]


def _note_stepped(notebook: Notebook, line: str) -> None:
    _note_parameters(notebook, notes.PARAMETER, list(notebook.names.parameters), line)
    _note_buffers(notebook, line)


def _name_parameters(notebook: Notebook, optimizer: torch.optim.Optimizer) -> None:
    """Names the parameters of an optimizer that belong to no module that was called."""
    names = notebook.names
    has_modules = bool(names.parameters)
    kind = type(optimizer).__name__
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    strays = [
        (index, each) for index, each in enumerate(parameters) if names.of_parameter(each) is None
    ]
    for index, each in strays:
        names.add_stray(f"parameter {index} of {kind}", each)
    if has_modules and strays and all(each.grad is None for _, each in strays):
        notebook.strays.append(notes.Stray(kind, len(strays), notebook.line()))
    elif has_modules and strays:
        notebook.has_masters = True
    notebook.owned |= set(map(id, parameters))


def _note_gradients(notebook: Notebook, kind: str) -> None:
    line = notebook.line()
    for name, parameter in notebook.names.parameters.items():
        # Gradients that go into other tensors, which an optimizer steps, may stay parts of sums.
        is_source = notebook.has_masters and id(parameter) not in notebook.owned
        if parameter.requires_grad and not is_source:
            notebook.add(notebook.next_key(kind, name), parameter.grad, line)


def _note_parameters(notebook: Notebook, kind: str, names: list[str], line: str = "") -> None:
    line = line or notebook.line()
    for name in names:
        parameter = notebook.names.parameters[name]
        value = parameter.value if isinstance(parameter, FlatParameter) else parameter
        key = notebook.next_key(kind, name)
        notebook.add(key, value, line)
        if key in notebook.taken:
            notebook.taken[key].give(value)


def _note_buffers(notebook: Notebook, line: str = "") -> None:
    line = line or notebook.line()
    for name, buffer in notebook.names.buffers():
        notebook.add(notebook.next_key(notes.BUFFER, name), buffer, line)
