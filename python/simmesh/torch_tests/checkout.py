"""PyTorch's own tests of torch.distributed in a checkout of its sources, and how pytest runs a file
of them: on ranks, or on the processes and threads for which they were written.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest
import torch
import torch.multiprocessing
from torch.testing._internal.common_distributed import MultiProcessTestCase

from simmesh import pytest_plugin, torch_tests
from simmesh.torch_tests.recorder import Recorder

#: The folder of a checkout whose tests these are.
FOLDER = Path("test", "distributed")

#: Folders whose tests start agents, launchers and servers, with no collective of a rank.
LEFT_OUT = ("elastic", "launcher", "rpc")

# PyTorch's own runner sets these for the two files.
_VARIABLES = {
    "test_distributed_spawn.py": {"BACKEND": "gloo", "WORLD_SIZE": "3"},
    "algorithms/quantization/test_quantization.py": {"BACKEND": "gloo", "WORLD_SIZE": "3"},
}


def files_of(checkout: Path, names: Sequence[str] = ()) -> list[Path]:
    """The files of tests that the names mean, as paths below test/distributed: files and folders,
    or all. Raises ValueError for a name that isn't there.
    """
    root = checkout / FOLDER
    if not root.is_dir():
        raise ValueError(
            f"[torch_tests/checkout] expected a checkout of PyTorch with {FOLDER}, got {checkout}"
        )
    found = []
    for name in names or (".",):
        path = root / name
        if path.is_dir():
            files = [each.relative_to(root) for each in sorted(path.rglob("test_*.py"))]
            found += [each for each in files if names or each.parts[0] not in LEFT_OUT]
        elif path.is_file():
            found.append(path.relative_to(root))
        else:
            raise ValueError(
                f"[torch_tests/checkout] expected a file or folder of {root}, got {name}"
            )
    return found


class FileBody:
    """Runs pytest on a file, in the process that calls it. With ``on_ranks`` PyTorch's test cases
    start ranks; otherwise their processes are forks, which have imported PyTorch already.
    ``chosen`` is an expression of pytest's option -k.
    """

    def __init__(
        self, checkout: Path, file: Path, on_ranks: bool, forks: bool = True, chosen: str = ""
    ) -> None:
        self._root, self._file, self._chosen = checkout / FOLDER, file, chosen
        self._on_ranks, self._forks = on_ranks, forks

    def __call__(self, stream: TextIO, done: Collection[str], only: Collection[str]) -> None:
        path = self._root / self._file
        os.environ.update(_VARIABLES.get(str(self._file), {}))
        os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", TEMP_DIR=tempfile.gettempdir())
        sys.argv[:] = [str(path)]
        # As where Python runs the file: it may import its neighbours, also from a package.
        sys.path.insert(0, str(path.parent))
        recorder = Recorder(stream, done, only)
        plugins: list[Any] = [recorder]
        if self._on_ranks:
            plugins += [pytest_plugin, torch_tests]
        elif self._forks:
            _fork_processes()
        configuration = Path(tempfile.gettempdir(), "pytest.ini")
        configuration.write_text("[pytest]\n", encoding="utf-8")
        arguments = [
            str(path), "-c", str(configuration), "--rootdir", str(self._root), "--noconftest",
            "-p", "no:cacheprovider", "-q", "--color=no", "-rN", "-W", "ignore",
            "-k", self._chosen,
        ]  # fmt: skip
        ended = pytest.main(arguments, plugins=plugins)
        sys.stdout.flush()
        # An error of pytest itself leaves tests to another fork.
        if ended != pytest.ExitCode.INTERNAL_ERROR:
            recorder.finish()


def _fork_processes() -> None:
    torch.multiprocessing.set_start_method("fork", force=True)
    process = torch.multiprocessing.get_context("fork").Process
    MultiProcessTestCase._spawn_processes = lambda self: self._start_processes(process)


def import_once() -> None:
    """Imports what the files import, before their processes are forked."""
    import torch._dynamo
    import torch.distributed.checkpoint
    import torch.distributed.fsdp
    import torch.distributed.pipelining
    import torch.distributed.tensor
    import torch.testing._internal.common_fsdp
    import torch.testing._internal.distributed._tensor.common_dtensor
    import torch.testing._internal.distributed.fake_pg

    # A fork has none of the threads that its parent may have started for products.
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
