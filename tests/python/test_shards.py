"""Results of shards as Python writes and merges them: the files are those of the C++ program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repository import CASES
from simmesh import _core


def begin(file: Path, shard: str = "1/2", asked: str = "a") -> Any:
    return _core.begin_shard("work", asked, shard, str(file))


def write_shards(folder: Path, count: int, jobs: int) -> list[str]:
    """Writes all shards of some jobs, and returns their files, the last shard first."""
    files = []
    for number in range(count, 0, -1):
        files.append(str(folder / str(number)))
        shard = begin(Path(files[-1]), f"{number}/{count}")
        shard.set_inputs([], "null")
        for job in shard.jobs_of(jobs):
            shard.add(job, json.dumps({"job": job, "text": "“é”", "seconds": 0.1 + job}))
        shard.write()
    return files


def test_results_come_back_in_the_order_of_jobs(tmp_path: Path) -> None:
    """Would fail if a result were lost, moved or rounded."""
    for count in (1, 3, 8):
        files = write_shards(tmp_path, count, 5)
        found = [json.loads(text) for text in _core.merged_results(files)]
        assert found == [{"job": i, "text": "“é”", "seconds": 0.1 + i} for i in range(5)]
        assert _core.command_of_shard(files[0]) == "work"


def test_what_is_missing_doubled_or_other_is_refused(tmp_path: Path) -> None:
    """Would fail if results of other work were merged."""
    files = write_shards(tmp_path, 2, 4)
    with pytest.raises(ValueError, match="got none of 1/2"):
        _core.merged_results(files[:1])
    with pytest.raises(ValueError, match=r"expected another shard than .* got 2/2 again"):
        _core.merged_results([*files, files[0]])
    shard = begin(Path(files[0]), "2/2")
    shard.set_inputs([str(CASES / "pytorch" / "formula.jsonl")], "null")
    shard.jobs_of(4)
    shard.write()
    with pytest.raises(ValueError, match="expected the hash of the inputs of"):
        _core.merged_results(files)
    write_shards(tmp_path, 2, 4)
    shard = begin(Path(files[0]), "2/2")
    shard.set_inputs([], "null")
    shard.jobs_of(4)
    shard.write()
    with pytest.raises(ValueError, match="expected a result of each of 4 jobs"):
        _core.merged_results(files)


def test_a_shard_is_checked_when_it_begins(tmp_path: Path) -> None:
    """Would fail if work were done whose results can't be kept."""
    assert _core.begin_shard("work", "a", "", "") is None
    for shard, file in [("3/2", ""), ("", "r"), ("1/2", "/none/r")]:
        with pytest.raises(ValueError, match="expected"):
            _core.begin_shard("work", "a", shard, file)
    assert not list(tmp_path.iterdir())
    assert _core.command_of_shard(str(tmp_path / "none")) == ""
    shard = begin(tmp_path / "f")
    with pytest.raises(ValueError, match="an input of the command"):
        shard.set_inputs(["/none"], "null")
    with pytest.raises(ValueError, match="expected"):
        shard.add(0, "{")
