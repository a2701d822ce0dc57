"""One running desktop: X server, session bus, window manager, clock, applications. No settling.

Everything runs in a `Room`; this object is what the other parts (accessibility tree, oracles) are
given. Nothing waits for a fixed time: each part is awaited by the condition that it is for.
"""

from __future__ import annotations

import calendar
import contextlib
import os
import secrets
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from clew.environments.desktop import x11
from clew.environments.desktop.activity import Activity
from clew.environments.desktop.applications import Application, home_files
from clew.environments.desktop.atspi.bus import Bus, accessibility_bus, enable
from clew.environments.desktop.framebuffer import Framebuffer
from clew.environments.desktop.home import Home
from clew.environments.desktop.inputs import Inputs
from clew.environments.desktop.programs import PATH, faketime
from clew.environments.desktop.sandbox import Room, RoomError
from clew.environments.desktop.x11 import Window, Windows

START_S = 20.0
_POLL_S = 0.004
#: How a date is written.
DATE = "%Y-%m-%d %H:%M:%S"
#: Processes without which there is no session.
_ESSENTIAL = ("display", "bus", "windows")
_ENVIRONMENT: Mapping[str, str] = {
    "PATH": PATH, "SHELL": "/bin/sh", "USER": "user", "LOGNAME": "user",
    "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "xterm-256color",
    "GSETTINGS_BACKEND": "memory", "GIO_USE_VFS": "local", "GIO_USE_VOLUME_MONITOR": "unix",
    "GDK_BACKEND": "x11", "GSK_RENDERER": "cairo", "GTK_USE_PORTAL": "0",
    "GTK_IM_MODULE": "gtk-im-context-simple", "QT_ACCESSIBILITY": "1",
    "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "XMODIFIERS": "@im=none",
    "LIBGL_ALWAYS_SOFTWARE": "1", "XCURSOR_THEME": "Adwaita", "XCURSOR_SIZE": "24",
}  # fmt: skip


#: Files of /etc inside, where the host's are not shown.
_ETC: Mapping[str, str] = {
    "passwd": "root:x:0:0:root:/:/bin/sh\nuser:x:{uid}:{uid}:user:/home/user:/bin/sh\n",
    "group": "root:x:0:\nuser:x:{uid}:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "hosts": "127.0.0.1 localhost clew\n",
    "machine-id": "c1e3c1e3c1e3c1e3c1e3c1e3c1e3c1e3\n",
}


class ApplicationCrashed(RuntimeError):
    """An application ended by itself with an error; the message has the end of its log."""


class DisplayGone(RuntimeError):
    """A part of the session that is no application ended; the message says which."""


@dataclass(frozen=True)
class Screen:
    """A screen's size in pixels."""

    width: int
    height: int


