"""Real consoles that Inspan acts on: prompts typed, turns interrupted, dialogs answered, and what reached the model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from inspan.model.delivery import DeliveryState, HeldReason
from inspan.model.errors import UsageError
from inspan.model.permission import NeedsInputKind
from inspan.model.turn import TurnOutcome
from inspan.model.views import AnswerPermission
from support.live.acting_consoles import CONSOLES, ActingConsole, each_console
from support.live.acting_pair import add_pair, ask, open_pair, until
from support.live.acting_steps import Acting, is_free
from support.live.console_seats import ENTER, SEAT, ConsoleSeats, run_inside
from support.live.netns import Namespace
from support.live.target import ReadyTarget, open_target

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]  # the first of them may have to install it

PROPRIETARY = ("claude-code", "copilot")
LINES = "PLAIN many-1 first\n  second: ünïcode 🛠 e\u0301 \u6f22\u5b57\n\n- fourth 'quoted' $HOME \\n @ends"
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


@pytest.mark.requirement("H-E1", "L8", "L9", "L10", "L21")
@each_console("codex", "pi", on_request=("gemini", "opencode", "qwen"), proprietary=PROPRIETARY)
def test_prompts_are_typed_into_a_real_console_once_each_and_exactly(
    console: ActingConsole, ready: ReadyTarget
) -> None:
    ground = ConsoleSeats(ready)

    async def story() -> None:
        async with ground.open() as seats:
            acting = Acting(ground, console, seats)
            await acting.add()
            await acting.start()
            await _deliver(acting)
            await _queue(acting)
            await _draft(acting)
            await _interrupt(acting)
            await _limit(acting)

    run_inside(ready.arena.namespace, story)


@pytest.mark.requirement("H-N58", "H-N3", "H-E8", "L11")
@each_console("codex", on_request=("gemini", "opencode", "qwen"), proprietary=PROPRIETARY)
def test_a_permission_dialog_of_a_real_console_is_allowed_after_a_restart_and_another_is_refused(
    console: ActingConsole, ready: ReadyTarget
) -> None:
    ground = ConsoleSeats(ready)

    async def story() -> None:
        async with ground.open() as seats:
            acting = Acting(ground, console, seats)
            await acting.add()
            await acting.start()
            sent = await acting.send(SHELL.format(name="allowed"))
            asked = await acting.until_asked()
            assert "echo yes > allowed.txt" in asked.tool_call.title, await acting.tell(str(asked))
            behind = await acting.send("PLAIN behind-2")
            await acting.check_waits(behind)
        async with ground.open() as seats:
            acting = Acting(ground, console, seats)
            again = await acting.until_asked()
            await acting.check_waits(behind)
            assert (again.id, again.opened_at) == (asked.id, asked.opened_at)
            assert not (ground.arena.workspace / "allowed.txt").exists()
            await acting.answer(again, AnswerPermission(decision="allow"))
            await acting.ended(sent)
            assert (ground.arena.workspace / "allowed.txt").read_text() == "yes\n"
            await acting.ended(behind)
            await _refuse(acting)
            await acting.check_reached("tag-allowed", [SHELL.format(name="allowed")])
            await acting.check_reached("tag-refused", [SHELL.format(name="refused")])
            await acting.check_reached("behind-2", ["PLAIN behind-2"])
            await acting.check_reached("behind-3", ["PLAIN behind-3"])

    run_inside(ready.arena.namespace, story)


@pytest.mark.requirement("L8")
@each_console("codex", "pi", on_request=("gemini", "opencode", "qwen"), proprietary=PROPRIETARY)
def test_a_real_console_killed_in_mid_turn_never_gets_its_prompt_twice_and_a_known_one_goes_on(
    console: ActingConsole, ready: ReadyTarget
) -> None:
    ground = ConsoleSeats(ready)

    async def story() -> None:
        async with ground.open() as seats:
            acting = Acting(ground, console, seats)
            await acting.add()
            await acting.start()
            await acting.ask("PLAIN told-1")
            if console.resumes:
                await seats.stop_seat(SEAT)
                await acting.until(lambda v: v.status == "stopped", "stopped")
                await acting.start()
                await acting.ask("PLAIN told-2")
            sent = await acting.send("HANG kill-1")
            await acting.until_reached("kill-1")
            view = await acting.kill()
            found = await seats.get_delivery(sent.id)
            assert found.state in (DeliveryState.UNKNOWN, DeliveryState.STARTED), found
            assert found.turn_outcome in (TurnOutcome.FAILED, TurnOutcome.LOST), found
            assert (view.queue, view.in_flight) == ((), None)
        async with ground.open() as seats:
            acting = Acting(ground, console, seats)
            await acting.start_after_kill()
            await acting.ask("PLAIN later-1")
        # What nobody answered is one message with the next to some, once their conversation goes on.
        assert acting.reached("kill-1")[0] == "HANG kill-1"
        assert len([text for text in acting.reached("kill-1") if "later-1" not in text]) == 1
        assert [text.splitlines()[-1] for text in acting.reached("later-1")] == ["PLAIN later-1"]
        acting.check_never_doubled("told-1", "told-2", "kill-1", "later-1")
        told = acting.ground.arena.model.turns()[-1]["user_texts"]
        if console.resumes:
            assert [any(tag in text for text in told) for tag in ("told-1", "told-2")] == [True, True]

    run_inside(ready.arena.namespace, story)


@pytest.mark.requirement("H-H10")
@pytest.mark.opt_in("INSPAN_LIVE_ALL")
def test_two_harnesses_that_are_both_node_keep_their_conversations_over_a_restart_and_a_new_launch(
    namespace: Namespace,
) -> None:
    with open_pair("gemini", "qwen", namespace) as ready:
        ground = ConsoleSeats(ready)

        async def story() -> None:
            names = ("gemini", "qwen")
            async with ground.open() as seats:
                await add_pair(seats, ground, *names)
                known: dict[str, tuple[str, str | None]] = {}
                for name in names:
                    await seats.start_seat(name)
                for name in names:
                    await until(seats, name, is_free)
                    explained = (await seats.explain_seat(name)).console
                    assert explained is not None
                    assert explained.foreground.name == "node"
                    await ask(seats, name, f"PLAIN I am {name}")
                    view = await seats.get_seat(name)
                    assert view.session is not None
                    assert view.session.id
                    known[name] = (view.harness, view.session.id)
                assert len(set(known.values())) == len(names)
            async with ground.open() as seats:
                for name in names:
                    view = await until(seats, name, is_free)
                    assert (view.harness, view.session and view.session.id) == known[name]
                    await seats.stop_seat(name)
                    await until(seats, name, lambda v: v.status == "stopped")
                for name in names:
                    await seats.start_seat(name)
                for name in names:
                    view = await until(seats, name, is_free)
                    assert (view.harness, view.session and view.session.id) == known[name]
                    await ask(seats, name, f"RECALL {name}")
                    told = ready.arena.model.turns()[-1]["user_texts"]
                    mine = [text.splitlines()[-1] for text in told if "I am " in text]
                    assert mine == [f"PLAIN I am {name}"]

        run_inside(ready.arena.namespace, story)
        assert ready.arena.model.unscripted() == []


async def _deliver(acting: Acting) -> None:
    """One line, then several, each exactly once and letter for letter; control bytes not at all."""
    await acting.ask("PLAIN one-1 in a line")
    await acting.ask(LINES)
    with pytest.raises(UsageError) as refused:
        await acting.send("PLAIN bad-1 \x1b[201~\r")
    assert refused.value.code == "message_has_controls"
    await acting.check_reached("one-1", ["PLAIN one-1 in a line"])
    await acting.check_reached("many-1", [LINES])
    await acting.check_reached("bad-1", [])


async def _queue(acting: Acting) -> None:
    """What comes while a turn runs is typed once that turn has ended, and not before."""
    first = await acting.send("SLOW [words=10] [interval=0.2] queue-1")
    await acting.until(lambda view: view.status == "running", "running")
    second = await acting.send("PLAIN queue-2")
    assert (await acting.seats.get_delivery(second.id)).state is DeliveryState.QUEUED
    await acting.ended(first)
    await acting.ended(second)
    lines = acting.ground.arena.model.lines()
    one = next(line for line in lines if "queue-1" in line.get("last_user_text", ""))
    two = next(line for line in lines if "queue-2" in line.get("last_user_text", ""))
    end = next(line for line in lines if line["kind"] == "ended" and line["number"] == one["number"])
    assert end["how"] == "answered"
    assert end["at"] <= two["at"]
    await acting.check_reached("queue-", ["SLOW [words=10] [interval=0.2] queue-1", "PLAIN queue-2"])


async def _draft(acting: Acting) -> None:
    """A person's draft holds a prompt, and is neither erased nor submitted."""
    await acting.until(is_free, "free")
    draft = "PLAIN half a thou"
    await acting.ground.press(acting.seats, draft.encode())
    await acting.until(lambda v: v.console is not None and v.console.typing_block == "draft", "a draft")
    sent = await acting.send("PLAIN behind-1")
    await acting.until_held(sent, HeldReason.DRAFT)
    assert any(draft in line for line in (await acting.seats.show_screen(SEAT)).lines)
    await acting.check_reached("half a thou", [])
    # Apart from the text, as a person presses it: what comes at once is a paste to some.
    await acting.ground.press(acting.seats, b"ght")
    await acting.ground.until_shown(
        acting.seats, lambda shown: any("half a thought" in line for line in shown.lines)
    )
    await acting.ground.press_until(
        acting.seats,
        ENTER,
        lambda v: v.console is not None and v.console.typing_block != "draft",
        "submitted by the person",
    )
    await acting.ended(sent)
    await acting.check_reached("half a thou", ["PLAIN half a thought"])
    await acting.check_reached("behind-1", ["PLAIN behind-1"])


