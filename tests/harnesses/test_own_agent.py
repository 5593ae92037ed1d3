"""The agent that comes with Inspan, driven as any other harness: program, daemon, holder and agent are all real."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent_ground import script
from support.live.inspan_cli import spoken_text
from support.program import inspan, inspan_process, wait_until_gone

DEADLINE_S = 60.0
HARNESS = "inspan"
SEAT = "own"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def seat(throwaway_home: Path) -> Iterator[None]:
    """A seat on the scripted model; what a test started is stopped at its end."""
    (throwaway_home / "w").mkdir()
    add(SEAT, throwaway_home, "--env", "INSPAN_MODEL=scripted:demo")
    yield
    assert inspan("daemon", "stop", "--harnesses").status == 0
    wait_until_gone(os.environ["INSPAN_HOME"])


def add(name: str, home: Path, *words: str) -> None:
    value("seat", "add", name, "--harness", HARNESS, "--workspace", str(home / "w"), *words)


def value(*words: str, status: int = 0) -> Any:
    result = inspan("--json", *words)
    assert result.status == status, result
    return result.value


def until(look: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while not (seen := look()):
        assert time.monotonic() < deadline, f"{what} never came: {value('seat', 'show', SEAT)}"
        time.sleep(0.05)
    return seen


def outcome(delivery: str) -> Any:
    def ended() -> Any:
        turn: Any = value("seat", "show", SEAT).get("last_turn") or {"delivery": None}
        return turn if turn.get("delivery") == delivery and turn.get("outcome") else None

    return until(ended, f"the end of {delivery}")


def events() -> list[dict[str, Any]]:
    """Every event so far, in order, from a fresh stream."""
    last = int(value("daemon", "status")["last_position"])
    watch = inspan_process("--json", "watch", "--after", "0")
    try:
        assert watch.stdout is not None
        found: list[dict[str, Any]] = []
        while not found or found[-1]["position"] < last:
            found.append(json.loads(watch.stdout.readline()))
        return found
    finally:
        watch.kill()
        watch.communicate()


def until_said(word: str) -> None:
    until(lambda: word in spoken_text(events()), f"the word {word}")


def kill(pid: int, how: Callable[[int, int], None] = os.kill) -> None:
    how(pid, signal.SIGKILL)
    until(lambda: not _is_alive(pid), f"the end of {pid}")


def revived() -> None:
    """Reads until the next daemon answers: the socket of one that was killed may be there a moment longer."""
    until(lambda: inspan("--json", "daemon", "start").status == 0, "the next daemon")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] != "Z"


def test_it_answers_asks_for_permission_and_ends_its_turns_with_their_reasons(throwaway_home: Path) -> None:
    answered = value("send", SEAT, "--wait", "good morning")
    assert (answered["delivery"]["state"], answered["turn"]["outcome"]) == ("started", "completed")
    assert value("seat", "show", SEAT)["session"]["mode"] == "default"
    path = throwaway_home / "w" / "a.txt"
    for decision, is_there in (("approve", True), ("deny", False)):
        path.unlink(missing_ok=True)
        sent = value(
            "send", SEAT, script('call write {"path": "a.txt", "content": "yes"}', "---", "say over")
        )
        until(lambda: value("permissions"), "a permission")
        value(decision, SEAT)
        assert outcome(sent["id"])["outcome"] == "completed"
        assert path.exists() is is_there
    limited = value("send", SEAT, script("fail quota"))
    turn = outcome(limited["id"])
    assert (turn["outcome"], turn["error"]["code"]) == ("limited", "limited")


def lines(count: int) -> str:
    return script(*[step for number in range(count) for step in (f"say line {number}", "wait 0.05")])


def test_a_turn_that_is_cancelled_ends_so_and_the_next_one_works() -> None:
    slow = value("send", SEAT, script("say begun", "wait forever"))
    until_said("begun")
    value("cancel", SEAT)
    assert outcome(slow["id"])["outcome"] == "cancelled"
    assert value("send", SEAT, "--wait", "and on")["turn"]["outcome"] == "completed"


def test_a_daemon_killed_in_mid_turn_follows_the_turn_to_its_end() -> None:
    prompt = lines(60)
    sent = value("send", SEAT, prompt)
    until_said("line 3\n")
    kill(int(value("daemon", "status")["pid"]))
    revived()
    turn = outcome(sent["id"])
    assert turn["outcome"] == "completed"
    told = events()
    assert [one["position"] for one in told] == list(range(1, len(told) + 1))
    assert spoken_text(told, turn=turn["id"]) == "".join(f"line {number}\n" for number in range(60))


def test_an_agent_killed_in_mid_turn_goes_on_with_the_same_conversation() -> None:
    value("send", SEAT, "--wait", "the word is heron")
    before = value("seat", "show", SEAT)["session"]["id"]
    slow = value("send", SEAT, script("say begun", "wait forever"))
    until_said("begun")
    kill(int(value("seat", "show", SEAT)["launch"]["pid"]), os.killpg)
    assert outcome(slow["id"])["outcome"] in ("failed", "lost")
    assert value("send", SEAT, "--wait", "still there?")["turn"]["outcome"] == "completed"
    assert value("seat", "show", SEAT)["session"]["id"] == before
    log = (Path(os.environ["INSPAN_HOME"]) / "agent" / "sessions" / f"{before}.jsonl").read_text()
    assert "heron" in log
    assert "still there?" in log


def test_a_session_is_forked_set_up_and_listed(throwaway_home: Path) -> None:
    value("send", SEAT, "--wait", "in both")
    value("seat", "fork", SEAT, "copy")
    value("send", "copy", "--wait", "in the copy alone")
    ids = [value("seat", "show", one)["session"]["id"] for one in (SEAT, "copy")]
    assert len(set(ids)) == 2
    assert set(ids) <= {one["id"] for one in value("session", "list", SEAT)["sessions"]}
    view = value("seat", "set", SEAT, "--session-mode", "plan")
    assert [one["status"] for one in view["session"]["settings"]] == ["effective"]


FAULTS = {
    "error_reported",
    "identity_unclear",
    "noise",
    "prompt_corrected",
    "protocol_fault",
    "session_call_given_up",
    "turn_corrected",
    "unknown_message",
    "unknown_update",
}
"""What Inspan says where a harness and its reading of the protocol part ways."""


def test_all_that_it_says_is_understood_as_it_was_meant(throwaway_home: Path) -> None:
    plan = json.dumps({"entries": [{"content": "write", "status": "in_progress"}, {"content": "rest"}]})
    child = json.dumps({"name": "helper", "prompt": script("say from the child")})
    rich = script(
        "think hm",
        "say 3: I begin",
        f"call todo {plan}",
        f"call subagent {child}",
        'call write {"path": "a.txt", "content": "yes"}',
        "---",
        "say over",
    )
    sent = value("send", SEAT, rich)
    until(lambda: value("permissions"), "a permission")
    value("approve", SEAT)
    assert outcome(sent["id"])["outcome"] == "completed"
    assert value("send", SEAT, "--wait", "/context")["turn"]["outcome"] == "completed"
    value("seat", "set", SEAT, "--session-mode", "accept_edits")
    value("seat", "fork", SEAT, "copy")
    assert value("send", "copy", "--wait", "in the copy")["turn"]["outcome"] == "completed"
    value("stop", SEAT, "--wait")
    assert value("send", SEAT, "--wait", "and on")["turn"]["outcome"] == "completed"
    told = events()
    assert [one for one in told if one["type"] in FAULTS] == []
    kinds = {one["type"] for one in told}
    assert kinds >= {"message_chunk", "tool_call", "plan", "usage", "commands", "mode", "session_info"}
    (steps, *_) = [one["event"]["entries"] for one in told if one["type"] == "plan"]
    assert [(step["content"], step["status"]) for step in steps] == [
        ("write", "in_progress"),
        ("rest", "pending"),
    ]
    calls = json.dumps([one["event"] for one in told if one["type"] == "tool_call"])
    assert str(throwaway_home / "w" / "a.txt") in calls
    assert "from the child" in calls


def test_without_a_model_the_prompt_is_held_with_the_next_step(throwaway_home: Path) -> None:
    add("unsigned", throwaway_home)
    sent = value("send", "unsigned", "hello")
    held = until(
        lambda: (one := value("delivery", "show", sent["id"]))["state"] == "held" and one, "the hold"
    )
    assert "INSPAN_MODEL" in json.dumps(value("seat", "show", "unsigned")) + json.dumps(held)


@pytest.mark.requirement("R89")
def test_its_commands_show_plugins_and_packages_to_whoever_reads_the_seat(throwaway_home: Path) -> None:
    home = Path(os.environ["INSPAN_HOME"])
    package = home / "packages" / "style"
    package.mkdir(parents=True)
    (package / "style.md").write_text("Write briefly.")
    (package / "inspan.plugin.json").write_text(
        json.dumps(
            {"name": "house-style", "version": "1", "prompts": [{"name": "style", "file": "style.md"}]}
        )
    )
    module = throwaway_home / "broken.py"
    module.write_text("raise ValueError('sk-planted')\n")
    (home / "plugins.json").write_text(
        json.dumps({"runtimePlugins": [{"id": "broken", "module": str(module), "required": False}]})
    )
    for command in ("/plugins", "/context"):
        turn = value("send", SEAT, "--wait", command)["turn"]
        assert turn["outcome"] == "completed"
        shown = spoken_text(events(), turn=turn["id"])
        assert "| memory 1 | active | builtin | 2 tools, 1 prompts, 1 pages |" in shown
        assert "| broken | failed (import: ValueError) | file | - |" in shown
        assert "| house-style 1 | active | 1 prompts |" in shown
        assert "sk-planted" not in shown


LEAKING = """
from inspan.agent.plugins.contract import API_VERSION, Page, PromptSource
from inspan.agent.tools.contract import Tool


