"""The loop of a holder, from the running harness to the last answer."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time

from . import PROTOCOL, VERSION
from .clients import CONTROL_BUFFER_BYTES, Client, Clients, Refusal, integer
from .ending import GIVE_UP_S, Ending
from .frames import encode_data
from .input import Input
from .journal import Journal
from .operations import Operations
from .output import READ_BYTES, ErrorOutput, Log, Output, read_some
from .sizes import Sizes
from .terminal import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from .ptys import Pty
    from .spawn import Harness
    from .start import Config

__all__ = ["Holder"]

SEND_BUFFER_BYTES = 256 * 1024  # of output waits in memory for one owner; the rest waits in the journal
FOLLOWED_BYTES = 16 * 1024 * 1024  # how far a program on a terminal may be ahead of an owner who follows it
LEAVE_EOF_GRACE_S = 2.0
LEAVE_TERM_GRACE_S = 3.0


class Holder:
    """Everything that one launch has while its harness lives."""

    def __init__(
        self,
        directory: str,
        config: Config,
        log: Log,
        listener: socket.socket,
        harness: Harness,
        wakeup: int,
        pty: Pty | None,
    ) -> None:
        self.log = log
        self._socket_path = config.socket
        self._socket_inode = os.stat(config.socket).st_ino
        self._harness = harness
        self._wakeup = wakeup
        self._selector = selectors.DefaultSelector()
        self._clients = Clients(listener, config.launch, config.nonce, config.frame_cap, log)
        self._journal = Journal(os.path.join(directory, "journal"), config.segment_bytes)
        self._output = Output(
            harness.stdout,
            self._journal,
            max_unacknowledged_bytes=config.max_unacknowledged_bytes,
            log=log,
            tell=self._clients.tell,
        )
        self._errors = ErrorOutput(directory, harness.stderr)
        operations = Operations(os.path.join(directory, "ops"), create=True)
        self._input = Input(harness.stdin, operations, log, self._clients.send)
        self._ending = Ending(directory, harness.pid, self._input, self._output, self._errors, log, pty)
        self._terminal: Terminal | None = None
        if config.terminal is not None:
            sizes = Sizes(directory, *config.terminal, log)
            self._terminal = Terminal(harness.pid, sizes, self._input, self._output)
        self._interests: dict[int, tuple[int, Any]] = {}
        self._is_released = False
        for handle in (harness.stdin, harness.stdout, harness.stderr):
            if handle >= 0:
                os.set_blocking(handle, False)

    def serve(self) -> None:
        """Run until the harness has ended, all is on disk, and no owner waits for anything."""
        self.log.write(f"holding {self._harness.pid}")
        self._ending.collect()
        while not self._is_over():
            self._set_interests()
            for key, events in self._selector.select(self._timeout()):
                self._dispatch(key.data, events)
            now = time.monotonic()
            if self._output.retry_at is not None and self._output.retry_at <= now:
                self._output.flush()
            if self._terminal is not None and self._terminal.sizes.is_late(now):
                self._terminal.sizes.save()
            self._ending.advance(now)
            self._clients.expire(now, self)
            if self._clients.owner is not None:
                self._pump(self._clients.owner)
        self._leave()

    def state(self) -> dict[str, Any]:
        """What an owner is told in `welcome` and on `status`."""
        record = self._input.operations
        is_begun = record.state == "begun"
        harness = self._harness
        return {
            "protocol": PROTOCOL,
            "holder_version": VERSION,
            "frame_cap": self._clients.frame_cap,
            "harness": {
                "pid": harness.pid,
                "start_time": harness.start_time,
                "running": self._ending.exit is None,
            },
            "exit": self._ending.exit,
            "last_op": record.op - 1 if is_begun else record.op,
            "last_op_state": "done" if is_begun and record.op > 1 else "none" if is_begun else record.state,
            "op_in_progress": record.op if is_begun else None,
            "accepted_op": self._input.accepted_op,
            "stdin_open": self._input.handle >= 0 and not self._input.is_ending,
            "journal": self._bounds(),
            "stalled": self._output.stalled or None,
            "reading": self._output.may_read(),
            "stderr_bytes": self._errors.total_bytes,
            **(self._terminal.state() if self._terminal is not None else {}),
        }

    def answer(self, client: Client, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out an owner's request; raises Refusal."""
        match request.get("type"):
            case "attach":
                return self._attach(client, request)
            case "grant":
                offset = integer(request, "offset", 0)
                client.limit = None if client.limit is None else max(client.limit, offset)
                return {}
            case "ack":
                offset = integer(request, "offset", 0)
                if offset > (self._journal.end if client.cursor is None else client.cursor):
                    raise Refusal("offset_ahead", "nothing was sent from there yet", end=self._journal.end)
                self._journal.acknowledge(offset)
                if self._terminal is not None:
                    self._terminal.sizes.forget_below(self._journal.first)
                return {"first": self._journal.first}
            case "status":
                return self.state()
            case "close_stdin":
                if self._terminal is not None:
                    raise Refusal("terminal_endless", "the input of a terminal has no end")
                self._input.end()
                return {}
            case "keys" | "answer" | "resize" | "foreground":
                if self._terminal is None:
                    raise Refusal("no_terminal", "the harness has no terminal")
                return self._terminal.answer(request)
            case "signal":
                return self._signal(request)
            case "stop":
                self._ending.stop(_seconds(request, "eof_grace_s"), _seconds(request, "term_grace_s"))
                return {}
            case "release":
                if self._ending.finished_at is None:
                    raise Refusal("harness_running", "the harness has not ended")
                self._is_released = True
                return {}
            case _:
                raise Refusal("request_unknown", "no such request")

    def accept_write(self, client: Client, op: int, data: bytes, *, is_guarded: bool) -> None:
        """Take an owner's write to the harness; raises Refusal."""
        if not 0 < op < 1 << 63:
            raise Refusal("op_invalid", "operations start at 1")
        if is_guarded and self._terminal is None:
            raise Refusal("no_terminal", "the harness has no terminal")
        guard = self._terminal.is_harness_in_front if is_guarded and self._terminal is not None else None
        self._input.accept(client, op, data, guard)

    def forget(self, client: Client) -> None:
        """Answer nothing more to `client`."""
        self._input.forget(client)

    def _set_interests(self) -> None:
        wanted: dict[int, tuple[int, Any]] = {
            self._wakeup: (selectors.EVENT_READ, self._handle_signals),
            self._clients.listener.fileno(): (selectors.EVENT_READ, self._clients.accept),
        }
        if self._output.may_read() and not self._outruns_its_owner():
            wanted[self._output.handle] = (selectors.EVENT_READ, self._output.take)
        if self._errors.handle >= 0:
            wanted[self._errors.handle] = (selectors.EVENT_READ, self._errors.take)
        if self._input.is_waiting:
            wanted[self._input.handle] = (selectors.EVENT_WRITE, self._input.write)
        for client in self._clients.all:
            mask = selectors.EVENT_WRITE if client.out else 0
            if len(client.out) < CONTROL_BUFFER_BYTES and not client.is_closing:
                mask |= selectors.EVENT_READ
            if mask:
                wanted[client.connection.fileno()] = (mask, client)
        if wanted == self._interests:
            return
        self._interests = wanted
        registered = self._selector.get_map()
        for key in list(registered.values()):
            # A number may meanwhile belong to another file, so `data` is compared as well.
            if wanted.get(key.fd) != (key.events, key.data):
                self._selector.unregister(key.fd)
        for handle, (mask, data) in wanted.items():
            if handle not in registered:
                self._selector.register(handle, mask, data)

    def _outruns_its_owner(self) -> bool:
        """Whether the program on a terminal is so far ahead of the owner who follows it that it has to wait.

        Whoever looks on would otherwise see what was shown long ago. Without an owner it runs on.
        """
        owner = self._clients.owner
        if self._terminal is None or self._output.is_last or owner is None or owner.cursor is None:
            return False
        return self._journal.end - owner.cursor > FOLLOWED_BYTES

    def _timeout(self) -> float | None:
        times = [client.deadline for client in self._clients.all]
        times += [self._output.retry_at, self._ending.wakes_at()]
        if self._terminal is not None:
            times.append(self._terminal.sizes.retry_at)
        if self._ending.finished_at is not None:
            times.append(self._ending.finished_at + GIVE_UP_S)
        known = [at for at in times if at is not None]
        return max(0.0, min(known) - time.monotonic()) if known else None

    def _dispatch(self, source: Any, events: int) -> None:
        if not isinstance(source, Client):
            source()
            return
        if events & selectors.EVENT_WRITE and source in self._clients.all:
            self._clients.flush(source)
        if events & selectors.EVENT_READ and source in self._clients.all:
            self._clients.receive(source, self)

    def _handle_signals(self) -> None:
        numbers = read_some(self._wakeup) or b""
        if signal.SIGTERM in numbers and not self._ending.is_leaving:
            self.log.write("told to leave")
            self._ending.is_leaving = True
            self._ending.stop(LEAVE_EOF_GRACE_S, LEAVE_TERM_GRACE_S)
        self._ending.collect()

    def _attach(self, client: Client, request: dict[str, Any]) -> dict[str, Any]:
        offset = integer(request, "from", 0)
        bounds = self._bounds()
        if offset < self._journal.first:
            raise Refusal("offset_gone", f"bytes below {self._journal.first} were acknowledged", **bounds)
        if offset > self._journal.end:
            raise Refusal("offset_ahead", f"the journal ends at {self._journal.end}", **bounds)
        window = request.get("window_bytes")
        client.limit = None if window is None else offset + integer(request, "window_bytes", 1)
        client.cursor = offset
        client.size = None
        client.was_told_exit = False
        return bounds

    def _bounds(self) -> dict[str, int]:
        journal = self._journal
        return {"first": journal.first, "end": journal.end, "acknowledged": journal.acknowledged}

    def _signal(self, request: dict[str, Any]) -> dict[str, Any]:
        number = integer(request, "sig", 1)
        if self._ending.exit is not None:
            raise Refusal("harness_ended", "the harness has ended")
        send = os.killpg if request.get("group") is True else os.kill
        try:
            send(self._harness.pid, number)
        except (OSError, OverflowError, ValueError) as error:
            raise Refusal(
                "signal_failed", f"signal {number} could not be sent ({type(error).__name__})"
            ) from None
        return {}

    def _pump(self, client: Client) -> None:
        """Send output from the journal while there is room: a slow owner waits on disk, not in memory."""
        cursor = client.cursor
        if cursor is None:
            return
        while len(client.out) < SEND_BUFFER_BYTES:
            limit = self._journal.end if client.limit is None else min(self._journal.end, client.limit)
            if self._terminal is not None:
                limit = self._terminal.cut(cursor, limit)
                if notice := self._terminal.size_to_tell(client):
                    self._clients.send(client, notice)
            if cursor >= limit:
                break
            data = self._journal.read(cursor, min(READ_BYTES, limit - cursor, self._clients.frame_cap - 9))
            cursor += len(data)
            client.cursor = cursor
            self._clients.send_bytes(client, encode_data(cursor - len(data), data))
        if self._ending.finished_at is not None and cursor == self._journal.end and not client.was_told_exit:
            client.was_told_exit = True
            self._clients.send(client, {"type": "exited", **(self._ending.exit or {})})

    def _is_over(self) -> bool:
        finished_at = self._ending.finished_at
        if finished_at is None:
            return False
        owner = self._clients.owner
        if owner is None:
            return True
        if self._is_released or self._ending.is_leaving:
            return not owner.out or time.monotonic() >= finished_at + GIVE_UP_S
        return False

    def _leave(self) -> None:
        with contextlib.suppress(OSError):
            if os.stat(self._socket_path).st_ino == self._socket_inode:
                os.unlink(self._socket_path)
        for client in list(self._clients.all):
            self._clients.drop(client, self)
        self._clients.listener.close()
        self.log.write("left")


def _seconds(request: dict[str, Any], key: str) -> float:
    value: Any = request.get(key)
    if type(value) not in (int, float) or not 0 <= value <= 86400:
        raise Refusal("request_invalid", f"{key} must be seconds from 0 to 86400")
    return float(value)
