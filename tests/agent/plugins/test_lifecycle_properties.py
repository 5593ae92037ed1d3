"""Whatever plugins there are and wherever they fail: the order holds, nothing is left, and nothing is undone twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.plugins.entries import InlinePlugin, resolve_entries
from inspan.agent.plugins.host import PluginHost
from inspan.agent.plugins.life import PluginLimits
from inspan.model.errors import PluginError
from support.agent_ground import temporary_folder
from support.runtime_plugins import Context, MadePlugin, make_services, make_tool, open_host

PHASES = ("none", "config", "setup", "setup at once", "start", "dispose", "conflict")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One plugin: where it fails, and what it acquires."""

    fails_in: str
    is_required: bool
    disposers: int
    tools: int


specs = st.builds(
    Spec,
    fails_in=st.sampled_from(PHASES),
    is_required=st.booleans(),
    disposers=st.integers(0, 3),
    tools=st.integers(0, 2),
)


def made(number: int, spec: Spec, log: list[tuple[str, int, int]]) -> InlinePlugin:
    def fail(phase: str) -> None:
        if spec.fails_in == phase:
            raise LookupError

    def parse(raw: Any) -> Any:
        log.append(("config", number, 0))
        fail("config")
        return raw

    async def set_up(ctx: Context) -> None:
        log.append(("setup", number, 0))
        fail("setup at once")
        for tool in range(spec.tools):
            ctx.tools.register(make_tool(f"t{number}_{tool}"))
        for disposer in range(spec.disposers):
            log.append(("acquired", number, disposer))

            async def dispose(disposer: int = disposer) -> None:
                log.append(("disposed", number, disposer))
                await asyncio.sleep(0)
                fail("dispose")

            ctx.on_dispose(dispose)
            await asyncio.sleep(0)
        if spec.fails_in == "conflict":
            ctx.tools.register(make_tool("taken"))
        fail("setup")
        ctx.on_start(start)

    async def start() -> None:
        log.append(("start", number, 0))
        fail("start")

    return InlinePlugin(
        plugin=MadePlugin(id=f"p{number}", setup=set_up, parse_config=parse), required=spec.is_required
    )


@given(st.lists(specs, max_size=5))
def test_the_order_holds_nothing_is_left_and_nothing_is_undone_twice(plugins: list[Spec]) -> None:
    log: list[tuple[str, int, int]] = []

    async def scenario(folder: Path) -> tuple[bool, Any]:
        from inspan.agent.leases import OwnerLease

        services = make_services(folder)
        services.tools.add(make_tool("taken"), "builtin", OwnerLease("builtin"))
        host = PluginHost(services, home=folder)
        is_made = True
        try:
            await host.open(resolve_entries(inline=[made(*pair, log) for pair in enumerate(plugins)]))
        except PluginError:
            is_made = False
        else:
            log.append(("made", -1, 0))
        await host.close()
        await host.close()
        assert [one.tool.name for one in services.tools.list()] == ["taken"]
        return is_made, host.status()

    with temporary_folder() as name:
        is_made, status = asyncio.run(scenario(Path(name)))
    kinds = [kind for kind, _, _ in log]
    acquired = [(number, disposer) for kind, number, disposer in log if kind == "acquired"]
    disposed = [(number, disposer) for kind, number, disposer in log if kind == "disposed"]

    assert sorted(disposed) == sorted(acquired), "each disposer ran, and ran once"
    for number in range(len(plugins)):
        own = [disposer for plugin, disposer in disposed if plugin == number]
        assert own == sorted(own, reverse=True), "latest first"
    at_the_end = (
        disposed
        if not is_made
        else disposed[len(disposed) - kinds[kinds.index("made") :].count("disposed") :]
    )
    left_to_the_end = [number for number, _ in at_the_end if status[number].state != "failed"]
    assert left_to_the_end == sorted(left_to_the_end, reverse=True), "plugins in reverse"
    for earlier, later in (("config", "setup"), ("setup", "start")):
        if earlier in kinds and later in kinds:
            last = len(kinds) - 1 - kinds[::-1].index(earlier)
            assert last < kinds.index(later), f"every {earlier} before any {later}"
    for kind in ("config", "setup", "start"):
        numbers = [number for found, number, _ in log if found == kind]
        assert numbers == sorted(set(numbers)), "in configured order, each once"
    fatal = [one for one in plugins if one.is_required and one.fails_in not in ("none", "dispose")]
    assert is_made is not bool(fatal)
    assert all(one.contributions == {} for one in status)
    for one, spec in zip(status, plugins, strict=True):
        assert one.state in ("stopped", "failed")
        if is_made:
            assert (one.state == "failed") is (spec.fails_in not in ("none", "dispose"))


@pytest.mark.requirement("R87", "R91")
def test_no_limit_fires_while_a_plugin_blocks_the_loop_and_none_is_held_against_it(tmp_path: Path) -> None:
    def set_up(_: Context) -> None:
        subprocess.run([sys.executable, "-c", ""], check=True)

    async def scenario() -> str:
        limits = PluginLimits(setup_s=0.001)
        async with open_host(tmp_path, MadePlugin(id="a", setup=set_up), limits=limits) as ground:
            return ground.status["a"].state

    assert asyncio.run(scenario()) == "active"
