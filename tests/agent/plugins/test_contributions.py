"""What a plugin may register, what is refused, and that nobody takes what another has."""

from __future__ import annotations

import asyncio
import logging
import stat
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.cancelling import CancelSignal, CancelSource
from inspan.agent.leases import OwnerLease
from inspan.agent.models.contract import ModelDefinition, ModelEvent, ModelRequest
from inspan.agent.plugins.contract import Page, PageContext, PromptSource, RuntimeSkill
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import JsonObject, ToolResult
from inspan.model.errors import PluginError, UsageError
from support.runtime_plugins import (
    Context,
    MadePlugin,
    call_context,
    contribute_everything,
    make_services,
    make_tool,
    open_host,
    sections_of,
)


class Provider:
    """A provider of models that says nothing."""

    def __init__(self, name: str) -> None:
        self.id = name

    async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
        return
        yield


async def empty(_: Any) -> str:
    return ""


def refused(tmp_path: Path, register: Callable[[Context], object]) -> tuple[str, Any]:
    """The code of what registering raises, and the plugin's status then."""

    async def scenario() -> tuple[str, Any]:
        codes: list[str] = []

        def set_up(ctx: Context) -> None:
            try:
                register(ctx)
            except PluginError as error:
                codes.append(error.code)
                raise

        plugin = InlinePlugin(plugin=MadePlugin(id="a", setup=set_up), required=False)
        async with open_host(tmp_path, plugin) as ground:
            return codes[0], ground.status["a"]

    return asyncio.run(scenario())


SKILL = RuntimeSkill(name="s", description="d", body="b")
PAGE = Page(id="p", title="P", read=empty)


def unusable(label: str, register: Callable[[Any], object]) -> Any:
    return pytest.param(register, id=label)


UNUSABLE = [
    unusable("no tool", lambda ctx: ctx.tools.register("echo")),
    unusable("a tool's name that begins with a digit", lambda ctx: ctx.tools.register(make_tool("1st"))),
    unusable("a tool's name that is too long", lambda ctx: ctx.tools.register(make_tool("a" * 65))),
    unusable("a tool's name with a blank", lambda ctx: ctx.tools.register(make_tool("a b"))),
    unusable("a tool without a description", lambda ctx: ctx.tools.register(make_tool(description=" "))),
    unusable("a tool that does nothing", lambda ctx: ctx.tools.register(make_tool(execute=None))),
    unusable("a schema of no object", lambda ctx: ctx.tools.register(make_tool(input_schema={}))),
    unusable("no schema", lambda ctx: ctx.tools.register(make_tool(input_schema=None))),
    unusable(
        "a schema that is none",
        lambda ctx: ctx.tools.register(make_tool(input_schema={"type": "object", "required": 3})),
    ),
    unusable("no skill", lambda ctx: ctx.skills.register("s")),
    unusable("a skill's name in capitals", lambda ctx: ctx.skills.register(replace(SKILL, name="A"))),
    unusable("a skill without a line", lambda ctx: ctx.skills.register(replace(SKILL, description=""))),
    unusable(
        "a relative folder", lambda ctx: ctx.skills.register(replace(SKILL, directory=Path("relative")))
    ),
    unusable("no models", lambda ctx: ctx.models.register(Provider("a"), [])),
    unusable("a provider's id", lambda ctx: ctx.models.register(Provider("A"), [ModelDefinition(id="m")])),
    unusable("no way to sign in", lambda ctx: ctx.auth.register(Provider("a"))),
    unusable("no sink", lambda ctx: ctx.audit.register_sink(object())),
    unusable("no event", lambda ctx: ctx.hooks.on("no_event", empty)),
    unusable("no handler", lambda ctx: ctx.hooks.on("stop", 3)),
    unusable("no section", lambda ctx: ctx.prompts.register(empty)),
    unusable(
        "a section without a name", lambda ctx: ctx.prompts.register(PromptSource(name="", render=empty))
    ),
    unusable("no page", lambda ctx: ctx.pages.register("p")),
    unusable("a page's id in capitals", lambda ctx: ctx.pages.register(replace(PAGE, id="P"))),
    unusable("a page without a title", lambda ctx: ctx.pages.register(replace(PAGE, title=""))),
    unusable("a page that cannot be read", lambda ctx: ctx.pages.register(replace(PAGE, read=None))),
    unusable("an action that is none", lambda ctx: ctx.pages.register(replace(PAGE, actions={"x": 1}))),
    unusable(
        "a page that brings HTML",
        lambda ctx: ctx.pages.register(replace(PAGE, blocks=({"type": "html", "html": "<script>"},))),
    ),
]


