"""A room of its own for the processes of one session, and the way in from outside. No display yet.

With bubblewrap the room is namespaces of its own: processes, network (none, abstract sockets
included), IPC, and a file system of which only the system's programs are the host's, read-only;
home, /tmp and /run are in memory, of bounded size, and gone with the last process, so nothing has
to be removed afterwards. Root gives up its rights inside; another user keeps its own id. Where
bubblewrap may not be used the room is a private folder and a process group, which confines
nothing: `confinement` says so. Either way a keeper (`keeper.sh`) ends everything as soon as the
pipe from this process closes, also by `kill -9`.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import IO

from clew.environments.desktop.below import STEP, file_below, folder_below

#: The user that a session started by root runs as; it is nobody's on common systems.
UNPRIVILEGED = 61_000
HOME = "/home/user"
RUNTIME = "/run/user/1000"
HOME_BYTES = 512 << 20
TMP_BYTES = 256 << 20
START_S = 20.0
END_S = 5.0
_LOGS = "/run/clew/log"
#: A temporary folder's path up to this many bytes leaves room for the names of sockets.
_SHORT = 50
_LOG_TAIL = 2_000
#: What applications read of the host's /etc and /var; passwords, keys and names are not in it.
_READ_ONLY = (
    "/usr", "/etc/alternatives", "/etc/dbus-1", "/etc/fonts", "/etc/gimp", "/etc/gtk-2.0",
    "/etc/gtk-3.0", "/etc/gtk-4.0", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/libreoffice", "/etc/mime.types", "/etc/pango", "/etc/xdg", "/etc/X11",
    "/var/cache/fontconfig", "/var/lib/libreoffice", "/var/lib/xkb",
)  # fmt: skip
_LINKS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")


class RoomError(RuntimeError):
    """A process of the session did not start, or the session as a whole is gone."""


@functools.lru_cache(maxsize=1)
def confinement() -> str:
    """`bubblewrap VERSION`, or `none: ` and why sessions are not confined here."""
    if shutil.which("bwrap") is None:
        return "none: bubblewrap is not installed"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "none: setpriv is not installed"
    argv = [*_bubblewrap(), "true"]
    tried = subprocess.run(argv, capture_output=True, text=True, timeout=START_S)
    if tried.returncode:
        return f"none: {(tried.stderr.strip() or 'bwrap failed').splitlines()[-1]}"
    version = subprocess.run(["bwrap", "--version"], capture_output=True, text=True)
    return version.stdout.strip()


def _short_folder() -> str:
    """A new folder in which sockets can be made: their paths are at most 107 bytes long."""
    short = len(os.fsencode(tempfile.gettempdir())) <= _SHORT
    return tempfile.mkdtemp(prefix="clew-desktop-", dir=None if short else "/tmp")


class Room:
    """One session's processes. Not thread-safe.

    `home`, `run_dir` and `tmp` are the folders that the processes see, `outside` says where this
    process finds them. Raises `RoomError` when it cannot be made.
    """

    def __init__(self) -> None:
        self.confined = not confinement().startswith("none")
        self.exits: dict[str, int] = {}
        self._root = -1
        self._pending = b""
        self._lines: list[str] = []
        self._folder = "" if self.confined else _short_folder()
        self.uid = UNPRIVILEGED if self.confined and os.geteuid() == 0 else os.geteuid()
        self.home = HOME if self.confined else f"{self._folder}/home"
        self.run_dir = RUNTIME if self.confined else f"{self._folder}/run"
        self.tmp = "/tmp" if self.confined else f"{self._folder}/tmp"
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the room
        if self.confined:
            self._start_confined()
        else:
            self._start_unconfined()

    def outside(self, path: str) -> str:
        """Where this process finds a path that is absolute inside the room."""
        return f"/proc/self/fd/{self._root}{path}" if self.confined else path

    def start(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], reports: bool = False
    ) -> None:
        """Start a process; its output goes to its log, its end is told in `exits`.

        With `reports` its file descriptor 3 is read by `report`.
        """
        self.exits.pop(name, None)
        given = [f"{key}={value}" for key, value in env.items()]
        command = shlex.join(["run" if reports else "apart", name, "env", *given, *argv])
        if "\n" in command:
            raise RoomError(f"the command of {name} has a line break in it")
        try:
            self._commands.write(command.encode() + b"\n")
            self._commands.flush()
        except OSError:
            raise RoomError(f"the session is gone: {self._last_words()}") from None

    def report(self, name: str, deadline: float) -> str:
        """The next line that process `name` reports, until `deadline` on `time.monotonic`."""
        while not self._lines:
            if not self._read(max(deadline - time.monotonic(), 0.0)):
                raise RoomError(f"{name} did not start in time: {self.log(name)}")
            if name in self.exits:
                raise RoomError(f"{name} ended with status {self.exits[name]}: {self.log(name)}")
        return self._lines.pop(0)

    def poll(self) -> None:
        """Bring `exits` up to date. Raises `RoomError` when the session as a whole is gone."""
        while self._read(0.0):
            pass

    def log(self, name: str) -> str:
        """The end of a process's output, in one line."""
        try:
            with file_below(self._root, self._inside(f"{self._logs}/{name}")) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_TAIL))
                text = file.read(_LOG_TAIL)
        except OSError:
            return "(no log)"
        return " | ".join(text.decode("utf-8", "replace").split("\n")).strip(" |") or "(no output)"

    def replace(self, path: str, content: bytes) -> None:
        """Write a file of the room, whole: a process may read it at any moment."""
        with folder_below(self._root, self._inside(path)) as (folder, name):
            new = f"{name}.new"
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new, dir_fd=folder)
            # Anew: what a session puts in its place (a link, a pipe) is neither followed nor opened.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(os.open(new, flags, 0o644, dir_fd=folder), "wb") as file:
                file.write(content)
            os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _inside(self, path: str) -> str:
        """A path of the room, relative to its root."""
        return path.removeprefix(self._folder).strip("/")

    def processes(self) -> list[int]:
        """The ids, as the host has them, of every process in the room."""
        found, following = [], [self._keeper]
        while following:
            pid = following.pop()
            found.append(pid)
            following += _children(pid)
        return found

    def close(self) -> None:
        """End every process and free everything; closing twice does nothing."""
        if self._process.returncode is None:
            with contextlib.suppress(OSError):
                self._commands.close()
            try:
                self._process.wait(END_S)  # the keeper ends first, and the room with it
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._reports.close()
            self._errors.close()
            if self._root >= 0:
                os.close(self._root)
                self._root = -1
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _start_confined(self) -> None:
        self._logs = _LOGS
        told, tell = os.pipe()
        with open(told, "rb") as information:
            try:
                argv = [*_bubblewrap(tell), "--", *_unprivileged(), *_keeper()]
                self._begin(argv, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, (tell,))
            finally:
                os.close(tell)
            child = information.read()
        try:
            self._await_keeper()
            init = int(json.loads(child)["child-pid"])
            self._keeper = init
            pid = next(iter(_children(init)), init)
            self._root = os.open(f"/proc/{pid}/root", STEP)
        except (OSError, ValueError, KeyError) as error:
            self.close()
            raise RoomError(f"the session's room cannot be entered: {error}") from error

    def _start_unconfined(self) -> None:
        self._logs = f"{self._folder}/log"
        self._root = os.open(self._folder, STEP)
        for folder in (self.home, self.run_dir, self._logs, self.tmp):
            os.mkdir(folder, 0o700)
        environment = {"PATH": os.defpath, "LOGS": self._logs, "ROOM": self._folder}
        self._begin(_keeper(), environment, ())
        self._keeper = self._process.pid
        self._await_keeper()

    def _begin(self, argv: list[str], env: Mapping[str, str], keep: tuple[int, ...]) -> None:
        self._process = _launch(argv, env, keep, self._errors)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands, self._reports = self._process.stdin, self._process.stdout

    def _await_keeper(self) -> None:
        if not self.report("keeper", time.monotonic() + START_S).startswith("keeper "):
            raise RoomError(f"the session's keeper did not start: {self._last_words()}")

    def _read(self, timeout_s: float) -> bool:
        """Take what the keeper reported; False when nothing came in time."""
        if not select.select([self._reports], [], [], timeout_s)[0]:
            return False
        data = os.read(self._reports.fileno(), 65_536)
        if not data:
            raise RoomError(f"the session is gone: {self._last_words()}")
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in (each.decode("utf-8", "replace") for each in lines):
            word, _, rest = line.partition(" ")
            name, _, status = rest.rpartition(" ")
            if word == "exit" and status.isdigit():
                self.exits[name] = int(status)
            else:
                self._lines.append(line)
        return True

    def _last_words(self) -> str:
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return said[-1] if said else "it was ended from outside"


