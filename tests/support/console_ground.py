"""A ground for seats that are seen through a console: a real log, real holders with real ptys, a scripted program."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from inspan.model.console_views import ScreenView
from inspan.model.hooks import HookSettings
from inspan.model.manifest import Maintainer, Manifest, ModeManifest, PostureRule, Program, SessionIdentity
from inspan.model.permission import NeedsInputKind, OptionKind
from inspan.model.plan import LaunchPlan, LaunchRequest, TransportSettings
from inspan.model.posture import Approvals
from inspan.model.screen_rules import Region, ScreenRule, ScreenRules
from inspan.model.terminal import TerminalSettings
from inspan.model.typing_recipe import Choice, ChoiceList, Composer, TypingRecipe
from inspan.model.views import DeliveryView
from inspan.seats.core import Seats
from inspan.seats.service import TerminalViewer

from .seat_ground import Ground, ScriptedHarnesses
from .seat_scene import ALL

__all__ = [
    "COMPOSER_RULES",
    "COMPOSER_TYPING",
    "CONSOLE_RULES",
    "SCRIPTED_COMPOSER",
    "SCRIPTED_CONSOLE",
    "ConsoleHarnesses",
    "ended",
    "open_console_ground",
    "until_shown",
]

SCRIPTED_CONSOLE = Path(__file__).with_name("scripted_console.py")
SCRIPTED_COMPOSER = Path(__file__).with_name("scripted_composer.py")

_BOTTOM = Region(of="last_rows", rows=2)

CONSOLE_RULES = ScreenRules(
    schema=1,
    source="scripted_console.py",
    verified="2026-11-30",
    rules=(
        ScreenRule(
            name="dialog.permission",
            report="needs_input",
            priority=900,
            kind=NeedsInputKind.PERMISSION,
            all=("^Run this command\\?$", "^> 1\\. Yes$"),
        ),
        ScreenRule(
            name="gate.trust",
            report="needs_input",
            priority=890,
            gate="trust",
            all=("^Do you trust this folder\\?$",),
            answers=ChoiceList(
                choices=(
                    Choice(kind=OptionKind.ALLOW_ONCE, row="1\\. Yes$"),
                    Choice(kind=OptionKind.REJECT_ONCE, row="2\\. No, exit$"),
                ),
                marked="^> [0-9]",
                path="^  (?P<path>/.*)$",
            ),
        ),
        ScreenRule(name="working", report="running", priority=500, all=("esc to interrupt",)),
        ScreenRule(
            name="limit",
            report="limit",
            priority=480,
            all=("^Usage limit reached",),
            capture="^(?P<message>Usage limit reached)\\. Resets at (?P<resets>[0-9apm]+)",
        ),
        ScreenRule(name="idle", report="idle", priority=100, region=_BOTTOM, all=("^> type here$",)),
        ScreenRule(
            name="ready", report="ready", priority=100, region=_BOTTOM, all=("^> type here$", "model: ")
        ),
    ),
)


COMPOSER_RULES = ScreenRules(
    schema=1,
    source="scripted_composer.py",
    verified="2026-11-30",
    rules=(
        ScreenRule(
            name="dialog.permission",
            report="needs_input",
            priority=900,
            kind=NeedsInputKind.PERMISSION,
            all=("^Run this command\\?$", "^[> ] 3\\. No$"),
            answers=ChoiceList(
                choices=(
                    Choice(kind=OptionKind.ALLOW_ONCE, row="1\\. Yes$"),
                    Choice(kind=OptionKind.ALLOW_ALWAYS, row="2\\. Yes, always$"),
                    Choice(kind=OptionKind.REJECT_ONCE, row="3\\. No$"),
                ),
                marked="^> [0-9]",
                subject="^Run this command\\?\\n *(?P<subject>.*)$",
            ),
        ),
        ScreenRule(name="working", report="running", priority=500, all=("^\\* Working",)),
        ScreenRule(
            name="limit",
            report="limit",
            priority=480,
            region=Region(of="above", anchor="^>( |$)", rows=2),
            all=("^Usage limit reached",),
            capture="^(?P<message>Usage limit reached)\\. Resets at (?P<resets>[0-9apm]+)",
        ),
        ScreenRule(name="idle", report="idle", priority=100, all=("^> ?", "^  model: scripted$")),
        ScreenRule(name="ready", report="ready", priority=100, all=("^> ?", "^  model: scripted$")),
    ),
)
COMPOSER_TYPING = TypingRecipe(
    composer=Composer(home="^> "), submit_delay_s=0.05, submit_gap_s=0.3, clear=("ctrl-u",)
)


class ConsoleHarnesses(ScriptedHarnesses):
    """A host that knows one harness, which has nothing but a console."""

    def __init__(self, state: Path) -> None:
        super().__init__(state, ALL)
        self.capabilities = ALL
        self.rules: ScreenRules | None = CONSOLE_RULES
        self.program_file = SCRIPTED_CONSOLE
        self.typing: TypingRecipe | None = None
        self.words: tuple[str, ...] = ()
        self.command: tuple[str, ...] | None = None
        self.hooks = HookSettings()

    def manifest(self, harness: str) -> Manifest:
        super().manifest(harness)
        return Manifest(
            schema=1,
            id="made-up",
            name="Made Up",
            maintainer=Maintainer(name="tests"),
            program=Program(names=("python3",)),
            session=SessionIdentity(resume_type="made-up.session"),
            modes={
                "terminal": ModeManifest(
                    transport="terminal",
                    capabilities=self.capabilities,
                    postures=(PostureRule(approvals=Approvals.ASK),),
                    terminal=TerminalSettings(typing=self.typing),
                )
            },
            default_mode="terminal",
        )

    async def plan(self, request: LaunchRequest) -> LaunchPlan:
        if self.refusal is not None:
            raise self.refusal
        program, *arguments = self.command or (
            sys.executable,
            str(self.program_file),
            str(self.state),
            *self.words,
        )
        return LaunchPlan(
            program=program,
            arguments=tuple(arguments),
            cwd=request.workspace,
            transport="terminal",
            settings=TransportSettings(
                workspace=request.workspace,
                attempt=request.attempt,
                session_id=None if request.reference is None else request.reference.id,
                terminal=TerminalSettings(rules=self.rules, typing=self.typing, columns=100, rows=30),
                hooks=self.hooks,
            ),
            handshake_timeout_s=0.2,
            stop_grace_s=2,
        )


class ConsoleGround(Ground):
    """A ground whose harness is the scripted console."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ALL)
        self.consoles = ConsoleHarnesses(self.state)
        self.harnesses = self.consoles

    def keys(self) -> bytes:
        """Every byte that the program read."""
        path = self.state / "keys"
        return path.read_bytes() if path.exists() else b""

    def read(self, name: str) -> list[dict[str, Any]]:
        """What the program logged under a name."""
        path = self.state / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def order(self, *orders: str) -> None:
        """Has the program do something by itself."""
        with (self.state / "orders").open("a") as file:
            file.writelines(order + "\n" for order in orders)

    def submitted(self) -> list[str]:
        """The texts that were submitted, in order."""
        return [one["text"] for one in self.read("prompts.jsonl")]

    async def press(self, seats: Seats, keys: str, name: str = "worker") -> None:
        """Types as a person who attaches, and leaves again."""
        viewer: TerminalViewer = await seats.view_terminal(name, writes=True)
        try:
            await seats.type_keys(name, writer=viewer.token, keys=keys.encode())
        finally:
            viewer.close()


