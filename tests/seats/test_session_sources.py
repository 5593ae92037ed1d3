"""Where a new session's id comes from, as data: each source ends in an identity that the next run resumes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import psutil
import pytest

from inspan.model.errors import UsageError
from inspan.model.session import IdentityState, Provenance
from inspan.model.turn import TurnOutcome
from inspan.model.views import SeatView, SendPrompt
from inspan.seats.core import Seats
from support.host_ground import HostGround, open_host_ground
from support.seat_ground import is_gone, until

AGENT = """
import json, os, sys
from pathlib import Path
state = Path(os.environ["ACME_STATE"])
args = sys.argv[1:]
if args[:1] == ["new"]:
    sys.stderr.write("warning: 1 update\\n")
    print("created session s-made in", args[1], "from", os.getcwd())
    sys.exit(0)
if args[:1] == ["hangs"]:
    import subprocess, time
    child = subprocess.Popen(["sleep", "600"])
    (state / "helpers").write_text(f"{os.getpid()} {child.pid}")
    print("created session s-made", flush=True)
    print("created session s-other", flush=True)
    time.sleep(600)
if args[:1] == ["broken"]:
    sys.stderr.write("not signed in\\n")
    sys.exit(3)
prompt = sys.stdin.read()
session = os.environ.get("ACME_SESSION") or (args[-1] if "--session" in args else "s-own")
with (state / "runs.jsonl").open("a") as file:
    file.write(json.dumps({"args": args, "session": session, "prompt": prompt}) + "\\n")
names = ["s-own", "s-twin"] if "twice" in prompt else [] if "nothing" in prompt else [session]
for name in names:
    (state / "store").mkdir(exist_ok=True)
    (state / "store" / f"{name}.json").write_text(json.dumps({"cwd": os.getcwd()}))
print("hello")
if names:
    sys.stderr.write(f"\\x1b[2mTo go on: acme --resume {session}\\x1b[0m\\n")
