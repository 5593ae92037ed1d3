"""Which models there are: registered ones, the scripted one, well-known ones, and what is said when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.cancelling import CancelSource
from inspan.agent.conversation import Message, UserMessage
from inspan.agent.engine.contract import StopReason
from inspan.agent.engine.loop import TurnLoop
from inspan.agent.events import TextDelta, ThinkingDelta, ToolEnded
from inspan.agent.leases import OwnerLease
from inspan.agent.models.catalogue import ModelCatalogue
from inspan.agent.models.contract import ModelDefinition, ModelRequest
from inspan.agent.models.failure import FailureKind, ModelFailure
from inspan.agent.models.scripted import LABEL, SCRIPTED_MODELS, ScriptedModel
from inspan.agent.models.well_known import WELL_KNOWN, WellKnownModels, default_model
from inspan.agent.values import TextContent, Usage
from inspan.model.errors import HarnessError, PluginError
from support.agent_ground import events_of, make_tool, open_agent, script, temporary_folder

KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}


@pytest.fixture
def folder() -> Iterator[Path]:
    with temporary_folder() as path:
        yield Path(path)


def _said(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_without_a_model_and_without_a_key_a_session_says_what_to_do(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, model=None) as agent:
            with pytest.raises(HarnessError) as missing:
                await agent.new_session()
            assert missing.value.code == "model_missing"
            for word in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "scripted:demo"):
                assert word in missing.value.hint
            assert agent.list_sessions() == ()
            assert (await agent.new_session(model="scripted:")).settings.model == "scripted:demo"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("environment", "provider"),
    [
        (KEYS, "anthropic"),
        ({"OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}, "openai"),
        ({"GEMINI_API_KEY": "g"}, "google"),
        ({"GOOGLE_API_KEY": "g"}, "google"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, "anthropic"),
        ({"ANTHROPIC_API_KEY": "", "GEMINI_API_KEY": "g"}, "google"),
        ({**KEYS, "INSPAN_MODEL": "scripted:demo"}, "scripted"),
    ],
)
def test_the_default_model_is_the_named_one_or_that_of_the_first_key(
    environment: dict[str, str], provider: str
) -> None:
    name, _, model = default_model(environment).partition(":")
    assert name == provider
    assert model


def test_every_default_model_is_one_that_the_library_knows() -> None:
    from typing import get_args

    from pydantic_ai.models import KnownModelName

    known = set(get_args(KnownModelName.__value__))
    named = {f"{one.id}:{one.default_model}" for one in WELL_KNOWN if one.default_model}
    assert named <= known
    assert len(named) == 3


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("openai:gpt-x", "model_key_missing"),
        ("google:gemini-x", "model_key_missing"),
        ("anthropic:", "model_unknown"),
        ("nobody:x", "model_unknown"),
        ("nonsense", "model_unknown"),
        ("scripted:other", "model_unknown"),
        ("", "model_missing"),
    ],
)
def test_a_model_that_cannot_be_had_says_why(folder: Path, name: str, code: str) -> None:
    async def story() -> None:
        async with open_agent(folder, model=name) as agent:
            with pytest.raises(HarnessError) as wrong:
                await agent.new_session()
            assert wrong.value.code == code
            assert wrong.value.hint

    asyncio.run(story())


def test_an_address_of_ones_own_needs_no_key() -> None:
    found = WellKnownModels({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}).find("openai:llama")
    assert found is not None
    assert found.name == "openai:llama"


def test_a_key_that_changes_is_used_from_the_next_request_on() -> None:
    environment = dict(KEYS)
    models = WellKnownModels(environment)
    first = models.find("openai:m")
    assert models.find("openai:m") is first
    environment["OPENAI_API_KEY"] = "another"
    assert models.find("openai:m") is not first


# What plugins register.


def _definitions(*ids: str) -> list[ModelDefinition]:
    return [ModelDefinition(id=one) for one in ids]


@pytest.mark.requirement("R47", "R48")
@pytest.mark.parametrize(
    ("provider", "definitions", "code"),
    [
        (ScriptedModel(id="mine"), _definitions("a", "b", "a"), "plugin_contribution_invalid"),
        (ScriptedModel(id="mine"), [], "plugin_contribution_invalid"),
        (ScriptedModel(id="mine"), [*_definitions("a"), "b"], "plugin_contribution_invalid"),
        (ScriptedModel(id="mine"), _definitions("a", ""), "plugin_contribution_invalid"),
        (ScriptedModel(id="Mine!"), _definitions("a"), "plugin_contribution_invalid"),
        (ScriptedModel(id="scripted"), _definitions("a"), "plugin_conflict"),
        (ScriptedModel(id="openai"), _definitions("a"), "plugin_conflict"),
    ],
)
def test_a_provider_is_registered_whole_or_not_at_all(
    provider: ScriptedModel, definitions: list[Any], code: str
) -> None:
    catalogue = ModelCatalogue(reserved=frozenset({"openai"}))
    catalogue.add(ScriptedModel(), SCRIPTED_MODELS, "builtin")
    with pytest.raises(PluginError) as wrong:
        catalogue.add(provider, definitions, "plug")
    assert wrong.value.code == code
    assert [model.name for model in catalogue.list()] == ["scripted:demo"]
    assert catalogue.find("mine:a") is None


@pytest.mark.requirement("R49")
def test_a_registered_model_is_chosen_by_its_name_and_goes_with_its_owner(folder: Path) -> None:
    async def story() -> None:
        models = [(ScriptedModel("say from a plugin", id="mine"), _definitions("a"))]
        async with open_agent(folder, models=models) as agent:
            session = await agent.new_session(model="mine:a")
            events, _ = await events_of(session, "hello")
            assert _said(events) == "from a plugin\n"
            await session.configure(model="scripted:demo")
            events, _ = await events_of(session, "hello")
            assert _said(events) == f"{LABEL}You said: hello"

    asyncio.run(story())
    catalogue = ModelCatalogue()
    catalogue.add(ScriptedModel(id="one"), _definitions("a"), "plug")
    catalogue.add(ScriptedModel(id="two"), _definitions("a"), "other")
    catalogue.remove("plug")
    assert [model.name for model in catalogue.list()] == ["two:a"]


@pytest.mark.requirement("R63")
def test_a_stream_is_told_when_its_owner_stops_and_the_turn_fails(folder: Path) -> None:
    async def story() -> None:
        lease = OwnerLease("plug")
        catalogue = ModelCatalogue()
        catalogue.add(ScriptedModel("say begun\nwait forever", id="mine"), _definitions("a"), "plug", lease)
        found = catalogue.find("mine:a")
        assert found is not None
        async with open_agent(folder) as agent:
            session = await agent.new_session()
            session._turns.engine._find = lambda name: found  # type: ignore[attr-defined]  # pyright: ignore
            turn = session.prompt("go")
            assert isinstance(await anext(turn), TextDelta)
            assert lease.in_flight == 1
            lease.stop()
            ended = await turn.wait()
            assert ended.stop_reason is StopReason.FAILED
            assert "stopped" in ended.message
            assert lease.in_flight == 0
            refused = await session.run("again")
            assert refused.stop_reason is StopReason.FAILED

    asyncio.run(story())


# The scripted model's language.


def test_a_script_can_do_all_that_its_description_says(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool(read_only=True)]) as agent:
            session = await agent.new_session()
            prompt = script(
                "# a note",
                "",
                "think hm",
                "say 3: abc def ghi",
                "say two\\nlines",
                "wait 0.001",
                'call note {"text": "a"}',
                "call note {broken",
                "usage 12 34",
                "---",
                "say $prompt heard $result",
            )
            events, ended = await events_of(session, prompt)
            assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["hm"]
            texts = [event.text for event in events if isinstance(event, TextDelta)]
            assert texts[:4] == ["abc ", "def ", "ghi\n", "two\nlines\n"]
            assert texts[4].startswith("Go on. heard noted a\n")
            outcomes = [event.outcome for event in events if isinstance(event, ToolEnded)]
            assert sorted(outcomes) == ["done", "refused"]
            first = session.transcript[1]
            assert getattr(first, "usage", None) == Usage(
                requests=1, input_tokens=12, output_tokens=34, cost_usd=0.0
            )
            assert ended.stop_reason is StopReason.END_TURN

    asyncio.run(story())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("stop max_tokens", StopReason.MAX_TOKENS),
        ("stop refused", StopReason.REFUSED),
        ("fail quota", StopReason.LIMITED),
        ("fail auth", StopReason.FAILED),
        ("fail raised", StopReason.FAILED),
        ("dance", StopReason.FAILED),
        ("wait long", StopReason.FAILED),
        ("usage many", StopReason.FAILED),
        ("stop now", StopReason.FAILED),
        ("fail nicely", StopReason.FAILED),
    ],
)
def test_a_script_can_end_an_answer_badly_and_a_line_that_cannot_be_read_says_so(
    folder: Path, line: str, reason: StopReason
) -> None:
    async def story() -> None:
        async with open_agent(folder) as agent:
            ended = await (await agent.new_session()).run(script(line))
            assert ended.stop_reason is reason
            assert ended.message

    asyncio.run(story())


def test_a_script_that_has_no_more_answers_says_so_and_is_labelled(folder: Path) -> None:
    async def story() -> None:
        async with open_agent(folder, tools=[make_tool(read_only=True)]) as agent:
            events, _ = await events_of(await agent.new_session(), script('call note {"text": "a"}'))
            assert _said(events) == f"{LABEL}The script has no more answers."
            assert "Scripted" in agent.models[0].definition.title

    asyncio.run(story())


def test_a_summary_that_fails_is_an_error_and_no_exception_of_the_provider() -> None:
    async def story() -> None:
        catalogue = ModelCatalogue()
        failing: Any = _Failing()
        catalogue.add(failing, _definitions("a"), "plug")

        def find(name: str) -> Any:
            return catalogue.find(name)

        asked: list[Message] = [UserMessage(at=_now(), content=(TextContent(text="x"),))]
        with pytest.raises(HarnessError) as failed:
            await TurnLoop(find).summarise("failing:a", asked, "sum up")
        assert failed.value.code == "model_failed"
        assert "secret" not in str(failed.value)

    asyncio.run(story())


class _Failing:
    id = "failing"

    async def stream(self, request: ModelRequest, cancel: Any) -> Any:
        raise ValueError("a secret")
        yield


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)


def test_only_what_may_pass_by_itself_is_worth_a_repetition() -> None:
    transient = {kind for kind in FailureKind if kind.is_transient}
    assert transient == {FailureKind.RATE, FailureKind.UNAVAILABLE, FailureKind.CONNECTION}
    assert ModelFailure(FailureKind.RATE, "later").message == "later"
    assert not CancelSource().signal.is_set
