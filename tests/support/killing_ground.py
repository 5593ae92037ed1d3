"""A ground on which anything may be killed: a real daemon in its own process, real holders, a counting harness.

The harness is added as data, in the home's own folder: nothing of it is known to Inspan.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import psutil

from inspan.client.autostart import ensure_daemon, is_serving
from inspan.client.client import Client
from inspan.home import Home, prepare_home
from inspan.model.content import MessageChunk
from inspan.model.delivery import DeliveryState
from inspan.model.errors import InspanError
from inspan.model.events import DeliverySending, Envelope, LaunchEnded
from inspan.model.turn import TurnOutcome
from inspan.model.views import AnswerPermission, DeliveryView
from inspan.store import check_store, open_store

__all__ = ["KillingGround", "Toll"]

_AGENT = Path(__file__).with_name("scripted_acp.py")
_SEATS = ("one", "two")

_MANIFEST = """
schema = 1
id = "counting"
name = "Counting"
default_mode = "acp"
scripted = true

[maintainer]
name = "tests"

[program]
paths = [{python}]

[session]
resume_type = "counting.session"

[modes.acp]
transport = "acp"
stop_grace_s = 1.0
handshake_timeout_s = 60.0
launch.args = [{agent}, {state}]
resume.args = [{agent}, {state}]

[modes.acp.acp]
resume_methods = ["resume"]

[modes.acp.capabilities]
resume = {{ support = "supported" }}
activity = {{ support = "supported" }}
permission_report = {{ support = "supported" }}
permission_answer = {{ support = "supported" }}
cancel = {{ support = "supported" }}

