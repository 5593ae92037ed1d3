"""The built-in memory: four things that come and go together, and a sync that is apart from them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.agent.cancelling import CancelSource
from inspan.agent.commands import run_command
from inspan.agent.memory.store import MemoryStore
from inspan.agent.plugins.entries import InlinePlugin
from inspan.agent.plugins.memory import MemoryConfig, MemoryPlugin
from inspan.agent.plugins.memory_sync import MemorySync
from support.agent_ground import allow, open_agent, script, temporary_folder
from support.holders import until
from support.runtime_plugins import open_host, sections_of

SAVE = (
    'call remember {"action": "save", "name": "tabs", "summary": "Tabs, not blanks", "text": "They said so."}'
)


@pytest.mark.requirement("R102")
@pytest.mark.parametrize("is_ephemeral", [True, False])
def test_a_note_that_one_session_keeps_stands_in_the_prompt_and_on_the_page_of_the_next(
    tmp_path: Path, is_ephemeral: bool
) -> None:
    async def story() -> None:
        cancel = CancelSource().signal
        async with open_agent(tmp_path, responder=allow, is_ephemeral=is_ephemeral) as agent:
            session = await agent.new_session()
            await session.run(script(SAVE, "---", "say kept"))
            page = await agent.pages.read("memory", cancel)
        async with open_agent(tmp_path, is_ephemeral=is_ephemeral) as agent:
            again: Any = await agent.pages.read("memory", cancel)
            assert again == page
            (note,) = again["notes"]
            assert (note["name"], note["scope"], note["summary"]) == ("tabs", "workspace", "Tabs, not blanks")
            await agent.pages.act("memory", "delete", {"name": "tabs", "scope": "workspace"}, cancel)
            assert await agent.pages.read("memory", cancel) == {"notes": []}

    asyncio.run(story())


def test_the_page_shows_the_notes_of_the_folder_that_the_session_works_in(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def story() -> None:
        cancel = CancelSource().signal
        async with open_agent(tmp_path, responder=allow) as agent:
            session = await agent.new_session(workspace=elsewhere)
            await session.run(script(SAVE, "---", "say kept"))
            assert "Tabs, not blanks" in await run_command(agent, session, "pages")
            assert "Tabs, not blanks" not in await run_command(agent, await agent.new_session(), "pages")
            note: Any = {"name": "tabs", "scope": "workspace"}
            await agent.pages.act("memory", "delete", note, cancel, workspace=elsewhere)
            assert await agent.pages.read("memory", cancel, workspace=elsewhere) == {"notes": []}

    asyncio.run(story())


@pytest.mark.requirement("R102", "R103")
def test_disabled_it_takes_its_tools_section_page_and_sync_along(tmp_path: Path) -> None:
    other = tmp_path / "carried"

    async def story(*, is_enabled: bool) -> tuple[set[str], set[str], bool]:
        entry = {"id": "memory", "enabled": is_enabled, "config": {"sync": {"folder": str(other)}}}
        async with open_agent(tmp_path, plugin_config=[entry]) as agent:
            if is_enabled:
                await until(other.exists, "the sync began")
            tools = {tool.name for tool in agent.tools} & {"memory", "remember"}
            pages = {one.page.id for one in agent.pages.list()}
        return tools, pages, other.exists()

    assert asyncio.run(story(is_enabled=False)) == (set(), set(), False)
    assert asyncio.run(story(is_enabled=True)) == ({"memory", "remember"}, {"memory"}, True)


@pytest.mark.requirement("R103")
def test_with_the_sync_off_the_notes_stay_here(tmp_path: Path) -> None:
    async def story(config: Any) -> dict[str, str]:
        MemoryStore(tmp_path / "memory").save("tabs", "Tabs, not blanks", "They said so.", tmp_path)
        plugin = InlinePlugin(plugin=MemoryPlugin(tmp_path / "memory"), config=config)
        async with open_host(tmp_path, plugin) as ground:
            assert ground.status["memory"].contributions == {"tools": 2, "prompts": 1, "pages": 1}
            return await sections_of(ground.services)

    for config in (None, {}, {"sync": None}):
        sections = asyncio.run(story(config))
        assert "- tabs: Tabs, not blanks" in sections["index"]
    assert {one.name for one in tmp_path.iterdir()} == {"memory"}


@pytest.mark.requirement("R65", "R102")
def test_the_sync_begins_when_the_agent_does_and_looks_once_more_at_its_end(tmp_path: Path) -> None:
    async def story() -> None:
        own, other = tmp_path / "memory", tmp_path / "carried"
        store = MemoryStore(own)
        store.save("first", "s", "t", None)
        plugin = InlinePlugin(
            plugin=MemoryPlugin(own), config={"sync": {"folder": str(other), "every_s": 3600}}
        )
        async with open_host(tmp_path, plugin):
            await until((other / "global" / "first.md").exists, "the first look")
            store.save("second", "s", "t", None)
        assert (other / "global" / "second.md").read_bytes() == (own / "global" / "second.md").read_bytes()

    asyncio.run(story())


def test_a_folder_that_cannot_be_synced_with_is_said_and_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> Any:
        (tmp_path / "file").write_text("")
        config = {"sync": {"folder": str(tmp_path / "file" / "below")}}
        async with open_host(
            tmp_path, InlinePlugin(plugin=MemoryPlugin(tmp_path / "m"), config=config)
        ) as ground:
            return ground.status["memory"].state

    assert asyncio.run(story()) == "active"
    assert "could not be synced (NotADirectoryError)" in caplog.text


@pytest.mark.parametrize(
    "raw", [[], {"x": 1}, {"sync": True}, {"sync": {}}, {"sync": {"folder": "relative"}}, {"sync": {"folder": 1}},
            {"sync": {"folder": "/x", "more": 1}}, {"sync": {"folder": "/x", "every_s": 0}}]
)  # fmt: skip
def test_a_configuration_that_is_none_is_refused(raw: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        MemoryPlugin(tmp_path).parse_config(raw)


def test_a_configuration_may_leave_the_sync_off_or_say_where(tmp_path: Path) -> None:
    parse = MemoryPlugin(tmp_path).parse_config

    assert parse(None) == parse({"sync": None}) == MemoryConfig()
    assert parse({"sync": {"folder": "/x", "every_s": 5}}) == MemoryConfig(
        sync_folder=Path("/x"), every_s=5.0
    )


def on_two_sides(
    change: Callable[[Path, Path], object], folder: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """What both sides hold after a first look at a note of both, a change, and a second look."""
    own, other = folder / "own", folder / "other"
    sync = MemorySync(own, other)
    (own / "global").mkdir(parents=True, exist_ok=True)
    (own / "global" / "note.md").write_text("first")
    sync.run()
    change(own / "global", other / "global")
    sync.run()
    sync.run()
    return held(own), held(other)


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.rglob("*.md")}


def at(path: Path, text: str, when: int) -> None:
    path.write_text(text)
    os.utime(path, (when, when))


def case(label: str, change: Callable[[Path, Path], object], expected: dict[str, str]) -> Any:
    return pytest.param(change, expected, id=label)


CHANGES = [
    case("changed here", lambda own, _: at(own / "note.md", "mine", 10), {"note.md": "mine"}),
    case("changed there", lambda _, other: at(other / "note.md", "theirs", 10), {"note.md": "theirs"}),
    case("deleted here", lambda own, _: (own / "note.md").unlink(), {}),
    case("deleted there", lambda _, other: (other / "note.md").unlink(), {}),
    case(
        "changed on both sides, here later",
        lambda own, other: (at(own / "note.md", "mine", 20), at(other / "note.md", "theirs", 10)),
        {"note.md": "mine"},
    ),
    case(
        "changed on both sides, there later",
        lambda own, other: (at(own / "note.md", "mine", 10), at(other / "note.md", "theirs", 20)),
        {"note.md": "theirs"},
    ),
    case(
        "deleted here, changed there",
        lambda own, other: ((own / "note.md").unlink(), at(other / "note.md", "theirs", 10)),
        {"note.md": "theirs"},
    ),
    case(
        "new on both sides",
        lambda own, other: (at(own / "a.md", "a", 1), at(other / "b.md", "b", 1)),
        {"note.md": "first", "a.md": "a", "b.md": "b"},
    ),
    case(
        "a link and something else",
        lambda own, other: (os.symlink("/etc/hostname", other / "link.md"), at(other / "x.txt", "x", 1)),
        {"note.md": "first"},
    ),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_two_folders_become_the_same(change: Any, expected: dict[str, str], tmp_path: Path) -> None:
    own, other = on_two_sides(change, tmp_path)

    assert own == expected
    assert {name: text for name, text in other.items() if name != "link.md"} == expected


def test_a_folder_that_is_not_mounted_or_is_another_one_deletes_nothing(tmp_path: Path) -> None:
    own, disk, second = tmp_path / "own", tmp_path / "disk", tmp_path / "second"
    sync = MemorySync(own, disk)
    sync.run()
    at(own / "note.md", "kept", 1)
    sync.run()
    disk.rename(tmp_path / "unmounted")
    sync.run()
    assert held(own) == held(disk) == {"note.md": "kept"}
    MemorySync(tmp_path / "own of another machine", second).run()
    at(second / "theirs.md", "theirs", 1)
    for _ in range(2):
        MemorySync(own, second).run()
    assert held(own) == held(second) == {"note.md": "kept", "theirs.md": "theirs"}
    (second / "note.md").unlink()
    MemorySync(own, second).run()
    assert held(own) == {"theirs.md": "theirs"}


def test_a_note_that_cannot_be_carried_is_deleted_nowhere(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    sync = MemorySync(own, other)
    sync.run()
    for name in ("grown.md", "linked.md"):
        at(own / name, "small", 1)
    (own / "global").mkdir()
    at(own / "global" / "moved.md", "small", 1)
    sync.run()
    (own / "global").rename(tmp_path / "elsewhere")
    (own / "global").symlink_to(tmp_path / "elsewhere")
    at(own / "grown.md", "x" * 300_000, 2)
    (own / "linked.md").unlink()
    (own / "linked.md").symlink_to(own / "grown.md")
    for _ in range(2):
        sync.run()
    assert held(other) == {"grown.md": "small", "linked.md": "small", "moved.md": "small"}
    at(own / "grown.md", "small again", 3)
    sync.run()
    assert held(other)["grown.md"] == "small again"


def test_a_folder_that_may_not_be_read_does_not_look_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    sync = MemorySync(own, other)
    (own / "global").mkdir(parents=True)
    at(own / "global" / "note.md", "kept", 1)
    sync.run()
    scan = os.scandir

    def refuse(path: Any) -> Any:  # as the system does to whoever is not root
        if Path(path) == other / "global":
            raise PermissionError(13, "denied", str(path))
        return scan(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        with pytest.raises(PermissionError):
            sync.run()
    assert (own / "global" / "note.md").read_text() == "kept"


actions = st.lists(
    st.tuples(
        st.sampled_from(["own", "other"]),
        st.sampled_from("abc"),
        st.one_of(st.none(), st.sampled_from("xyz")),
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(st.lists(actions, max_size=4))
def test_whatever_happens_on_both_sides_they_are_the_same_after_a_look(rounds: list[Any]) -> None:
    with temporary_folder() as name:
        folders = {side: Path(name) / side for side in ("own", "other")}
        sync = MemorySync(folders["own"], folders["other"])
        sync.run()
        for when, happened in enumerate(rounds, 1):
            before = held(folders["own"])
            untouched = dict(before)
            for side, note, text in happened:
                untouched.pop(f"{note}.md", None)
                path = folders[side] / f"{note}.md"
                if text is None:
                    path.unlink(missing_ok=True)
                else:
                    at(path, text, when)
            sync.run()
            after = held(folders["own"])
            assert after == held(folders["other"])
            assert untouched.items() <= after.items(), "a note that nobody touched stays"
