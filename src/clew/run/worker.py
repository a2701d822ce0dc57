"""A worker: serves units over an inherited socket, one JSON line each way. It prints nothing there."""

from __future__ import annotations

import json
import signal
import socket
import sys
from pathlib import Path


def main(socket_fd: int, pulse_fd: int, folder: str, segment: str) -> None:
    """Serve until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from clew.run.bench import Bench, serve
    from clew.run.pulse import Pulse
    from clew.run.serving import Served

    served = Served()
    bench = Bench(Path(folder), segment, Pulse(pulse_fd))
    with socket.socket(fileno=socket_fd) as end, end.makefile("rwb") as lines:
        for line in lines:
            message = json.loads(line)
            reply = served.answer(message) if "call" in message else serve(bench, message)
            lines.write(json.dumps(reply, separators=(",", ":"), allow_nan=False).encode() + b"\n")
            lines.flush()
    bench.sync()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
