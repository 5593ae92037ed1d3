"""Speaks to one running app: a request goes out, a `Reply` comes back, whatever its status.

The standard library alone, since every call of `a2app` starts anew. A deadline covers a whole exchange, so that an
app that hangs, or answers one byte a minute, is unreachable in time; redirects are not followed, proxies are not
asked, and an answer has a largest size.
"""

from __future__ import annotations

import http.client
import io
import json
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import quote, urlsplit

from .faults import AppUnreachable, Misused

__all__ = ["DEFAULT_AGENT", "AppClient", "AppUnreachable", "JsonObject", "Reply", "encode_json"]

JsonObject: TypeAlias = dict[str, Any]

DEFAULT_AGENT = "a2app-cli"
"""What an agent that gives no name is called in the app's audit."""

LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
"""An answer over this is not read to its end."""

_READ_BYTES = 64 * 1024


class Reply(NamedTuple):
    """What the app answered.

    Attributes:
        status: The HTTP status.
        body: The JSON object; empty where the answer was something else.
        text: The answer as it came, decoded.
    """

    status: int
    body: JsonObject
    text: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether the app did what was asked. A redirect is a no: it is never followed."""
        return 200 <= self.status < 300

    @property
    def code(self) -> str:
        """The protocol's error code, or nothing."""
        code: object = self.body.get("code")
        return code if isinstance(code, str) else ""