[[modes.acp.postures]]
approvals = "ask"
"""


class Toll:
    """What was killed."""

    def __init__(self) -> None:
        self.kills: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return sum(self.kills.values())

    def __str__(self) -> str:
        return ", ".join(f"{count} {what}" for what, count in sorted(self.kills.items()))


class KillingGround:
    """Acts at random on a home, and can tell afterwards whether the promise was kept."""

    def __init__(self, seed: int, *, home: Path | None = None) -> None:
        self.random = random.Random(seed)
        self.path = Path(tempfile.mkdtemp(prefix="isp-"))
        self.workspace = self.path / "w"
        self.state = self.path / "s"
        self.home = prepare_home(Home(self.path / "h" if home is None else home))
        self.workspace.mkdir()
        self.state.mkdir()
        folder = self.home.harnesses / "counting"
        folder.mkdir(parents=True)
        text = _MANIFEST.format(
            python=json.dumps(sys.executable),
            agent=json.dumps(str(_AGENT)),
            state=json.dumps(str(self.state)),
        )
        (folder / "manifest.toml").write_text(text)
        self.toll = Toll()
        self.accepted: dict[str, str] = {}
        self.client: Client | None = None
        self.count = 0

    async def prepare(self) -> None:
        for name in _SEATS:
            await self.call(
                lambda client, name=name: client.add_seat(
                    name, harness="counting", workspace=str(self.workspace)
                )
            )

    async def call(self, ask: Callable[[Client], Awaitable[object]]) -> object:
        """Asks the daemon, starting it as often as it takes; a refusal of ours is an answer."""
        while True:
            try:
                if self.client is None:
                    await asyncio.to_thread(ensure_daemon, self.home)
                    self.client = Client(self.home)
                return await asyncio.wait_for(ask(self.client), 30)
            except InspanError as error:
                if error.code not in ("daemon_unreachable", "daemon_stopping"):
                    return error
                await self.forget_client()
            except TimeoutError:
                await self.forget_client()

    async def forget_client(self) -> None:
        if self.client is not None:
            await self.client.close()
            self.client = None

    async def act(self) -> None:
        """One random action."""
        actions: list[tuple[int, Callable[[], Awaitable[object]]]] = [
            (8, self.send),
            (5, self.answer),
            (2, self.cancel),
            (1, self.stop),
            (2, self.start),
            (5, self.kill_daemon),
            (2, self.kill_harness),
            (2, self.kill_holder),
            (1, self.freeze),
            (6, self.pause),
        ]
        weights = [weight for weight, _ in actions]
        await self.random.choices([action for _, action in actions], weights)[0]()

    async def send(self) -> None:
        self.count += 1
        delivery = f"d-{self.count}"
        words = self.random.choice(
            ["say 3", "say 30 every 0.01", "ask say 2", "say 200", "say 4 crash", "say 1"]
        )
        text = f"{words} #{self.count}"
        # The same id is sent until the daemon has answered for it: that must never make it twice.
        answer = await self.call(lambda client: client.send(_SEATS[self.count % 2], text, id=delivery))
        assert isinstance(answer, DeliveryView), answer
        self.accepted[delivery] = text

    async def answer(self) -> None:
        async def answer_all(client: Client) -> None:
            for one in await client.list_permissions():
                decision: Literal["allow", "deny"] = self.random.choice(("allow", "deny"))
                await client.answer_permission(one.id, AnswerPermission(decision=decision))

        await self.call(answer_all)

    async def cancel(self) -> None:
        await self.call(lambda client: client.cancel_turn(self.random.choice(_SEATS)))

    async def stop(self) -> None:
        await self.call(lambda client: client.stop_seat(self.random.choice(_SEATS)))

    async def start(self) -> None:
        await self.call(lambda client: client.start_seat(self.random.choice(_SEATS)))

    async def pause(self) -> None:
        await asyncio.sleep(self.random.uniform(0, 0.15))

    async def kill_daemon(self) -> None:
        self._kill(self._daemon(), signal.SIGKILL, "daemon")

    async def kill_harness(self) -> None:
        self._kill(self._of_holders(harness=True), signal.SIGKILL, "harness")

    async def kill_holder(self) -> None:
        self._kill(self._of_holders(harness=False), signal.SIGKILL, "holder")

    async def freeze(self) -> None:
        """Stops the daemon for a moment, as a machine under load would."""
        process = self._daemon()
        if process is not None:
            os.kill(process, signal.SIGSTOP)
            await asyncio.sleep(self.random.uniform(0, 0.2))
            os.kill(process, signal.SIGCONT)

    async def settle(self) -> dict[str, DeliveryView]:
        """Lets everything come to its end; how far each prompt got."""
        for name in _SEATS:
            async with asyncio.timeout(120):
                while True:
                    seat = await self.call(lambda client, name=name: client.get_seat(name))
                    if not getattr(seat, "queue", ()) and getattr(seat, "in_flight", None) is None:
                        break
                    await self.answer()
                    if getattr(seat, "status", "") == "held":
                        await self.call(lambda client, name=name: client.start_seat(name))
                    await asyncio.sleep(0.02)
        views: dict[str, DeliveryView] = {}
        for delivery in self.accepted:
            view = await self.call(lambda client, delivery=delivery: client.get_delivery(delivery))
            assert isinstance(view, DeliveryView)
            views[delivery] = view
        for name in _SEATS:
            await self.call(lambda client, name=name: client.remove_seat(name, stop=True))
        return views

    async def check(self, views: dict[str, DeliveryView]) -> None:
        """The promise: each prompt once or `unknown`, each thing said once and in order, nothing left."""
        await self.call(lambda client: client.stop_daemon())
        await self.forget_client()
        assert not is_serving(self.home)
        await self._check_prompts(views)
        await self._check_log()
        await self._check_nothing_left()

    async def close(self) -> None:
        await self.forget_client()
        for process in self._ours():
            process.kill()
        shutil.rmtree(self.path, ignore_errors=True)

    async def _check_prompts(self, views: dict[str, DeliveryView]) -> None:
        path = self.state / "prompts.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        counted = Counter(json.loads(line)["text"] for line in lines)
        assert set(counted) <= set(self.accepted.values())
        for delivery, text in self.accepted.items():
            state, times = views[delivery].state, counted[text]
            if state is DeliveryState.UNKNOWN:
                assert times <= 1, (delivery, state, times)
            elif state is DeliveryState.STARTED:
                assert times == 1, (delivery, state, times)
            else:
                raise AssertionError(f"{delivery} ended as {state}, and reached the harness {times} times")

    async def _check_log(self) -> None:
        report = await check_store(self.home.database)
        assert report.ok, report.problems
        async with open_store(self.home.database, read_only=True) as store:
            envelopes = store.events(limit=10_000_000)
        assert [e.position for e in envelopes] == list(range(1, len(envelopes) + 1))
        said: dict[str, list[str]] = {}
        for envelope in envelopes:
            if isinstance(envelope.event, MessageChunk) and envelope.event.text.startswith("n"):
                assert envelope.launch is not None
                said.setdefault(envelope.launch, []).append(envelope.event.text)
        for launch, numbers in said.items():
            assert numbers == [f"n{i}" for i in range(1, len(numbers) + 1)], (launch, numbers[-5:])
        self._check_turns(envelopes)
        ends = Counter(e.event.launch for e in envelopes if isinstance(e.event, LaunchEnded))
        assert all(count == 1 for count in ends.values())

    def _check_turns(self, envelopes: list[Envelope]) -> None:
        """A turn that completed has said everything that its prompt asked for."""
        texts = {
            e.event.turn: self.accepted[e.event.delivery]
            for e in envelopes
            if isinstance(e.event, DeliverySending)
        }
        spoken: Counter[str] = Counter()
        for e in envelopes:
            if isinstance(e.event, MessageChunk) and e.turn is not None and e.event.text.startswith("n"):
                spoken[e.turn] += 1
        for e in envelopes:
            outcome = getattr(e.event, "outcome", None)
            turn = getattr(e.event, "turn", None)
            if turn is not None and outcome is TurnOutcome.COMPLETED:
                words = texts[turn].split()
                assert spoken[turn] == int(words[words.index("say") + 1]), (turn, texts[turn], spoken[turn])

    async def _check_nothing_left(self) -> None:
        deadline = asyncio.get_running_loop().time() + 20
        while processes := self._ours():
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"left running: {[process.cmdline() for process in processes]}")
            await asyncio.sleep(0.05)
        folders = {f.name: sorted(one.name for one in f.iterdir()) for f in self.home.launches.iterdir()}
        assert not folders, f"left behind: {folders}"
        assert not self.home.socket.exists()

    def _daemon(self) -> int | None:
        try:
            pid = int(json.loads(self.home.record.read_text())["pid"])
        except (OSError, ValueError, KeyError):
            return None
        try:
            command = psutil.Process(pid).cmdline()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            return None
        return pid if str(self.home.path) in command else None

    def _of_holders(self, *, harness: bool) -> int | None:
        pids: list[int] = []
        for folder in self.home.launches.iterdir():
            try:
                record = json.loads((folder / "holder.json").read_text())
            except (OSError, ValueError):
                continue
            pids.append(int(record["harness_pid" if harness else "pid"]))
        pids = [pid for pid in pids if any(process.pid == pid for process in self._ours())]
        return self.random.choice(pids) if pids else None

    def _ours(self) -> list[psutil.Process]:
        """Every process that this ground caused: its folder is in the command or the environment."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            try:
                if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                    continue
                if any(str(self.path) in word for word in process.cmdline()):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def _kill(self, pid: int | None, number: int, what: str) -> None:
        if pid is None:
            return
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        self.toll.kills[what] += 1
