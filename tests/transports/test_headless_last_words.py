"""The last message of a one-shot run is kept for the rules that read it, with who may have said it."""

from __future__ import annotations

import msgspec
import pytest

from inspan.model.diagnosis import TurnTextFailure
from inspan.model.reports import PromptAnswered
from inspan.plugin.last_words import ReadWords, read_last_words
from inspan.transports.headless import HeadlessMachine
from inspan.transports.machine import HarnessEnd
from support.headless_rules import BY_EXIT, RULES, TEXT, line, settings

FAILURES = (
    TurnTextFailure(pattern="^Error: 429", code="limited", title="No more today", remedy="Wait."),
    TurnTextFailure(pattern="^$", code="call_failed", title="It said nothing", remedy="Ask again."),
)
GOOD = line("end", how="good")


def answer_of(*lines: bytes, reads: bool = True, headless: object = RULES) -> PromptAnswered:
    """How the run's turn is answered after some lines."""
    told = msgspec.structs.replace(settings(), headless=headless, reads_last_words=reads)
    machine = HeadlessMachine(told)
    machine.start()
    machine.prompt("d1", "hello")
    found = [
        *machine.feed(b"".join(lines)).reports,
        *machine.finish().reports,
        *machine.end(HarnessEnd(exit_code=0)).reports,
    ]
    [body] = [one.body for one in found if isinstance(one.body, PromptAnswered)]
    return body


def read(*lines: bytes, headless: object = RULES) -> ReadWords | None:
    return read_last_words(answer_of(*lines, headless=headless), FAILURES)


@pytest.mark.requirement("L18")
def test_an_error_that_a_run_tells_as_its_answer_is_read_where_no_token_of_a_model_was_counted() -> None:
    for lines in (
        (line("say", words="Error: 429 no more"), GOOD),
        (line("step", out=0), line("say", words="Error: 429"), GOOD),
    ):
        found = read(*lines)
        assert found is not None
        assert (found.error.code, found.is_certain) == ("limited", True)


@pytest.mark.requirement("L18")
def test_the_same_words_with_a_model_s_tokens_settle_nothing() -> None:
    found = read(line("say", words="Error: 429 is what you asked for"), line("step", out=12), GOOD)

    assert found is not None
    assert not found.is_certain


@pytest.mark.requirement("L18")
def test_a_format_that_counts_no_tokens_leaves_words_in_doubt_and_silence_certain() -> None:
    uncounted = msgspec.structs.replace(
        RULES, records=tuple(rule for rule in RULES.records if rule.usage is None)
    )
    said = read(line("say", words="Error: 429"), GOOD, headless=uncounted)
    silent = read(line("begun"), GOOD, headless=uncounted)
    whole = read(b"Error: 429\nand more\n", headless=TEXT)

    assert said is not None
    assert silent is not None
    assert whole is not None
    assert (said.is_certain, silent.is_certain, whole.is_certain) == (False, True, False)


@pytest.mark.requirement("L18")
@pytest.mark.parametrize(
    "lines",
    [
        [line("say", words="The log says: Error: 429")],
        [
            line("say", words="Error: 429"),
            line("blocks", content=[{"type": "tool", "id": "c"}]),
            line("say", words="Mended."),
        ],
        [line("say", words="Error: 429", message="a"), line("say", words="Mended.", message="b")],
        [line("think", words="Error: 429"), line("say", words="Mended.")],
        [line("blocks", content=[{"type": "tool", "id": "c", "name": "Error: 429"}]), line("say", words="x")],
    ],
)
def test_only_the_last_message_of_the_agent_is_read_and_only_from_its_beginning(lines: list[bytes]) -> None:
    assert read(*lines, GOOD) is None


def test_a_run_that_its_exit_ends_keeps_its_last_words_too() -> None:
    body = answer_of(line("say", words="Error: 429"), headless=BY_EXIT)

    assert (body.last_words, body.model_wrote) == ("Error: 429", False)


def test_nothing_is_kept_where_no_rule_would_read_it() -> None:
    assert answer_of(line("say", words="Error: 429"), GOOD, reads=False).last_words is None


def test_a_run_that_was_restored_in_the_middle_still_knows_its_words() -> None:
    told = msgspec.structs.replace(settings(), reads_last_words=True)
    machine = HeadlessMachine(told)
    machine.start()
    machine.prompt("d1", "hello")
    machine.feed(line("say", words="Error: ", message="a"))
    restored = HeadlessMachine(told, snapshot=machine.snapshot())
    reports = restored.feed(line("say", words="429", message="a") + GOOD).reports

    assert [one.body.last_words for one in reports if isinstance(one.body, PromptAnswered)] == ["Error: 429"]