@asynccontextmanager
async def open_console_ground(*, composes: bool = False) -> AsyncGenerator[ConsoleGround]:
    """A fresh ground; every harness that was started on it is stopped at the end.

    With `composes` the harness has an input line, and prompts can be typed into it.
    """
    path = Path(tempfile.mkdtemp(prefix="isp-"))
    ground = ConsoleGround(path)
    if composes:
        ground.consoles.program_file = SCRIPTED_COMPOSER
        ground.consoles.rules, ground.consoles.typing = COMPOSER_RULES, COMPOSER_TYPING
    try:
        yield ground
    finally:
        async with ground.seats() as seats:
            for seat in await seats.list_seats():
                await seats.remove_seat(seat.name, stop=True)
        shutil.rmtree(path, ignore_errors=True)


async def until_shown(
    seats: Seats, holds: Callable[[ScreenView], bool], name: str = "worker", timeout_s: float = 20
) -> ScreenView:
    """The seat's screen, once it is as wanted."""
    shown: ScreenView | None = None
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                actor = seats.actor(name)
                if actor.console is not None:
                    shown = await seats.show_screen(name)
                    if holds(shown):
                        return shown
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"the screen stays {shown}") from None


async def ended(seats: Seats, delivery: str) -> DeliveryView:
    """A delivery, once its turn has ended."""
    async with asyncio.timeout(40):
        while (found := await seats.get_delivery(delivery)).turn_outcome is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found
