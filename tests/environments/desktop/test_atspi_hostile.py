"""Applications that lie to the accessibility bus: the tree stays bounded, finite and their own."""

import shutil
import threading
import time

import pytest

from clew.environments.desktop.atspi import Accessibility
from clew.environments.desktop.atspi.bus import LONGEST, SILENCE_S, Bus, Failure
from clew.environments.desktop.atspi.reading import DEPTH, NODES, TREE_S
from clew.environments.desktop.atspi.records import NAME_CHARACTERS, TEXT_CHARACTERS
from clew.environments.desktop.atspi.wire import Call

jeepney = pytest.importorskip("jeepney")
pytest.importorskip("Xlib")
if not all(map(shutil.which, ("Xvfb", "openbox", "dbus-daemon"))):
    pytest.skip("a desktop session needs Xvfb, openbox and dbus-daemon", allow_module_level=True)

from jeepney import (  # noqa: E402
    DBusAddress,
    HeaderFields,
    MessageType,
    new_error,
    new_method_call,
    new_signal,
)
from jeepney import new_method_return as returns  # noqa: E402
from jeepney.io.blocking import DBusConnection, prep_socket  # noqa: E402

from clew.environments.desktop.display import Display, Screen  # noqa: E402

ROOT = "/org/a11y/atspi/accessible/root"
SHOWN = [1 << 25 | 1 << 30 | 1 << 24, 0]


class Application:
    """A real peer on the accessibility bus whose answers are given by a function
    (its own bus name, path, member, arguments) → (signature, values), None for an error, or
    "silence"."""

    def __init__(self, address, answer):
        path = address.split("path=")[1].split(",")[0]
        self._connection = DBusConnection(prep_socket(path))
        self._answer = answer
        self._ending = False
        self.name = self._connection.unique_name
        registry = DBusAddress(ROOT, "org.a11y.atspi.Registry", "org.a11y.atspi.Socket")
        self._connection.send_and_get_reply(
            new_method_call(registry, "Embed", "(so)", ((self.name, ROOT),)), timeout=10
        )
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def send(self, message):
        self._connection.send(message)

    def close(self):
        self._ending = True
        self._thread.join()
        self._connection.close()

    def _serve(self):
        while not self._ending:
            try:
                message = self._connection.receive(timeout=0.05)
            except TimeoutError:
                continue
            if message.header.message_type is not MessageType.method_call:
                continue
            fields = message.header.fields
            path, member = fields[HeaderFields.path], fields[HeaderFields.member]
            answer = self._answer(self.name, path, member, message.body)
            if answer is None:
                self._connection.send(new_error(message, "org.freedesktop.DBus.Error.Failed"))
            elif answer != "silence":
                self._connection.send(returns(message, *answer))


def plain(member, body, children=(), name="hostile"):
    """The answers of an object that shows and has nothing wrong with it."""
    return {
        "GetState": ("au", (SHOWN,)),
        "GetRole": ("u", (39,)),
        "GetInterfaces": ("as", (["org.a11y.atspi.Component"],)),
        "GetExtents": ("(iiii)", ((10, 20, 30, 40),)),
        "GetChildren": ("a(so)", (list(children),)),
        "Get": ("v", (("s", name if body[-1:] == ("Name",) else "x"),)),
    }.get(member)


@pytest.fixture(scope="module")
def display():
    display = Display(Screen(640, 480), "2026-01-01 10:00:00")
    yield display
    display.close()


class Reader:
    """Reads the desktop's tree, where applications answer so."""

    def __init__(self, display):
        self._address = display.accessibility_address
        self._accessibility = Accessibility(
            display.bus_address, accessibility_address=self._address
        )
        self._applications = []

    def start(self, answer):
        self._applications.append(Application(self._address, answer))
        return self._applications[-1]

    def __call__(self, *answers):
        for answer in answers:
            self.start(answer)
        began = time.monotonic()
        snapshot = self._accessibility.tree()
        assert time.monotonic() - began < TREE_S + 2 * SILENCE_S
        return snapshot

    def close(self):
        for application in self._applications:
            application.close()
        self._accessibility.close()


@pytest.fixture
def read(display):
    reader = Reader(display)
    yield reader
    reader.close()


def test_a_peer_that_behaves_is_read_as_it_answers(read):
    def answer(me, path, member, body):
        return plain(member, body, [(me, "/one")] if path == ROOT else [])

    snapshot = read(answer)
    assert [(n.role, n.name, n.parent) for n in snapshot.nodes] == [
        ("application", "hostile", -1),
        ("group", "hostile", 0),
    ]
    assert snapshot.nodes[1].box == (10, 20, 30, 40)
    assert set(snapshot.notes) == {"calls", "ms"}


def test_a_tree_that_contains_itself_is_read_once(read):
    def answer(me, path, member, body):
        return plain(member, body, [(me, ROOT), (me, "/one"), (me, "/one")])

    snapshot = read(answer)
    assert len(snapshot.nodes) == 2
    assert snapshot.notes["repeated"] == 5  # two of the root, all three of its child


def test_a_tree_without_end_is_cut_where_it_is_too_deep(read):
    def answer(me, path, member, body):
        return plain(member, body, [(me, f"/n{int(path[2:] or 0) + 1 if path != ROOT else 0}")])

    assert len(read(answer).nodes) == DEPTH + 1