def _keeper() -> list[str]:
    script = files("clew.environments.desktop").joinpath("keeper.sh").read_text("utf-8")
    return ["/bin/sh", "-c", script]


def _bubblewrap(information: int | None = None) -> list[str]:
    """The command line that makes the namespaces, up to the command to run in them."""
    argv = ["bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts"]
    argv += ["--unshare-cgroup-try", "--hostname", "clew", "--die-with-parent", "--new-session"]
    if os.geteuid():
        argv += ["--unshare-user", "--disable-userns"]
    if information is not None:
        argv += ["--info-fd", str(information)]
    for folder in ("/etc", "/home", "/var", "/var/cache", "/var/lib"):
        argv += ["--perms", "0755", "--dir", folder]
    for path in _READ_ONLY:
        argv += ["--ro-bind-try", path, path]
    for path in _LINKS:
        if os.path.islink(path):
            argv += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            argv += ["--ro-bind", path, path]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    argv += [*_memory("/dev/shm", "1777"), *_memory("/tmp", "1777"), *_memory("/run", "0755")]
    argv += _memory(HOME, "0700", HOME_BYTES)
    for folder in ("/run/user", "/run/clew", RUNTIME, _LOGS):
        argv += ["--perms", "0700" if folder == RUNTIME else "0755", "--dir", folder]
    return [*argv, "--chdir", HOME, "--setenv", "LOGS", _LOGS]


