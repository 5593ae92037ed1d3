"""The typed client: every operation of the daemon as a method, and its events as an async iterator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import msgspec

from inspan.home import API_VERSION, Home
from inspan.model.delivery import DeliveryState
from inspan.model.errors import HostError
from inspan.model.events import Envelope
from inspan.model.plan import ProbeResult
from inspan.model.session_views import (
    AnswerQuestion,
    ConfigureSeat,
    DeletedSession,
    DeleteSession,
    ForkSeat,
    QuestionView,
    SessionsView,
)
from inspan.model.views import (
    AnswerPermission,
    DaemonStatus,
    DeliveryView,
    ExplainView,
    HarnessView,
    PermissionView,
    SeatView,
    SendPrompt,
    StoreReport,
    TurnView,
)

from .autostart import unreachable
from .hooks import HookCalls
from .requests import RequestCalls
from .resources import ResourceCalls
from .seat_calls import SeatCalls
from .terminal_calls import TerminalCalls
from .watching import RECONNECT_FOR_S, watch
from .wire import Wire, segment

__all__ = ["Client"]

_STOP_TIMEOUT_S = 90.0
_LOOK_AGAIN_S = 0.02

_NO_TURN_COMES = frozenset(
    {DeliveryState.HELD, DeliveryState.REFUSED, DeliveryState.FAILED, DeliveryState.UNKNOWN}
)


class _StartSeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    fresh: bool
    session: str | None = None


class _StopDaemon(msgspec.Struct, frozen=True, kw_only=True):
    harnesses: bool


class _Stopping(msgspec.Struct, frozen=True, kw_only=True):
    pid: int


class Client(SeatCalls, RequestCalls, HookCalls, ResourceCalls, TerminalCalls):
    """Speaks to the daemon of one home. Made by `inspan.connect` and `inspan.open_local`.

    Methods mirror the HTTP interface, take names and return frozen views. They may be called at the same time
    by many tasks of one event loop. Errors are those that the daemon raised, as the same classes; when the
    daemon cannot be reached it is `HostError` with the code `daemon_unreachable`. Where `retry_safe` of an
    error is true, the call may be made again unchanged. A prompt is repeatable under its own `id`.
    """

    def __init__(self, home: Home) -> None:
        self._wire = Wire(home)

    @property
    def home(self) -> Home:
        """The home whose daemon this is."""
        return self._wire.home

    async def close(self) -> None:
        """Ends every call and every iteration over events. Twice is safe."""
        await self._wire.close()

    # The daemon

    async def status(self) -> DaemonStatus:
        """How the daemon is."""
        return await self._wire.call("GET", "/v1/status", DaemonStatus)

    async def check_version(self) -> DaemonStatus:
        """As `status`; raises `daemon_version` where the daemon speaks another version of the interface."""
        status = await self.status()
        if status.api != API_VERSION:
            raise HostError(
                f"The daemon speaks version {status.api} of the interface, this client {API_VERSION}.",
                code="daemon_version",
                hint="Stop it with `inspan daemon stop`; the next call starts the version that is installed.",
                detail={"daemon": status.api, "client": API_VERSION},
            )
        return status

    async def stop_daemon(self, *, harnesses: bool = False) -> None:
        """Stops the daemon and returns once it serves no more. Harnesses run on unless they are to stop too."""
        stopping = await self._wire.call(
            "POST",
            "/v1/daemon/stop",
            _Stopping,
            body=_StopDaemon(harnesses=harnesses),
            timeout_s=_STOP_TIMEOUT_S,
        )
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        # The lock goes last: once it is gone, or another daemon's, this one holds nothing any more.
        while _names_owner(self.home, stopping.pid):
            if time.monotonic() > deadline:
                raise unreachable(self.home, "it was asked to stop and still holds the home")
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def check_store(self) -> StoreReport:
        """Examines the log, and compares the projections with it. Nothing is changed."""
        return await self._wire.call("POST", "/v1/store/check", StoreReport, timeout_s=600)

    async def rebuild_store(self) -> StoreReport:
        """Builds the projections anew from the log."""
        return await self._wire.call("POST", "/v1/store/rebuild", StoreReport, timeout_s=600)

    # Harnesses

    async def list_harnesses(self) -> list[HarnessView]:
        """All harnesses that are registered, with what keeps one from being used."""
        return await self._wire.call("GET", "/v1/harnesses", list[HarnessView])

    async def get_harness(self, harness: str) -> HarnessView:
        """One harness. Raises `unknown_harness`."""
        return await self._wire.call("GET", f"/v1/harnesses/{segment(harness, 'harness')}", HarnessView)

    async def probe_harness(self, harness: str) -> ProbeResult:
        """Asks the installed program what it is; no model call."""
        return await self._wire.call(
            "POST", f"/v1/harnesses/{segment(harness, 'harness')}/probe", ProbeResult
        )

    # Seats

    async def list_seats(self) -> list[SeatView]:
        """All seats that were not removed, in the order in which they were added."""
        return await self._wire.call("GET", "/v1/seats", list[SeatView])

    async def get_seat(self, name: str) -> SeatView:
        """One seat. Raises `unknown_seat`."""
        return await self._wire.call("GET", _seat(name), SeatView)

    async def start_seat(self, name: str, *, fresh: bool = False, session: str | None = None) -> SeatView:
        """Starts the seat's harness and resumes its conversation, or begins a new one with `fresh`.

        With `session`, that conversation of the harness's is taken up instead. Returns once the launch is
        decided on, not once it is ready. Raises `session_in_use`.
        """
        wanted = _StartSeat(fresh=fresh, session=session)
        return await self._wire.call("POST", _seat(name) + "/start", SeatView, body=wanted)

    async def fork_seat(self, name: str, new: str) -> SeatView:
        """Makes a seat `new` like this one, whose first launch begins with a fork of this one's conversation.

        Raises:
            PluginError: `unsupported_capability`.
            UsageError: `session_missing`, `seat_exists`.
        """
        return await self._wire.call("POST", _seat(name) + "/fork", SeatView, body=ForkSeat(name=new))

    async def configure_seat(
        self,
        name: str,
        *,
        session_mode: str | None = None,
        model: str | None = None,
        options: dict[str, str] | None = None,
        reset: bool = False,
    ) -> SeatView:
        """Asks for a mode, a model or options of the open session.

        Returns:
            The seat; `session.settings` says of each what was asked for, and what is in force.

        Raises:
            UsageError: `seat_not_running`, `option_unknown`.
            PluginError: `unsupported_capability`.
        """
        wanted = ConfigureSeat(session_mode=session_mode, model=model, options=options or {}, reset=reset)
        return await self._wire.call("POST", _seat(name) + "/settings", SeatView, body=wanted)

    # Sessions and questions

    async def list_sessions(
        self, name: str, *, page: str | None = None, workspace: str | None = None
    ) -> SessionsView:
        """A page of the sessions that the seat's running harness keeps; its `next_page` asks for the next.

        Raises:
            UsageError: `seat_not_running`.
            PluginError: `unsupported_capability`.
            HarnessError: `call_timeout`, `harness_exited`, or what it answered.
        """
        params = {"page": page, "workspace": workspace}
        return await self._wire.call("GET", _seat(name) + "/sessions", SessionsView, params=params)

    async def delete_session(self, name: str, session: str) -> DeletedSession:
        """Has the seat's running harness delete a session that no seat holds on to.

        Raises `session_in_use`, and as `list_sessions`.
        """
        wanted = DeleteSession(session=session)
        return await self._wire.call("POST", _seat(name) + "/sessions/delete", DeletedSession, body=wanted)

    async def list_questions(self, *, seat: str | None = None) -> list[QuestionView]:
        """The open questions, the oldest first."""
        return await self._wire.call("GET", "/v1/questions", list[QuestionView], params={"seat": seat})

    async def get_question(self, request: str) -> QuestionView:
        """One open question. Raises `unknown_question`."""
        return await self._wire.call("GET", f"/v1/questions/{segment(request, 'request')}", QuestionView)

    async def answer_question(self, request: str, answer: AnswerQuestion) -> QuestionView:
        """Answers an open question, once. Raises `unknown_question`, `question_closed`, `answer_invalid`."""
        path = f"/v1/questions/{segment(request, 'request')}/answer"
        return await self._wire.call("POST", path, QuestionView, body=answer)

    async def stop_seat(self, name: str) -> SeatView:
        """Stops the seat's harness in steps. The queue is kept. Stopping a stopped seat does nothing."""
        return await self._wire.call("POST", _seat(name) + "/stop", SeatView)

    async def release_seat(self, name: str) -> SeatView:
        """Lets prompts go on that were held since they would have failed as the one before.

        Raises `nothing_held`.
        """
        return await self._wire.call("POST", _seat(name) + "/release", SeatView)

    async def explain_seat(self, name: str) -> ExplainView:
        """Why the seat shows what it shows."""
        return await self._wire.call("GET", _seat(name) + "/explain", ExplainView)

    # Prompts

    async def send(
        self,
        name: str,
        text: str,
        *,
        id: str | None = None,
        request: str | None = None,
        now: bool = False,
        override: str = "",
        signature: str = "",
    ) -> DeliveryView:
        """Has a prompt delivered, and starts the seat's harness where none runs.

        Args:
            name: The seat.
            text: The prompt.
            id: A name of your own for the delivery. The same one again reads the outcome back and never sends
                twice, so a call whose answer was lost can be made again.
            request: The request that it is an attempt at; the first prompt that names one opens it.
            now: Type it into a console though a turn runs there, where the console takes that.
            override: Why it is to be typed though the console asks something or its state is unknown; it is
                recorded first.
            signature: An operator's, over `inspan.model.signed_send.signed_bytes`; the prompt then needs an `id`.

        Returns:
            The delivery, durably accepted.

        Raises:
            UsageError: `unknown_seat`, `prompt_too_large`, or `delivery_conflict` where the id was used with
                another text or seat.
        """
        body = SendPrompt(text=text, id=id, request=request, now=now, override=override, signature=signature)
        return await self._wire.call("POST", _seat(name) + "/prompts", DeliveryView, body=body)

    async def wait_turn(self, delivery: str, *, timeout_s: float | None = None) -> TurnView | DeliveryView:
        """Waits for what comes of a prompt.

        Returns:
            A `TurnView`: its turn ended, and `outcome` says how. A `DeliveryView`: no turn will come by itself
            (`refused`, `failed`, `unknown`, or `held` for a person), or `timeout_s` seconds went by; `state`
            says which.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await self._until_settled(delivery)
        except TimeoutError:
            return await self.get_delivery(delivery)

    async def list_deliveries(self, name: str, *, limit: int = 100) -> list[DeliveryView]:
        """The newest deliveries of a seat, in the order in which they were accepted."""
        return await self._wire.call(
            "GET", _seat(name) + "/deliveries", list[DeliveryView], params={"limit": limit}
        )

    async def get_delivery(self, delivery: str) -> DeliveryView:
        """One delivery. Raises `unknown_delivery`."""
        return await self._wire.call("GET", f"/v1/deliveries/{segment(delivery, 'delivery')}", DeliveryView)

    async def withdraw_delivery(self, delivery: str) -> DeliveryView:
        """Takes a prompt out of the queue. Raises `delivery_final` where it went out already."""
        return await self._wire.call(
            "DELETE", f"/v1/deliveries/{segment(delivery, 'delivery')}", DeliveryView
        )

    async def cancel_turn(self, name: str) -> SeatView:
        """Asks the harness to stop the turn that runs. Raises `no_turn`."""
        return await self._wire.call("POST", _seat(name) + "/cancel", SeatView)

    async def list_turns(self, name: str, *, limit: int = 100) -> list[TurnView]:
        """The newest turns of a seat, in the order in which they began."""
        return await self._wire.call("GET", _seat(name) + "/turns", list[TurnView], params={"limit": limit})

    async def get_turn(self, turn: str) -> TurnView:
        """One turn. Raises `unknown_turn`."""
        return await self._wire.call("GET", f"/v1/turns/{segment(turn, 'turn')}", TurnView)

    # Permissions

    async def list_permissions(
        self, *, seat: str | None = None, include_closed: bool = False
    ) -> list[PermissionView]:
        """Permission requests: the open ones, or all."""
        params = {"seat": seat, "all": _flag(include_closed)}
        return await self._wire.call("GET", "/v1/permissions", list[PermissionView], params=params)

    async def get_permission(self, request: str) -> PermissionView:
        """One permission request. Raises `unknown_permission`."""
        return await self._wire.call("GET", f"/v1/permissions/{segment(request, 'request')}", PermissionView)

    async def answer_permission(self, request: str, answer: AnswerPermission) -> PermissionView:
        """Answers an open request, once.

        Raises:
            UsageError: `permission_closed`, `permission_of_other_seat`, `permission_option_unknown`.
        """
        path = f"/v1/permissions/{segment(request, 'request')}/answer"
        return await self._wire.call("POST", path, PermissionView, body=answer)

    async def approve(self, request: str, *, always: bool = False, reason: str = "") -> PermissionView:
        """Allows what is asked for, once, or from now on with `always`. Raises as `answer_permission`."""
        return await self.answer_permission(
            request, AnswerPermission(decision="allow", always=always, reason=reason)
        )

    async def deny(self, request: str, *, always: bool = False, reason: str = "") -> PermissionView:
        """Rejects what is asked for. Raises as `answer_permission`."""
        return await self.answer_permission(
            request, AnswerPermission(decision="deny", always=always, reason=reason)
        )

    # Events

    async def list_events(
        self,
        *,
        after: int = 0,
        seat: str | None = None,
        types: tuple[str, ...] | None = None,
        limit: int = 1000,
    ) -> list[Envelope]:
        """The next `limit` events (at most 1000) behind the position `after`, in the order of the log."""
        params = {"after": after, "seat": seat, "types": ",".join(types) if types else None, "limit": limit}
        return await self._wire.call("GET", "/v1/events", list[Envelope], params=params)

    def events(
        self, *, after: int | None = None, seat: str | None = None, reconnect_for_s: float = RECONNECT_FOR_S
    ) -> AsyncGenerator[Envelope]:
        """Events as they come, each exactly once, in the order of the log.

        Connections that end are made anew behind the last event, so neither a daemon that was killed nor a
        pause in the reading loses or doubles one. Ends when the client is closed. Iterate it to the end, or
        close it (`contextlib.aclosing`).

        Args:
            after: Begin behind this position; from now on where it is `None`.
            seat: Only events of this seat.
            reconnect_for_s: For how many seconds a daemon that went away is waited for.

        Raises:
            HostError: `daemon_unreachable` once the daemon was away for that long.
            UsageError: `position_ahead`: the position belongs to another home's log.
        """
        return watch(self._wire, after=after, seat=seat, reconnect_for_s=reconnect_for_s)

    async def _until_settled(self, delivery: str) -> TurnView | DeliveryView:
        # The place is taken before the state is read: what happens in between comes as an event.
        place = (await self.status()).last_position
        view = await self.get_delivery(delivery)
        if (settled := await self._settled(view)) is not None:
            return settled
        events = self.events(after=place, seat=view.seat)
        try:
            async for envelope in events:
                if getattr(envelope.event, "delivery", None) == delivery:
                    settled = await self._settled(await self.get_delivery(delivery))
                    if settled is not None:
                        return settled
        finally:
            await events.aclose()
        raise unreachable(self.home, "this client was closed")

    async def _settled(self, view: DeliveryView) -> TurnView | DeliveryView | None:
        if view.turn_outcome is not None and view.turn is not None:
            return await self.get_turn(view.turn)
        return view if view.state in _NO_TURN_COMES else None


def _seat(name: str) -> str:
    return f"/v1/seats/{segment(name, 'seat')}"


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"


def _names_owner(home: Home, pid: int) -> bool:
    try:
        return home.lock.read_text(encoding="ascii").strip() == str(pid)
    except FileNotFoundError:
        return False
