"""A ground on which daemon, holder and console may be killed, and that can tell what is believed of the console.

A fresh machine that is fed everything that the console has written is the measure: whatever died meanwhile, the log
must say the same.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from inspan.model.console import ConsoleJudged
from inspan.model.errors import InspanError
from inspan.model.plan import TransportSettings
from inspan.model.terminal import TerminalSettings
from inspan.model.views import SeatView
from inspan.plugin.screen_rules_file import read_screen_rules
from inspan.store import open_store
from inspan.transports.terminal.machine import TerminalMachine

from .killing_ground import KillingGround

__all__ = ["ConsoleKillingGround"]

SEAT = "parade"

_PROGRAM = Path(__file__).with_name("console_parade.py")
_PIECE_BYTES = 64 * 1024

_MANIFEST = """
schema = 1
id = "parade"
name = "Parade"
default_mode = "terminal"
scripted = true

[maintainer]
name = "tests"

[program]
paths = [{python}]

[session]
resume_type = "parade.session"

[modes.terminal]
transport = "terminal"
stop_grace_s = 1.0
launch.args = [{program}, {state}]

[modes.terminal.terminal]
rules_file = "terminal-rules.toml"
columns = 100
rows = 30

[modes.terminal.capabilities]
launch = {{ support = "supported" }}
activity = {{ support = "supported" }}
permission_report = {{ support = "supported" }}

[[modes.terminal.postures]]
approvals = "ask"
"""

_RULES = r"""
schema = 1
source = "console_parade.py"
verified = "2026-11-30"

[[rules]]
name = "dialog.permission"
report = "needs_input"
kind = "permission"
priority = 900
all = ['^Run this command\?$', '^> 1\. Yes$']

[[rules]]
name = "gate.trust"
report = "needs_input"
gate = "trust"
priority = 890
all = ['^Do you trust this folder\?$']

[[rules]]
name = "working"
report = "running"
priority = 500
all = ['esc to interrupt']

[[rules]]
name = "limit"
report = "limit"
priority = 480
all = ['^Usage limit reached']
capture = '^(?P<message>Usage limit reached)\. Resets at (?P<resets>\w+)'

[[rules]]
name = "idle"
report = "idle"
priority = 100
all = ['^> type here$']

