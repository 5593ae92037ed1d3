"""The owner's side of a holder's socket."""

from __future__ import annotations

import asyncio
import binascii
import contextlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from inspan.model.errors import HolderError

from .channel import Channel, Notice
from .chunks import Chunks, TerminalPieces
from .disk import LaunchDisk
from .process import ProcessIdentity, this_process
from .program import OLDEST_PROTOCOL, PROTOCOL
from .wire import (
    Foreground,
    HarnessExit,
    HolderState,
    JournalBounds,
    TerminalSize,
    Welcome,
    WriteResult,
    holder_error,
)

__all__ = ["HolderConnection", "connect_holder"]

CONNECT_TIMEOUT_S = 5.0
REQUEST_TIMEOUT_S = 10.0
_T = TypeVar("_T")
_GUARDING_PROTOCOL = 3
WINDOW_BYTES = 1024 * 1024  # of output that `chunks` holds for a reader that is slow


async def connect_holder(
    directory: Path,
    *,
    nonce: str,
    owner: ProcessIdentity | None = None,
    timeout_s: float = CONNECT_TIMEOUT_S,
    request_timeout_s: float = REQUEST_TIMEOUT_S,
) -> HolderConnection:
    """Become the owner of a launch.

    Args:
        directory: The launch's folder.
        nonce: The launch's secret.
        owner: Who owns it; this process unless told otherwise.
        timeout_s: How long the handshake may take.
        request_timeout_s: How long each later request may take.

    Raises:
        HolderError: `holder_lost` if nobody serves the launch: read its folder with `LaunchDisk`.
            `holder_timeout` if it does not answer, `holder_refused` with `detail["reason"]`
            `owner_alive`, `bad_nonce` or `version_mismatch`.
    """
    identity = LaunchDisk(directory).identity()
    if identity is None:
        raise holder_error("holder_lost", "not_started", f"no holder has started a harness in {directory}")
    loop = asyncio.get_running_loop()
    connection = HolderConnection(request_timeout_s)
    hello: dict[str, object] = {
        # The highest that both speak. A holder that speaks none of ours refuses what it hears.
        "protocol": min(PROTOCOL, max(identity.protocol, OLDEST_PROTOCOL)),
        "nonce": nonce,
        "owner": msgspec.to_builtins(owner or this_process()),
    }
    try:
        async with asyncio.timeout(timeout_s):
            await loop.create_unix_connection(lambda: connection.channel, identity.socket)
            await connection.greet(hello)
    except TimeoutError:
        connection.close()
        text = f"the holder did not greet within {timeout_s:g} s"
        raise holder_error("holder_timeout", "hello_timeout", text, launch=identity.launch) from None
    except (ConnectionError, FileNotFoundError) as error:
        text = f"nobody serves the launch {identity.launch} ({type(error).__name__})"
        raise holder_error("holder_lost", "holder_gone", text, launch=identity.launch) from None
    except OSError as error:
        text = f"the holder cannot be reached ({type(error).__name__})"
        raise holder_error("holder_timeout", "unreachable", text, launch=identity.launch) from None
    except BaseException:
        connection.close()
        raise
    return connection


