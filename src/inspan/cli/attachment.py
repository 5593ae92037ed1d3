"""An attachment: a seat's terminal on the person's own, until one of the two, or the daemon between them, goes."""

from __future__ import annotations

import os
import select
import time
from typing import NamedTuple

from inspan.model.errors import HostError, InspanError

from .context import Context, at
from .exits import Exit
from .fields import Json, number, record, text, texts
from .key_chords import KeyChords
from .own_terminal import FRESH, OwnTerminal
from .plain_screen import clip
from .scrolling import page
from .wire import Connection, answer_of, no_answer, target

__all__ = ["SCROLLBACK_LINES", "Attachment", "Ending"]

SCROLLBACK_LINES = 10_000
"""How many lines above the screen are shown."""

_HEAD_TIMEOUT_S = 30.0
_CALL_TIMEOUT_S = 10.0
_CLIP_EVERY_S = 0.1
_DRAWN_ANEW = b"\x1b[!p"
_KEYS_BYTES = 32 * 1024
_END_TIMEOUT_S = 5.0
_LOOK_AGAIN_S = 0.05
_WRITER = "Inspan-Writer"
_GONE = frozenset(["daemon_unreachable", "daemon_stopping", "daemon_version"])


class Ending(NamedTuple):
    """Why an attachment ended.

    Attributes:
        why: A stable word.
        status: The exit status.
        said: The fact in words.
        hint: How to come back.
        launch: How the harness's launch ended, where it did.
    """

    why: str
    status: Exit
    said: str
    hint: str
    launch: Json