class AppClient:
    """A client of one app. Not for several threads at once.

    Args:
        base_url: `http://HOST:PORT` or `https://…`; a path in it is kept as a prefix.
        token: The agent's credential (`X-A2App-Token`).
        authorization: The user's own token of a multi-user app, sent raw as `Authorization`.
        agent: The name that the agent gives itself.
        timeout_s: The most that one exchange may take from its first byte to its last, in seconds.
        largest_bytes: The most that an answer may have.

    Raises:
        Misused: `base_url` is none, or a credential cannot be sent as a header.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        authorization: str | None = None,
        agent: str = DEFAULT_AGENT,
        timeout_s: float = 30.0,
        largest_bytes: int = LARGEST_ANSWER_BYTES,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.timeout_s = timeout_s
        self._largest_bytes = largest_bytes
        self._scheme, self._host, self._port, self._prefix = _split(self.base_url)
        self._headers = {"Content-Type": "application/json", "X-A2App-Agent": _one_line(agent)}
        if token:
            self._headers["X-A2App-Token"] = _secret(token, "agent credential")
        if authorization:
            self._headers["Authorization"] = _secret(authorization, "user's token")
        self._kept: _Connection | None = None

    def __enter__(self) -> AppClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection that is kept for the next question. Calling it twice is safe."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Reply:
        """One exchange. `path` is sent as it is (quoted by the caller); `body` goes as compact JSON unless None.

        A question (GET) goes over the connection of the one before where the app kept it open. Everything else
        has a connection of its own, since nobody could tell whether a write on one that breaks was done.

        Raises:
            AppUnreachable: Nothing listens, it is no HTTP, the time ran out, or the answer is too large.
            ValueError: `body` is no JSON value.
        """
        data = None if body is None else encode_json(body)
        sent = {**self._headers, **(headers or {})}
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        kept, self._kept = self._kept, None
        if kept is not None and method == "GET":
            try:
                return self._exchange(kept, method, path, data, sent, deadline)
            except TimeoutError as error:
                raise self._unreachable("did not answer in time") from error
            except (OSError, http.client.HTTPException):
                kept.close()  # the app closed it in between; a question may be asked again
        elif kept is not None:
            kept.close()
        connection = self._connection()
        try:
            return self._exchange(connection, method, path, data, sent, deadline)
        except TimeoutError as error:
            raise self._unreachable("did not answer in time") from error
        except ConnectionRefusedError as error:
            raise self._unreachable("refused the connection: nothing listens there") from error
        except http.client.HTTPException as error:
            raise self._unreachable(f"broke off or does not speak HTTP ({type(error).__name__})") from error
        except OSError as error:
            raise self._unreachable(error.strerror or type(error).__name__) from error

    def identity(self) -> JsonObject | None:
        """Who answers: the app's identity, or None if something answers that is no such app.

        Raises:
            AppUnreachable: Nothing answers.
        """
        for path in ("/.well-known/a2app.json", "/api/_a2app"):
            reply = self.request("GET", path)
            app: object = reply.body.get("app")
            # Errors carry the marker too, so the status counts as well.
            if reply.is_ok and reply.body.get("a2app") is True and isinstance(app, dict):
                return reply.body
        return None

    def describe(
        self,
        path: str | Sequence[str] = "",
        all: bool = False,  # noqa: FBT001, FBT002
        *,
        find: str | None = None,
    ) -> Reply:
        """One place of the app's model: `""`, `"module"`, `"module/entity"`, `"module/entity/id[/relation]"`.

        Where a step itself may hold a slash, give the steps one by one.
        """
        walked = path.split("/") if isinstance(path, str) else path
        steps = "".join(f"/{quote(step, safe='')}" for step in walked if step)
        query = "?all=true" if all else f"?find={quote(find, safe='')}" if find is not None else ""
        return self.request("GET", f"/api/_a2app/describe{steps}{query}")

    def whoami(self) -> Reply:
        """Which credential this is, and what it may do."""
        return self.request("GET", "/api/_a2app/whoami")

    def context(self) -> Reply:
        """What the app's user looks at now: ids alone."""
        return self.request("GET", "/api/_a2app/context")

    def events(self, since: str | None = None) -> Reply:
        """What happened after the cursor `since`, oldest first."""
        return self.request(
            "GET", "/api/_a2app/events" + (f"?since={quote(since, safe='')}" if since else "")
        )

    def tasks(self, status: str | None = None) -> Reply:
        """The tasks of one status, or all."""
        return self.request(
            "GET", "/api/_a2app/tasks" + (f"?status={quote(status, safe='')}" if status else "")
        )

    def task(self, id: str) -> Reply:
        """One task."""
        return self.request("GET", f"/api/_a2app/tasks/{quote(id, safe='')}")

    def claim(self, id: str, agent: str | None = None) -> Reply:
        """Takes a task; 409 if somebody else has it. `agent` is the credential's id or the agent's own name."""
        return self._of_task(id, "claim", {} if agent is None else {"agent": agent})

    def progress(
        self,
        id: str,
        *,
        step: str | None = None,
        percent: float | None = None,
        ask: str | None = None,
        claimed_at: str | None = None,
    ) -> Reply:
        """Says how far a claimed task is, and with nothing said that it is still being worked on.

        `claimed_at` names the claim that is meant: if the task was taken back and claimed anew since, it is a 409.
        """
        said = {"step": step, "percent": percent, "ask": ask, "claimedAt": claimed_at}
        return self._of_task(id, "progress", {key: value for key, value in said.items() if value is not None})

    def complete(
        self,
        id: str,
        *,
        result: object = None,
        reason: str | None = None,
        claimed_at: str | None = None,
    ) -> Reply:
        """Closes a claimed task: as failed where a `reason` is given, else as completed with a `result`.

        `claimed_at` as in `progress`.
        """
        claim = {} if claimed_at is None else {"claimedAt": claimed_at}
        if reason is not None:
            return self._of_task(id, "complete", {"status": "failed", "reason": reason, **claim})
        body: JsonObject = {"status": "completed", **claim}
        return self._of_task(id, "complete", body if result is None else {**body, "result": result})

    def cancel(self, id: str) -> Reply:
        """Calls a task off; 409 if it has ended."""
        return self._of_task(id, "cancel", {})

    def _of_task(self, task: str, step: str, body: JsonObject) -> Reply:
        return self.request("POST", f"/api/_a2app/tasks/{quote(task, safe='')}/{step}", body)

    def _connection(self) -> _Connection:
        if self._scheme == "https":
            import ssl

            return _Connection(self._host, self._port, ssl.create_default_context())
        return _Connection(self._host, self._port, None)

    def _exchange(
        self,
        connection: _Connection,
        method: str,
        path: str,
        data: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
    ) -> Reply:
        is_done = False
        answer: http.client.HTTPResponse | None = None
        try:
            connection.set_deadline(deadline)
            connection.request(method, self._prefix + path, data, dict(headers))
            answer = connection.getresponse()
            parts: list[bytes] = []
            room = self._largest_bytes
            while part := answer.read1(_READ_BYTES):
                room -= len(part)
                if room < 0:
                    raise self._unreachable(f"answered with more than {self._largest_bytes} bytes")
                parts.append(part)
            if answer.length:
                raise http.client.IncompleteRead(b"", answer.length)
            answer.close()  # or the connection would take no further request
            is_done = True
            if method == "GET" and not answer.will_close:
                self._kept = connection
            return _read(answer.status, b"".join(parts))
        finally:
            if answer is not None:
                answer.close()
            if not is_done or self._kept is not connection:
                connection.close()

    def _unreachable(self, why: str) -> AppUnreachable:
        return AppUnreachable(f"{self.base_url} {why}.", fields={"url": self.base_url})


