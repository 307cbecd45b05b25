"""The processes in which the rivals of the museum's score run programs. Each job has a process of
its own, forked from one that has imported what programs need.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import multiprocessing
import os
import pickle
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from museum_idle import Activity
from museum_runs import RUNS, Job, Outcome

DIED = "ChildProcessError: the process died"
ENDS_BEFORE = 1800.0  # gloo and threads say themselves, and before, that they wait in vain
OTHERS_END_IN = 20.0  # after the first rank that failed; a launcher ends them at once
_STOPPED = "stopped"
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h
_IMPORTED = (
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.checkpoint.stateful",
    "torch.distributed.elastic.multiprocessing.errors",
    "torch.distributed.fsdp",
    "torch.distributed.optim",
    "torch.distributed.pipelining",
    "torch.distributed.tensor.experimental",
    "torch.distributed.tensor.parallel",
    "torch.nn.parallel",
    "torch.testing._internal.distributed.fake_pg",
    "torch.utils.checkpoint",
    "torch.utils.data",
)


class Worker:
    """A process that forks one for each job. It is forked itself, before anything has run."""

    def __init__(self, run: str) -> None:
        for name in _IMPORTED:
            importlib.import_module(name)
        context = multiprocessing.get_context("fork")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, run), daemon=True)
        self.process.start()
        other.close()

    def start(self, job: Job) -> None:
        """Sends a job."""
        self.connection.send(job)

    def end_job(self) -> None:
        """Ends the job that was sent, which has no outcome then."""
        self.connection.send(None)
        while _received(self.connection) != _STOPPED:
            pass

    @property
    def of_job(self) -> list[int]:
        """The process of the job, if it runs."""
        pid = self.process.pid
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(each) for each in file.read().split()]
        return []

    def stop(self) -> None:
        """Ends the process."""
        self.end_job()
        self.process.kill()
        self.process.join()


def run_together(workers: Sequence[Worker], jobs: Sequence[Job]) -> tuple[list[Outcome], bool]:
    """The outcomes of one job on each worker, all at a time; true if the machine was busy with them
    for longer than gloo waits. Once a job has failed, the others have some seconds to say why they
    do.
    """
    for worker, job in zip(workers, jobs):
        worker.start(job)
    waiting: dict[Connection, Worker] = {worker.connection: worker for worker in workers}
    found: dict[Worker, list[Outcome]] = {}
    activity, began = Activity(), time.monotonic()
    until = began + ENDS_BEFORE
    while waiting and time.monotonic() < until:
        ready = wait(list(waiting), timeout=activity.EACH)
        for worker in [waiting.pop(each) for each in list(waiting) if each in ready]:
            found[worker] = _received(worker.connection)
            if any(each.error for each in found[worker]):
                until = min(until, time.monotonic() + OTHERS_END_IN)
        activity.look(pid for worker in waiting.values() for pid in worker.of_job)
    for worker in waiting.values():
        worker.end_job()
        is_first = not any(each.error for kept in found.values() for each in kept)
        late = "TimeoutError: the program did not end" if is_first else ""
        found[worker] = [Outcome(late)]
    is_late = activity.is_busy and time.monotonic() > began + jobs[0].waits
    return [each for worker in workers for each in found[worker]], is_late


def _send(connection: Any, message: Any) -> None:
    """Sends tensors by value, as their process ends then."""
    connection.send_bytes(pickle.dumps(message))


def _received(connection: Any) -> Any:
    return pickle.loads(connection.recv_bytes())


def _end_with_parent() -> None:
    """Lets the system end this process with the one that forked it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(connection: Any, run: str) -> None:
    """Runs jobs for as long as the caller lives, and says nothing on the standard streams."""
    _end_with_parent()
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    os.dup2(sys.stdout.fileno(), 2)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    while True:
        job = connection.recv()
        if job is None:
            _send(connection, _STOPPED)
        else:
            _serve_job(connection, run, job)


def _serve_job(connection: Any, run: str, job: Job) -> None:
    """Runs a job in a new process, and sends its outcomes once that ended, or is to end."""
    outcomes, other = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        _run(other, run, job)
    other.close()
    is_stopped = connection in wait([connection, outcomes])
    if is_stopped:
        connection.recv()
        os.kill(child, signal.SIGKILL)
        message = pickle.dumps(_STOPPED)
    else:
        try:
            message = outcomes.recv_bytes()
        except EOFError:
            message = b""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    outcomes.close()
    connection.send_bytes(message or pickle.dumps([Outcome(f"{DIED} with status {status}")]))


def _run(connection: Any, run: str, job: Job) -> None:
    _end_with_parent()
    try:
        outcomes = RUNS[run](job)
    except BaseException:  # so that nothing of the process that forked this one goes on
        outcomes = [Outcome(traceback.format_exc())]
    _send(connection, outcomes)
    os._exit(0)