@pytest.mark.requirement("R38", "R39", "R42", "R47", "R55", "RD13")
@pytest.mark.parametrize("register", UNUSABLE)
def test_what_cannot_be_used_is_refused_when_it_is_registered(
    tmp_path: Path, register: Callable[[Context], object]
) -> None:
    code, status = refused(tmp_path, register)

    assert code == "plugin_contribution_invalid"
    assert (status.state, status.phase, status.contributions) == ("failed", "setup", {})


REGISTRATIONS: list[Callable[[Context], object]] = [
    lambda ctx: ctx.tools.register(make_tool()),
    lambda ctx: ctx.skills.register(SKILL),
    lambda ctx: ctx.models.register(Provider("models"), [ModelDefinition(id="m")]),
    lambda ctx: ctx.auth.register(Login("login")),
    lambda ctx: ctx.pages.register(PAGE),
]


class Login:
    """A way to sign in that gives what it was made with."""

    def __init__(self, name: str, credential: Any = None) -> None:
        self.id = name
        self.credential = credential

    async def login(self, tell: Any, /) -> Any:
        await tell("Sign in, please.")
        return self.credential

    async def refresh(self, credential: JsonObject, /) -> JsonObject | None:
        return credential


@pytest.mark.requirement("R41", "R48", "R60")
@pytest.mark.parametrize("register", REGISTRATIONS)
def test_a_name_that_is_taken_is_refused_and_stays_with_whom_it_was(
    tmp_path: Path, register: Callable[[Context], object]
) -> None:
    async def scenario() -> None:
        def twice(ctx: Context) -> None:
            register(ctx)
            register(ctx)

        def once(ctx: Context) -> None:
            register(ctx)

        first = MadePlugin(id="first", setup=once)
        second = InlinePlugin(plugin=MadePlugin(id="second", setup=once), required=False)
        async with open_host(tmp_path, first, second) as ground:
            assert (ground.status["first"].state, ground.status["second"].state) == ("active", "failed")
            assert ground.status["second"].error == "PluginError"
            assert sum(ground.status["first"].contributions.values()) == 1
        repeated = InlinePlugin(plugin=MadePlugin(id="repeated", setup=twice), required=False)
        async with open_host(tmp_path, repeated) as ground:
            assert ground.status["repeated"].state == "failed"
            assert ground.status["repeated"].contributions == {}

    asyncio.run(scenario())


@pytest.mark.requirement("R60")
def test_a_builtin_tool_is_not_replaced_and_stays_when_the_plugin_goes(tmp_path: Path) -> None:
    async def scenario() -> None:
        services = make_services(tmp_path)
        builtin = make_tool("read")
        services.tools.add(builtin, "builtin", OwnerLease("builtin"))
        plugin = MadePlugin(id="a", setup=lambda ctx: ctx.tools.register(make_tool("read")))
        inline = InlinePlugin(plugin=plugin, required=False)
        async with open_host(tmp_path, inline, services=services) as ground:
            assert ground.status["a"].state == "failed"
            assert "which 'builtin' has already" in ground.status["a"].warnings[0]
        owned = services.tools.get("read")
        assert owned is not None
        assert (owned.tool, owned.owner) == (builtin, "builtin")

    asyncio.run(scenario())


