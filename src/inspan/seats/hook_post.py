"""The hook post of a launch: takes the events of its harness's hooks, at a socket and from the spool.

An event counts only with the launch's token, or where it lies in the launch's own folder. What does not count is
counted, and told without its payload. The relay is answered once an event is durable.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import os
import re
import stat
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from inspan.hooks.wire import HEAD_BYTES, Head, clear_spool, parse_head, read_spool
from inspan.model.hooks import HookReport, HookSession, HookSettings, HooksHeard

__all__ = ["SOCKET_NAME", "SPOOL_NAME", "HookPost", "hash_token", "open_hook_post"]

SOCKET_NAME = "hooks.sock"
SPOOL_NAME = "hooks.spool"
AT_ONCE = 16
"""How many events are taken at once; more wait at the socket, and then go into the spool."""
READ_TIMEOUT_S = 2.0
SPOOL_EVERY_S = 2.0
"""How often it is looked whether something was left in the spool though this daemon listens."""
HEADER_BYTES = 64 * 1024
"""How much of a session's own file is read to find its id."""

_log = logging.getLogger("inspan.seats")


def hash_token(token: str) -> str:
    """What is kept of a token: enough to know it again."""
    return hashlib.sha256(token.encode()).hexdigest()


class HookPost:
    """Takes the hook events of one launch.

    Args:
        folder: The launch's folder.
        launch: The launch.
        seat: Its seat.
        token_hash: What is kept of its token.
        settings: How its harness's events are read.
        harness_pid: The launch's own process.
        take: Makes an event durable, and says why it was dropped; empty where it was not.
    """

    def __init__(
        self,
        *,
        folder: Path,
        launch: str,
        seat: str,
        token_hash: str,
        settings: HookSettings,
        harness_pid: int | None,
        take: Callable[[HookReport], Awaitable[str]],
    ) -> None:
        self._spool = folder / SPOOL_NAME
        self._launch = launch
        self._seat = seat
        self._token_hash = token_hash
        self._settings = settings
        self._harness_pid = harness_pid
        self._take = take
        self._order = asyncio.Lock()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._dropped: Counter[str] = Counter()
        self._heard = 0
        self._last = ""
        self._is_full = False

    @property
    def heard(self) -> HooksHeard:
        """What came of the events so far."""
        return HooksHeard(
            heard=self._heard, last_event=self._last, dropped=dict(self._dropped), is_full=self._is_full
        )

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Takes the one event of a connection."""
        try:
            async with self._room:
                async with asyncio.timeout(READ_TIMEOUT_S):
                    line = await reader.readuntil(b"\n")
                    head = parse_head(line[:-1])
                    payload = None
                    if head is not None and head.size_bytes is not None and self._is_ours(head):
                        payload = await reader.readexactly(head.size_bytes)
                if head is None:
                    self._drop("malformed")
                elif not self._is_ours(head):
                    self._drop("other_launch" if head.launch != self._launch else "no_token", head.event)
                else:
                    async with self._order:
                        await self._deliver(head, payload)
                writer.write(b"+")
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self._drop("malformed")
        finally:
            writer.close()

    async def empty_spool(self) -> None:
        """Takes what was left while nobody listened; an event that was taken before counts once."""
        async with self._order:
            taken = 0
            while True:
                try:
                    left = await asyncio.to_thread(read_spool, self._spool, begin=taken)
                    if not left.size_bytes:
                        return
                    self._dropped["malformed"] += left.malformed
                    self._is_full = self._is_full or left.is_full
                    for head, payload in left.events:
                        if head.launch != self._launch:
                            self._drop("other_launch", head.event)
                        else:
                            await self._deliver(head, payload)
                    taken += left.size_bytes
                    if await asyncio.to_thread(clear_spool, self._spool, taken_bytes=taken):
                        return
                except OSError as error:
                    _log.warning(
                        "the hook spool of launch %s cannot be read: %s", self._launch, error.strerror
                    )
                    return

    async def watch_spool(self) -> None:
        """Empties the spool again and again, since a relay may have found this daemon too slow."""
        while True:
            await asyncio.sleep(SPOOL_EVERY_S)
            with contextlib.suppress(FileNotFoundError):
                if self._spool.stat().st_size:
                    await self.empty_spool()

    def _is_ours(self, head: Head) -> bool:
        is_known = hmac.compare_digest(hash_token(head.token), self._token_hash)
        return is_known and head.launch == self._launch and head.seat == self._seat

    async def _deliver(self, head: Head, payload: bytes | None) -> None:
        if payload is None:
            self._drop("too_large", head.event)
            return
        try:
            values: dict[str, Any] = msgspec.json.decode(payload, type=dict[str, Any])
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
            self._drop("not_json", head.event)
            return
        ancestors = head.ancestors
        pid = self._harness_pid
        report = HookReport(
            event=head.event,
            order=head.order,
            id=head.id,
            at_ns=head.at_ns,
            payload=values,
            depth=ancestors.index(pid) if pid is not None and pid in ancestors else None,
            session=await asyncio.to_thread(read_session_file, self._settings.session, values),
        )
        reason = await self._take(report)
        if reason:
            self._drop(reason, head.event)
        else:
            self._heard += 1
            self._last = head.event

    def _drop(self, reason: str, event: str = "") -> None:
        self._dropped[reason] += 1
        _log.debug("launch %s: hook event %.64r dropped: %s", self._launch, event, reason)


@asynccontextmanager
async def open_hook_post(post: HookPost, folder: Path) -> AsyncGenerator[HookPost]:
    """The post at its socket; what was left in the spool comes first."""
    path = folder / SOCKET_NAME
    await post.empty_spool()
    # The home is this daemon's alone, so that a socket which is there is one that a daemon before it left.
    path.unlink(missing_ok=True)
    answering: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a server runs each callback in a task
        answering.add(task)
        try:
            await post.answer(reader, writer)
        finally:
            answering.discard(task)

    try:
        server = await asyncio.start_unix_server(answer, path, limit=HEAD_BYTES * 2)
    except OSError as error:
        # Its events go into the spool then, and come from there.
        _log.warning("the hooks of %s have no socket: %s", folder.name, error.strerror)
        server = None
    if server is not None:
        path.chmod(0o600)
    watching = asyncio.create_task(post.watch_spool())
    try:
        await post.empty_spool()
        yield post
    finally:
        watching.cancel()
        if server is not None:
            server.close()
        for task in tuple(answering):
            task.cancel()
        await asyncio.gather(watching, *answering, return_exceptions=True)
        path.unlink(missing_ok=True)


def read_session_file(rules: HookSession, payload: dict[str, Any]) -> str:
    """The session's id as its own file says it; empty where it does not, or its path says another."""
    found = payload.get(rules.file) if rules.file else None
    named = re.search(rules.file_pattern, found) if isinstance(found, str) and rules.file_pattern else None
    if named is None or not isinstance(found, str):
        return ""
    begin = named["session"]
    if not rules.header_pattern:
        return begin
    try:
        handle = os.open(found, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        text = os.read(handle, HEADER_BYTES) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return ""
    finally:
        os.close(handle)
    header = re.search(rules.header_pattern, text.decode("utf-8", "replace"))
    session = "" if header is None else header["session"]
    return session if session.startswith(begin) else ""