async def fail(*_):
    raise LookupError("sk-planted")


class Sink:
    write = fail


class Leaking:
    id, version, api_version = "leaking", "1", API_VERSION

    def parse_config(self, raw):
        return raw

    def setup(self, ctx):
        schema = {"type": "object"}
        ctx.tools.register(
            Tool(name="leak", description="d", input_schema=schema, execute=fail, read_only=True)
        )
        for event in ("session_start", "user_prompt", "turn_start", "pre_tool", "tool_error", "turn_end"):
            ctx.hooks.on(event, fail)
        ctx.audit.register_sink(Sink())
        ctx.prompts.register(PromptSource(name="section", render=fail))
        ctx.pages.register(Page(id="page", title="A page", read=fail))
        ctx.on_start(fail) if ctx.config["fails"] else None


plugin = Leaking()
"""


@pytest.mark.requirement("R90")
@pytest.mark.parametrize("fails", [False, True])
def test_no_secret_of_a_plugins_exception_reaches_events_views_or_files(
    throwaway_home: Path, fails: bool
) -> None:
    home = Path(os.environ["INSPAN_HOME"])
    module = throwaway_home / "leaking.py"
    module.write_text(LEAKING)
    entry = {"id": "leaking", "module": str(module), "required": False, "config": {"fails": fails}}
    (home / "plugins.json").write_text(json.dumps({"runtimePlugins": [entry]}))
    for prompt in (script("call leak {}", "---", "say got $result"), "/plugins", "/pages"):
        assert value("send", SEAT, "--wait", prompt)["turn"]["outcome"] == "completed"
    told = json.dumps([events(), value("seat", "show", SEAT), value("session", "list", SEAT)])
    assert "LookupError" in spoken_text(events())
    assert "sk-planted" not in told
    kept = [one for one in home.rglob("*") if one.is_file()]
    assert any(one.suffix == ".log" or "log" in one.name for one in kept)
    assert not [str(one) for one in kept if b"sk-planted" in one.read_bytes()]