@pytest.mark.requirement("R47")
def test_a_provider_with_one_bad_model_registers_none_of_its_models(tmp_path: Path) -> None:
    async def scenario() -> None:
        def set_up(ctx: Context) -> None:
            models = [ModelDefinition(id="good"), ModelDefinition(id="twice"), ModelDefinition(id="twice")]
            with pytest.raises(PluginError):
                ctx.models.register(Provider("mine"), models)

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            assert ground.services.models.list() == ()
            assert ground.status["a"].contributions == {}

    asyncio.run(scenario())


@pytest.mark.requirement("R63")
def test_a_call_gets_a_signal_that_its_turn_and_its_plugin_both_raise(tmp_path: Path) -> None:
    async def scenario(*, by_plugin: bool) -> str:
        seen: list[CancelSignal] = []

        async def execute(_: JsonObject, ctx: ToolCallContext) -> ToolResult:
            seen.append(ctx.cancel)
            await ctx.cancel.wait()
            return ToolResult()

        turn = CancelSource()
        plugin = MadePlugin(id="a", setup=lambda ctx: ctx.tools.register(make_tool(execute=execute)))
        async with open_host(tmp_path, plugin) as ground:
            owned = ground.services.tools.get("echo")
            assert owned is not None
            call = asyncio.ensure_future(owned.tool.execute({}, call_context(tmp_path, turn.signal)))
            await asyncio.sleep(0)
            if by_plugin:
                closing = asyncio.create_task(ground.host.close())
                await call
                await closing
            else:
                turn.cancel("turn_cancelled")
                await call
        return seen[0].reason

    assert asyncio.run(scenario(by_plugin=False)) == "turn_cancelled"
    assert asyncio.run(scenario(by_plugin=True)) == "plugin_stopped"


@pytest.mark.requirement("R40", "R44", "R45")
def test_a_runtime_skill_is_there_as_long_as_its_plugin(tmp_path: Path) -> None:
    async def scenario() -> None:
        services = make_services(tmp_path)
        folder = tmp_path / "files"
        folder.mkdir()
        (folder / "more.md").write_text("More.")
        skill = replace(SKILL, name="deploy", directory=folder)
        plugin = MadePlugin(id="a", setup=lambda ctx: ctx.skills.register(skill))
        async with open_host(tmp_path, plugin, services=services):
            (listed,) = services.skills.list()
            assert (listed.name, listed.origin, listed.owner) == ("deploy", "runtime", "a")
            assert services.skills.read("deploy").body == "b"
            assert services.skills.read_file("deploy", "more.md") == "More."
        assert services.skills.list() == ()

    asyncio.run(scenario())


@pytest.mark.requirement("R46")
def test_a_runtime_skill_takes_nobodys_name(tmp_path: Path) -> None:
    async def scenario() -> Any:
        taken = tmp_path / ".inspan" / "skills" / "taken"
        taken.mkdir(parents=True)
        (taken / "SKILL.md").write_text("---\nname: taken\ndescription: Of the project.\n---\nBody.\n")
        plugin = MadePlugin(id="a", setup=lambda ctx: ctx.skills.register(replace(SKILL, name="taken")))
        async with open_host(tmp_path, InlinePlugin(plugin=plugin, required=False)) as ground:
            assert ground.services.skills.read("taken").skill.origin == "project"
            return ground.status["a"]

    assert asyncio.run(scenario()).state == "failed"


@pytest.mark.requirement("R54")
def test_a_section_is_made_anew_each_time_and_goes_with_its_plugin(tmp_path: Path) -> None:
    async def scenario() -> None:
        services = make_services(tmp_path)
        count = 0

        async def render(_: object) -> str:
            nonlocal count
            count += 1
            return f"asked {count} times"

        plugin = MadePlugin(
            id="a", setup=lambda ctx: ctx.prompts.register(PromptSource(name="n", render=render))
        )
        async with open_host(tmp_path, plugin, services=services):
            assert await sections_of(services) == {"n": "asked 1 times"}
            assert await sections_of(services) == {"n": "asked 2 times"}
        assert await sections_of(services) == {}

    asyncio.run(scenario())


