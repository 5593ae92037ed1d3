"""Real consoles from the command line: the `inspan` program, a daemon that is killed, and what the model was asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.live.acting_consoles import CONSOLES, ActingConsole, each_console
from support.live.console_cli import SEAT, ConsoleCli
from support.live.netns import Namespace
from support.live.target import ReadyTarget, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

SLOW = "SLOW [words=20] [interval=0.1]"
SHELL = "TOOLSHELL [cmd=echo yes > {name}.txt] [escalate=1] tag-{name}"


@pytest.fixture
def console(request: pytest.FixtureRequest) -> ActingConsole:
    return CONSOLES[request.param]


@pytest.fixture
def ready(console: ActingConsole, namespace: Namespace) -> Iterator[ReadyTarget]:
    """The harness in an arena of its own; what it asked for was scripted."""
    with open_target(console.walk.target, namespace) as made:
        yield made
        assert made.arena.model.unscripted() == []


@pytest.mark.requirement("H-N58", "H-N3", "L11")
@each_console("codex", on_request=("gemini", "opencode", "qwen"), proprietary=("claude-code", "copilot"))
def test_a_permission_that_is_open_while_the_daemon_is_killed_is_allowed_and_another_is_refused(
    console: ActingConsole, ready: ReadyTarget
) -> None:
    seat = ConsoleCli(console, ready)
    seat.start()
    sent = seat.send(SHELL.format(name="allowed"))
    request = seat.until_permission()
    behind = seat.send("PLAIN behind-1")
    launch = seat.show()["launch"]["pid"]
    seat.inspan.kill_daemon()
    assert seat.until_permission() == request
    assert seat.show()["launch"]["pid"] == launch
    assert seat.find(behind)["state"] == "queued"
    assert not seat.file("allowed.txt").exists()
    asked = seat.asked()
    assert (asked["id"], "echo yes > allowed.txt" in asked["tool_call"]["title"]) == (request, True)
    seat.inspan.call("approve", request)
    seat.until_ended(sent, "completed")
    assert seat.file("allowed.txt").read_text() == "yes\n"
    seat.until_ended(behind, "completed")

    sent = seat.send(SHELL.format(name="refused"))
    request = seat.until_permission()
    behind = seat.send("PLAIN behind-2")
    seat.inspan.call("deny", request)
    seat.until_ended(sent, console.refused.value)
    seat.until_ended(behind, "completed")
    assert not seat.file("refused.txt").exists()
    for tag, text in (
        ("tag-allowed", SHELL.format(name="allowed")),
        ("tag-refused", SHELL.format(name="refused")),
        ("behind-1", "PLAIN behind-1"),
        ("behind-2", "PLAIN behind-2"),
    ):
        seat.check_reached(tag, [text])


@pytest.mark.requirement("L8", "H-C17")
@each_console(
    "pi", on_request=("codex", "gemini", "opencode", "qwen"), proprietary=("claude-code", "copilot")
)
def test_a_daemon_killed_in_mid_turn_loses_and_doubles_nothing_and_takes_what_happened_meanwhile(
    console: ActingConsole, ready: ReadyTarget
) -> None:
    seat = ConsoleCli(console, ready)
    seat.start()
    first = seat.send(f"{SLOW} kill-1")
    seat.until_running("kill-1")
    behind = seat.send("PLAIN behind-1")
    seat.inspan.kill_daemon()
    seat.until_ended(first, "completed")
    seat.until_ended(behind, "completed")

    unseen = seat.send(f"{SLOW} kill-2")
    seat.until_running("kill-2")
    behind = seat.send("PLAIN behind-2")
    seat.inspan.kill_daemon()
    seat.until_answered("kill-2")  # nobody of ours looks on
    seat.until_ended(unseen, "completed")
    seat.until_ended(behind, "completed")

    hung = seat.send("HANG hang-1")
    seat.until_running("hang-1")
    refused = seat.inspan.call("send", SEAT, "PLAIN bad-1 \x1b[201~\r", exit_status=None)
    assert refused["error"]["code"] == "message_has_controls"
    seat.inspan.kill_daemon()
    seat.inspan.call("cancel", SEAT)
    seat.until_ended(hung, "cancelled")
    seat.until_ended(seat.send("PLAIN after-1"), "completed")
    for tag, text in (
        ("kill-1", f"{SLOW} kill-1"),
        ("behind-1", "PLAIN behind-1"),
        ("kill-2", f"{SLOW} kill-2"),
        ("behind-2", "PLAIN behind-2"),
        ("hang-1", "HANG hang-1"),
        ("after-1", "PLAIN after-1"),
    ):
        seat.check_reached(tag, [text])
    seat.check_reached("bad-1", [])
