"""The person's list of plugins: what it may hold, how it meets the inline plugins, and what a project may not do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.plugins.configuration import (
    ConfigEntry,
    find_project_lists,
    parse_config_list,
    read_config_file,
)
from inspan.agent.plugins.entries import BuiltinPlugin, InlinePlugin, resolve_entries
from inspan.agent.plugins.host import PluginHost
from inspan.model.errors import PluginError, UsageError
from support.runtime_plugins import MadePlugin, make_services, open_host, status_of

SECRET = "sk-in-the-list"


def entries_of(raw: Any, inline: Any = (), builtins: Any = ()) -> Any:
    return resolve_entries(builtins=builtins, inline=inline, lists=[parse_config_list(raw, "a test")])


@pytest.mark.requirement("R17", "R22")
def test_a_file_may_hold_entries_of_all_keys(tmp_path: Path) -> None:
    path = tmp_path / "plugins.json"
    entry = {"id": "a", "module": "/x.py", "enabled": False, "required": False, "config": {"x": [1]}}
    path.write_text(json.dumps({"runtimePlugins": [entry, {"id": "b"}]}))

    assert read_config_file(path) == (
        ConfigEntry(id="a", module="/x.py", enabled=False, required=False, config={"x": [1]}),
        ConfigEntry(id="b"),
    )


@pytest.mark.requirement("R17")
def test_no_file_and_a_file_without_a_list_are_no_list(tmp_path: Path) -> None:
    path = tmp_path / "plugins.json"

    assert read_config_file(path) is None
    path.write_text("{}")
    assert read_config_file(path) is None
    path.write_text('{"runtimePlugins": []}')
    assert read_config_file(path) == ()


@pytest.mark.requirement("R22", "R27", "R37")
@pytest.mark.parametrize(
    ("text", "fact"),
    [
        pytest.param("{" + SECRET, "is not JSON", id="not JSON"),
        pytest.param("\ufffe", "is not JSON", id="not text"),
        pytest.param(f'["{SECRET}"]', "is no JSON object", id="a list on top"),
        pytest.param('{"runtimeplugins": []}', "unknown key 'runtimeplugins'", id="an unknown key on top"),
        pytest.param('{"runtimePlugins": {}}', "no list", id="no list"),
        pytest.param('{"runtimePlugins": "ab"}', "no list", id="a text for a list"),
        pytest.param(f'{{"runtimePlugins": ["{SECRET}"]}}', "no object", id="an entry that is no object"),
        pytest.param(
            '{"runtimePlugins": [{"id": "a", "modul": 1}]}', "unknown key 'modul'", id="an unknown key"
        ),
        pytest.param('{"runtimePlugins": [{"module": "x"}]}', "no id", id="no id"),
        pytest.param('{"runtimePlugins": [{"id": "A"}]}', "no id", id="an id in capitals"),
        pytest.param('{"runtimePlugins": [{"id": "a", "module": ""}]}', "module", id="an empty module"),
        pytest.param(
            '{"runtimePlugins": [{"id": "a", "module": 7}]}', "module", id="a module that is no text"
        ),
        pytest.param(
            '{"runtimePlugins": [{"id": "a", "enabled": 1}]}', "'enabled'", id="enabled is a number"
        ),
        pytest.param(
            '{"runtimePlugins": [{"id": "a", "required": null}]}', "'required'", id="required is null"
        ),
        pytest.param('{"runtimePlugins": [{"id": "a"}, {"id": "a"}]}', "'a' twice", id="an id twice"),
        pytest.param("[" * 100_000, "is not JSON", id="nested without end"),
    ],
)
def test_a_list_that_is_wrong_anywhere_is_refused_whole_and_not_quoted(
    tmp_path: Path, text: str, fact: str
) -> None:
    path = tmp_path / "plugins.json"
    path.write_text(text)

    with pytest.raises(UsageError, match=fact) as failure:
        read_config_file(path)

    assert failure.value.code == "plugin_config_invalid"
    assert failure.value.detail == {"file": str(path)}
    assert SECRET not in str(failure.value)
    assert failure.value.__context__ is None or failure.value.__suppress_context__


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
near_entries = st.dictionaries(
    st.sampled_from(["id", "module", "enabled", "required", "config", "x"]), json_values
)


@given(st.lists(near_entries, max_size=4) | json_values)
def test_whatever_a_list_holds_it_is_entries_or_refused(raw: Any) -> None:
    try:
        entries = parse_config_list(raw, "a test")
    except UsageError:
        return
    assert len({one.id for one in entries}) == len(entries)


@pytest.mark.requirement("R29", "R30")
def test_an_entry_is_required_unless_it_says_otherwise(tmp_path: Path) -> None:
    (needed,) = entries_of([{"id": "a", "module": "/nowhere.py"}])
    (wanted,) = entries_of([{"id": "a", "module": "/nowhere.py", "required": False}])
    assert (needed.is_required, wanted.is_required) == (True, False)

    async def open_with(entry: Any) -> str:
        async with open_host(tmp_path, entries=[entry]) as ground:
            return ground.status["a"].state

    with pytest.raises(PluginError):
        asyncio.run(open_with(needed))
    assert asyncio.run(open_with(wanted)) == "failed"


@pytest.mark.requirement("R10", "R24", "R25", "R32", "RD3")
def test_the_list_configures_or_disables_an_inline_plugin(tmp_path: Path) -> None:
    seen: list[Any] = []

    def parse(raw: Any) -> Any:
        seen.append(raw)
        return raw

    inline = InlinePlugin(
        plugin=MadePlugin(id="a", parse_config=parse), config={"of": "embedder", "deep": {"x": 1}}
    )

    async def open_with(*raw: Any) -> Any:
        host = PluginHost(make_services(tmp_path), home=tmp_path)
        await host.open(entries_of(list(raw), inline=[inline]))
        await host.close()
        return status_of(host, "a")

    asyncio.run(open_with())
    configured = asyncio.run(open_with({"id": "a", "config": {"deep": {"y": 2}}, "required": False}))
    disabled = asyncio.run(open_with({"id": "a", "enabled": False}))
    asyncio.run(open_with({"id": "a", "config": None}))

    assert seen == [{"of": "embedder", "deep": {"x": 1}}, {"deep": {"y": 2}}, None]
    assert (configured.state, configured.is_required, configured.source) == ("stopped", False, "inline")
    assert (disabled.state, disabled.message) == ("disabled", "The person's list disables it.")


@pytest.mark.requirement("R26")
def test_the_list_cannot_replace_an_inline_or_a_builtin_plugin(tmp_path: Path) -> None:
    module = tmp_path / "other.py"
    module.write_text("raise SystemExit('it ran')\n")
    raw = [{"id": "a", "module": str(module)}]
    builtins = [BuiltinPlugin(plugin=MadePlugin(id="a"))]

    for entries in (entries_of(raw, inline=[MadePlugin(id="a")]), entries_of(raw, builtins=builtins)):
        (entry,) = entries
        assert entry.fault == "the list names a module for it, and nothing may replace it"

        async def open_with(entries: Any) -> Any:
            async with open_host(tmp_path, entries=entries) as ground:
                return ground.status["a"]

        if entry.is_required:
            with pytest.raises(PluginError, match="nothing may replace it"):
                asyncio.run(open_with(entries))
        else:
            assert asyncio.run(open_with(entries)).phase == "resolve"


@pytest.mark.requirement("R27", "R60")
def test_an_inline_id_stands_once_and_is_no_builtin_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another inline one"):
        resolve_entries(inline=[MadePlugin(id="a"), MadePlugin(id="a")])
    with pytest.raises(UsageError, match="a built-in one"):
        resolve_entries(inline=[MadePlugin(id="a")], builtins=[BuiltinPlugin(plugin=MadePlugin(id="a"))])


@pytest.mark.requirement("R13")
def test_inline_plugins_come_as_values_as_mappings_or_alone(tmp_path: Path) -> None:
    entries = resolve_entries(
        inline=[
            InlinePlugin(plugin=MadePlugin(id="a"), required=False),
            {"plugin": MadePlugin(id="b"), "required": False},
            {"plugin": MadePlugin(id="c")},
            MadePlugin(id="d"),
        ]
    )

    assert [(one.id, one.is_required) for one in entries] == [
        ("a", False),
        ("b", False),
        ("c", True),
        ("d", True),
    ]
    for wrong in (
        {"required": True},
        {"plugin": MadePlugin(id="a"), "requred": 1},
        {"plugin": 1, "required": 1},
    ):
        with pytest.raises(UsageError):
            resolve_entries(inline=[wrong])


@pytest.mark.requirement("R32")
def test_a_later_list_replaces_an_earlier_one_whole() -> None:
    earlier = parse_config_list([{"id": "a", "module": "/a.py"}, {"id": "b", "module": "/b.py"}], "earlier")
    later = parse_config_list([{"id": "b", "module": "/c.py"}], "later")

    assert [one.module for one in resolve_entries(lists=[earlier, later])] == ["/c.py"]
    assert [one.module for one in resolve_entries(lists=[earlier, None])] == ["/a.py", "/b.py"]
    assert resolve_entries(lists=[earlier, ()]) == ()


@pytest.mark.requirement("R82")
def test_builtin_plugins_come_first_then_inline_ones_then_those_of_the_list() -> None:
    entries = entries_of(
        [{"id": "z", "module": "/z.py"}, {"id": "inline", "config": 1}, {"id": "a", "module": "/a.py"}],
        inline=[MadePlugin(id="other"), MadePlugin(id="inline")],
        builtins=[BuiltinPlugin(plugin=MadePlugin(id="own"))],
    )

    assert [one.id for one in entries] == ["own", "other", "inline", "z", "a"]


@pytest.mark.requirement("R28")
def test_a_disabled_entry_is_not_even_imported(tmp_path: Path) -> None:
    module = tmp_path / "effect.py"
    module.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nplugin = None\n")

    async def scenario(*, is_enabled: bool) -> Any:
        raw = [{"id": "a", "module": str(module), "enabled": is_enabled, "required": False}]
        async with open_host(tmp_path, entries=entries_of(raw)) as ground:
            return ground.status["a"]

    def refuse(*_: Any) -> Any:
        raise AssertionError

    status = asyncio.run(scenario(is_enabled=False))
    assert (status.state, status.version) == ("disabled", "")
    assert not (tmp_path / "ran").exists()
    inline = MadePlugin(id="b", parse_config=refuse, setup=refuse)

    async def disabled_inline() -> str:
        entries = entries_of([{"id": "b", "enabled": False}], inline=[inline])
        async with open_host(tmp_path, entries=entries) as ground:
            return ground.status["b"].state

    assert asyncio.run(disabled_inline()) == "disabled"
    asyncio.run(scenario(is_enabled=True))
    assert (tmp_path / "ran").exists()


def module_of(plugin_id: str, *, attribute: str = "plugin") -> str:
    return f"""
