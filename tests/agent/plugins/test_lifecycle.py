"""A plugin's life: the order of its phases, what each leaves behind, and what an end undoes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.plugins.contract import PromptSource
from inspan.agent.plugins.entries import InlinePlugin, resolve_entries
from inspan.agent.plugins.host import PluginHost
from inspan.model.errors import PluginError
from support.runtime_plugins import (
    KINDS,
    QUICK,
    Context,
    MadePlugin,
    call_context,
    called,
    contribute_everything,
    make_services,
    make_tool,
    open_host,
    sections_of,
    status_of,
)


def recording(plugin_id: str, log: list[str]) -> MadePlugin:
    """A plugin that says into `log` what is done with it."""

    def parse(raw: Any) -> Any:
        log.append(f"{plugin_id} config")
        return raw

    async def set_up(ctx: Context) -> None:
        log.append(f"{plugin_id} setup")
        ctx.on_dispose(lambda: log.append(f"{plugin_id} first disposer"))
        ctx.on_dispose(lambda: log.append(f"{plugin_id} second disposer"))
        ctx.on_start(lambda: log.append(f"{plugin_id} start"))

    return MadePlugin(id=plugin_id, parse_config=parse, setup=set_up)


@pytest.mark.requirement("R11", "R56", "R57", "R82", "R84", "RD6")
def test_all_are_checked_then_all_set_up_then_all_started_and_ended_in_reverse(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        async with open_host(tmp_path, recording("a", log), recording("b", log)) as ground:
            assert {one.state for one in ground.host.status()} == {"active"}
            log.append("active")
        assert {one.state for one in ground.host.status()} == {"stopped"}
        return log

    assert asyncio.run(scenario()) == [
        "a config",
        "b config",
        "a setup",
        "b setup",
        "a start",
        "b start",
        "active",
        "b second disposer",
        "b first disposer",
        "a second disposer",
        "a first disposer",
    ]


@pytest.mark.requirement("R57", "R84", "RD6")
def test_contributions_go_before_the_disposers_and_after_the_signal(tmp_path: Path) -> None:
    async def scenario() -> tuple[bool, bool, bool]:
        services = make_services(tmp_path)
        seen: list[bool] = []

        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool())
            ctx.signal.listen(lambda: seen.append(services.tools.get("echo") is not None))
            ctx.on_dispose(lambda: seen.append(services.tools.get("echo") is not None))
            ctx.on_dispose(lambda: seen.append(ctx.signal.is_set))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up), services=services):
            pass
        at_signal, is_signalled, at_dispose = seen
        return at_signal, is_signalled, at_dispose

    assert asyncio.run(scenario()) == (True, True, False)


@pytest.mark.requirement("R1", "R4", "R59")
def test_one_plugin_contributes_every_kind_and_all_of_it_is_taken_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        services = make_services(tmp_path)
        plugin = MadePlugin(id="a", setup=contribute_everything)
        async with open_host(tmp_path, plugin, services=services) as ground:
            assert ground.status["a"].contributions == dict.fromkeys(KINDS, 1)
            assert services.models.find("echo:m") is not None
        assert ground.status["a"].contributions == {}
        assert services.tools.list() == ()
        assert services.skills.list() == ()
        assert services.models.list() == ()
        assert services.auth.list() == ()
        assert await sections_of(services) == {}
        assert services.pages.list() == ()

    asyncio.run(scenario())


@pytest.mark.requirement("R83")
def test_a_failed_setup_takes_back_what_it_had_registered_and_runs_its_disposers(tmp_path: Path) -> None:
    async def scenario() -> tuple[list[str], Any]:
        log: list[str] = []

        def set_up(ctx: Context) -> None:
            contribute_everything(ctx)
            ctx.on_dispose(lambda: log.append("disposed"))
            raise RuntimeError

        plugin = InlinePlugin(plugin=MadePlugin(id="a", setup=set_up), required=False)
        async with open_host(tmp_path, plugin, recording("b", log)) as ground:
            assert ground.services.tools.list() == ()
            assert ground.status["b"].state == "active"
            return log, ground.status["a"]

    log, status = asyncio.run(scenario())

    assert log[:3] == ["b config", "disposed", "b setup"]
    assert (status.state, status.phase, status.error, status.contributions) == (
        "failed",
        "setup",
        "RuntimeError",
        {},
    )


@pytest.mark.requirement("R31", "R83")
def test_a_required_failure_takes_everything_back_in_reverse(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        services = make_services(tmp_path)
        host = PluginHost(services, home=tmp_path)

        def fail(ctx: Context) -> None:
            ctx.on_dispose(lambda: log.append("c disposer"))
            raise RuntimeError

        plugins = [recording("a", log), recording("b", log), MadePlugin(id="c", setup=fail)]
        with pytest.raises(PluginError) as failure:
            await host.open(resolve_entries(inline=plugins))
        assert failure.value.detail["plugin"] == "c"
        assert failure.value.detail["phase"] == "setup"
        assert failure.value.__cause__ is failure.value.__context__ is None
        assert [one.state for one in host.status()] == ["stopped", "stopped", "failed"]
        return log[4:]

    assert asyncio.run(scenario()) == [
        "c disposer",
        "b second disposer",
        "b first disposer",
        "a second disposer",
        "a first disposer",
    ]


@pytest.mark.requirement("RD2")
def test_a_required_failure_at_the_start_takes_everything_back(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        host = PluginHost(make_services(tmp_path), home=tmp_path)

        def set_up(ctx: Context) -> None:
            async def fail() -> None:
                raise OSError

            ctx.on_start(fail)

        with pytest.raises(PluginError) as failure:
            await host.open(resolve_entries(inline=[recording("a", log), MadePlugin(id="b", setup=set_up)]))
        assert failure.value.detail["phase"] == "start"
        return log[2:]

    assert asyncio.run(scenario()) == ["a start", "a second disposer", "a first disposer"]


@pytest.mark.requirement("R85")
def test_a_second_close_does_nothing_and_one_during_the_first_waits_for_it(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        gate = asyncio.Event()

        def set_up(ctx: Context) -> None:
            async def dispose() -> None:
                await gate.wait()
                log.append("disposed")

            ctx.on_dispose(dispose)

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            first = asyncio.create_task(ground.host.close())
            second = asyncio.create_task(ground.host.close())
            await asyncio.wait({first, second}, timeout=0.01)
            assert not second.done()
            gate.set()
            await asyncio.gather(first, second)
            await ground.host.close()
        return log

    assert asyncio.run(scenario()) == ["disposed"]


@pytest.mark.requirement("R85")
def test_a_close_whose_caller_is_cancelled_goes_on(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        gate = asyncio.Event()

        def set_up(ctx: Context) -> None:
            ctx.on_dispose(lambda: log.append("first"))
            ctx.on_dispose(gate.wait)

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            closing = asyncio.create_task(ground.host.close())
            await asyncio.wait({closing}, timeout=0.01)
            closing.cancel()
            gate.set()
            await ground.host.close()
        return log

    assert asyncio.run(scenario()) == ["first"]


@pytest.mark.requirement("R85", "R87")
def test_cleaning_up_goes_on_after_a_disposer_that_raises_and_says_so(tmp_path: Path) -> None:
    async def scenario() -> tuple[list[str], Any]:
        log: list[str] = []

        def set_up(ctx: Context) -> None:
            ctx.on_dispose(lambda: log.append("first"))
            ctx.on_dispose(lambda: 1 / 0)
            ctx.on_dispose(lambda: log.append("third"))

        async with open_host(tmp_path, recording("a", log), MadePlugin(id="b", setup=set_up)) as ground:
            log.clear()
        return log, ground.status["b"]

    log, status = asyncio.run(scenario())

    assert log == ["third", "first", "a second disposer", "a first disposer"]
    assert (status.state, status.phase, status.error) == ("stopped", "dispose", "ZeroDivisionError")


async def forever(*_: Any) -> Any:
    await asyncio.Event().wait()


async def deaf_forever(release: asyncio.Event) -> None:
    """Swallows every cancellation until it is let go."""
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue


@pytest.mark.requirement("R85", "R86", "R87")
def test_a_disposer_that_hangs_or_swallows_its_cancellation_leaves_time_to_the_others(tmp_path: Path) -> None:
    async def scenario(*, is_deaf: bool) -> tuple[list[str], Any]:
        log: list[str] = []
        release = asyncio.Event()

        def set_up(ctx: Context) -> None:
            ctx.on_dispose(lambda: log.append("first"))
            ctx.on_dispose((lambda: deaf_forever(release)) if is_deaf else forever)
            ctx.on_dispose(lambda: log.append("third"))

        async with open_host(
            tmp_path, recording("a", log), MadePlugin(id="b", setup=set_up), limits=QUICK
        ) as ground:
            log.clear()
        release.set()
        return log, ground.status["b"]

    for is_deaf in (False, True):
        log, status = asyncio.run(scenario(is_deaf=is_deaf))
        assert log == ["third", "first", "a second disposer", "a first disposer"]
        assert (status.state, status.phase, status.error) == ("stopped", "dispose", "TimeoutError")
        assert any("did not heed" in one for one in status.warnings) is is_deaf


@pytest.mark.requirement("R87")
@pytest.mark.parametrize("is_deaf", [False, True])
@pytest.mark.parametrize("phase", ["setup", "start"])
def test_a_setup_or_a_start_that_hangs_is_given_up_and_taken_back(
    tmp_path: Path, phase: str, is_deaf: bool
) -> None:
    async def scenario() -> tuple[list[str], Any]:
        log: list[str] = []
        release = asyncio.Event()

        async def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool())
            ctx.on_dispose(lambda: log.append("disposed"))
            if phase == "start":
                ctx.on_start((lambda: deaf_forever(release)) if is_deaf else forever)
            else:
                await (deaf_forever(release) if is_deaf else forever())

        plugin = InlinePlugin(plugin=MadePlugin(id="a", setup=set_up), required=False)
        async with open_host(tmp_path, plugin, limits=QUICK) as ground:
            assert ground.services.tools.list() == ()
        release.set()
        return log, ground.status["a"]

    log, status = asyncio.run(scenario())

    assert log == ["disposed"]
    assert (status.state, status.phase, status.error) == ("failed", phase, "TimeoutError")
    assert any("did not heed" in one for one in status.warnings) is is_deaf


@pytest.mark.requirement("RD4", "R86", "R87")
def test_a_stop_waits_for_calls_under_way_and_says_which_went_on(tmp_path: Path) -> None:
    async def scenario(*, heeds: bool) -> Any:
        async def execute(_: Any, ctx: Any) -> Any:
            await (ctx.cancel.wait() if heeds else forever())
            log.append("ended")

        log: list[str] = []

        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool(execute=execute))
            ctx.on_dispose(lambda: log.append("disposed"))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up), limits=QUICK) as ground:
            call = asyncio.create_task(called(ground, "echo"))
            await asyncio.wait({call}, timeout=0.01)
        call.cancel()
        return log, status_of(ground.host, "a")

    log, status = asyncio.run(scenario(heeds=True))
    assert log == ["ended", "disposed"]
    assert (status.state, status.phase) == ("stopped", "")

    log, status = asyncio.run(scenario(heeds=False))
    assert log == ["disposed"]
    assert (status.state, status.phase, status.error) == ("stopped", "drain", "TimeoutError")
    assert "1" in status.warnings[0]


@pytest.mark.requirement("R88")
def test_a_copy_of_a_tool_that_somebody_kept_is_refused_once_its_plugin_stopped(tmp_path: Path) -> None:
    async def scenario() -> None:
        def set_up(ctx: Context) -> None:
            ctx.tools.register(make_tool())

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            owned = ground.services.tools.get("echo")
            assert owned is not None
            cloned = replace(owned.tool, name="cloned")
            assert (await cloned.execute({"text": "x"}, call_context(tmp_path))).text == "x"
        with pytest.raises(PluginError) as failure:
            await cloned.execute({"text": "x"}, call_context(tmp_path))
        assert failure.value.code == "plugin_stopped"
        with pytest.raises(PluginError):
            owned.lease.enter().__enter__()

    asyncio.run(scenario())


@pytest.mark.requirement("R58")
def test_nothing_is_registered_after_setup(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        kept: list[Context] = []
        codes: list[str] = []

        def late(ctx: Context) -> None:
            for register in (
                lambda: ctx.tools.register(make_tool("late")),
                lambda: ctx.hooks.on("stop", lambda _: None),
                lambda: ctx.prompts.register(PromptSource(name="p", render=forever)),
                lambda: ctx.on_start(lambda: None),
            ):
                with pytest.raises(PluginError) as failure:
                    register()
                codes.append(failure.value.code)

        def set_up(ctx: Context) -> None:
            kept.append(ctx)
            ctx.on_start(lambda: late(ctx))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)):
            late(kept[0])
        late(kept[0])
        return codes

    assert asyncio.run(scenario()) == ["plugin_setup_over"] * 12


@pytest.mark.requirement("R57", "R64")
def test_a_disposer_may_be_added_until_the_end_and_not_after(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        kept: list[Context] = []

        def set_up(ctx: Context) -> None:
            kept.append(ctx)
            ctx.on_dispose(lambda: log.append("of setup"))
            ctx.on_start(lambda: ctx.on_dispose(lambda: log.append("of start")))

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)):
            kept[0].on_dispose(lambda: log.append("of later"))
        with pytest.raises(PluginError) as failure:
            kept[0].on_dispose(lambda: log.append("never"))
        assert failure.value.code == "plugin_stopped"
        return log

    assert asyncio.run(scenario()) == ["of later", "of start", "of setup"]


@pytest.mark.requirement("R11")
def test_setup_starts_and_disposers_run_in_one_task(tmp_path: Path) -> None:
    """So that a cancel scope, which has to be closed where it was opened, can be kept from setup to disposer."""

    async def scenario() -> tuple[set[Any], list[str]]:
        import anyio

        tasks: set[Any] = set()
        log: list[str] = []

        async def set_up(ctx: Context) -> None:
            tasks.add(asyncio.current_task())
            group = anyio.create_task_group()
            await group.__aenter__()

            async def leave() -> None:
                tasks.add(asyncio.current_task())
                group.cancel_scope.cancel()
                await group.__aexit__(None, None, None)
                log.append("left")

            ctx.on_dispose(leave)
            ctx.on_start(lambda: tasks.add(asyncio.current_task()))
            group.start_soon(anyio.sleep_forever)

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            pass
        assert ground.status["a"].phase == ""
        return tasks, log

    tasks, log = asyncio.run(scenario())

    assert len(tasks) == 1
    assert log == ["left"]


@pytest.mark.requirement("R65")
def test_background_work_begins_in_a_start_and_is_awaited_in_a_disposer(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []

        def set_up(ctx: Context) -> None:
            async def work() -> None:
                log.append("working")
                await ctx.signal.wait()
                log.append("worked")

            def start() -> None:
                task = asyncio.create_task(work())

                async def wait() -> None:
                    await task

                ctx.on_dispose(wait)

            ctx.on_start(start)

        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up)) as ground:
            await asyncio.wait({asyncio.create_task(asyncio.Event().wait())}, timeout=0.001)
            assert log == ["working"]
        assert ground.status["a"].phase == ""
        return log

    assert asyncio.run(scenario()) == ["working", "worked"]


@pytest.mark.requirement("R2", "R12")
def test_two_hosts_set_the_same_plugin_up_twice_and_share_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        kept: list[Context] = []

        def set_up(ctx: Context) -> None:
            kept.append(ctx)
            ctx.tools.register(make_tool())

        plugin = MadePlugin(id="a", setup=set_up)
        async with open_host(tmp_path / "one", plugin) as one:
            async with open_host(tmp_path / "two", plugin) as two:
                assert kept[0] is not kept[1]
                assert one.services.tools.get("echo") is not two.services.tools.get("echo")
            assert kept[1].signal.is_set
            assert not kept[0].signal.is_set
            assert (await called(one, "echo", {"text": "still"})).text == "still"
            assert two.services.tools.list() == ()

    asyncio.run(scenario())


@pytest.mark.requirement("R83")
def test_a_creator_that_is_cancelled_during_a_setup_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        services = make_services(tmp_path)
        began = asyncio.Event()

        async def hang(ctx: Context) -> None:
            ctx.on_dispose(lambda: log.append("b disposer"))
            began.set()
            await forever()

        host = PluginHost(services, home=tmp_path)
        plugins = [recording("a", log), MadePlugin(id="b", setup=hang)]
        opening = asyncio.create_task(host.open(resolve_entries(inline=plugins)))
        await began.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        return log[2:]

    assert asyncio.run(scenario()) == ["b disposer", "a second disposer", "a first disposer"]


def test_a_loop_that_ends_before_the_agent_was_closed_still_runs_the_disposers(tmp_path: Path) -> None:
    log: list[str] = []

    async def scenario() -> PluginHost:
        host = PluginHost(make_services(tmp_path), home=tmp_path)
        await host.open(resolve_entries(inline=[recording("a", log)]))
        return host

    host = asyncio.run(scenario())

    assert log[-2:] == ["a second disposer", "a first disposer"]
    assert (status_of(host, "a").state, status_of(host, "a").phase) == ("failed", "run")


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, KeyError, BaseExceptionGroup])
def test_whatever_a_setup_raises_is_its_own_failure(tmp_path: Path, kind: type[BaseException]) -> None:
    async def scenario() -> Any:
        def set_up(_: Context) -> None:
            raise kind("x", [KeyError()]) if kind is BaseExceptionGroup else kind()

        plugin = InlinePlugin(plugin=MadePlugin(id="a", setup=set_up), required=False)
        async with open_host(tmp_path, plugin) as ground:
            return ground.status["a"]

    status = asyncio.run(scenario())

    assert (status.state, status.phase) == ("failed", "setup")
    assert status.error in (kind.__name__, "ExceptionGroup")
