"""`clew verify`, `pack`, `unpack` and `gc` on a finished run of the embedded tabletop."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from ._runs import called, finished, refused

pytest.importorskip("mujoco", reason="the tabletop needs mujoco")


@pytest.fixture
def run(tmp_path_factory, tmp_path) -> Path:
    """A copy of a finished run, to spoil."""
    shutil.copytree(finished(tmp_path_factory)[1], tmp_path / "run")
    return tmp_path / "run"


def test_a_run_packed_unpacked_verified_and_reported_is_the_same(run, tmp_path):
    code, out, said = called("pack", run, tmp_path / "run.clewpack")
    assert (code, said) == (0, "")
    assert out.startswith(f"{tmp_path / 'run.clewpack'}: ")
    assert called("unpack", tmp_path / "run.clewpack", tmp_path / "again")[0] == 0
    code, out, said = called("verify", tmp_path / "again", "--sample", 2, "--seed", 3)
    assert code == 0, out
    assert out.endswith("2 run again, nothing wrong\n")
    assert called("report", tmp_path / "again")[0] == 0
    for name in ("tables.json", "report.html"):
        assert (tmp_path / "again" / name).read_bytes() == (run / name).read_bytes()


def test_verify_takes_a_pack(run, tmp_path):
    called("pack", run, tmp_path / "run.clewpack")
    code, out, _ = called("verify", tmp_path / "run.clewpack", "--sample", 0)
    assert code == 0
    assert out.endswith("0 run again, nothing wrong\n")


def test_verify_names_a_changed_table_and_ends_with_1(run):
    tables = json.loads((run / "tables.json").read_text())
    tables["recovery"]["rates"][0]["passed"] += 1
    (run / "tables.json").write_text(json.dumps(tables))
    code, out, _ = called("verify", run, "--sample", 0)
    assert code == 1
    assert "tables: recovery.rates is not what the results give\n" in out
    assert out.endswith("0 run again, 1 finding\n")


def test_a_pack_that_leaves_its_folder_is_refused_and_writes_nothing(tmp_path):
    with zipfile.ZipFile(tmp_path / "evil.clewpack", "w") as archive:
        archive.writestr("../escaped", "x")
    said = refused("unpack", tmp_path / "evil.clewpack", tmp_path / "out")
    assert "'../escaped', which leaves the folder" in said
    assert sorted(f.name for f in tmp_path.iterdir()) == ["evil.clewpack"]
    assert "which leaves the folder" in refused("verify", tmp_path / "evil.clewpack")


def test_what_is_no_pack_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a pack")
    assert "is not a whole pack" in refused("unpack", tmp_path / "text", tmp_path / "out")
    assert "there is no run or pack" in refused("verify", tmp_path / "nothing")


def test_gc_says_what_it_dropped_and_the_run_is_still_whole(run):
    _, out, _ = called("gc", run, "--dry-run")
    assert out.startswith(f"{run}: would drop ")
    before = sum(f.stat().st_size for f in (run / "blobs").glob("*"))
    code, out, said = called("gc", run)
    assert (code, said) == (0, "")
    assert " blobs, " in out
    assert "MiB are kept" in out
    assert sum(f.stat().st_size for f in (run / "blobs").glob("*")) <= before
    assert called("verify", run, "--sample", 0)[0] == 0


@pytest.mark.parametrize("words", [["--sample", "-1"], ["--seed", "x"], ["--workers", "0"]])
def test_options_of_verify_that_make_no_sense_are_refused(tmp_path, words):
    assert f"argument {words[0]}: " in refused("verify", tmp_path, *words)