class Display:
    """One running desktop. Not thread-safe.

    `name` is the display's name inside (`DISPLAY`), `x` the connection to it. `bus_address` and
    `accessibility_address` are D-Bus addresses as this process reaches them, `runtime_dir` is
    `XDG_RUNTIME_DIR` and `home` the home folder, both seen from outside. `date` is where the wall
    clock of applications starts (UTC); without libfaketime (`clock_is_virtual`) they see the real
    one. Raises `RoomError` or `DisplayGone` when it cannot be started, within `START_S`.
    """

    def __init__(self, screen: Screen, date: str) -> None:
        self._began_s = calendar.timegm(time.strptime(date, DATE))
        self._elapsed_ms = 0
        self._applications: list[str] = []
        self._open = contextlib.ExitStack()
        with self._open:
            self.room = Room()
            self._open.callback(self.room.close)
            self._activity = Activity(self.room.processes)
            self._start(screen)
            self._kept = self._open.pop_all()

    def close(self) -> None:
        """End everything; closing twice does nothing."""
        self._kept.close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of applications."""
        if not self.clock_is_virtual:
            return self._environment
        return {
            **self._environment, "LD_PRELOAD": faketime(),
            "FAKETIME_TIMESTAMP_FILE": self._clock_file, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1",
            # A faked age of files makes fontconfig build its cache anew: seconds.
            "NO_FAKE_STAT": "1",
        }  # fmt: skip

    @property
    def clock_is_virtual(self) -> bool:
        """Whether applications see the session's own wall clock; timers are always real."""
        return bool(faketime())

    def advance(self, ms: int) -> None:
        """Move the wall clock of applications on."""
        self._elapsed_ms += ms
        seconds, rest_ms = divmod(self._elapsed_ms, 1000)
        now = time.strftime(DATE, time.gmtime(self._began_s + seconds))
        try:
            self.room.replace(self._clock_file, f"{now}.{rest_ms:03d}\n".encode())
        except OSError as error:
            raise DisplayGone(f"the session's clock cannot be set: {error}") from error

    def put(self, path: str, content: bytes) -> None:
        """Write a file into the home, dated with the session's date."""
        self.home.put(path, content, self._began_s)

    def launch(self, application: Application) -> str:
        """Start an application; returns the name of its log. It does not wait for its window."""
        name = f"{application.name}.{len(self._applications)}"
        self._applications.append(name)
        self.room.start(name, application.command, {**self.environment, **application.environment})
        return name

    def check(self) -> None:
        """Raises `DisplayGone` or `ApplicationCrashed` if something of the session has failed.

        An application that ended with status 0 was closed, which is a state like others.
        """
        try:
            self.room.poll()
        except RoomError as error:
            raise DisplayGone(str(error)) from None
        for name in _ESSENTIAL:
            if name in self.room.exits:
                raise DisplayGone(
                    f"the session's {name} ended with status {self.room.exits[name]}: "
                    f"{self.room.log(name)}"
                )
        for name in self._applications:
            status = self.room.exits.get(name, 0)
            if status:
                self._ask_servers()
                raise ApplicationCrashed(
                    f"{name.rpartition('.')[0]} {_ending(status)}: {self.room.log(name)}"
                )

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Turns a lost connection to the X server into `DisplayGone`, or what `check` knows of it."""
        try:
            yield
        except x11.GONE as error:
            raise self._gone(error) from error

    def _ask_servers(self) -> None:
        """Raises `DisplayGone` when the X server or the bus is gone: what their clients end with is
        no crash of theirs, and their ends may be known before the server's."""
        try:
            self.x.get_input_focus()
        except x11.GONE as error:
            raise self._gone(error) from error
        try:
            Bus(self.bus_address).close()
        except OSError as error:
            raise DisplayGone(f"the session's bus does not answer any more: {error}") from error

    def _gone(self, error: Exception) -> DisplayGone:
        log = self.room.log("display")
        return DisplayGone(f"the X server does not answer any more: {error}: {log}")

    def windows(self) -> list[Window]:
        """The windows, the lowest first."""
        return self._windows.all()

    def activate(self, window: Window) -> None:
        """Ask for a window to be raised and made active."""
        self._windows.activate(window.id)

    def busy(self) -> bool:
        """Whether any process of the session is at work, or was just now; see `activity`."""
        return self._activity.busy()

    def timer_due(self, within_ms: int) -> bool:
        """Whether a process of the session waits for a timer of at most `within_ms`, or may do."""
        return self._activity.timer_due(within_ms)

    def until(
        self, condition: Callable[[], bool], deadline: float, what: Callable[[], str]
    ) -> None:
        """Wait until a condition holds; `TimeoutError` of `what` at `deadline` (monotonic)."""
        while not condition():
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(what())
            time.sleep(_POLL_S)

    def _start(self, screen: Screen) -> None:
        room, deadline = self.room, time.monotonic() + START_S
        self._furnish()
        self._start_servers(screen, deadline)
        self.runtime_dir = room.outside(room.run_dir)
        self.frame = Framebuffer(room.outside(f"{room.tmp}/Xvfb_screen0"))
        self._open.callback(self.frame.close)
        socket = room.outside(f"/tmp/.X11-unix/X{self.name[1:]}")
        self.x = x11.connected(socket, self._cookie)
        self._open.callback(self._disconnect)
        config = f"{room.home}/.config/openbox/rc.xml"
        room.start("windows", ["openbox", "--config-file", config], self._environment)
        self._open_accessibility()
        self._windows = Windows(self.x)
        self.inputs = Inputs(self.x)
        self.inputs.park(screen.width - 1, screen.height - 1)
        self.until(
            self._windows.managed, deadline,
            lambda: f"the window manager did not start: {room.log('windows')}",
        )  # fmt: skip
        self.frame.changed()

    def _furnish(self) -> None:
        """The files that the session's processes read when they start."""
        room = self.room
        self._clock_file = "/run/clew/clock" if room.confined else f"{room.run_dir}/clock"
        self.home = Home(room.outside(room.home), room.uid)
        for path, text in home_files().items():
            self.put(path, text.encode())
        self.advance(0)
        if room.confined:
            for path, text in _ETC.items():
                with open(room.outside(f"/etc/{path}"), "w", encoding="ascii") as file:
                    file.write(text.format(uid=room.uid))

    def _start_servers(self, screen: Screen, deadline: float) -> None:
        """Start the X server and the session's bus; returns when both can be reached."""
        room = self.room
        argv = ["Xvfb", "-displayfd", "3", "-screen", "0", f"{screen.width}x{screen.height}x24"]
        argv += ["-fbdir", room.tmp, "-dpi", "96", "-nolisten", "tcp", "-noreset"]
        self._cookie, self.name = b"", ":0"
        if not room.confined:
            # Elsewhere the socket is in a room of its own; here others of this machine see it.
            self._cookie, self.name = secrets.token_bytes(16), ""
            with open(f"{room.run_dir}/cookie", "wb") as file:
                file.write(_xauthority(self._cookie))
            argv += ["-nolisten", "local", "-auth", f"{room.run_dir}/cookie"]
        room.start("display", argv, self._environment, reports=True)
        if not self.name:
            self.name = f":{room.report('display', deadline)}"
        path = f"{room.run_dir}/bus"
        self.bus_address = f"unix:path={room.outside(path)}"
        argv = ["dbus-daemon", f"--config-file={room.home}/.config/dbus.conf"]
        argv += [f"--address=unix:path={path}", "--nofork", "--nopidfile", "--print-address=3"]
        room.start("bus", argv, self._environment, reports=True)
        for name in ("display", "bus") if room.confined else ("bus",):
            room.report(name, deadline)

    def _open_accessibility(self) -> None:
        """Ask for the accessibility bus before any application does, and switch it on."""
        bus = Bus(self.bus_address)
        try:
            inside = accessibility_bus(bus)
            enable(bus)
        finally:
            bus.close()
        where = f"unix:path={self.room.outside('')}"
        self.accessibility_address = inside.replace("unix:path=", where, 1)

    @property
    def _environment(self) -> dict[str, str]:
        """The environment variables of the session's own processes."""
        room = self.room
        cookie = {"XAUTHORITY": f"{room.run_dir}/cookie"} if self._cookie else {}
        # Without a PID namespace the keeper finds the session's processes by this.
        mark = {} if room.confined else {"CLEW_ROOM": os.path.dirname(room.home)}
        return {
            **_ENVIRONMENT, **cookie, **mark, "HOME": room.home, "DISPLAY": self.name,
            "XDG_RUNTIME_DIR": room.run_dir, "TMPDIR": room.tmp,
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={room.run_dir}/bus",
        }  # fmt: skip

    def _disconnect(self) -> None:
        with contextlib.suppress(*x11.GONE):
            self.x.close()


def _ending(status: int) -> str:
    """What an exit status, as a shell tells it, means."""
    return f"was killed by signal {status - 128}" if status > 128 else f"ended with status {status}"


def _xauthority(cookie: bytes) -> bytes:
    """An Xauthority file with one cookie for every display (family `FamilyWild`)."""
    name = b"MIT-MAGIC-COOKIE-1"
    return struct.pack(">HHHH", 0xFFFF, 0, 0, len(name)) + name + struct.pack(">H", 16) + cookie
