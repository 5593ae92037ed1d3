"""Delivering one task: it is ours, so it is brought to the harness, watched, and given one outcome."""

from __future__ import annotations

import contextlib
import hashlib
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from inspan.apps.client import JsonObject

from .agent_run import AgentRun
from .environment import agent_environment
from .handoff import HandoffFailed, call, headers_of
from .ladder import Surroundings, find_command
from .prompt import AppFacts, Closing, build_prompt
from .queue import Claim, Queue, QueueTrouble
from .record import AgentMark
from .routes import GatewayRoute, HeadlessRoute, InboundRoute, Route, SeatRoute
from .seats import SeatBook, prompt_seat
from .tasks import Task
from .watch import ClaimWatch, Verdict

__all__ = ["NO_OUTCOME", "Courier", "Delivered", "Pace"]

NO_OUTCOME = "no_outcome_reported"
"""Why a task fails whose agent ended well and said nothing of it: nobody knows whether anything was done."""

_SLICE_S = 0.2
_LONGEST_SAID = 300
_LONGEST_STEP = 480

Delivered = Literal["delivered", "failed", "lost"]
"""What came of a delivery: an outcome or an accepted handoff; a failure that we told the app; or nothing of ours."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long things may take, in seconds.

    Attributes:
        task_s: One task, where its route does not say.
        heartbeat_s: Between two words for a lease.
        look_s: Between two looks at a task that is worked at.
        linger_s: How long an agent may go on once its task is closed.
        term_s: Between TERM and KILL.
        settle_s: How long an app that does not answer is asked for a task's end.
    """

    task_s: float = 900.0
    heartbeat_s: float = 20.0
    look_s: float = 2.0
    linger_s: float = 60.0
    term_s: float = 5.0
    settle_s: float = 60.0


class _End(NamedTuple):
    """How a delivery ended, before the app is told.

    Attributes:
        reason: The code with which the task fails if it has no outcome; empty where it is not ours to close.
        detail: One line.
        output: The end of what the agent said.
        exit_code: The agent's exit status, where it ran.
    """

    reason: str
    detail: str
    output: str = ""
    exit_code: int | None = None


