"""The plugin. Everything that changes is made in `setup`, so that two agents share nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from msgspec import Struct, convert

from inspan.agent.audit.events import AuditEvent
from inspan.agent.cancelling import CancelSignal
from inspan.agent.hook_events import PreTool, Veto
from inspan.agent.models.contract import (
    ModelDefinition,
    ModelEvent,
    ModelProvider,
    ModelRequest,
    TextDelta,
)
from inspan.agent.plugins.contract import (
    API_VERSION,
    AuditSink,
    AuthProvider,
    Page,
    PageContext,
    PluginContext,
    PromptContext,
    PromptSource,
    RuntimePlugin,
    RuntimeSkill,
)
from inspan.agent.tools.contract import Tool, ToolCallContext
from inspan.agent.values import Json, JsonObject, ToolResult

__all__ = ["EverythingConfig", "plugin"]


class EverythingConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an entry's `config` may say."""

    greeting: str = "Hello"
    forbidden: tuple[str, ...] = ("rm -rf",)


class Counts:
    """The plugin's state, one for each agent."""

    def __init__(self) -> None:
        self.calls = 0
        self.events = 0


class Everything:
    """Fulfils `RuntimePlugin`."""

    id = "one-of-everything"
    version = "1.0.0"
    api_version = API_VERSION

    def parse_config(self, raw: Json, /) -> EverythingConfig:
        """Checks the entry's configuration; an error here is this plugin's failure."""
        return convert({} if raw is None else raw, EverythingConfig)

    def setup(self, ctx: PluginContext[EverythingConfig], /) -> None:
        """Registers what the plugin brings."""
        counts = Counts()
        ctx.tools.register(greet_tool(ctx.config.greeting, counts))
        ctx.skills.register(
            RuntimeSkill(
                name="greeting-people",
                description="How to greet somebody; use it before you write to a person.",
                body="Call `greet` with the person's name, and begin your text with what it gives.",
            )
        )
        ctx.models.register(parrot(), [ModelDefinition(id="echo", title="Parrot")])
        ctx.auth.register(example_login())
        ctx.hooks.on("pre_tool", guard(ctx.config.forbidden))
        ctx.audit.register_sink(counting_sink(counts))
        ctx.prompts.register(PromptSource(name="greetings", render=section(counts)))
        ctx.pages.register(page(counts))
        ctx.on_start(lambda: begin_work(ctx))


def greet_tool(greeting: str, counts: Counts) -> Tool:
    """A tool that changes nothing, so it is allowed unasked."""

    async def greet(arguments: JsonObject, ctx: ToolCallContext) -> ToolResult:
        counts.calls += 1
        ctx.progress("Thinking of something friendly.")
        return ToolResult.of_text(f"{greeting}, {arguments['name']}!")

    return Tool(
        name="greet",
        description="Gives the words with which a person is greeted.",
        input_schema={
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        read_only=True,
        execute=greet,
        title=lambda arguments: f"Greet {arguments.get('name')}",
    )


def parrot() -> ModelProvider:
    """A model that says the prompt's length."""

    class Parrot:
        id = "parrot"

        async def stream(self, request: ModelRequest, cancel: CancelSignal) -> AsyncIterator[ModelEvent]:
            if not cancel.is_set:
                yield TextDelta(text=f"I was told {len(request.messages)} messages.")

    return Parrot()


def example_login() -> AuthProvider:
    """A way to sign in that asks nobody. A real one shows an address and waits."""

    class Login:
        id = "example-login"

        async def login(self, tell: Callable[[str], Awaitable[None]], /) -> JsonObject:
            await tell("Nothing to do: this is an example.")
            return {"token": "example"}

        async def refresh(self, credential: JsonObject, /) -> JsonObject | None:
            return credential

    return Login()


def guard(forbidden: tuple[str, ...]) -> Callable[[PreTool], Veto | None]:
    """A hook that refuses commands by what stands in them."""

    def check(event: PreTool) -> Veto | None:
        command = event.arguments.get("command")
        if isinstance(command, str) and any(words in command for words in forbidden):
            return Veto(reason="This command is not run here.")
        return None

    return check


def counting_sink(counts: Counts) -> AuditSink:
    """An observer that only counts."""

    class Counting:
        async def write(self, event: AuditEvent, /) -> None:
            counts.events += 1

    return Counting()


def section(counts: Counts) -> Callable[[PromptContext], Awaitable[str]]:
    """A section of the prompt, made anew each turn."""

    async def render(ctx: PromptContext) -> str:
        return f"So far {counts.calls} greetings were given (turn {ctx.turn})."

    return render


def page(counts: Counts) -> Page:
    """A page that the host draws."""

    async def read(_: PageContext) -> Json:
        return {"greetings": counts.calls, "audit events": counts.events}

    async def forget(_: JsonObject, __: PageContext) -> Json:
        counts.calls = counts.events = 0
        return {"forgotten": True}

    actions: Mapping[str, Callable[[JsonObject, PageContext], Awaitable[Json]]] = {"forget": forget}
    return Page(
        id="one-of-everything",
        title="One of everything",
        blocks=({"type": "keyvalue"}, {"type": "form", "action": "forget"}),
        read=read,
        actions=actions,
    )


def begin_work(ctx: PluginContext[EverythingConfig]) -> None:
    """Begins work in the background, and sees to it that its end is waited for."""

    async def work() -> None:
        await ctx.signal.wait()

    task = asyncio.create_task(work())

    async def end() -> None:
        await task

    ctx.on_dispose(end)


plugin: RuntimePlugin[EverythingConfig] = Everything()
"""What an entry's `module` refers to."""
