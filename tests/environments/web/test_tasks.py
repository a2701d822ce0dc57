"""The tasks: each is solved by its solution, none is solved at its start, and bad files are refused."""

import pytest

from clew.core import NOTHING, Refused
from clew.environments.web import Web
from clew.environments.web.applications import missing_applications
from clew.environments.web.tasks import own_tasks, tasks_of

TASKS = {name: task for name, task in own_tasks().items() if name != "open"}
QUICK = ("office-delete",)
GOOD = """
application = { folder = "." }
[[tasks]]
name = "t"
instruction = "Do it."
checks = [{ of = "title", equals = "x" }]
"""


def solved(web, name):
    """Whether it was solved at the start, and after its solution; what was not found."""
    session = web.open(web.start(name, web.solution_seed(name)))
    try:
        at_start = session.judge().passed
        notes = [session.act(action, NOTHING).notes for action in web.solution(name)]
        lost = [n["not_found"] for n in notes if "not_found" in n]
        return at_start, session.judge().passed, lost
    finally:
        session.close()


@pytest.mark.parametrize("name", QUICK)
def test_a_task_is_solved_by_its_solution_and_not_without(web, name):
    assert solved(web, name) == (False, True, [])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TASKS.keys() - set(QUICK)))
def test_every_other_task_is_too(web, name):
    package = TASKS[name].source.get("package")
    if package in missing_applications():
        pytest.skip(f"{package} is not installed: run clew env install web")
    assert solved(web, name) == (False, True, [])


def test_there_are_tasks_of_one_step_and_of_fifteen():
    lengths = [len(task.solution) for task in TASKS.values()]
    assert len(lengths) >= 14
    assert (min(lengths), max(lengths)) == (1, 15)
    assert all(len(task.solution) <= task.budget for task in TASKS.values())


def test_the_same_task_on_another_application_has_another_definition(web, tmp_path):
    (tmp_path / "index.html").write_text("<title>other</title>")
    ours = web.start("office-search")
    theirs = web.start("office-search", application={"folder": str(tmp_path)})
    assert ours.definition != theirs.definition
    session = web.open(theirs)
    assert session.judge().score == 0.0
    session.close()
    (tmp_path / "index.html").write_text("<title>changed</title>")
    with pytest.raises(Refused, match="make the start again"):
        web.open(theirs)


def test_a_users_task_file_is_read(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    (tmp_path / "index.html").write_text("<title>x</title>")
    web = Web(tasks=[str(tmp_path / "mine.toml")])
    assert web.instruction("t") == "Do it."
    assert web.start("t").definition
    web.close()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("instruction", "instrution"), "did you mean 'instruction'"),
        (("of = ", "off = "), "of is 'None'"),
        (('equals = "x"', 'equal = "x"'), "did you mean 'equals'"),
        (('equals = "x"', 'equals = "x", contains = "y"'), "needs one comparison"),
        (('of = "title"', 'of = "storage"'), "needs the field 'area'"),
        (("[[tasks]]", "[[tasks"), "is not TOML"),
    ],
)
def test_a_bad_task_file_is_refused_by_its_place(tmp_path, change, says):
    (tmp_path / "mine.toml").write_text(GOOD.replace(*change))
    with pytest.raises(Refused, match=says):
        tasks_of(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"clock": "stepped"}, "'virtual' and 'real'"),
        ({"screen": {"width": 10, "height": 10}}, "from 200 to 4096"),
        ({"settle": "paper"}, "did you mean 'papers'"),
        ({"advance": 1}, "did you mean 'advance_ms'"),
        ({"application": {"url": "file:///etc"}}, "must be http"),
        ({"application": {"folder": "/no/such"}}, "no folder"),
        ({"application": {}}, "needs either a url"),
        ({"allow": ["example.org"]}, "a list of origins"),
    ],
)
def test_a_bad_option_is_refused(web, options, says):
    with pytest.raises(Refused, match=says):
        web.start("open", **options)


def test_an_open_task_needs_an_application_and_has_no_oracle(web, tmp_path):
    with pytest.raises(Refused, match="option application"):
        web.start("open")
    (tmp_path / "index.html").write_text("x")
    session = web.open(web.start("open", application={"folder": str(tmp_path)}))
    with pytest.raises(Refused, match="no oracle"):
        session.judge()
    session.close()
