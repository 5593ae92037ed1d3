"""Every phase in which a plugin can fail, required and optional, inline and from a file; and what is told of it."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.audit.events import ToolExecution
from inspan.agent.cancelling import CancelSource
from inspan.agent.faults import TRACEBACKS
from inspan.agent.hook_events import TurnStart, UserPrompt
from inspan.agent.plugins.configuration import parse_config_list
from inspan.agent.plugins.contract import Page, PromptSource
from inspan.agent.plugins.entries import InlinePlugin, resolve_entries
from inspan.agent.plugins.host import PluginHost
from inspan.agent.plugins.life import PluginLimits
from inspan.model.errors import PluginError, error_to_wire
from support.runtime_plugins import (
    Context,
    MadePlugin,
    call_context,
    called,
    make_services,
    make_tool,
    open_host,
    sections_of,
    status_of,
)

SECRET = "sk-planted-0123456789"
"""Stands in whatever a plugin raises, and may be read nowhere."""

MODULE = """
import asyncio

SECRET = "the secret"
FAILS_IN = "the phase"

if FAILS_IN == "import":
    raise LookupError(SECRET)


class Failing:
    id = "p"
    version = "1"
    api_version = 2 if FAILS_IN == "contract" else 1

    def parse_config(self, raw):
        if FAILS_IN == "config":
            raise LookupError(SECRET + str(raw))
        return raw

    async def setup(self, ctx):
        if FAILS_IN == "setup":
            raise LookupError(SECRET)

        async def fail():
            raise LookupError(SECRET)

        async def hang(*_):
            await asyncio.Event().wait()

        if FAILS_IN == "start":
            ctx.on_start(fail)
        if FAILS_IN == "dispose":
            ctx.on_dispose(fail)
        if FAILS_IN == "drain":
            from inspan.agent.tools.contract import Tool

            ctx.tools.register(
                Tool(name="hang", description="d", input_schema={"type": "object"}, execute=hang)
            )


plugin = Failing()
"""

AT_CREATION = ("resolve", "import", "contract", "config", "setup", "start")
LATER = ("run", "drain", "dispose")
ERRORS = {
    "resolve": "PluginError",
    "contract": "PluginError",
    "run": "CancelledError",
    "drain": "TimeoutError",
}


@dataclass(kw_only=True)
class Case:
    """One way to fail, and the agent's parts that it happens to."""

    fails_in: str
    source: str
    is_required: bool
    folder: Path
    host: PluginHost = field(init=False)
    services: Any = field(init=False)
    log: list[str] = field(default_factory=list[str])

    async def open(self) -> None:
        self.services = make_services(self.folder)
        limits = PluginLimits(stop_s=0.2)
        self.host = PluginHost(self.services, home=self.folder, limits=limits)
        await self.host.open(self.entries())

    def entries(self) -> Any:
        def disposing(ctx: Context) -> None:
            ctx.on_dispose(lambda: self.log.append("bystander disposed"))

        bystander = MadePlugin(id="bystander", setup=disposing)
        module = self.folder / f"{self.fails_in}.py"
        text = MODULE.replace("the secret", SECRET).replace("the phase", self.fails_in)
        module.write_text(text, encoding="utf-8")
        raw: dict[str, Any] = {"id": "p", "required": self.is_required, "config": {"token": SECRET}}
        if self.source == "file":
            missing = self.fails_in == "resolve"
            raw["module"] = str(self.folder / "missing.py" if missing else module)
            return resolve_entries(inline=[bystander], lists=[parse_config_list([raw], "a test")])
        namespace: dict[str, Any] = {}
        exec(module.read_text(encoding="utf-8"), namespace)  # noqa: S102
        if self.fails_in == "resolve":
            raw["module"] = str(module)  # nothing may replace an inline plugin
        inline = InlinePlugin(plugin=namespace["plugin"], required=self.is_required)
        return resolve_entries(inline=[bystander, inline], lists=[parse_config_list([raw], "a test")])


def cases() -> Iterator[Any]:
    for fails_in in (*AT_CREATION, *LATER):
        for source in ("inline", "file"):
            if (fails_in, source) == ("import", "inline"):
                continue  # nothing is imported for it
            for is_required in (True, False):
                yield pytest.param(fails_in, source, is_required, id=f"{fails_in}-{source}-{is_required=}")