@pytest.mark.slow
def test_a_node_with_too_many_children_is_cut_and_the_rest_counted(read):
    def answer(me, path, member, body):
        children = [(me, f"/n{n}") for n in range(3 * NODES)] if path == ROOT else []
        if member == "GetState" and path != ROOT:
            return "au", ([0, 0],)
        return plain(member, body, children)

    snapshot = read(answer)
    assert len(snapshot.nodes) == 1
    assert snapshot.notes["nodes_left_out"] == 2 * NODES


def test_what_belongs_to_another_application_stays_with_it(read):
    owner = read.start(
        lambda me, path, member, body: plain(
            member, body, [(me, "/mine")] if path == ROOT else [], "owner"
        )
    )

    def thief(me, path, member, body):
        return plain(member, body, [(owner.name, "/mine")] if path == ROOT else [], "a thief")

    snapshot = read(thief)
    assert [n.name for n in snapshot.nodes] == ["a thief", "owner", "owner"]
    assert snapshot.notes["repeated"] == 1


def test_answers_of_the_wrong_kind_count_as_none(read):
    def answer(me, path, member, body):
        if path != ROOT and member in ("GetRole", "GetExtents", "GetInterfaces", "Get"):
            return "a{si}", ({"what": 1},)
        return plain(member, body, [(me, "/one")] if path == ROOT else [])

    node = read(answer).nodes[1]
    assert (node.role, node.name, node.box) == ("other", "", None)


@pytest.mark.parametrize(
    "box", [(-(2**31), -(2**31), 5, 5), (0, 0, 2**31 - 1, 5), (3, 3, -5, 5), (-1, -1, -1, -1)]
)
def test_a_box_that_cannot_be_is_none(read, box):
    def answer(me, path, member, body):
        if member == "GetExtents":
            return "(iiii)", (box,)
        return plain(member, body, [(me, "/one")] if path == ROOT else [])

    assert read(answer).nodes[1].box is None


def test_long_names_and_texts_are_cut_and_the_texts_counted(read):
    def answer(me, path, member, body):
        if member == "GetInterfaces":
            return "as", (["org.a11y.atspi.Text"],)
        if member == "Get" and body[-1] == "CharacterCount":
            return "v", (("i", 50_000),)
        if member == "GetText":
            return "s", ("t" * 50_000,)
        return plain(member, body, [(me, "/one")] if path == ROOT else [], "n" * 100_000)

    snapshot = read(answer)
    assert len(snapshot.nodes[1].name) == NAME_CHARACTERS
    assert len(snapshot.nodes[1].text) == TEXT_CHARACTERS
    assert snapshot.notes["texts_cut"] == 1


def test_an_answer_of_many_megabytes_is_dropped(read):
    def answer(me, path, member, body):
        if path != ROOT and body[-1:] == ("Name",):
            return "v", (("s", "n" * (LONGEST + 1)),)
        return plain(member, body, [(me, "/one")] if path == ROOT else [])

    assert read(answer).nodes[1].name == ""


def test_a_peer_that_falls_silent_leaves_a_partial_tree_and_the_others_are_whole(read):
    def silent(me, path, member, body):
        if path == "/two":
            return "silence"
        children = {ROOT: [(me, "/one")], "/one": [(me, "/two")]}
        return plain(member, body, children.get(path, []), "a silent one")

    def lively(me, path, member, body):
        return plain(member, body, [(me, "/one")] if path == ROOT else [], "lively")

    snapshot = read(silent, lively)
    assert [n.name for n in snapshot.nodes] == ["a silent one", "a silent one", "lively", "lively"]
    assert snapshot.notes["silent"] == ["a silent one"]


def test_messages_without_end_from_others_do_not_keep_a_call_waiting(display):
    bus = Bus(display.accessibility_address)
    mute = Application(display.accessibility_address, lambda *_: "silence")
    flood = Application(display.accessibility_address, lambda *_: None)
    signal = new_signal(DBusAddress("/x", interface="a.b"), "C")
    signal.header.fields[HeaderFields.destination] = bus.name
    ended = threading.Event()

    def send():
        while not ended.is_set():
            flood.send(signal)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        began = time.monotonic()
        answer = bus.all([Call(mute.name, ROOT, "org.a11y.atspi.Accessible", "GetState")])
        assert answer == [Failure("silent")]
        assert time.monotonic() - began < 2 * SILENCE_S
    finally:
        ended.set()
        sender.join()
        for each in (mute, flood, bus):
            each.close()


def test_the_deadline_holds_while_answers_still_come(display):
    bus = Bus(display.accessibility_address)
    slow = Application(
        display.accessibility_address, lambda me, path, member, body: plain(member, body)
    )
    try:
        call = Call(slow.name, ROOT, "org.a11y.atspi.Accessible", "GetState")
        answers = bus.all([call] * 100_000, time.monotonic() + 0.3)
        assert answers[0] == (SHOWN,)
        assert answers[-1] == Failure("late")
    finally:
        slow.close()
        bus.close()


def test_an_application_that_left_is_no_error(display):
    bus = Bus(display.accessibility_address)
    gone = Application(display.accessibility_address, lambda *_: None)
    gone.close()
    (answer,) = bus.all([Call(gone.name, ROOT, "org.a11y.atspi.Accessible", "GetState")])
    assert answer.kind == "error"
    bus.close()
