"""An app that is being served: its parts, put together, and what routes and authors do with several of them at once."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import rfc8785

from inspan.apps.model.app_model import AppModel, ModelProblems, model_problems

from .caller import ANONYMOUS, Caller
from .calls import Call, Refused, refuse
from .clock import Clock, iso
from .database import Database
from .events import EventLog
from .gate import Gate
from .ledger import Approvals, Audit, Idempotency
from .rates import RateClass, RateLimiter, RateLimits
from .records import Filling, RecordStore
from .tasks import LEASE_S, TaskQueue
from .viewers import Viewers

__all__ = ["Handler", "Served", "Triggered"]

PROTOCOL = "0.1"

_MOST_THREADS = 32


class Handler(NamedTuple):
    """The code of an operation.

    Attributes:
        run: Takes the arguments and gives the result.
        is_async: Whether `run` is a coroutine function; else it runs in a thread.
        is_atomic: Whether all that it writes is one transaction, during which nobody else writes.
    """

    run: Callable[..., Any | Awaitable[Any]]
    is_async: bool
    is_atomic: bool


class Triggered(NamedTuple):
    """What `trigger` made."""

    event_id: str
    task_id: str | None

    def to_wire(self) -> dict[str, Any]:
        """As an operation's result, when a handler gives it back as it is."""
        return {"eventId": self.event_id, "taskId": self.task_id}


class Served:
    """The parts of one app. Everything here works on the app's database; nothing here speaks HTTP."""

    def __init__(
        self,
        model: AppModel,
        database: Database,
        gate: Gate,
        *,
        clock: Clock,
        handlers: Mapping[str, Handler] | None = None,
        fillings: Mapping[str, Mapping[str, Filling]] | None = None,
        limits: RateLimits | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        """Puts the parts together.

        Raises:
            ModelProblems: The declarations cannot be served.
        """
        if problems := model_problems(model):
            raise ModelProblems(problems)
        self.model = model
        self.database = database
        self.gate = gate
        self.clock = clock
        self.handlers = dict(handlers or {})
        # What writes has a thread for itself: slow readers must not keep it, and all who wait for it, waiting.
        self._writer = ThreadPoolExecutor(1, "app-writer")
        self._others = ThreadPoolExecutor(_MOST_THREADS, "app")
        self.records = RecordStore(database, model, fillings)
        self.events = EventLog(database, model.id, clock)
        self.on_task_change: Callable[[], None] | None = None
        self.tasks = TaskQueue(database, clock, lease_s=lease_s, on_change=self._tasks_changed)
        self.idempotency = Idempotency(database, clock)
        self.approvals = Approvals(clock)
        self.audit = Audit(database, clock)
        self.viewers = Viewers(clock)
        self.running_keys: set[tuple[str, str]] = set()
        self._limiter = RateLimiter(limits or RateLimits(), clock)
        self._event_types = frozenset(event.type for event in model.events)
        self._boot = _base36(int(clock().timestamp() * 1000))

    async def call(self, handler: Handler, args: Mapping[str, Any], *, is_writer: bool) -> Any:
        """Runs an operation's code: a coroutine function here, a plain one in a thread, with the context of the call."""
        if handler.is_async:
            return await handler.run(**args)
        context = contextvars.copy_context()
        run = functools.partial(context.run, handler.run, **args)
        return await asyncio.get_running_loop().run_in_executor(
            self._writer if is_writer else self._others, run
        )

    def close(self) -> None:
        """Closes the database, once the code that still runs has ended; calling it twice is safe."""
        self._writer.shutdown()
        self._others.shutdown()
        self.database.close()

    @property
    def data_version(self) -> str:
        """Changes with every write of a record, and with every start."""
        return f"{self._boot}.{self.database.record_changes}"

    def identity(self) -> dict[str, Any]:
        """The identity document."""
        now = self.clock()
        offset = now.astimezone().utcoffset()
        return {
            "a2app": True,
            "protocol": PROTOCOL,
            "adapterVersion": self.model.adapter_version,
            "app": {"id": self.model.id, "name": self.model.name},
            "schemaVersion": self.model.schema_version,
            "dataVersion": self.data_version,
            "serverNow": iso(now),
            "serverTzOffsetMinutes": 0 if offset is None else int(offset.total_seconds() // 60),
            **({"env": self.model.env} if self.model.env else {}),
            **({"appVersion": self.model.app_version} if self.model.app_version else {}),
        }

    def meter(self, call: Call, rate_class: RateClass) -> None:
        """Counts a call.

        Raises:
            Refused: It is one too many within a minute.
        """
        caller = self.gate.caller_of(call)
        # Tokens that nobody knows share one count: making up new ones wins nothing.
        wait_s = self._limiter.retry_after_s(caller.credential_id, rate_class)
        if wait_s is None:
            return
        refused = refuse(
            429, "rate_limited", f"Too many calls: try again in {wait_s} s.", retryAfterSeconds=wait_s
        )
        refused.concerning(f"rate:{rate_class}")
        raise refused

    def trigger(
        self, event_type: str, payload: Any, *, capability: str | None = None, dedup_key: str | None = None
    ) -> Triggered:
        """Adds an event and, where a capability is named, a task for an agent that has it.

        Both are part of the transaction around the call, if there is one.

        Args:
            event_type: One of the declared types.
            payload: What it is about: a JSON value.
            capability: What the agent must be able to do.
            dedup_key: Names the occurrence: of one key there is one task, ever. Without it, of one type, capability and
                payload there is one task at a time.

        Raises:
            ValueError: The type is not declared, or the payload is no JSON value.
        """
        if self._event_types and event_type not in self._event_types:
            raise ValueError(f'The event type "{event_type}" is not declared.')
        occurrence = {"capability": capability, "payload": payload, "type": event_type}
        try:
            default_key = "sha256:" + hashlib.sha256(rfc8785.dumps(occurrence)).hexdigest()
        except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
            raise ValueError(f"The payload is no JSON value that is the same everywhere: {error}.") from error
        with self.database.writing():
            event_id = self.events.append(event_type, payload)
            if capability is None:
                return Triggered(event_id, None)
            task_id, _ = self.tasks.enqueue(
                event=event_id,
                capability=capability,
                payload=payload,
                dedup_key=default_key if dedup_key is None else dedup_key,
                dedup_ends=dedup_key is None,
            )
        return Triggered(event_id, task_id)

    async def note_refusal(self, refused: Refused, call: Call) -> None:
        """Audits a write that was refused, if a credential was shown with it.

        Raises:
            BusyError: Another writer did not end in time.
        """
        caller = self.gate.caller_of(call)
        if caller.credential_id == ANONYMOUS and not call.header("x-a2app-token", "x-lui-token"):
            return
        known: Caller | None = None if caller.credential_id == ANONYMOUS else caller
        async with self.database.writing_async():
            self.audit.add(known, refused.target, refused.record_id, code=refused.code)

    def _tasks_changed(self) -> None:
        if self.on_task_change is not None:
            self.on_task_change()


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = digits[digit] + text
    return text or "0"
