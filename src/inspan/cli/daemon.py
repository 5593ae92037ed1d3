"""`inspan daemon`: start, stop, status, logs."""

from __future__ import annotations

import fcntl
import os
import sys
import time

from inspan.home import prepare_home
from inspan.model.errors import HostError, InspanError

from .arguments import Namespace, Parser
from .context import Context
from .fields import Json, number, record, text, texts
from .output import bold, dim, toned
from .phrases import since

__all__ = ["build_daemon"]

_STOP_CALL_S = 90.0
_GONE_PATIENCE_S = 30.0
_LOOK_AGAIN_S = 0.05
_FOLLOW_PAUSE_S = 0.3
_LINE_BYTES = 400


def build_daemon(parser: Parser) -> None:
    """Adds the actions of `daemon`."""
    start = parser.action("start", "start the daemon, where none runs", _start)
    start.add_argument(
        "--foreground", action="store_true", help="run it in this terminal instead, until Ctrl-C"
    )
    start.example("inspan daemon start", "returns when it serves; other commands do this by themselves")
    stop = parser.action("stop", "stop the daemon; harnesses run on", _stop)
    stop.add_argument("--harnesses", action="store_true", help="stop every harness first")
    stop.example("inspan daemon stop --harnesses", "stops everything that Inspan started in this home")
    status = parser.action("status", "show the daemon; starts none", _status)
    status.example("inspan daemon status", "exits with 20 where none runs")
    logs = parser.action("logs", "print the end of the daemon's own log", _logs)
    logs.add_argument("-n", "--lines", metavar="N", type=int, default=50, help="how many lines (default: 50)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on with what is written")
    logs.example("inspan daemon logs -f", "what the daemon says of itself; events are in `inspan watch`")


def _start(context: Context, args: Namespace) -> int:
    if args.foreground:
        prepare_home(context.home)
        command = [sys.executable, "-P", "-m", "inspan.daemon", "--home", str(context.home.path)]
        os.execv(sys.executable, command)  # noqa: S606 - this very Python
    _tell(context, context.status())
    return 0


def _status(context: Context, _: Namespace) -> int:
    _tell(context, record(context.call("GET", "/v1/status", is_starting=False)))
    return 0


def _tell(context: Context, status: Json) -> None:
    output = context.output
    if output.is_json:
        output.value(status)
        return
    output.line(
        bold("running"), f"  pid {number(status, 'pid')}", dim(f"  for {since(text(status, 'started_at'))}")
    )
    output.fields(
        [
            ("version", f"{text(status, 'version')} (HTTP interface {number(status, 'api')})"),
            ("home", text(status, "home")),
            ("socket", text(status, "socket")),
            (
                "seats",
                f"{number(status, 'seats')}, {number(status, 'live_launches')} with a harness that runs",
            ),
            (
                "log",
                [toned(text(status, "store", default="ok")), f", {number(status, 'last_position')} events"],
            ),
            ("watchers", str(int(number(status, "clients") or 0))),
        ],
        indent=2,
    )


def _stop(context: Context, args: Namespace) -> int:
    try:
        # Harnesses outlive their daemon: to stop them, one has to run.
        answer = record(
            context.call(
                "POST",
                "/v1/daemon/stop",
                body={"harnesses": args.harnesses},
                is_starting=args.harnesses,
                timeout_s=_STOP_CALL_S,
            )
        )
    except InspanError as error:
        if error.code not in ("daemon_unreachable", "daemon_stopping") or not error.retry_safe:
            raise
        answer = {}
    _wait_until_gone(context)
    if context.output.is_json:
        context.output.value({"was_running": bool(answer), "stopped": texts(answer, "stopped")})
    elif not answer:
        context.output.line("no daemon runs")
    else:
        context.output.line("stopped", dim("" if args.harnesses else "; harnesses run on"))
        for seat in texts(answer, "stopped"):
            context.output.line("  stopped the harness of ", bold(seat))
    return 0


def _wait_until_gone(context: Context) -> None:
    deadline = time.monotonic() + _GONE_PATIENCE_S
    while _is_there(context):
        if time.monotonic() > deadline:
            raise HostError(
                f"The daemon has not stopped after {_GONE_PATIENCE_S:.0f} seconds.",
                code="daemon_stopping",
                hint="See `inspan daemon logs`.",
            )
        time.sleep(_LOOK_AGAIN_S)


def _is_there(context: Context) -> bool:
    """Whether a daemon owns the home: it closes its socket first, then the log, and gives up its lock last."""
    try:
        handle = os.open(context.home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared and for an instant: a daemon that starts just now and finds it taken looks again.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _logs(context: Context, args: Namespace) -> int:
    path = context.home.log_file
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise HostError(
            f"The daemon has not written a log at {path} yet.",
            code="daemon_unreachable",
            hint="Start it with `inspan daemon start`.",
        ) from error
    except OSError as error:
        raise HostError(
            f"{path} cannot be read: {error.strerror}.", code="home_insecure", hint="Run `inspan doctor`."
        ) from error
    with file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - max(args.lines, 1) * _LINE_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()[-args.lines :] if args.lines > 0 else []
        if context.output.is_json and not args.follow:
            context.output.value(lines)
            return 0
        for line in lines:
            context.output.line(line)
        context.output.flush()
        while args.follow:
            if rest := file.read():
                context.output.part(rest.decode("utf-8", "replace"))
            elif path.exists() and path.stat().st_ino != os.fstat(file.fileno()).st_ino:
                return _logs(context, args)
            else:
                time.sleep(_FOLLOW_PAUSE_S)
    return 0
