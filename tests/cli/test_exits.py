import pytest

from inspan.cli.exits import EXIT_MEANINGS, Exit, exit_of_delivery, exit_of_error, exit_of_outcome
from inspan.model.delivery import FINAL_DELIVERY_STATES, DeliveryState
from inspan.model.errors import (
    ERROR_CODES,
    HarnessError,
    HostError,
    InspanError,
    ManifestError,
    PluginError,
    StoreError,
    UsageError,
)
from inspan.model.turn import TurnOutcome


def test_every_exit_status_says_what_it_means() -> None:
    assert set(EXIT_MEANINGS) == set(Exit)


def test_every_turn_outcome_has_a_status_of_its_own() -> None:
    statuses = [exit_of_outcome(outcome.value) for outcome in TurnOutcome]

    assert len(set(statuses)) == len(TurnOutcome)
    assert exit_of_outcome("completed") is Exit.OK
    assert all(
        status.name == outcome.name
        for status, outcome in zip(statuses[1:], list(TurnOutcome)[1:], strict=True)
    )


def test_an_outcome_of_a_newer_daemon_never_counts_as_success() -> None:
    assert exit_of_outcome("triumphant") is Exit.LOST


def test_a_delivery_without_a_turn_has_a_status_once_nothing_more_comes_of_it() -> None:
    over = {state for state in DeliveryState if exit_of_delivery(state.value) is not None}

    assert over == {DeliveryState.HELD, DeliveryState.UNKNOWN, DeliveryState.REFUSED, DeliveryState.FAILED}
    assert FINAL_DELIVERY_STATES - over == {DeliveryState.STARTED}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("…"), Exit.USAGE),
        (UsageError("…", code="unknown_seat"), Exit.UNKNOWN_NAME),
        (UsageError("…", code="permission_closed"), Exit.CONFLICT),
        (UsageError("…", code="question_closed"), Exit.CONFLICT),
        (UsageError("…", code="permission_of_other_seat"), Exit.CONFLICT),
        (UsageError("…", code="question_of_other_seat"), Exit.CONFLICT),
        (UsageError("…", code="session_of_other_workspace"), Exit.CONFLICT),
        (UsageError("…", code="interrupted"), Exit.INTERRUPTED),
        (UsageError("…", code="delivery_conflict"), Exit.CONFLICT),
        (ManifestError("…"), Exit.PLUGIN),
        (PluginError("…"), Exit.PLUGIN),
        (HarnessError("…", code="not_installed"), Exit.HARNESS),
        (StoreError("…", code="store_full"), Exit.STORE),
        (HostError("…", code="daemon_unreachable"), Exit.NO_DAEMON),
        (HostError("…"), Exit.INTERNAL),
        (InspanError("…"), Exit.INTERNAL),
    ],
)
def test_an_error_s_status_says_who_must_act(error: InspanError, status: Exit) -> None:
    assert exit_of_error(error) is status


def test_a_status_that_only_some_commands_end_with_says_which() -> None:
    assert "`watch --until`" in EXIT_MEANINGS[Exit.TIMEOUT]
    assert "`start --wait`" in EXIT_MEANINGS[Exit.NEEDS_PERSON]


def test_no_known_error_ends_with_success() -> None:
    for code in ERROR_CODES:
        assert exit_of_error(UsageError("…", code=code)) is not Exit.OK
