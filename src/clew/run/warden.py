"""A warden: runs one command and lets nothing of it survive. Standard library only; no clew import.

    python warden.py LIFELINE_FD COMMAND [ARGUMENT ...]

It adopts every orphan below it (Linux child subreaper), and when the command ends, or the other
end of the lifeline pipe is closed because the driver died, it kills all of them, `setsid` children
included, and exits as the command did. It is two processes, an outer and an inner one: whichever
is killed, the other ends everything. Where there is no subreaper (macOS) it kills the command's
process group.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def start(command: list[str], keep: list[int]) -> int:
    """Fork and run the command in a session of its own; it dies with this process.

    What it inherits besides `keep` is the command's alone: its other end must see it close.
    """
    parent = os.getpid()
    child = os.fork()
    if child:
        close_all_but(keep)
        return child
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for fd in keep:
            os.close(fd)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if os.getppid() == parent:
            os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error}\n".encode())
    os._exit(127)


def children() -> list[int]:
    """Processes whose parent we are now, orphans that we adopted among them."""
    me = str(os.getpid())
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = file.read().rpartition(b")")[2].split()[1].decode()
            except (OSError, IndexError):
                continue
            if parent == me:
                found.append(int(name))
    return found


def end_all(child: int) -> None:
    """Kill until nothing is left: a killed parent's children become ours, and are next."""
    while True:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        for pid in children():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while True:
                os.waitpid(-1, 0)
                if sys.platform == "linux":
                    break
        except ChildProcessError:
            return


def close_all_but(keep: list[int]) -> None:
    """Close every descriptor above the standard ones except `keep`."""
    below = 3
    for fd in [*sorted(keep), os.sysconf("SC_OPEN_MAX")]:
        os.closerange(below, fd)
        below = fd + 1


def watch(child: int, lifelines: list[int]) -> int:
    """Wait for the child's end or that of a lifeline; the child's wait status, or SIGKILL's."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return status
        ready, _, _ = select.select([reader, *lifelines], [], [], 5.0)
        if any(lifeline in ready for lifeline in lifelines):
            return signal.SIGKILL
        if reader in ready:
            os.read(reader, 4096)
            reap_orphans(child)


def reap_orphans(child: int) -> None:
    """Collect adopted processes that ended by themselves, so that none stays a zombie."""
    for pid in children():
        if pid != child:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def main() -> None:
    lifeline = int(sys.argv[1])
    os.set_inheritable(lifeline, False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    outer_alive, held_by_outer = os.pipe()
    inner = os.fork()
    if inner:
        close_all_but([lifeline, held_by_outer])
        child, status = inner, watch(inner, [lifeline])
    else:
        os.close(held_by_outer)
        prctl(PR_SET_CHILD_SUBREAPER, 1)  # forks do not inherit it
        lifelines = [lifeline, outer_alive]
        child = start(sys.argv[2:], lifelines)
        status = watch(child, lifelines)
    end_all(child)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