class HolderConnection:
    """The owner's connection to a holder. It belongs to one event loop; leaving `async with` closes it.

    Closing harms nothing: the harness goes on, and the launch can be connected to again.

    Attributes:
        welcome: The holder's state at the handshake.
        exit: How the harness ended, once all its output was delivered; None before.
        stalled: The errno that keeps the holder from journalling now (a full disk), or None.
        on_stall: Called with each new value of `stalled`.
    """

    welcome: Welcome

    def __init__(self, request_timeout_s: float) -> None:
        self.exit: HarnessExit | None = None
        self.stalled: int | None = None
        self.on_stall: Callable[[int | None], None] | None = None
        self.channel = Channel(self, timeout_s=request_timeout_s)
        self._receiver: _Receiver | None = None
        self._receivers: dict[int, _Receiver] = {}  # by the attach request that waits for its answer
        loop = asyncio.get_running_loop()
        self._settled: asyncio.Future[None] = loop.create_future()  # exited or closed
        self._closed: asyncio.Future[None] = loop.create_future()

    async def __aenter__(self) -> HolderConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self.wait_closed()

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended, by either side."""
        return self.channel.is_closed

    async def attach(
        self,
        from_offset: int,
        receive: Callable[[int, bytes], None],
        *,
        resized: Callable[[int, TerminalSize], None] | None = None,
        ended: Callable[[], None] | None = None,
    ) -> JournalBounds:
        """Receive the harness's output from an offset on, without a gap and in order.

        `receive` is called from the event loop with an offset and bytes, as soon as they come and perhaps
        before this returns; it must be quick and must not raise. Attaching again moves to the new offset.

        Args:
            from_offset: The first byte wanted.
            receive: Takes each piece.
            resized: With a terminal, takes its size and the offset from which on it counts, in order with the
                pieces: at once that at `from_offset`, then each other one just before its first byte.
            ended: Called once when no more will come: `exit` is set, or the connection is closed.

        Raises:
            HolderError: `holder_refused` with reason `offset_gone` (below what is kept) or `offset_ahead`.
        """
        return await self._attach(_Receiver(receive, resized, ended), {"from": from_offset})

    async def chunks(self, from_offset: int, *, window_bytes: int = WINDOW_BYTES) -> Chunks:
        """The harness's output from an offset on, as an async iterator of (offset, bytes).

        At most `window_bytes` wait here for a slow reader; the rest waits in the holder's journal, and the
        answers to requests overtake it. The iteration ends when the harness has ended and raises
        `HolderError` `holder_lost` when the connection does.

        Raises:
            HolderError: As `attach`.
        """
        chunks = Chunks(self, from_offset, window_bytes)
        receiver = _Receiver(chunks.put, None, chunks.finish)
        await self._attach(receiver, {"from": from_offset, "window_bytes": window_bytes})
        return chunks

    async def terminal_pieces(self, from_offset: int, *, window_bytes: int = WINDOW_BYTES) -> TerminalPieces:
        """What the harness writes to its terminal from an offset on, as an async iterator of `TerminalPiece`.

        As `chunks`, with sizes: set a screen to `size` where it differs, then feed `data`, and the screen is
        rebuilt as it was. The first piece is empty and tells the size at `from_offset`; a resize comes in an
        empty piece of its own, also while the harness is silent. No piece lies on both sides of
        `welcome.answered_offset`, so that each is answered as a whole or not at all.

        Raises:
            HolderError: As `attach`, and `holder_refused` with reason `no_terminal`.
        """
        size = self._terminal_size()
        chunks = Chunks(self, from_offset, window_bytes)
        pieces = TerminalPieces(chunks, size)
        receiver = _Receiver(chunks.put, pieces.put_size, chunks.finish)
        await self._attach(receiver, {"from": from_offset, "window_bytes": window_bytes})
        return pieces

    @property
    def can_guard(self) -> bool:
        """Whether writes can be guarded; a holder of an older version cannot."""
        return self.welcome.terminal is not None and self.welcome.protocol >= _GUARDING_PROTOCOL

    async def write(
        self, op: int, data: bytes, *, is_guarded: bool = False, timeout_s: float | None = None
    ) -> WriteResult:
        """Write to the harness's standard input, exactly once for each `op`.

        Operations count up from 1. An operation that is known answers what became of it and writes
        nothing. Calls are carried out in the order in which they are made. A harness that does not read
        makes this wait; after `holder_timeout` or a cancellation the operation is still under way, and the
        same call joins it.

        Args:
            op: The number of the operation.
            data: What is written.
            is_guarded: Nothing is written where something stands in front of the harness in its terminal at that
                moment: the operation is `done` with a length of 0. Only where `can_guard`.
            timeout_s: How long it may take; as every request unless given.

        Raises:
            HolderError: `frame_too_large`, `holder_timeout`, `holder_lost` (ask again after connecting
                anew), or `holder_refused` with reason `op_gap`, `busy` or `ops_unwritable`; refused means
                that nothing was written and the number is free.
        """
        if len(data) + 9 > self.welcome.frame_cap:
            text = f"a write of {len(data)} bytes does not fit into a frame of {self.welcome.frame_cap}"
            raise holder_error("frame_too_large", "frame_too_large", text)
        return await self.channel.write(op, data, timeout_s, is_guarded=is_guarded)

    async def ack(self, offset: int) -> int:
        """Say that all output below `offset` is durable here; the first offset that the journal still keeps.

        Raises:
            HolderError: `holder_refused` with reason `offset_ahead`, if it was never sent.
        """
        return (await self.channel.ask("ack", {"offset": offset}, _Offset)).first

    async def status(self) -> HolderState:
        """The holder's state now."""
        return await self.channel.ask("status", {}, HolderState)

    async def close_stdin(self) -> None:
        """End the harness's input, after what was written before.

        Raises:
            HolderError: `holder_refused` with reason `terminal_endless`: to hang up a terminal is `stop`, and
                Ctrl-D is a key that a person presses.
        """
        await self.channel.ask("close_stdin", {}, _Nothing)

    async def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the harness's process, or to its whole group.

        Raises:
            HolderError: `holder_refused` with reason `harness_ended` or `signal_failed`.
        """
        await self.channel.ask("signal", {"sig": number, "group": group}, _Nothing)

    async def stop(self, *, eof_grace_s: float, term_grace_s: float) -> None:
        """Begin to stop the harness; `wait_exited` says when it is done.

        At once the end of its input (what is not written yet has failed), after `eof_grace_s` SIGTERM to
        its group and family, after `term_grace_s` more SIGKILL. What outlives the harness is stopped too.
        A second call may hurry the first, never delay it; after the exit it does nothing.

        A terminal's input has no end, so there `eof_grace_s` does not count: SIGHUP is sent at once, SIGTERM a
        second later (or after `term_grace_s`, where that is less), SIGKILL after `term_grace_s` more, and the
        terminal is hung up when all of its output was read.
        """
        await self.channel.ask("stop", {"eof_grace_s": eof_grace_s, "term_grace_s": term_grace_s}, _Nothing)

    async def release(self) -> None:
        """Let the holder go, once all that it said about the exit is durable here.

        Raises:
            HolderError: `holder_refused` with reason `harness_running`, before the exit.
        """
        await self.channel.ask("release", {}, _Nothing)

    async def type_keys(self, data: bytes) -> None:
        """Type into the harness's terminal: keys of a person, or what the terminal says by itself.

        They come after the operation that is being written and before the next one, never in the middle of
        one. They are neither recorded nor confirmed: what a harness never reads is lost with it.

        Raises:
            HolderError: `holder_refused` with reason `busy` (256 KiB wait already), `input_closed` (it was
                stopped or has ended) or `no_terminal`; nothing was typed.
        """
        await self._ask_terminal("keys", {"data": _base64(data)}, _Nothing)

    async def reply(self, up_to_offset: int, data: bytes) -> bool:
        """Answer what the program asked its terminal before `up_to_offset`, once in the life of a holder.

        The holder remembers the highest offset that was answered. An answer that is not above it was given
        already, perhaps by an owner before this one, and is dropped. Without `data` the mark just moves.
        One answer holds all that the output between the mark before and this one asks for.

        Returns:
            Whether it was taken; False also if it was dropped since the harness does not read (320 KiB wait
            already) or reads no more. The mark has moved all the same.

        Raises:
            HolderError: `holder_refused` with reason `offset_ahead` or `no_terminal`.
        """
        values: dict[str, object] = {"offset": up_to_offset, "data": _base64(data)}
        return (await self._ask_terminal("answer", values, _Taken)).taken

    async def resize(self, columns: int, rows: int) -> None:
        """Give the harness's terminal another size; the system tells its foreground with SIGWINCH.

        The offset from which on it counts is recorded: see `terminal_pieces`, `attach` and `LaunchDisk.sizes`.
        The size that it has already changes nothing.

        Raises:
            HolderError: `holder_refused` with reason `size_invalid`, `harness_ended` or `no_terminal`.
        """
        await self._ask_terminal("resize", {"columns": columns, "rows": rows}, _Nothing)

    async def foreground(self) -> Foreground:
        """Who has the foreground of the harness's terminal now.

        Raises:
            HolderError: `holder_refused` with reason `no_terminal`.
        """
        return await self._ask_terminal("foreground", {}, Foreground)

    async def wait_exited(self) -> HarnessExit:
        """How the harness ended; returns after all output was delivered, so only to who has attached.

        Raises:
            HolderError: `holder_lost`, if the connection ends first.
        """
        await asyncio.shield(self._settled)
        if self.exit is None:
            raise self.channel.lost()
        return self.exit

    async def wait_closed(self) -> None:
        """Return when the connection has ended, by either side. That says nothing about the harness."""
        await asyncio.shield(self._closed)

    def close(self) -> None:
        """Close the connection; calling twice is safe."""
        self.channel.close()

    # For the channel and the chunks.

    async def greet(self, hello: dict[str, object]) -> None:
        """Say hello and take the welcome."""
        body = await self.channel.greet(hello)
        try:
            self.welcome = msgspec.json.decode(body, type=Welcome)
        except msgspec.MsgspecError:
            text = "the holder's welcome cannot be understood"
            raise holder_error("holder_refused", "protocol_fault", text) from None
        self.stalled = self.welcome.stalled

    def grant(self, offset: int) -> None:
        """Let the holder send up to `offset`."""
        self.channel.post("grant", {"offset": offset})

    def lost(self) -> HolderError:
        """Why no more comes."""
        return self.channel.lost()

    def take_output(self, offset: int, data: bytes) -> None:
        """Output came."""
        if self._receiver is not None:
            self._receiver.receive(offset, data)

    def take_reply(self, request: int, *, is_refused: bool) -> None:
        """A request was answered: from an attach's answer on, its output comes."""
        receiver = self._receivers.pop(request, None)
        if receiver is not None and not is_refused:
            self._receiver = receiver

    def take_notice(self, notice: Notice, body: bytes) -> None:
        """Something was said unasked. What is not known is from a newer holder, and no harm."""
        match notice.type:
            case "stalled" | "resumed":
                self.stalled = notice.errno or None
                if self.on_stall is not None:
                    self.on_stall(self.stalled)
            case "resized":
                sized = msgspec.json.decode(body, type=_Resized)
                if self._receiver is not None and self._receiver.resized is not None:
                    size = TerminalSize(columns=sized.columns, rows=sized.rows)
                    self._receiver.resized(sized.offset, size)
            case "exited":
                self.exit = msgspec.json.decode(body, type=HarnessExit)
                self._settle()
            case _:
                pass

    def take_end(self) -> None:
        """The connection has ended."""
        if not self._closed.done():
            self._closed.set_result(None)
        self._settle()

    def _terminal_size(self) -> TerminalSize:
        # A holder of an older version would not understand the request.
        if self.welcome.terminal is None:
            raise holder_error("holder_refused", "no_terminal", "the harness has no terminal")
        return self.welcome.terminal

    async def _ask_terminal(self, kind: str, values: dict[str, object], answer: type[_T]) -> _T:
        self._terminal_size()
        return await self.channel.ask(kind, values, answer)

    async def _attach(self, receiver: _Receiver, values: dict[str, int]) -> JournalBounds:
        request = self.channel.next_request()
        self._receivers[request] = receiver
        try:
            return await self.channel.ask("attach", values, JournalBounds)
        finally:
            self._receivers.pop(request, None)

    def _settle(self) -> None:
        if not self._settled.done():
            self._settled.set_result(None)
        receiver, self._receiver = self._receiver, None
        if receiver is not None and receiver.ended is not None:
            receiver.ended()


class _Receiver(msgspec.Struct, frozen=True):
    """Who takes the output of one attachment."""

    receive: Callable[[int, bytes], None]
    resized: Callable[[int, TerminalSize], None] | None
    ended: Callable[[], None] | None


class _Offset(msgspec.Struct, frozen=True):
    first: int


class _Nothing(msgspec.Struct, frozen=True):
    pass


class _Taken(msgspec.Struct, frozen=True):
    taken: bool


class _Resized(msgspec.Struct, frozen=True):
    offset: int
    columns: int
    rows: int


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()