@pytest.mark.requirement("R9", "R10", "R26", "R30", "R31", "R83", "R87", "R90", "RD2", "RD5")
@pytest.mark.parametrize(("fails_in", "source", "is_required"), list(cases()))
def test_a_failure_is_told_by_phase_and_class_and_aborts_only_what_requires_it(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    fails_in: str,
    source: str,
    is_required: bool,
) -> None:
    caplog.set_level(logging.DEBUG)
    case = Case(fails_in=fails_in, source=source, is_required=is_required, folder=tmp_path)
    errors: list[PluginError] = []

    async def scenario() -> None:
        try:
            await case.open()
        except PluginError as error:
            errors.append(error)
            return
        if fails_in == "run":
            for task in asyncio.all_tasks():
                if task.get_name() == "plugin p":
                    task.cancel()
                    await asyncio.wait({task})
        if fails_in == "drain":
            call = asyncio.create_task(
                case.services.tools.get("hang").tool.execute({}, call_context(tmp_path))
            )
            await asyncio.sleep(0)
            await case.host.close()
            call.cancel()
        await case.host.close()

    asyncio.run(scenario())
    status = status_of(case.host, "p")
    error = ERRORS.get(fails_in, "LookupError")

    if fails_in in AT_CREATION and is_required:
        (failure,) = errors
        assert failure.detail["plugin"] == "p"
        assert failure.detail["phase"] == fails_in
        assert failure.detail["error"] == error
    else:
        assert errors == []
    assert (status.phase, status.error, status.source) == (fails_in, error, source)
    assert status.state == ("stopped" if fails_in in ("drain", "dispose") else "failed")
    assert status.contributions == {}
    was_set_up = fails_in in ("setup", "start", *LATER) or not is_required
    assert case.log == (["bystander disposed"] if was_set_up else [])
    assert case.services.tools.list() == ()
    said = [
        caplog.text,
        repr(case.host.status()),
        *capfd.readouterr(),
        *("".join(traceback.format_exception(one)) for one in errors),
        *(json.dumps(error_to_wire(one)) for one in errors),
    ]
    assert not any(SECRET in one for one in said)
    assert "'p'" in caplog.text
    assert error in caplog.text


@pytest.mark.requirement("R9")
def test_a_plugin_of_another_contract_is_refused_with_both_versions(tmp_path: Path) -> None:
    async def scenario() -> str:
        plugin = InlinePlugin(plugin=MadePlugin(id="a", api_version=7), required=False)
        async with open_host(tmp_path, plugin) as ground:
            return ground.status["a"].message

    assert asyncio.run(scenario()) == ("It was written for version 7 of the contract, and this is version 1.")


@pytest.mark.requirement("R7", "R8")
@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"api_version": True}, id="a version that is no number"),
        pytest.param({"version": 3}, id="an own version that is no text"),
        pytest.param({"version": ""}, id="no own version"),
        pytest.param({"version": "1\x1b[31m"}, id="a version that would colour a terminal"),
        pytest.param({"version": "1" * 65}, id="a version that is too long"),
        pytest.param({"parse_config": None}, id="no parse_config"),
        pytest.param({"setup": "x"}, id="a setup that cannot be called"),
        pytest.param({"id": "Upper"}, id="an id in capitals"),
        pytest.param({"id": "-dash-first"}, id="an id that begins with a dash"),
        pytest.param({"id": "a" * 129}, id="an id that is too long"),
        pytest.param({"id": "a\n"}, id="an id with a line's end"),
        pytest.param({"id": 7}, id="an id that is no text"),
    ],
)
def test_what_lacks_a_part_of_the_contract_is_no_plugin(tmp_path: Path, broken: dict[str, Any]) -> None:
    async def scenario() -> Any:
        plugin: Any = MadePlugin(id="a")
        for name, value in broken.items():
            setattr(plugin, name, value)
        async with open_host(tmp_path, InlinePlugin(plugin=plugin, required=False)) as ground:
            return ground.host.status()[0]

    status = asyncio.run(scenario())

    assert (status.state, status.error) == ("failed", "PluginError")
    assert status.phase == ("resolve" if "id" in broken else "contract")
    assert status.message


@pytest.mark.requirement("R8")
@pytest.mark.parametrize("plugin_id", ["a", "9", "a.b_c-d", "a" * 128])
def test_an_id_has_lower_case_letters_digits_dots_dashes_and_underscores(
    tmp_path: Path, plugin_id: str
) -> None:
    async def scenario() -> str:
        async with open_host(tmp_path, MadePlugin(id=plugin_id)) as ground:
            return ground.status[plugin_id].state

    assert asyncio.run(scenario()) == "active"