@pytest.mark.requirement("R55", "RD13")
def test_a_page_is_read_and_acted_on_by_its_handlers(tmp_path: Path) -> None:
    async def scenario() -> None:
        cancel = CancelSource().signal

        async def read(ctx: PageContext) -> JsonObject:
            return {"is_cancelled": ctx.cancel.is_set}

        async def act(arguments: JsonObject, _: PageContext) -> JsonObject:
            return {"did": arguments["what"]}

        page = replace(PAGE, read=read, actions={"do": act}, blocks=({"type": "table", "rows": "x"},))
        async with open_host(
            tmp_path, MadePlugin(id="a", setup=lambda ctx: ctx.pages.register(page))
        ) as ground:
            pages = ground.services.pages
            assert [one.page.title for one in pages.list()] == ["P"]
            assert await pages.read("p", cancel) == {"is_cancelled": False}
            assert await pages.act("p", "do", {"what": "it"}, cancel) == {"did": "it"}
            with pytest.raises(UsageError, match="no action"):
                await pages.act("p", "undo", {}, cancel)
        with pytest.raises(UsageError, match="no page"):
            await pages.read("p", cancel)

    asyncio.run(scenario())


@pytest.mark.requirement("RD4")
def test_a_page_and_a_section_count_as_calls_under_way(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []

        async def wait(ctx: Any) -> str:
            await ctx.cancel.wait()
            log.append("call ended")
            return ""

        def set_up(ctx: Context) -> None:
            ctx.pages.register(replace(PAGE, read=wait))
            ctx.prompts.register(PromptSource(name="n", render=wait))
            ctx.on_dispose(lambda: log.append("disposed"))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            calls = [
                asyncio.create_task(ground.services.pages.read("p", CancelSource().signal)),
                asyncio.create_task(sections_of(ground.services)),
            ]
            await asyncio.wait(calls, timeout=0.01)
        await asyncio.gather(*calls)
        return log

    assert asyncio.run(scenario()) == ["call ended", "call ended", "disposed"]


@pytest.mark.requirement("R50", "R51")
def test_a_credential_outlives_the_way_to_sign_in(tmp_path: Path) -> None:
    async def scenario() -> None:
        said: list[str] = []

        async def tell(text: str) -> None:
            said.append(text)

        contexts: list[Context] = []

        def set_up(ctx: Context) -> None:
            ctx.auth.register(Login("login", {"token": "t"}))
            contexts.append(ctx)

        plugin = MadePlugin(id="a", setup=set_up)
        async with open_host(tmp_path, plugin) as ground:
            assert await contexts[0].auth.credential("login") is None
            await ground.services.auth.login("login", tell)
            assert said == ["Sign in, please."]
            assert await contexts[0].auth.credential("login") == {"token": "t"}
        assert ground.services.auth.list() == ()
        async with open_host(tmp_path, plugin):
            assert await contexts[1].auth.credential("login") == {"token": "t"}
        file = tmp_path / "credentials.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    asyncio.run(scenario())


@pytest.mark.requirement("R50")
def test_a_plugin_reads_no_other_ones_credential(tmp_path: Path) -> None:
    async def scenario() -> str:
        contexts: list[Context] = []
        owner = MadePlugin(id="a", setup=lambda ctx: ctx.auth.register(Login("login", {"token": "t"})))
        thief = MadePlugin(id="b", setup=contexts.append)
        async with open_host(tmp_path, owner, thief):
            with pytest.raises(PluginError) as failure:
                await contexts[0].auth.credential("login")
            return failure.value.code

    assert asyncio.run(scenario()) == "plugin_not_permitted"


@pytest.mark.requirement("R66")
def test_a_plugin_has_a_logger_of_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with open_host(tmp_path, MadePlugin(id="a.b", setup=lambda ctx: ctx.logger.warning("hello"))):
            pass

    asyncio.run(scenario())

    assert caplog.record_tuples == [("inspan.agent.plugin.a.b", logging.WARNING, "hello")]


@pytest.mark.requirement("R62")
def test_the_signal_says_that_the_plugin_is_to_stop(tmp_path: Path) -> None:
    async def scenario() -> tuple[bool, bool, str]:
        contexts: list[Context] = []
        async with open_host(tmp_path, MadePlugin(id="a", setup=contexts.append)):
            before = contexts[0].signal.is_set
        return before, contexts[0].signal.is_set, contexts[0].signal.reason

    assert asyncio.run(scenario()) == (False, True, "plugin_stopped")


def test_a_plugins_folder_is_its_own_and_made_when_it_is_asked_for(tmp_path: Path) -> None:
    async def scenario() -> tuple[Path, Path]:
        contexts: list[Context] = []
        async with open_host(tmp_path, MadePlugin(id="a", setup=contexts.append)):
            assert not (tmp_path / "plugins").exists()
            return contexts[0].data_dir, contexts[0].workspace

    folder, workspace = asyncio.run(scenario())

    assert folder == tmp_path / "plugins" / "a"
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder, folder.parent)] == [0o700, 0o700]
    assert workspace == tmp_path