[[rules]]
name = "ready"
report = "ready"
priority = 100
all = ['^> type here$', 'model: ']
"""


class ConsoleKillingGround(KillingGround):
    """Kills at random around one console, and compares after each kill."""

    def __init__(self, seed: int, *, home: Path | None = None) -> None:
        super().__init__(seed, home=home)
        folder = self.home.harnesses / "parade"
        folder.mkdir()
        text = _MANIFEST.format(
            python=json.dumps(sys.executable),
            program=json.dumps(str(_PROGRAM)),
            state=json.dumps(str(self.state)),
        )
        (folder / "manifest.toml").write_text(text)
        self.rules = folder / "terminal-rules.toml"
        self.rules.write_text(_RULES)
        self.hold = self.state / "hold"
        self.checked = 0
        self.answered = 0

    async def prepare(self) -> None:
        """A seat whose console runs."""
        made = await self.call(
            lambda client: client.add_seat(SEAT, harness="parade", workspace=str(self.workspace))
        )
        assert isinstance(made, SeatView), made
        await self.start_console()

    async def start_console(self) -> None:
        started = await self.call(lambda client: client.start_seat(SEAT))
        assert not isinstance(started, InspanError), started

    async def act(self) -> None:
        """One random kill, in the middle of whatever goes on."""
        await asyncio.sleep(self.random.uniform(0, 0.6))
        kills: list[tuple[int, Callable[[], Awaitable[object]]]] = [
            (6, self.kill_daemon),
            (1, self.kill_daemon_twice),
            (2, self.kill_holder),
            (1, self.kill_harness),
            (1, self.freeze),
        ]
        await self.random.choices([kill for _, kill in kills], [weight for weight, _ in kills])[0]()

    async def kill_daemon_twice(self) -> None:
        """Once more while it comes back."""
        await self.kill_daemon()
        await self.call(lambda client: client.status())
        await asyncio.sleep(self.random.uniform(0, 0.2))
        await self.kill_daemon()

    async def compare(self) -> None:
        """Lets the console stand still, and says whether the log believes what a fresh machine believes."""
        view = await self.view()
        if view.launch is None or view.launch.status == "ended":
            assert (view.activity.value, view.console, view.needs_input) == ("unknown", None, ())
            await self.start_console()
            return
        pid = view.launch.pid
        self.hold.touch()
        try:
            await self._until_equal(pid)
        finally:
            self.hold.unlink()
        self.checked += 1

    async def view(self) -> SeatView:
        """The seat, once a daemon follows its launch."""
        async with asyncio.timeout(30):
            while True:
                view = await self.call(lambda client: client.get_seat(SEAT))
                assert isinstance(view, SeatView), view
                if view.launch is None or view.launch.status == "ended" or self._runs(view):
                    return view
                await asyncio.sleep(0.05)

    async def end(self) -> None:
        """Removes the seat, and finds nothing left."""
        await self.call(lambda client: client.remove_seat(SEAT, stop=True))
        await self.check({})

    async def _until_equal(self, pid: int | None) -> None:
        said = wanted = heard = due = None
        try:
            async with asyncio.timeout(30):
                while True:
                    view = await self.view()
                    if view.launch is None or view.launch.pid != pid or view.launch.status == "ended":
                        return  # it was killed after all
                    if (self.state / f"held-{pid}").exists():
                        said, wanted = await self._believed(view.launch.id), self._replay(pid)
                        heard = (self.state / f"heard-{pid}").read_bytes()
                        due = (self.state / f"due-{pid}").read_bytes()
                        assert due.startswith(heard), (heard[-200:], due[-200:])
                        if (said, heard) == (wanted, due):
                            self.answered += due.count(b"R")
                            return
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"the log says {said}, a replay {wanted}; {heard!r:.300} of {due!r:.300}"
            ) from None

    def _runs(self, view: SeatView) -> bool:
        return view.launch is not None and view.launch.pid is not None and view.console is not None

    async def _believed(self, launch: str) -> object:
        async with open_store(self.home.database, read_only=True) as store:
            events = [one for one in store.events(limit=1_000_000) if one.launch == launch]
        judged = [one.event for one in events if isinstance(one.event, ConsoleJudged)]
        return _essence(judged[-1]) if judged else None

    def _replay(self, pid: int | None) -> object:
        written = (self.state / f"written-{pid}").read_bytes()
        now = datetime(2026, 11, 30, tzinfo=UTC)
        settings = TransportSettings(
            workspace=str(self.workspace),
            attempt="fresh",
            terminal=TerminalSettings(rules=read_screen_rules(self.rules), columns=100, rows=30),
        )
        machine = TerminalMachine(settings, clock=lambda: now)
        try:
            machine.start()
            for at in range(0, len(written), _PIECE_BYTES):
                machine.feed(written[at : at + _PIECE_BYTES])
            judged: ConsoleJudged | None = None
            for _ in range(2):
                for report in machine.look().reports:
                    judged = report.body if isinstance(report.body, ConsoleJudged) else judged
                now += timedelta(seconds=2)
        finally:
            machine.close()
        assert judged is not None
        return _essence(judged)


def _essence(judged: ConsoleJudged) -> object:
    error = judged.error
    return (
        judged.activity,
        judged.kind,
        judged.gate,
        judged.is_drawn,
        None if error is None else (error.code, error.message, error.resets),
        judged.is_turn_over,
        tuple((work.id, work.activity, work.title) for work in judged.background),
        judged.lost,
        judged.is_ready,
    )
