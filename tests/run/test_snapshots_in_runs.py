"""A snapshot that fails its audit in mid-run takes with it whatever was made from it."""

from __future__ import annotations

from clew.run.executor import Done, Stage
from clew.run.folder import RunFolder
from clew.run.units import Unit

from ._help import Told, execute, executor, log_of, run_folder

#: What each unit reports: a snapshot that it used, or one that it withdraws.
PLAN = [(0, "used"), (1, "used"), (2, "cold"), (3, "withdraws"), (4, "used")]


def stage(name: str, plan: list[tuple[int, str]]) -> Stage:
    made = [Unit("_work:takes", "unreliable", {"n": n, "says": says}) for n, says in plan]
    return Stage(name, lambda _: made)


def run(path, stages: list[Stage], told: Told) -> Done:
    folder, made = executor(path, told, workers=1)
    with folder.driving() as driver:
        return made(driver).run(stages)


def test_results_that_named_it_are_dropped_and_done_again_without_it(tmp_path):
    told = Told()
    done = run(tmp_path, [stage("all", PLAN)], told)
    assert all("snapshot" not in r.about for _, r in done["all"])
    assert [r.values["times"] for _, r in done["all"]] == [2, 2, 1, 1, 1]
    assert told.notes == ["snapshot s-1 failed its audit; what used it is done again"]
    again = RunFolder(tmp_path)
    assert again.accepted() == {u.digest: r for u, r in done["all"]}
    assert again.withdrawn() == {"s-1"}


def test_an_earlier_stage_that_lost_results_is_finished_again_before_any_later_one(tmp_path):
    order = []

    def second(done: Done) -> list[Unit]:
        order.append([r.values["times"] for _, r in done["first"]])
        return list(stage("second", [(3, "withdraws"), (5, "cold")]).units(done))

    done = run(tmp_path, [stage("first", PLAN[:3]), Stage("second", second)], Told())
    assert order == [[1, 1, 1], [2, 2, 1]]
    assert [r.values["times"] for _, r in done["first"]] == [2, 2, 1]
    assert RunFolder(tmp_path).accepted() == {
        u.digest: r for name in ("first", "second") for u, r in done[name]
    }


def test_the_next_driver_knows_what_was_withdrawn(tmp_path):
    run(tmp_path, [stage("one", [(3, "withdraws")])], Told())
    done = run(tmp_path, [stage("two", [(0, "used")])], Told())
    assert [("snapshot" in r.about, r.values["times"]) for _, r in done["two"]] == [(False, 1)]


def test_a_result_that_was_under_way_when_its_snapshot_was_withdrawn_is_not_accepted(tmp_path):
    """As the log would not count it, the driver must not either: its unit is done again."""
    folder = run_folder(tmp_path)
    folder.log.append({"type": "withdrawn", "snapshot": "s-1"})
    done = run(tmp_path, [stage("all", [(0, "stubborn")])], Told())
    assert [r.values["times"] for _, r in done["all"]] == [2]
    assert set(folder.accepted()) == {u.digest for u, _ in done["all"]}
    assert len(log_of(tmp_path)) == 1


def rotten_takeovers(path, **options) -> tuple[Done, Told]:
    """Many takeovers in one worker from the snapshot of one state, which rots on the way."""
    told = Told()
    folder, made = executor(path / "run", told, workers=1, **options)
    origin = Unit(
        "_work:attempt", "_work:Rotten",
        {"environment": "_work:Rotten", "seed": 0, "actions": 20, "policy": "_work:dawdles"},
    )  # fmt: skip
    taken = [
        Unit("_work:takeover", "_work:Rotten", {"at": 12, "seed": s}, (origin.digest,), "group")
        for s in range(30)
    ]
    with folder.driving() as driver:
        done = made(driver).run(
            [Stage("origin", lambda _: [origin]), Stage("takeovers", lambda _: taken)]
        )
    return done, told


def test_units_served_from_a_snapshot_that_an_audit_withdraws_are_done_again(tmp_path, monkeypatch):
    """A real snapshot: it proves itself, serves, and leads elsewhere from some load on."""
    (tmp_path / "luck").mkdir()
    monkeypatch.setenv("CLEW_TEST_LUCK", str(tmp_path / "luck"))
    done, told = rotten_takeovers(tmp_path)
    (gone,) = RunFolder(tmp_path / "run").withdrawn()
    assert told.notes == [f"snapshot {gone} failed its audit; what used it is done again"]
    assert len(log_of(tmp_path / "run", "withdrawn")) == 1, "said once"
    used = {r["unit"] for r in log_of(tmp_path / "run") if r["about"].get("snapshot") == gone}
    assert used, "it served before it was found out"
    assert all(r.about.get("snapshot") != gone for _, r in done["takeovers"])
    assert RunFolder(tmp_path / "run").accepted() == {
        unit.digest: result for stage in done for unit, result in done[stage]
    }
    plain = {"environment": "unreliable", "seed": 0, "actions": 20, "policy": "_work:dawdles"}
    first = Unit("_work:attempt", "unreliable", plain)
    cold = [
        Unit("_work:takeover", "unreliable", {"at": 12, "seed": s}, (first.digest,))
        for s in range(30)
    ]
    execute(tmp_path / "plain", [first])
    wanted = execute(tmp_path / "plain", cold, cold=True)
    assert [r.values for _, r in done["takeovers"]] == [r.values for r in wanted.values()]


def test_a_withdrawal_whose_worker_died_before_it_answered_is_read_from_the_log(tmp_path):
    withdrawn = Unit("_work:withdraws_and_dies", "unreliable", {})
    told = Told()
    folder, made = executor(tmp_path, told, workers=1, retries=0)
    used = stage("used", [(0, "used"), (1, "used")])
    with folder.driving() as driver:
        done = made(driver).run([used, Stage("dies", lambda _: [withdrawn])])
    assert all("snapshot" not in r.about for _, r in done["used"])
    assert [r.values["times"] for _, r in done["used"]] == [2, 2]
    assert "snapshot s-1 failed its audit; what used it is done again" in told.notes


def test_real_takeovers_name_the_snapshot_that_they_used(tmp_path):
    folder, made = executor(tmp_path, workers=1)
    failed = [
        Unit("_work:attempt", "unreliable", {"seed": s, "actions": 20, "policy": "_work:dawdles"})
        for s in range(2)
    ]
    takeovers = [
        Unit("_work:takeover", "unreliable", {"at": 12, "seed": s}, (u.digest,), u.digest)
        for u in failed
        for s in range(3)
    ]
    with folder.driving() as driver:
        done = made(driver).run(
            [Stage("failed", lambda _: failed), Stage("takeovers", lambda _: takeovers)]
        )
    names = [r.about["snapshot"] for _, r in done["takeovers"]]
    assert len(set(names)) == 2
    assert all(name.count("-") == 2 for name in names)
