"""What people are shown, and what is honestly not known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from inspan.model.capability import Capabilities, Claim, Support
from inspan.model.content import UsageUpdated
from inspan.model.context_usage import ContextSource
from inspan.model.plan import Problem
from inspan.model.turn import TurnOutcome
from inspan.seats.inputs import ProcessExited, StopSeat
from inspan.seats.view import HarnessFacts, explain_seat, show_activity, show_seat, show_usage
from support.seat_scene import ALL, Scene, claims

UNSUPPORTED = Claim(support=Support.UNSUPPORTED)


def facts(capabilities: Capabilities = ALL, problem: Problem | None = None) -> HarnessFacts:
    return HarnessFacts(name="Made Up", capabilities=capabilities, problem=problem)


def status(scene: Scene) -> str:
    return show_seat(scene.seat, facts(scene.capabilities), scene.now).status


@pytest.mark.requirement("H-C18", "L2")
def test_a_seat_that_was_never_started_is_unknown_and_not_idle() -> None:
    scene = Scene()
    assert show_activity(scene.seat, ALL, scene.now).value == "unknown"
    assert status(scene) == "stopped"


@pytest.mark.requirement("L3", "H-C9")
def test_the_status_tells_running_waiting_and_idle_apart() -> None:
    scene = Scene()
    scene.send()
    assert status(scene) == "starting"
    scene.open_session()
    assert status(scene) == "running"
    scene.wrote()
    scene.ask()
    assert status(scene) == "needs_input"
    assert show_activity(scene.seat, ALL, scene.now).value == "waiting"
    scene.answered()
    assert status(scene) == "idle"
    view = show_seat(scene.seat, facts(), scene.now)
    assert view.last_turn is not None
    assert view.last_turn.outcome is TurnOutcome.COMPLETED
    assert view.background == "unknown"


def test_activity_is_unknown_where_the_mode_does_not_report_it() -> None:
    scene = Scene(capabilities=claims(activity=Claim())).running()
    shown = show_activity(scene.seat, scene.capabilities, scene.now)
    assert (shown.value, scene.seat.activity.value) == ("unknown", "running")
    assert "does not report" in shown.why


@pytest.mark.requirement("H-N8", "H-C5")
def test_a_running_seat_whose_mode_cannot_report_permissions_shows_unknown() -> None:
    scene = Scene(capabilities=claims(permission_report=UNSUPPORTED)).running()
    shown = show_activity(scene.seat, scene.capabilities, scene.now)
    assert shown.value == "unknown"
    assert "waits" in shown.why


@pytest.mark.requirement("H-A31")
@pytest.mark.parametrize(
    ("usage", "percent"),
    [
        (UsageUpdated(used=199, size=200), 99),
        (UsageUpdated(used=10, size=None), None),
        (UsageUpdated(percent=12, source=ContextSource.FOOTER), 12),
    ],
)
def test_context_usage_is_shown_as_a_whole_percent_with_what_told_it(
    usage: UsageUpdated, percent: int | None
) -> None:
    scene = Scene().running()
    assert show_usage(scene.seat, ALL).percent is None
    scene.report(usage)
    shown = show_usage(scene.seat, ALL)
    assert (shown.status, shown.percent, shown.source) == ("reported", percent, usage.source)


def test_context_usage_is_named_unsupported_where_the_mode_does_not_report_it() -> None:
    scene = Scene().running()
    assert show_usage(scene.seat, claims(context_usage=UNSUPPORTED)).status == "unsupported"
    assert show_usage(scene.seat, claims(context_usage=Claim())).status == "unknown"
    assert show_usage(scene.seat, ALL).status == "not_yet"
    scene.report(UsageUpdated(used=10, size=100))
    shown = show_usage(scene.seat, ALL)
    assert (shown.status, shown.used, shown.size) == ("reported", 10, 100)


def test_nothing_decays_to_idle_however_long_it_is_quiet() -> None:
    scene = Scene().running()
    later = scene.now.replace(year=2036)
    shown = show_activity(scene.seat, ALL, later)
    assert shown.value == "running"
    assert shown.age_s is not None
    assert shown.age_s > 1e8


def test_ends_are_told_apart() -> None:
    scene = Scene().running()
    scene.give(ProcessExited(launch=scene.launch, exit_code=3))
    assert status(scene) == "exited"
    scene.send("d-2")
    scene.open_session()
    scene.give(StopSeat())
    assert status(scene) == "stopping"
    scene.give(ProcessExited(launch=scene.launch, exit_code=0))
    assert status(scene) == "held"


@pytest.mark.requirement("H-N57")
def test_a_seat_whose_harness_is_gone_is_kept_and_says_why() -> None:
    scene = Scene()
    gone = Problem(code="plugin_missing", message="The plugin is not there.")
    view = show_seat(scene.seat, facts(problem=gone), scene.now)
    assert (view.status, view.problem) == ("unavailable", gone)


@pytest.mark.requirement("L1")
def test_the_explanation_names_source_rule_and_age_and_one_winner() -> None:
    scene = Scene().running()
    shown = explain_seat(scene.seat, facts(), scene.now, attached=True)
    winner = [line for line in shown.evidence if line.won]
    assert len(winner) == 1
    assert (winner[0].source, winner[0].rule) == ("protocol", "test.rule")
    assert winner[0].age_s is not None
    assert shown.evidence[-1].rule == "default"
    scene.ask()
    shown = explain_seat(scene.seat, facts(), scene.now, attached=True)
    assert [line.rule for line in shown.evidence if line.won] == ["permission.open"]


def test_secrets_of_the_environment_are_shown_by_name_only() -> None:
    scene = Scene()

    state = replace(scene.seat, environment={"TOKEN": "hunter2"})
    view = show_seat(state, facts(), scene.now)
    assert view.environment == ("TOKEN",)
    assert "hunter2" not in repr(view)