def _memory(folder: str, mode: str, size: int = TMP_BYTES) -> list[str]:
    return ["--perms", mode, "--size", str(size), "--tmpfs", folder]


def _unprivileged() -> list[str]:
    """What root runs first inside: it gives the session's folders away, and its rights up."""
    if os.geteuid():
        return []
    uid = UNPRIVILEGED
    own = shlex.join(["chown", f"{uid}:{uid}", HOME, RUNTIME, "/run/clew", _LOGS])
    drop = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
    drop += ["--bounding-set=-all", "--inh-caps=-all"]
    return ["/bin/sh", "-c", f'{own} && exec {shlex.join(drop)} "$@"', "sh"]


def _children(pid: int) -> list[int]:
    """The children of all threads: LibreOffice is started by a second one of its starter."""
    found: list[int] = []
    for listed in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            found += map(int, Path(listed).read_text().split())
    return found


def _launch(
    argv: list[str], env: Mapping[str, str], keep: tuple[int, ...], errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a process from a thread that lives as long as this process.

    `--die-with-parent` counts the thread that started it as the parent, so a short-lived one (a
    warm pool's) would take its sessions with it.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv, env=dict(env), pass_fds=keep, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors, start_new_session=True,
        )  # fmt: skip

    return _launcher().submit(start).result()


@functools.lru_cache(maxsize=1)
def _launcher() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "clew-desktop-launcher")
