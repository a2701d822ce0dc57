"""The executor: every unit gets one result, whatever its function, its worker or its size does."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from clew.core import Refused
from clew.run.executor import DEADLINES, Done, Interrupted, Stage, _Queue
from clew.run.pool import Worker
from clew.run.units import Unit

from ._help import Told, execute, executor, log_of, marked, new_mark, until


def unit(function: str, environment: str = "unreliable", **arguments) -> Unit:
    return Unit(f"_work:{function}", environment, arguments)


def test_inputs_are_given_in_order_also_from_earlier_drivers(tmp_path):
    first = [unit("echo", given=i) for i in range(3)]
    execute(tmp_path, first)
    last = Unit("_work:echo", "unreliable", {"given": "all"}, tuple(u.digest for u in first[::-1]))
    (result,) = execute(tmp_path, [last]).values()
    assert [each["given"] for each in result.values["inputs"]] == [2, 1, 0]
    assert len(log_of(tmp_path)) == 4


def test_a_unit_that_stands_in_a_stage_twice_is_done_once(tmp_path):
    told = Told()
    execute(tmp_path, [unit("echo", given=1)] * 5, told)
    assert len(log_of(tmp_path)) == 1
    assert told.stages == [("units", 1, 0)]


def test_units_of_several_environments_share_the_workers(tmp_path):
    units = [
        unit("echo", name, given=i) for i in range(4) for name in ("unreliable", "_work:Lucky")
    ]
    results = execute(tmp_path, units, workers=1)
    assert [results[u.digest].values["given"] for u in units] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len({r.about["process"] for r in results.values()}) == 2


def test_a_fresh_unit_has_a_process_to_itself(tmp_path):
    units = [Unit("_work:echo", "unreliable", {"given": i}, fresh=True) for i in range(3)]
    units += [unit("echo", given=i) for i in range(3, 6)]
    processes = [r.about["process"] for r in execute(tmp_path, units, workers=1).values()]
    assert len(set(processes[:3])) == 3
    assert len(set(processes[3:])) == 1
    assert not set(processes[:3]) & set(processes[3:])


def test_a_message_and_a_reply_may_be_larger_than_any_socket_buffer(tmp_path):
    big = unit("large", size=3_000_000)
    told = Unit("_work:echo", "unreliable", {"given": "y" * 3_000_000}, (big.digest,))
    results = execute(tmp_path, [big])
    results = execute(tmp_path, [told])
    assert results[told.digest].values["given"] == "y" * 3_000_000
    assert len(results[told.digest].values["inputs"][0]["text"]) == 3_000_000


def test_a_worker_that_never_reads_a_large_unit_does_not_block_the_driver(tmp_path):
    """The interpreter is a program that reads nothing; `start` has its deadline."""
    idle = tmp_path / "idle"
    idle.write_text("#!/bin/sh\nexec sleep 600\n")
    idle.chmod(0o700)
    with pytest.raises(Refused, match="do not start: start lasted over"):
        execute(
            tmp_path / "run", [unit("echo", given="y" * 3_000_000)],
            interpreter=lambda _: idle, deadlines={"start": 0.5},
        )  # fmt: skip


def test_an_interpreter_that_does_not_exist_is_refused_at_once(tmp_path):
    with pytest.raises(Refused) as refused:
        execute(tmp_path, [unit("echo")], interpreter=lambda _: Path("/no/such/python"))
    assert "workers of 'unreliable' do not start: exit code 127" in str(refused.value)
    assert "cannot start /no/such/python" in str(refused.value)
    assert not log_of(tmp_path)


def test_an_interpreter_that_cannot_import_the_engine_is_refused_with_its_last_words(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho ModuleNotFoundError: numpy >&2\nexit 1\n")
    broken.chmod(0o700)
    with pytest.raises(Refused, match="exit code 1 during start: ModuleNotFoundError: numpy"):
        execute(tmp_path / "run", [unit("echo")], interpreter=lambda _: broken)


def test_what_cannot_be_a_result_is_a_void_of_the_harness(tmp_path):
    whats = ("nan", "array", "nothing", "outcome", "keys")
    bad, good = [unit("returns", what=what) for what in whats], unit("returns", what="numpy")
    results = execute(tmp_path, [*bad, good], workers=1)
    for each in bad:
        result = results[each.digest]
        assert (result.outcome, result.cause.party, result.cause.kind) == (
            "void", "harness", "result",
        ), each.arguments  # fmt: skip
    assert results[good.digest].values == {"score": 0.5, "pair": [1, 2]}, "plain data only"


def test_whatever_a_unit_does_to_its_worker_the_run_goes_on(tmp_path):
    expected = [
        (unit("raises", what="SystemExit"), "worker_died", "exit code 3 during open"),
        (unit("raises", what="KeyboardInterrupt"), "worker_died", "KeyboardInterrupt"),
        (unit("raises", what="ZeroDivisionError"), "error", "ZeroDivisionError: by zero"),
        (unit("dies"), "worker_died", "exit code 5 during open: these are my last words"),
    ]
    good, told = unit("echo", given=1), Told()
    results = execute(tmp_path, [*(each for each, _, _ in expected), good], told, retries=1)
    for each, kind, words in expected:
        result = results[each.digest]
        assert (result.outcome, result.cause.kind) == ("void", kind)
        assert words in result.cause.detail
    assert results[good.digest].outcome == "pass"
    assert len(told.notes) == 6, "three of them were tried again once"


def test_what_a_unit_refuses_stops_the_run_and_is_no_result(tmp_path):
    with pytest.raises(Refused, match="unit raises: no such thing"):
        execute(tmp_path, [unit("raises", what="Refused")])
    assert not log_of(tmp_path)


def test_printing_more_than_a_pipe_holds_blocks_nobody(tmp_path):
    (result,) = execute(tmp_path, [unit("prints")], deadlines={"open": 30}).values()
    assert result.outcome == "pass"


def test_an_idle_driver_does_not_spin(tmp_path):
    """While a unit lasts, the loop turns at the pace of its timeout."""
    turns, began, end = [], tmp_path / "began", tmp_path / "end"
    folder, made = executor(tmp_path / "run")
    with folder.driving() as driver:
        one = made(driver)
        ready = one._pool.ready

        def counted(timeout_s: float):
            turns.append(began.exists())
            if turns.count(True) == 10:
                end.touch()
            clock = os.times()
            found = ready(timeout_s)
            spent.append(os.times().user - clock.user)
            return found

        spent: list[float] = []
        one._pool.ready = counted
        one.run([Stage("s", lambda _: [unit("stays", begun=str(began), until=str(end))])])
    assert 10 <= turns.count(True) <= 14
    assert sum(spent) < 0.2


def test_a_second_stage_sees_what_the_first_gave(tmp_path):
    def second(done: Done) -> list[Unit]:
        return [
            Unit("_work:echo", "unreliable", {"given": result.values["given"] + 10}, (u.digest,))
            for u, result in done["first"]
        ]

    folder, made = executor(tmp_path)
    with folder.driving() as driver:
        done = made(driver).run(
            [Stage("first", lambda _: [unit("echo", given=i) for i in (1, 2)]),
             Stage("second", second)]
        )  # fmt: skip
    assert [r.values["given"] for _, r in done["second"]] == [11, 12]


def test_another_thread_may_drive(tmp_path):
    """Signals belong to the main thread: there the executor leaves them alone."""
    found = []
    thread = threading.Thread(target=lambda: found.append(execute(tmp_path, [unit("echo")])))
    thread.start()
    thread.join()
    assert [r.outcome for r in found[0].values()] == ["pass"]


def test_here_gives_the_same_results_and_no_process(tmp_path, monkeypatch):
    environment = new_mark()
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    units = [
        unit("attempt", seed=s, options={"crash": 0.02, "crash_as": "raise"}) for s in range(6)
    ]
    units += [unit("returns", what="nan"), unit("returns", what="numpy")]
    there, here = execute(tmp_path / "there", units), execute(tmp_path / "here", units, here=True)
    assert [(r.outcome, dict(r.values)) for r in here.values()] == [
        (r.outcome, dict(r.values)) for r in there.values()
    ]
    assert not marked(environment, "warden.py")


def test_two_runs_side_by_side_do_not_touch_each_other(tmp_path):
    found: dict[int, dict] = {}

    def go(n: int) -> None:
        units = [unit("attempt", seed=s, policy="unreliable/coin") for s in range(12)]
        found[n] = execute(tmp_path / f"run {n}", units)

    threads = [threading.Thread(target=go, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r.values for r in found[0].values()] == [r.values for r in found[1].values()]


def test_a_unit_has_a_deadline_also_while_it_opens_and_while_its_reply_is_made(tmp_path):
    bad = unit("stays", begun=str(tmp_path / "begun"), until="/no/such/file")
    (result,) = execute(tmp_path / "run", [bad], deadlines={"open": 0.3}, retries=1).values()
    assert (result.outcome, result.cause.kind) == ("void", "deadline")
    assert result.cause.detail.startswith("open lasted over")
    assert set(DEADLINES) == {"start", "open", "act", "policy", "close"}


def test_interrupted_ends_a_program_as_ctrl_c_does():
    assert issubclass(Interrupted, KeyboardInterrupt)


def test_the_queue_keeps_groups_together_and_serves_the_one_that_waited_longest():
    units = [
        Unit("f", "e", {"n": n}, affinity=name) for n, name in enumerate(["a", "b", "a", "b", "c"])
    ]
    queue = _Queue(units)
    order = [queue.take("e", "a"), queue.take("e", "a")]
    order += [queue.take("e", "gone"), queue.take("e", "b"), queue.take("e", "b")]
    assert [u.affinity for u in order if u] == ["a", "a", "b", "b", "c"]
    assert (len(queue), queue.take("e", "a")) == (0, None)


def test_a_users_file_cannot_stand_in_for_a_module_of_pythons(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise RuntimeError('not the json you wanted')\n")
    monkeypatch.chdir(tmp_path)
    (result,) = execute(tmp_path / "run", [unit("echo")]).values()
    assert result.outcome == "pass"


def test_a_warden_is_the_only_process_group_of_its_worker_that_remains_to_be_waited_for(tmp_path):
    worker = Worker(Path(os.sys.executable), (), tmp_path, "w", "unreliable")
    pid = worker.pid
    worker.end()
    until(lambda: not Path(f"/proc/{pid}").exists(), "the warden to be reaped")
    assert worker.end() == worker.end(), "ending twice does nothing"