class Courier:
    """Brings claimed tasks to one harness, one at a time.

    Args:
        queue: The app's queue.
        app: The app.
        reference: How the user named the app, for a harness that is called over HTTP.
        harness: The harness's id.
        route: The way to it.
        around: The bridge's surroundings.
        variables: What each program is known to need, by its name.
        pace: Limits of time.
        say: Writes a line into the log.
        mark: Writes down which agent runs, or that none does.
    """

    def __init__(
        self,
        queue: Queue,
        app: AppFacts,
        *,
        reference: str,
        harness: str,
        route: Route,
        around: Surroundings,
        variables: Mapping[str, tuple[str, ...]],
        pace: Pace,
        say: Callable[[str], None],
        mark: Callable[[AgentMark | None], None],
    ) -> None:
        self._queue = queue
        self._app = app
        self._reference = reference
        self._harness = harness
        self._route = route
        self._around = around
        self._variables = variables
        self._pace = pace
        self._say = say
        self._mark = mark
        self._handed_off: dict[str, int] = {}

    def prompt_for(self, claim: Claim) -> str:
        """What the agent would be told; its fence is another one at each call."""
        closing: Closing = "nobody"
        stands_in_app = False
        match self._route:
            case HeadlessRoute():
                closing, stands_in_app = "exit", self._route.stands_in_app
            case SeatRoute():
                closing, stands_in_app = "turn", not self._route.seat
            case _:
                pass
        return build_prompt(claim.task, self._app, stands_in_app=stands_in_app, closing=closing)

    def deliver(self, claim: Claim) -> Delivered:
        """Brings a task that was just claimed, and sees to it that it has one outcome, or is somebody else's."""
        task = claim.task.id
        try:
            if not self._queue.keep(
                claim, step=f"delivered to {self._harness} ({self._route.mode})", percent=0
            ):
                self._say(f"{task}: the claim was lost before it was delivered.")
                return "lost"
        except QueueTrouble as trouble:
            self._say(f"{task}: {trouble} It is delivered all the same.")
        match self._route:
            case HeadlessRoute():
                end = self._run(claim, self._route)
            case SeatRoute():
                end = self._prompt_seat(claim, self._route)
            case InboundRoute() | GatewayRoute():
                end = self._hand_off(claim, self._route)
            case _:
                end = _End("harness_unavailable", "the route delivers nothing")
        return self._settle(claim, end)

    def _run(self, claim: Claim, route: HeadlessRoute) -> _End:
        command = find_command(route, self._around)
        if command is None or route.missing:
            return _End("harness_unavailable", route.missing or f"{route.command} is not there")
        prompt = self.prompt_for(claim)
        args = [
            one.replace("{session}", str(uuid.uuid4())) if route.makes_session else one for one in route.args
        ]
        if route.input == "arg":
            args = [one.replace("{prompt}", prompt) for one in args]
        name = Path(route.command).name
        environment = agent_environment(
            self._around.environ,
            inherits=(*route.env, *self._variables.get(name, ())),
            sets={
                **route.sets,
                "A2APP_AGENT": f"bridge:{name}",
                "A2APP_CLAIM": f"{claim.task.id}@{claim.claimed_at}",
            },
        )
        folder = self._app.folder if route.stands_in_app else self._app.folder / Path(route.cwd).expanduser()
        try:
            run = AgentRun(
                [command, *args],
                cwd=folder,
                environment=environment,
                stdin=prompt if route.input == "stdin" else "",
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            return _End("harness_spawn_failed", f"{name} could not be started: {why}")
        try:
            self._mark(AgentMark(pid=run.pid, birth=run.birth, task=claim.task.id))
            return self._attend(claim, run, (route.timeout_ms or self._pace.task_s * 1000) / 1000)
        finally:
            # Also where the bridge itself fails: nobody would end the agent then.
            run.end(term_s=self._pace.term_s)
            run.close()
            with contextlib.suppress(OSError):  # a mark of one that is gone harms nobody
                self._mark(None)

    def _attend(self, claim: Claim, run: AgentRun, limit_s: float) -> _End:
        run.let_go()
        watch = self._watch(claim)
        deadline = time.monotonic() + limit_s
        while True:
            exit_code = run.wait(_SLICE_S)
            if exit_code is not None:
                return _exited(run, exit_code)
            verdict = watch.turn()
            if verdict == "reported":
                deadline = min(deadline, time.monotonic() + self._pace.linger_s)
                if (
                    time.monotonic() < deadline
                    and run.wait(max(0.0, deadline - time.monotonic())) is not None
                ):
                    return _exited(run, run.wait(0.0) or 0)
                run.end(term_s=self._pace.term_s)
                return _End("", "the agent reported, and was ended since it did not end")
            if verdict:
                run.end(term_s=self._pace.term_s)
                return _End("", _VERDICTS[verdict])
            if time.monotonic() >= deadline:
                run.end(term_s=self._pace.term_s)
                return _End("harness_timeout", f"it took longer than {limit_s:g} seconds", run.tail)

    def _prompt_seat(self, claim: Claim, route: SeatRoute) -> _End:
        seat = SeatBook().find(route, self._app.folder)
        if seat is None:
            return _End("harness_unavailable", SeatBook().look(route, self._app.folder)[1])
        watch = self._watch(claim)
        deadline = time.monotonic() + self._pace.task_s

        def give_up() -> str:
            verdict = watch.turn()
            # A seat's turn ends by itself; only one that nobody wants any more is cancelled.
            if verdict and verdict != "reported":
                return _VERDICTS[verdict]
            return "" if time.monotonic() < deadline else f"it took longer than {self._pace.task_s:g} seconds"

        # One claim is one delivery: the same call again, after an answer that was lost, never sends twice.
        digest = hashlib.sha256(f"{self._app.id}\0{claim.task.id}\0{claim.claimed_at}".encode()).hexdigest()[
            :24
        ]
        turn = prompt_seat(seat, self.prompt_for(claim), delivery=f"a2app:{digest}", give_up=give_up)
        if watch.verdict and watch.verdict != "reported":
            return _End("", turn.detail)
        if not turn.has_ended:
            late = time.monotonic() >= deadline
            return _End("harness_timeout" if late else "delivery_failed", turn.detail)
        return _End(NO_OUTCOME, turn.detail)

    def _hand_off(self, claim: Claim, route: InboundRoute | GatewayRoute) -> _End:
        count = self._handed_off.get(claim.task.id, 0) + 1
        self._handed_off[claim.task.id] = count
        if count > 1:
            self._say(
                f"WARNING: {claim.task.id} was handed to {self._harness} before and came back to the queue since "
                f"nothing was heard of it; this is delivery {count}, and it may be done twice."
            )
        if route.token_env and not self._around.environ.get(route.token_env, "").strip():
            self._say(f"WARNING: {route.token_env} is not set; {self._harness} is called without a token.")
        body: JsonObject = {
            "a2app": True,
            "protocol": "0.1",
            "app": {"id": self._app.id, "name": self._app.name, "ref": self._reference},
            "task": claim.task.body,
            "prompt": self.prompt_for(claim),
        }
        headers = headers_of(route.token_env, route.headers, self._around.environ)
        try:
            status = call(route.method, route.url, body, headers, allow_remote=route.allow_remote)
        except HandoffFailed as failed:
            return _End("delivery_failed", f"{self._harness} could not be reached: {failed}")
        if not 200 <= status < 300:
            return _End("delivery_refused", f"{self._harness} answered {status}")
        return _End("", f"{self._harness} took it ({status}), and will report by itself")

    def _settle(self, claim: Claim, end: _End) -> Delivered:
        """Tells the app of a failure, where nobody else told it of an end. An app that is away is waited for."""
        task, deadline, was_said = claim.task.id, time.monotonic() + self._pace.settle_s, False
        while True:
            try:
                return self._settle_once(claim, end)
            except QueueTrouble as trouble:
                if not was_said:
                    was_said = True
                    self._say(f"{task}: {end.detail}; {trouble} It is tried until the lease ends.")
                if time.monotonic() >= deadline:
                    self._say(f"{task}: {trouble} The app takes the task back by itself.")
                    return "lost"
                time.sleep(_SLICE_S)

    def _settle_once(self, claim: Claim, end: _End) -> Delivered:
        task, now = claim.task.id, self._queue.look(claim)
        if not claim.is_still_ours(now):
            return self._not_ours(claim, now, end)
        is_waiting = now is not None and now.status == "input-required"
        if not end.reason or is_waiting:
            self._say(f"{task}: {end.detail}{'; it waits for input' if is_waiting else ''}.")
            return "delivered"
        detail = f"{end.detail}, and no outcome was reported" if end.reason == NO_OUTCOME else end.detail
        said = " ".join(end.output.split())[-_LONGEST_SAID:]
        self._queue.keep(claim, step=f"{detail}{f'; it said: {said}' if said else ''}"[:_LONGEST_STEP])
        result: JsonObject = {
            "deliveredBy": "agent-app bridge",
            "harness": self._harness,
            "mode": self._route.mode,
            "detail": detail,
            **({"exitCode": end.exit_code} if end.exit_code is not None else {}),
            **({"output": end.output} if end.output else {}),
        }
        if not self._queue.fail(claim, end.reason, result=result):
            # Between the look and the call, its agent or somebody else was quicker.
            return self._not_ours(claim, self._queue.look(claim), end)
        last = f" It said at its end: {end.output}" if end.output else ""
        self._say(f"{task}: {end.reason}: {detail}.{last}")
        return "failed"

    def _not_ours(self, claim: Claim, now: Task | None, end: _End) -> Delivered:
        task = claim.task.id
        if now is not None and now.is_over and now.claimed_at == claim.claimed_at:
            self._say(f"{task}: {now.status}, as its agent or its user said ({end.detail}).")
            return "lost" if now.status == "canceled" else "delivered"
        self._say(f"{task}: the claim was lost ({end.detail}); it is left to whoever has it.")
        return "lost"

    def _watch(self, claim: Claim) -> ClaimWatch:
        return ClaimWatch(self._queue, claim, look_s=self._pace.look_s, heartbeat_s=self._pace.heartbeat_s)


_VERDICTS: dict[Verdict, str] = {
    "canceled": "it was canceled, and its agent was stopped",
    "claim_lost": "the claim was lost, and its agent was stopped",
}


def _exited(run: AgentRun, exit_code: int) -> _End:
    if run.could_not_begin:
        return _End("harness_spawn_failed", "its program could not be run", run.tail, exit_code)
    if exit_code == 0:
        return _End(NO_OUTCOME, "it exited with 0", run.tail, 0)
    how = f"it was ended by signal {-exit_code}" if exit_code < 0 else f"it exited with {exit_code}"
    return _End("harness_exited_nonzero", how, run.tail, exit_code)