async def _interrupt(acting: Acting) -> None:
    """An interrupted turn ends as cancelled, and the next prompt follows alone."""
    sent = await acting.send("HANG hang-1")
    await acting.until_reached("hang-1")
    await acting.seats.cancel_turn(SEAT)
    await acting.ended(sent, TurnOutcome.CANCELLED)
    await acting.ask("PLAIN after-1")
    await acting.check_reached("hang-1", ["HANG hang-1"])
    await acting.check_reached("after-1", ["PLAIN after-1"])


async def _limit(acting: Acting) -> None:
    """A usage limit ends the turn as that."""
    sent = await acting.send("QUOTA quota-1")
    if acting.console.limit is None:
        await acting.until(lambda v: v.console is not None and "retrying" in v.console.signs, "retrying")
        await acting.seats.cancel_turn(SEAT)
        await acting.ended(sent, TurnOutcome.CANCELLED)
        await acting.ask("PLAIN after-2")
        await acting.check_reached("after-2", ["PLAIN after-2"])
        return
    if acting.console.walk.limit == "needs_input":
        view = await acting.until(lambda v: v.status == "needs_input", "a choice")
        assert [need.kind for need in view.needs_input] == [NeedsInputKind.LIMIT]
        await acting.ground.press(acting.seats, acting.console.walk.after_limit[0])
    done = await acting.ended(sent, acting.console.limit)
    assert done.turn is not None
    turn = await acting.seats.get_turn(done.turn)
    assert turn.error is not None
    assert turn.error.code == "limited"


async def _refuse(acting: Acting) -> None:
    """A refused command is not run, and what waited behind it follows."""
    sent = await acting.send(SHELL.format(name="refused"))
    asked = await acting.until_asked()
    assert "echo yes > refused.txt" in asked.tool_call.title, await acting.tell(str(asked))
    behind = await acting.send("PLAIN behind-3")
    await acting.check_waits(behind)
    await acting.answer(asked, AnswerPermission(decision="deny"))
    await acting.ended(sent, acting.console.refused)
    await acting.ended(behind)
    assert not (acting.ground.arena.workspace / "refused.txt").exists()
    permissions = await acting.seats.list_permissions(include_closed=True)
    assert [one.decision for one in permissions].count(None) == 0