def encode_json(value: object) -> bytes:
    """Compact JSON in UTF-8, letters as they are.

    Raises:
        ValueError: It is none: not a number, or nested too deeply.
    """
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: it can go as an escape
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"this cannot be JSON: {error}") from error


def _read(status: int, data: bytes) -> Reply:
    text = data.decode("utf-8", "replace")
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Reply(status, {}, text)
    return Reply(status, cast(JsonObject, value) if isinstance(value, dict) else {}, text)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _split(base_url: str) -> tuple[str, str, int | None, str]:
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise Misused(
            "The app's address is no http(s) URL of a host.", hint="Give it as http://127.0.0.1:8090."
        )
    if parts.username is not None or parts.password is not None:
        raise Misused("The app's address holds a name or password.", hint="Keep credentials out of URLs.")
    if any(ord(letter) <= 32 or ord(letter) == 127 for letter in base_url):
        raise Misused("The app's address holds blanks or control characters.")
    return parts.scheme, host, port, parts.path


def _secret(value: str, what: str) -> str:
    """A header's value; what is wrong with it is said without quoting it."""
    value = value.strip()
    if not value.isascii() or not value.isprintable():
        raise Misused(f"The {what} holds letters that cannot be sent in a header.")
    return value


def _one_line(value: str) -> str:
    kept = "".join(letter for letter in value if letter.isascii() and letter.isprintable())
    return kept.strip()[:200] or DEFAULT_AGENT


class _Connection(http.client.HTTPConnection):
    """A connection whose every read and write ends at the deadline of the exchange."""

    def __init__(self, host: str, port: int | None, tls: Any) -> None:
        super().__init__(host, port or (443 if tls is not None else 80))
        self._tls = tls
        self._deadline = 0.0
        if tls is not None:
            self.default_port = 443

    def set_deadline(self, deadline: float) -> None:
        self._deadline = deadline

    def remaining_s(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), timeout=self.remaining_s())
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                plain = self._tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        self.sock = cast("socket.socket", _TimedSocket(plain, self))


class _TimedSocket:
    """As much of a socket as `http.client` uses."""

    def __init__(self, plain: socket.socket, connection: _Connection) -> None:
        self._plain = plain
        self._connection = connection

    def sendall(self, data: bytes) -> None:
        self._plain.settimeout(self._connection.remaining_s())
        self._plain.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        # A reader of the socket's own: `http.client` closes the socket before it reads an answer that ends with the
        # connection, and the socket stays open for its readers.
        return io.BufferedReader(_TimedReader(self._plain, self._connection))

    def close(self) -> None:
        with suppress(OSError):
            self._plain.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, plain: socket.socket, connection: _Connection) -> None:
        self._plain = plain
        self._reader = plain.makefile("rb", buffering=0)
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._plain.settimeout(self._connection.remaining_s())
        return self._reader.readinto(buffer) or 0

    def close(self) -> None:
        with suppress(OSError):
            self._reader.close()
        super().close()
