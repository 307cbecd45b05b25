"""Each rank has its own copy of what a package keeps, wherever the package keeps it."""

from __future__ import annotations

import importlib
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import simmesh
from simmesh.torch import run
from simmesh.torch.isolation.torch_names import TorchNames

STATE = """
import collections, functools, itertools, random
total = 0
table = {}
names = []
seen = set()
recent = collections.deque(maxlen=2)
numbers = itertools.count()
generator = random.Random(5)
class Counter:
    made = 0
    def __init__(self):
        type(self).made += 1
class Singleton:
    shared = {}
    def __init__(self):
        self.__dict__ = self.shared
class Slotless:
    pass
holder = Slotless()
alias = table
def count_up():
    global total
    total += 1
    return total
def register(count=[0]):
    count[0] += 1
    return count[0]
def make():
    value = 0
    def next_value():
        nonlocal value
        value += 1
        return value
    return next_value
next_value = make()
@functools.lru_cache
def object_of(key):
    return [key]
def once():
    once.calls += 1
    return once.calls
once.calls = 0
"""

# The values that each rank finds if nothing of another one is there.
ALONE = [1, 1, 1, 1, 0, 1, ["me"], {"me"}, ["me"], {"me": 1}, {"x": 1}, "me", 1, 1, 79, "Wrapped"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a package with a module ``state`` and one, ``late``, that registers itself."""
    folder = tmp_path / "framework"
    folder.mkdir()
    (folder / "__init__.py").write_text("registry = []\n")
    (folder / "state.py").write_text(STATE)
    (folder / "late.py").write_text(
        "import framework\nframework.registry.append('late')\nframework.by_late = 1\nkept = []\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "framework"
    for name in [name for name in sys.modules if name.partition(".")[0] == "framework"]:
        del sys.modules[name]


def use_state() -> list[Any]:
    """Changes each kind of state, and returns what was found."""
    from framework import state

    found = [
        state.count_up(), state.register(), state.next_value(), state.once(), next(state.numbers)
    ]  # fmt: skip
    dist.barrier()
    state.Counter()
    found.append(state.Counter.made)
    for add in (state.names.append, state.seen.add, state.recent.append):
        add("me")
    state.alias["me"] = len(state.alias) + 1
    state.Singleton().x = len(state.Singleton.shared) + 1
    dist.barrier()
    found += [list(state.names), set(state.seen), list(state.recent), dict(state.table)]
    found.append(dict(state.Singleton.shared))
    state.holder.name = vars(state.holder).get("name", "") + "me"
    state.object_of(1).append(dist.get_rank())
    dist.barrier()
    found += [state.holder.name, len(state.object_of(1)) - 1, state.object_of.cache_info().currsize]
    found.append(state.generator.randrange(100))
    if not hasattr(state.make, "wrapped"):
        state.count_up, state.make.wrapped = (lambda: 0), "Wrapped"
    dist.barrier()
    return [*found, state.make.wrapped if state.count_up() == 0 else "not mine"]


@pytest.mark.parametrize("imported", [True, False])
@pytest.mark.parametrize("schedule", ["fifo", "seeded:3", "pct:3"])
def test_all_kinds_of_state_are_each_ranks_own(package: str, imported: bool, schedule: str) -> None:
    """Would fail if a rank found what another one, or an earlier run, left behind."""
    if imported:
        __import__("framework.state")
    for _ in range(2):
        ran = simmesh.spmd_run(use_state, isolate=[package], schedule=schedule)
        assert ran.outcome.ok, ran.outcome.report
        assert ran.results == [ALONE] * 4
    state = sys.modules["framework.state"]
    assert (state.total, state.table, state.names) == (0, {}, [])
    assert next(state.numbers) == 0


def test_without_isolate_packages_are_shared(package: str) -> None:
    """Would fail if the tests above passed for another reason."""
    ran = simmesh.spmd_run(use_state)
    assert ran.results[0] != ran.results[1]


def test_a_single_module_may_be_named(package: str) -> None:
    """Would fail if a dotted name of a module were taken for an attribute."""
    ran = simmesh.spmd_run(use_state, isolate=["framework.state"])
    assert ran.results == [ALONE] * 4


def test_a_module_that_a_rank_imports_is_registered_for_all(package: str) -> None:
    """Would fail if only the rank that imported it first saw what the import registered."""
    import framework

    def program() -> list[Any]:
        framework.registry.append("mine")
        dist.barrier()
        late: Any = importlib.import_module("framework.late")
        late.kept.append(1)
        dist.barrier()
        return [sorted(framework.registry), vars(framework).get("by_late"), list(late.kept)]

    for schedule in ("fifo", "seeded:1", "seeded:2"):
        ran = simmesh.spmd_run(program, isolate=[package], schedule=schedule)
        assert ran.results == [[["late", "mine"], 1, [1]]] * 4, ran.outcome.report


def test_a_module_made_by_hand_is_the_ranks_own() -> None:
    """Would fail if a rank found a module that another one put into ``sys.modules``."""
    import types

    def program() -> int:
        if "by_hand" not in sys.modules:
            sys.modules["by_hand"] = types.ModuleType("by_hand")
            sys.modules["by_hand"].rank = dist.get_rank()  # type: ignore[attr-defined]
        dist.barrier()
        return int(sys.modules["by_hand"].rank)

    ran = simmesh.spmd_run(program, isolate=["by_hand"])
    assert ran.results == [0, 1, 2, 3]
    assert "by_hand" not in sys.modules


def test_threads_of_a_rank_see_what_it_keeps(package: str) -> None:
    """Would fail if a thread of a rank had the contents of another rank."""
    import threading

    from framework import state

    def program() -> list[int]:
        state.names.append(dist.get_rank())
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.extend(state.names))
        dist.barrier()
        thread.start()
        thread.join()
        return seen

    ran = simmesh.spmd_run(program, isolate=[package], schedule="seeded:5")
    assert ran.results == [[0], [1], [2], [3]], ran.outcome.report


def test_the_marker_and_single_attributes_go_on(package: str) -> None:
    """Would fail if naming a package put an end to naming an attribute."""
    from framework import state

    def program() -> int:
        state.names.append(1)
        state.table[dist.get_rank()] = 1
        dist.barrier()
        return len(state.names)

    ran = simmesh.spmd_run(program, isolate=["framework.state.names", (state, "table")])
    assert ran.results == [1, 1, 1, 1]
    with pytest.raises(AttributeError, match="expected an attribute of"):
        simmesh.spmd_run(program, isolate=["framework.state.missing"])


def test_packages_that_are_isolated_are_named(package: str) -> None:
    """Would fail if a run didn't say which packages each rank had for itself."""
    __import__("framework.state")

    def body(rank: int) -> None:
        pass

    assert "framework" in run(body, 2, isolate=[package]).isolated
    assert "framework" not in run(body, 2).isolated


def test_patches_on_classes_of_torch_are_each_ranks_own() -> None:
    """Would fail if another rank, or the host, saw a method that a rank replaced or added."""
    original = vars(torch.autograd.Function)["apply"]
    linear = torch.nn.functional.linear

    def program() -> list[Any]:
        assert vars(torch.autograd.Function)["apply"] is original
        assert not hasattr(torch.nn.Linear, "rank")
        torch.autograd.Function.apply = mine = lambda *_: None  # type: ignore[assignment]
        torch.nn.functional.linear = None  # type: ignore[assignment]
        torch.nn.Linear.rank = dist.get_rank()  # type: ignore[assignment]
        torch.Tensor.own = dist.get_rank()  # type: ignore[attr-defined]
        dist.barrier()
        assert torch.autograd.Function.apply is mine
        assert torch.nn.functional.linear is None
        own: Any = torch.ones(1)
        return [torch.nn.Linear.rank, own.own]

    ran = simmesh.spmd_run(program, schedule="seeded:2")
    assert ran.results == [[rank, rank] for rank in range(4)], ran.outcome.report
    assert vars(torch.autograd.Function)["apply"] is original
    assert torch.nn.functional.linear is linear
    assert not hasattr(torch.Tensor, "own")


def test_objects_with_tensors_have_the_same_pickles_in_every_run() -> None:
    """Would fail if a pickle held an address, which is another one in every run."""

    def program() -> list[float]:
        kept = [torch.zeros(1) for _ in range(dist.get_rank())]
        gathered: list[Any] = [None] * 4
        own = {"step": torch.tensor(float(dist.get_rank())), "storage": kept}
        dist.all_gather_object(gathered, own)
        return [each["step"].item() for each in gathered]

    simmesh.spmd(schedules=8)(program)()
    kept = torch.zeros(1000)
    first = simmesh.spmd_run(program)
    del kept
    ballast = [torch.zeros(1) for _ in range(100)]
    again = simmesh.spmd_run(program)
    assert first.results == [[0.0, 1.0, 2.0, 3.0]] * 4
    assert first.outcome.data_hash == again.outcome.data_hash
    assert len(ballast) == 100


def test_unchanged_names_of_torch_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would fail if each run looked at all classes of PyTorch, or one missed a new class."""
    names = TorchNames()
    first = list(names.changed())
    assert torch.nn in first and torch.nn.Linear in first
    # Where backends and sharding strategies are registered is looked at each time.
    again = [each for each in names.changed() if isinstance(each, (type, types.ModuleType))]
    assert again == [torch.distributed.Backend]

    class Replaced(torch.nn.Linear):
        __module__ = "torch.nn.modules.linear"

    monkeypatch.setattr(torch.nn.modules.linear, "Linear", Replaced)
    found = list(names.changed())
    assert Replaced in found and torch.nn.modules.linear in found
    assert torch.nn.modules.conv not in found


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nunpy", "got 'nunpy', which Python doesn't find; near: numpy"),
        ("nunpy.random.seed", "got 'nunpy.random.seed', of which Python finds no module; near: nu"),
        ("numpy.linalgg", "got the name linalgg; near: linalg"),
        ("no_such_package_at_all", "got ['no_such_package_at_all'], which Python doesn't find"),
    ],
)
def test_misspelt_names_are_errors(name: str, message: str) -> None:
    """Would fail if a misspelt package were shared without a word."""
    with pytest.raises((ValueError, AttributeError)) as error:
        simmesh.spmd_run(lambda: None, world_size=2, isolate=[name])
    assert message in str(error.value)


def test_reports_name_the_packages_that_were_isolated(package: str) -> None:
    """Would fail if a failure didn't say which packages each rank had for itself."""
    __import__("framework.state")

    def program() -> None:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose") as error:
        simmesh.spmd(world_size=2, isolate=[package])(program)()
    assert any("framework" in line for line in error.value.__notes__[0].splitlines()
               if line.startswith("isolated: "))  # fmt: skip


def test_locks_of_files_outlive_the_turns_of_other_ranks(tmp_path: Path) -> None:
    """Would fail if a rank took another one's process id for that of a forked child, whose locks
    filelock forgets.
    """
    filelock = pytest.importorskip("filelock")
    file = tmp_path / "count"
    file.write_text("0", encoding="utf-8")

    def add_one() -> None:
        # A rank that has another thread may lose its turn at every lock of the package.
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        for _ in range(3):
            with filelock.FileLock(tmp_path / "count.lock"):
                count = int(file.read_text(encoding="utf-8"))
                file.write_text(str(count + 1), encoding="utf-8")
        done.set()
        thread.join()

    for seed in range(8):
        ran = simmesh.spmd_run(add_one, world_size=4, schedule=f"seeded:{seed}")
        assert ran.outcome.ok, ran.outcome.report
    assert file.read_text(encoding="utf-8") == "96"