@pytest.mark.requirement("R90", "RD1", "RD5")
def test_no_message_of_a_plugin_is_told_of_what_fails_while_it_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def fail(*_: Any) -> Any:
        raise LookupError(SECRET)

    class Sink:
        write = fail

    class Login:
        id = "login"
        login = refresh = fail

    def set_up(ctx: Context) -> None:
        ctx.tools.register(make_tool(execute=fail))
        ctx.hooks.on("turn_start", fail)
        ctx.hooks.on("user_prompt", fail)
        ctx.audit.register_sink(Sink())
        ctx.auth.register(Login())  # pyright: ignore[reportArgumentType]
        ctx.prompts.register(PromptSource(name="section", render=fail))
        ctx.pages.register(Page(id="page", title="Page", read=fail, actions={"act": fail}))

    async def scenario() -> list[str]:
        said: list[str] = []
        cancel = CancelSource().signal
        async with open_host(tmp_path, MadePlugin(id="p", setup=set_up)) as ground:
            services = ground.services
            with pytest.raises(LookupError):  # what calls tools tells of it by its class; see test_calling
                await called(ground, "echo")
            assert await services.hooks.emit(TurnStart(session_id="s", turn=1)) is None
            veto = await services.hooks.emit(UserPrompt(session_id="s", text="x"))
            services.audit.publish(execution("t"))
            await services.audit.drain(1)
            assert await sections_of(services) == {}
            for asked in (
                services.pages.read("page", cancel),
                services.pages.act("page", "act", {}, cancel),
                services.auth.login("login", fail),
            ):
                with pytest.raises(PluginError) as failure:
                    await asked
                said.append("".join(traceback.format_exception(failure.value)))
            said += [repr(veto), repr(ground.host.status())]
            assert veto is not None
            warnings = ground.status["p"].warnings
            assert {one.rpartition(" ")[2] for one in warnings} == {"LookupError."}
            assert len(warnings) == 4
        return said

    said = asyncio.run(scenario())

    assert not any(SECRET in one for one in (*said, caplog.text))
    assert "LookupError" in caplog.text


def execution(tool: str) -> ToolExecution:
    return ToolExecution(
        at=datetime(2026, 1, 2, tzinfo=UTC),
        session_id="s",
        call_id="c",
        tool=tool,
        owner="o",
        duration_s=0.5,
        is_error=False,
    )


@pytest.mark.requirement("RD5")
def test_whole_tracebacks_go_to_a_logger_that_is_turned_on_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Context) -> None:
        raise LookupError(SECRET)

    async def scenario() -> None:
        async with open_host(tmp_path, InlinePlugin(plugin=MadePlugin(id="a", setup=fail), required=False)):
            pass

    caplog.set_level(logging.DEBUG)
    asyncio.run(scenario())
    assert SECRET not in caplog.text

    with caplog.at_level(logging.DEBUG, logger=TRACEBACKS.name):
        asyncio.run(scenario())
    assert SECRET in caplog.text


@pytest.mark.requirement("R2", "R10")
def test_what_a_plugin_does_to_its_configuration_no_other_agent_sees(tmp_path: Path) -> None:
    config: Any = {"names": ["a"]}
    seen: list[Any] = []

    def set_up(ctx: Context) -> None:
        seen.append(list(ctx.config["names"]))
        ctx.config["names"].append("b")

    async def scenario() -> None:
        plugin = InlinePlugin(plugin=MadePlugin(id="a", setup=set_up), config=config)
        for _ in range(2):
            async with open_host(tmp_path, plugin):
                pass

    asyncio.run(scenario())
    assert seen == [["a"], ["a"]]
    assert config == {"names": ["a"]}


@pytest.mark.requirement("R10")
def test_a_parse_config_that_has_to_be_awaited_is_refused(tmp_path: Path) -> None:
    async def parse(raw: Any) -> Any:
        return raw

    async def scenario() -> Any:
        plugin = InlinePlugin(plugin=MadePlugin(id="a", parse_config=parse), required=False)
        async with open_host(tmp_path, plugin) as ground:
            return ground.status["a"]

    status = asyncio.run(scenario())
    assert (status.phase, status.error) == ("config", "TypeError")
