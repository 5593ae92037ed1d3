"""The daemon as a process: argv in, readiness or the error out on standard output, and a clean end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Generator
from typing import Any, cast

import inspan
from inspan.home import API_VERSION, HOME_VARIABLE, Home, locate_home, prepare_home
from inspan.model.errors import HostError, InspanError, error_to_wire

from .composition import OpenParts, open_daemon, open_parts
from .interrupts import Interrupts
from .logs import open_logs, report_loop_fault
from .sockets import parse_tcp_address

__all__ = ["run"]

_LOG = logging.getLogger(__name__)


def run(interrupts: Interrupts, argv: list[str] | None = None, *, open_parts: OpenParts = open_parts) -> int:
    """Runs the daemon until it is asked to stop, and gives its exit status: 0, or 1 if it could not start.

    The first line on standard output is JSON: `{"ready": true, "pid": …, "socket": …}` once it serves, or
    `{"error": {…}}`.
    """
    options = _parser().parse_args(argv)
    if options.background and os.fork():
        os._exit(0)  # whoever started us waits for this one alone
    home = locate_home(options.home)
    try:
        tcp = parse_tcp_address(options.tcp) if options.tcp else None
        prepare_home(home)
        # What runs in a seat, our own agent above all, belongs to this home and not to another.
        os.environ[HOME_VARIABLE] = str(home.path)
        os.chdir(home.path)
        with open_logs(home, is_shown=options.foreground):
            try:
                asyncio.run(_serve(home, tcp, interrupts, open_parts, is_detached=options.background))
            finally:
                interrupts.disarm()
    except InspanError as error:
        _say({"error": error_to_wire(error)})
        if options.foreground:
            print(error, file=sys.stderr)
        return 1
    return 0


async def _serve(
    home: Home,
    tcp: tuple[str, int] | None,
    interrupts: Interrupts,
    open_parts: OpenParts,
    *,
    is_detached: bool,
) -> None:
    asyncio.get_running_loop().set_exception_handler(report_loop_fault)
    stop = _StopOnce(asyncio.current_task())
    interrupts.arm(stop.ask)
    try:
        async with open_daemon(home, tcp=tcp, open_parts=open_parts) as daemon:
            _LOG.info("version %s serves as process %d", inspan.__version__, os.getpid())
            ready = {"ready": True, "pid": os.getpid(), "socket": str(home.socket), "api": API_VERSION}
            if is_detached:
                with _letting_go_of_output():
                    _say(ready)
            else:
                _say(ready)
            await daemon.lifetime.until_stopped()
            stop.settle()
    except asyncio.CancelledError:
        if not stop.is_settled:
            raise
    except Exception as error:
        known = _known(error)
        if known.code == "daemon_running":
            # Two clients started one at the same time, and the other one serves: nothing is wrong.
            _LOG.info("ended without serving: another daemon serves this home")
        else:
            _LOG.error(
                "the daemon failed: %s", known.code, exc_info=error if known.code == "internal" else None
            )
        raise known from error
    _LOG.info("stopped")


class _StopOnce:
    """Cancels the daemon's task at the first signal, and leaves alone an end that has begun."""

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        self._task = task
        self._loop = asyncio.get_running_loop()
        self.is_settled = False

    def settle(self) -> None:
        self.is_settled = True

    def ask(self) -> None:
        if self.is_settled or self._task is None:
            return
        self.is_settled = True
        with contextlib.suppress(RuntimeError):  # the loop has ended, and so has everything else
            self._loop.call_soon_threadsafe(self._task.cancel)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m inspan.daemon", description="Serve a home of Inspan.")
    parser.add_argument(
        "--home", metavar="DIR", help="the home; else $INSPAN_HOME, else the platform's place"
    )
    parser.add_argument("--foreground", action="store_true", help="show the log on standard error too")
    parser.add_argument("--background", action="store_true", help="go on without the process that started it")
    parser.add_argument("--tcp", metavar="ADDRESS:PORT", help="listen on the loopback too, with a token")
    return parser


def _known(error: BaseException) -> InspanError:
    """The first error of ours in `error`, which may be a group; else one that says only that there was one."""
    if isinstance(error, InspanError):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = [_known(one) for one in cast("BaseExceptionGroup[BaseException]", error).exceptions]
        return next((one for one in found if one.code != "internal"), found[0])
    return HostError(f"The daemon failed with {type(error).__name__}.", hint="See `inspan daemon logs`.")


def _say(value: dict[str, Any]) -> None:
    # Whoever started us may be gone; that is no reason to stop.
    with contextlib.suppress(OSError, ValueError):
        print(json.dumps(value), flush=True)


@contextlib.contextmanager
def _letting_go_of_output() -> Generator[None]:
    """Once the last line of the block is out, standard input and output lead nowhere; a reader sees the end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    last = os.fdopen(os.dup(1), "w")
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    with contextlib.redirect_stdout(last), contextlib.suppress(OSError), last:
        yield