def test_blocking_work_runs_in_a_thread_and_one_that_never_ends_keeps_no_program_from_ending(
    tmp_path: Path,
) -> None:
    async def scenario() -> tuple[str, bool]:
        contexts: list[Context] = []
        async with open_host(tmp_path, MadePlugin(id="a", setup=contexts.append)):
            name = await contexts[0].run_sync(lambda: threading.current_thread().name)
            with pytest.raises(ZeroDivisionError):
                await contexts[0].run_sync(lambda: 1 // 0)
            with pytest.raises(RuntimeError):
                await contexts[0].run_sync(lambda: next(iter(())))
            endless = asyncio.create_task(contexts[0].run_sync(release.wait))
            await asyncio.sleep(0)
            endless.cancel()
            await asyncio.wait({endless})
            return name, endless.cancelled()

    release = threading.Event()
    assert asyncio.run(scenario()) == ("plugin a", True)
    release.set()


def test_a_schema_that_is_changed_after_it_was_registered_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> Any:
        schema: dict[str, Any] = {"type": "object", "properties": {}}

        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool(input_schema=schema))
            schema["properties"]["late"] = {"type": "string"}

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            owned = ground.services.tools.get("echo")
            assert owned is not None
            return owned.tool.input_schema

    assert asyncio.run(scenario()) == {"type": "object", "properties": {}}


@pytest.mark.requirement("R3")
def test_a_plugin_is_code_of_this_process_and_needs_no_server(tmp_path: Path) -> None:
    async def scenario() -> int | None:
        seen: list[int | None] = []

        async def execute(_: JsonObject, __: ToolCallContext) -> ToolResult:
            seen.append(threading.get_ident())
            return ToolResult()

        tool = Tool(name="t", description="d", input_schema={"type": "object"}, execute=execute)
        async with open_host(
            tmp_path, MadePlugin(id="a", setup=lambda ctx: ctx.tools.register(tool))
        ) as ground:
            owned = ground.services.tools.get("t")
            assert owned is not None
            await owned.tool.execute({}, call_context(tmp_path))
        return seen[0]

    assert asyncio.run(scenario()) == threading.get_ident()


@pytest.mark.requirement("R60")
def test_everything_of_one_name_is_refused_a_second_time_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = MadePlugin(id="first", setup=contribute_everything)
        second = InlinePlugin(plugin=MadePlugin(id="second", setup=contribute_everything), required=False)
        async with open_host(tmp_path, first, second) as ground:
            assert sum(ground.status["first"].contributions.values()) == 8
            assert ground.status["second"].contributions == {}
            assert [one.owner for one in ground.services.pages.list()] == ["first"]

    asyncio.run(scenario())