class P:
    id, version, api_version = {plugin_id!r}, "1", 1
    seen = []

    def parse_config(self, raw):
        return raw

    def setup(self, ctx):
        self.seen.append(ctx.config)
        ctx.prompts.register(__import__("inspan.agent.plugins.contract", fromlist=["x"]).PromptSource(
            name="seen", render=self.say))

    async def say(self, ctx):
        return str(len(self.seen))


{attribute} = P()
"""


async def opened(folder: Path, raw: Any) -> Any:
    async with open_host(folder, entries=entries_of(raw)) as ground:
        return ground.status


@pytest.mark.requirement("R18", "R20", "R21", "R23")
def test_a_module_is_an_absolute_path_or_a_name_and_perhaps_an_attribute(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(module_of("one"))
    (tmp_path / "two.py").write_text(module_of("two", attribute="other"))
    package = tmp_path / "isp_test_package"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import plugin\n")
    (package / "inner.py").write_text(module_of("three"))

    for raw in (
        {"id": "one", "module": str(tmp_path / "one.py")},
        {"id": "two", "module": f"{tmp_path / 'two.py'}:other"},
        {"id": "three", "module": str(package)},
        {"id": "three", "module": "isp_test_package"},
        {"id": "three", "module": "isp_test_package.inner"},
        {"id": "three", "module": "isp_test_package.inner:plugin"},
        {
            "id": "audit-jsonl",
            "module": "inspan.agent.plugins.jsonl_audit",
            "config": {"path": str(tmp_path / "a")},
        },
    ):
        status = asyncio.run(opened(tmp_path, [raw]))[raw["id"]]
        assert (status.state, status.phase) == ("active", ""), raw
    assert not [one for one in sys.modules if one.startswith("_inspan_runtime_plugin")]
    assert "isp_test_package" not in sys.modules


@pytest.mark.requirement("R19", "R20", "R23")
@pytest.mark.parametrize(
    ("raw", "phase", "message"),
    [
        pytest.param({"id": "one", "module": "/nowhere/x.py"}, "resolve", "no .py file", id="no such file"),
        pytest.param(
            {"id": "one", "module": "no_such_isp_module"}, "resolve", "no such module", id="no such module"
        ),
        pytest.param({"id": "one", "module": "./one.py"}, "resolve", "neither", id="a relative path"),
        pytest.param({"id": "one", "module": "one.py:x y"}, "resolve", "neither", id="no attribute's name"),
        pytest.param({"id": "one"}, "resolve", "no module", id="neither there nor a module"),
        pytest.param(
            {"id": "one", "module": "FOLDER/one.py:nothing"}, "contract", "'nothing'", id="no attribute"
        ),
        pytest.param(
            {"id": "other", "module": "FOLDER/one.py"}, "contract", "Its id is 'one'", id="another id"
        ),
        pytest.param({"id": "one", "module": "FOLDER/bad.py"}, "import", "", id="no Python"),
        pytest.param(
            {"id": "one", "module": "FOLDER/text.txt"}, "resolve", "no .py file", id="no module's name"
        ),
    ],
)
def test_a_module_that_cannot_be_had_says_why(tmp_path: Path, raw: Any, phase: str, message: str) -> None:
    (tmp_path / "one.py").write_text(module_of("one"))
    (tmp_path / "bad.py").write_text("def\n")
    (tmp_path / "text.txt").write_text(module_of("one"))
    raw = {key: value.replace("FOLDER", str(tmp_path)) for key, value in raw.items()} | {"required": False}

    (status,) = asyncio.run(opened(tmp_path, [raw])).values()

    assert (status.state, status.phase) == ("failed", phase)
    assert message in status.message


@pytest.mark.requirement("R2", "R33")
def test_a_file_is_read_anew_for_each_agent_so_that_two_share_not_even_its_module(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(module_of("one"))
    raw = [{"id": "one", "module": str(path)}]

    async def scenario() -> None:
        from support.runtime_plugins import sections_of

        async with open_host(tmp_path, entries=entries_of(raw)) as one:
            async with open_host(tmp_path, entries=entries_of(raw)) as two:
                assert await sections_of(one.services) == {"seen": "1"}
                assert await sections_of(two.services) == {"seen": "1"}
            before = path.stat()
            path.write_text(module_of("one").replace('"1", 1', '"2", 1'))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            async with open_host(tmp_path, entries=entries_of(raw)) as three:
                assert three.status["one"].version == "2"
            assert one.status["one"].version == "1"
            assert not (tmp_path / "__pycache__").exists()

    asyncio.run(scenario())


@pytest.mark.requirement("R34", "R36")
def test_a_module_is_never_found_by_name_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, home, installed = (tmp_path / name for name in ("project", "home", "installed"))
    for folder in (project, home, installed):
        folder.mkdir()
    (project / "isp_shadow.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" + module_of("p"))
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    raw = [{"id": "p", "module": "isp_shadow", "required": False}]

    async def scenario() -> Any:
        services = make_services(project)
        host = PluginHost(services, home=home)
        await host.open(entries_of(raw))
        await host.close()
        return status_of(host, "p")

    assert asyncio.run(scenario()).phase == "resolve"
    (installed / "isp_shadow.py").write_text(module_of("p"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(installed)])
    monkeypatch.delitem(sys.modules, "isp_shadow", raising=False)
    assert asyncio.run(scenario()).state == "stopped"
    assert not (tmp_path / "ran").exists()


@pytest.mark.requirement("R6")
def test_a_declarative_package_is_never_run_as_a_module(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "inspan.plugin.json").write_text("{}")
    (package / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    (package / "inner.py").write_text((package / "__init__.py").read_text())

    for module in (str(package), str(package / "inner.py")):
        status = asyncio.run(opened(tmp_path, [{"id": "p", "module": module, "required": False}]))["p"]
        assert status.phase == "resolve"
        assert "never run" in status.message
    assert not (tmp_path / "ran").exists()


@pytest.mark.requirement("R34", "R35", "R36", "RD8")
def test_what_a_project_lists_is_found_and_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / ".inspan"
    assert find_project_lists(tmp_path, tmp_path / "home") == ()
    folder.mkdir()
    (folder / "plugins.json").write_text("not even JSON")
    (folder / "config.json").write_text('{"runtimePlugins": [{"id": "memory", "enabled": false}]}')
    (folder / "settings.toml").write_text("[[runtimePlugins]]\nid = 'a'\n")
    (folder / "fine.json").write_text('{"skills": []}')
    (folder / "broken.toml").write_text("[")
    found = (".inspan/config.json", ".inspan/plugins.json", ".inspan/settings.toml")

    assert find_project_lists(tmp_path, tmp_path / "home") == found
    assert find_project_lists(tmp_path, folder) == (), "the home itself is the person's own"

    async def scenario() -> Any:
        host = PluginHost(make_services(tmp_path), home=tmp_path)
        await host.open(resolve_entries(inline=[MadePlugin(id="memory")]), ignored_lists=found)
        states = [(one.id, one.state, one.source) for one in host.status()]
        await host.close()
        return states, host.status()[1]

    states, ignored = asyncio.run(scenario())
    assert states == [("memory", "active", "inline"), *((one, "ignored", "project") for one in found)]
    assert "only the person's own list counts" in ignored.warnings[0]