class Attachment:
    """One attachment. Opening it fails as the daemon says; nothing was drawn then.

    Attributes:
        columns: Width of the seat's terminal as it was opened.
        rows: Its height.
    """

    def __init__(self, context: Context, seat: str, *, writes: bool, steals: bool):
        self._context = context
        self._seat = seat
        self._writes = writes
        self._launch = text(context.seat(seat), "launch", "id")
        self._writer = ""
        self._is_clipped = False
        self._clip_at = 0.0
        self._connection = self._open(steals=steals, is_starting=True)
        self.columns = int(self._connection.headers.get("inspan-columns", "0"))
        self.rows = int(self._connection.headers.get("inspan-rows", "0"))

    def close(self) -> None:
        """Leaves; twice is safe."""
        self._connection.close()

    def run(self, own: OwnTerminal, chords: KeyChords) -> Ending:
        """Shows and types until there is a reason to end.

        Raises:
            OSError: The person's terminal is gone.
        """
        try:
            self._fit(own)
            self._draw(own, self._connection.take_buffered())
            while True:
                wait_s = max(self._clip_at - time.monotonic(), 0.0) if self._clip_at else None
                readable, _, _ = select.select([self._connection, own.keys, own.resized], [], [], wait_s)
                if self._clip_at and time.monotonic() >= self._clip_at:
                    self._look_whether_it_fits(own)
                if own.resized in readable:
                    own.take_resized()
                    self._fit(own)
                if own.keys in readable and (ending := self._type(own, chords)) is not None:
                    return ending
                if self._connection in readable and not self._show(own):
                    return self._ended()
        except InspanError as error:
            return self._failed(error)

    def _open(self, *, steals: bool, is_starting: bool) -> Connection:
        query = {"write": self._writes, "steal": self._writes and steals, "guest": True}
        connection = self._context.connect() if is_starting else self._context.connect_running()
        try:
            connection.send("GET", target(at("seats", self._seat, "terminal"), query), headers={})
            connection.read_head(_HEAD_TIMEOUT_S)
            if connection.status != 200:
                answer_of(connection.status, connection.read_all())
        except (OSError, ValueError) as error:
            connection.close()
            raise no_answer(error, is_read=True) from error
        except BaseException:
            connection.close()
            raise
        self._writer = connection.headers.get(_WRITER.lower(), "")
        return connection

    def _show(self, own: OwnTerminal) -> bool:
        """Draws what has come; `False` at the end."""
        try:
            piece = self._connection.read_some()
        except (OSError, ValueError) as error:
            raise no_answer(error, is_read=True) from error
        if piece:
            self._draw(own, piece)
        return piece is not None

    def _draw(self, own: OwnTerminal, piece: bytes) -> None:
        if not self._writer and _DRAWN_ANEW in piece:
            self._look_whether_it_fits(own)
        if not self._is_clipped:
            own.write(piece)
        elif not self._clip_at:
            self._clip_at = time.monotonic() + _CLIP_EVERY_S

    def _look_whether_it_fits(self, own: OwnTerminal) -> None:
        """Who looks on does not choose the size: where the terminal is too small, a part is shown as text."""
        self._clip_at = 0.0
        shown = self._screen()
        columns, rows = own.size()
        was_clipped = self._is_clipped
        self._is_clipped = columns < (number(shown, "columns") or 0) or rows < (number(shown, "rows") or 0)
        if self._is_clipped:
            own.write((b"" if was_clipped else FRESH) + clip(shown, columns=columns, rows=rows))
        elif was_clipped:
            self._begin_again(own)

    def _type(self, own: OwnTerminal, chords: KeyChords) -> Ending | None:
        data = os.read(own.keys, _KEYS_BYTES)
        if not data:
            return Ending("hung_up", Exit.OK, "There is no keyboard any more.", self._come_back(), {})
        pressed = chords.press(data)
        if pressed.keys and self._writer:
            self._call(own, "keys", pressed.keys)
        match pressed.action:
            case "scroll":
                self._look_back(own)
            case None:
                pass
            case _:
                said = f"Detached from {self._seat}; its harness runs on."
                return Ending("detached", Exit.OK, said, self._come_back(), {})
        return None

    def _fit(self, own: OwnTerminal) -> None:
        if self._writer:
            columns, rows = own.size()
            self._call(own, "size", {"columns": columns, "rows": rows})
        else:
            self._look_whether_it_fits(own)

    def _look_back(self, own: OwnTerminal) -> None:
        """Shows the lines above; what came meanwhile is drawn as a whole afterwards."""
        shown = self._screen(scrollback=SCROLLBACK_LINES)
        page(own, [*texts(shown, "scrollback"), *texts(shown, "lines")])
        # This also finds out whether the keyboard is still ours to be taken along.
        self._fit(own)
        if not self._is_clipped:
            self._begin_again(own)

    def _begin_again(self, own: OwnTerminal) -> None:
        """Has the whole screen drawn, on a stream of its own; the keyboard is taken along."""
        before = self._connection
        self._connection = self._open(steals=True, is_starting=False)
        before.close()
        own.write(FRESH + b"\x1b[H\x1b[2J")
        self._draw(own, self._connection.take_buffered())

    def _screen(self, *, scrollback: int = 0) -> Json:
        where = at("seats", self._seat, "screen")
        return record(self._ask("GET", where, query={"scrollback": scrollback}))

    def _call(self, own: OwnTerminal, what: str, body: object) -> None:
        try:
            self._ask("POST", at("seats", self._seat, "terminal", what), body=body)
        except InspanError as error:
            if error.code in _GONE or error.code == "not_the_writer":
                raise
            # The harness takes none just now, or ends: then the stream tells, and else it may be tried again.
            own.write(b"\a")

    def _ask(
        self, method: str, where: str, *, query: dict[str, object] | None = None, body: object = None
    ) -> object:
        return self._context.call(
            method,
            where,
            query=query,
            body=body,
            headers={_WRITER: self._writer},
            is_starting=False,
            timeout_s=_CALL_TIMEOUT_S,
        )

    def _ended(self) -> Ending:
        """The terminal ended: of its harness, or because the daemon stops."""
        deadline = time.monotonic() + _END_TIMEOUT_S
        while True:
            try:
                seat = record(self._ask("GET", at("seats", self._seat)))
            except InspanError as error:
                return self._failed(error)
            launch = record(seat, "launch")
            if text(launch, "id") != self._launch or text(launch, "status") == "ended":
                return self._exited(launch if text(launch, "id") == self._launch else {})
            if time.monotonic() > deadline:
                said = f"The terminal of {self._seat} is closed."
                return Ending("closed", Exit.OK, said, self._come_back(), {})
            time.sleep(_LOOK_AGAIN_S)

    def _exited(self, launch: Json) -> Ending:
        code, signal = number(launch, "exit_code"), number(launch, "signal")
        how = ""
        if signal:
            how = f" by signal {int(signal)}"
        elif code is not None:
            how = f" with status {int(code)}"
        why = text(launch, "error", "message")
        said = f"The harness of {self._seat} has ended{how}.{f' {why}' if why else ''}"
        return Ending("exited", Exit.OK, said, f"`inspan start {self._seat}` resumes it.", launch)

    def _failed(self, error: InspanError) -> Ending:
        seat = self._seat
        if error.code == "not_the_writer":
            hint = f"`inspan attach {seat} --steal` takes it back, `--watch` looks on."
            return Ending(
                "taken_over", Exit.CONFLICT, f"Somebody else took the keyboard of {seat}.", hint, {}
            )
        if error.code == "daemon_stopping":
            said = f"The daemon was stopped; the harness of {seat} runs on."
            return Ending("daemon_stopped", Exit.NO_DAEMON, said, self._come_back(), {})
        if error.code in _GONE:
            said = f"The daemon is gone; the harness of {seat} runs on."
            return Ending("daemon_gone", Exit.NO_DAEMON, said, self._come_back(), {})
        if isinstance(error, HostError):
            return Ending("failed", Exit.NO_DAEMON, error.message, error.hint, {})
        raise error

    def _come_back(self) -> str:
        return f"`inspan attach {self._seat}{'' if self._writes else ' --watch'}` comes back."