"""
MODE = """
[modes.once]
transport = "headless"
[modes.once.launch]
args = [ARGS]
[modes.once.resume]
args = ["--session", "{session}"]
[modes.once.headless]
output = "text"
[modes.once.capabilities]
resume = { support = "supported" }
activity = { support = "supported" }
permission_report = { support = "supported" }
[[modes.once.postures]]
approvals = "ask"
[modes.once.session_id]
"""
SOURCES = {
    "chosen": ('"--session", "{session}"', 'kind = "chosen"'),
    "environment": ("", 'kind = "environment"\nvariable = "ACME_SESSION"'),
    "command": (
        '"--session", "{session}"',
        'kind = "command"\n[modes.once.session_id.command]\nargs = ["new", "{workspace}"]\n'
        "pattern = 'session (?P<session>\\S+)'",
    ),
    "screen": ("", "kind = \"screen\"\npattern = 'acme --resume (?P<session>\\S+)'"),
    "store": (
        "",
        'kind = "store"\n[modes.once.session_id.store]\nfolder = "~/s/store"\nfiles = "*.json"\n'
        'workspace_pattern = \'"cwd": "(?P<workspace>[^"]+)"\'',
    ),
}

Story = Callable[[HostGround, Seats], Awaitable[None]]


def play(kind: str, story: Story, *, args: str | None = None) -> None:
    """Runs a story with a seat whose ids come from this source."""
    own, source = SOURCES[kind]
    more = MODE.replace("ARGS", own if args is None else args) + source

    async def run() -> None:
        async with (
            open_host_ground(program=AGENT, mode="once", more=more) as ground,
            ground.seats() as seats,
        ):
            added = await ground.add(seats)
            assert added.problem is None
            await story(ground, seats)

    asyncio.run(run())


async def ended(seats: Seats, text: str) -> SeatView:
    sent = await seats.send_prompt("worker", SendPrompt(text=text))

    def is_over(view: SeatView) -> bool:
        last, launch = view.last_turn, view.launch
        return (
            last is not None and last.delivery == sent.id and launch is not None and launch.status == "ended"
        )

    return await until(seats, "worker", is_over)


def runs(ground: HostGround) -> list[dict[str, object]]:
    return [json.loads(line) for line in (ground.state / "runs.jsonl").read_text().splitlines()]


@pytest.mark.requirement("H-A26")
@pytest.mark.parametrize(
    ("kind", "provenance", "session"),
    [
        ("chosen", Provenance.CHOSEN, None),
        ("environment", Provenance.CHOSEN, None),
        ("command", Provenance.COMMAND, "s-made"),
        ("screen", Provenance.SCREEN, "s-own"),
        ("store", Provenance.STORE, "s-own"),
    ],
)
def test_a_session_is_known_by_its_source_and_resumed_by_the_next_run(
    kind: str, provenance: Provenance, session: str | None
) -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        first = await ended(seats, "hello")
        assert first.last_turn is not None
        assert first.last_turn.outcome is TurnOutcome.COMPLETED
        known = first.session
        assert (known.identity, known.provenance) == (IdentityState.KNOWN, provenance)
        assert known.id == (session or known.id)
        await ended(seats, "again")
        first_run, second_run = runs(ground)
        assert first_run["session"] == known.id
        assert second_run["args"] == ["--session", known.id]
        assert (await seats.get_seat("worker")).session.id == known.id

    play(kind, story)


@pytest.mark.requirement("H-A26")
def test_a_store_with_several_new_sessions_leaves_the_identity_ambiguous_until_its_person_decides() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        first = await ended(seats, "twice")
        assert (first.session.identity, first.session.id) == (IdentityState.AMBIGUOUS, None)
        notes = (await seats.explain_seat("worker")).notes
        assert any("none is taken" in note for note in notes)
        sent = await seats.send_prompt("worker", SendPrompt(text="again"))
        assert (await seats.get_delivery(sent.id)).held == "awaiting_decision"
        assert len(runs(ground)) == 1
        with pytest.raises(UsageError, match="is not known") as refusal:
            await seats.start_seat("worker")
        assert refusal.value.code == "resume_decision_needed"
        await seats.start_seat("worker", session="s-twin")
        await until(
            seats, "worker", lambda one: one.last_turn is not None and one.last_turn.delivery == sent.id
        )
        assert runs(ground)[1]["args"] == ["--session", "s-twin"]

    play("store", story)


@pytest.mark.parametrize("kind", ["store", "screen"])
def test_a_run_that_leaves_no_session_leaves_the_identity_not_yet(kind: str) -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        first = await ended(seats, "nothing")
        assert (first.session.identity, first.session.id) == (IdentityState.NOT_YET, None)
        assert (await ended(seats, "hello")).session.identity is IdentityState.KNOWN
        assert [run["args"] for run in runs(ground)] == [[], []]

    play(kind, story)


def test_a_command_that_makes_no_session_fails_the_launch_and_sends_nothing() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        manifest = ground.folder / "manifest.toml"
        manifest.write_text(manifest.read_text().replace('"new", "{workspace}"', '"broken"'))
        sent = await seats.send_prompt("worker", SendPrompt(text="hello"))
        view = await until(seats, "worker", lambda one: one.status == "held")
        assert view.launch is not None
        assert view.launch.error is not None
        assert view.launch.error.code == "session_failed"
        assert "ended with status 3: not signed in" in view.launch.error.message
        assert (await seats.get_delivery(sent.id)).state == "held"
        assert not (ground.state / "runs.jsonl").exists()

    play("command", story)


@pytest.mark.requirement("H-D3", "H-N9")
def test_a_helper_that_says_an_id_and_hangs_gives_its_first_id_and_leaves_no_process() -> None:
    async def story(ground: HostGround, seats: Seats) -> None:
        manifest = ground.folder / "manifest.toml"
        manifest.write_text(manifest.read_text().replace('"new", "{workspace}"', '"hangs"'))
        view = await ended(seats, "hello")
        assert (view.session.id, view.session.provenance) == ("s-made", Provenance.COMMAND)
        assert runs(ground)[0]["session"] == "s-made"
        helper, child = (int(pid) for pid in (ground.state / "helpers").read_text().split())
        assert not psutil.pid_exists(helper)  # reaped, not only ended
        assert is_gone(child)

    play("command", story)
