"""The contract is complete: every operation has its values, its method, its deadline and its page."""

import asyncio
import inspect
import re
from pathlib import Path

import msgspec
import pytest

import inspan.plugin
from inspan.plugin import METHODS, HarnessPlugin, ManifestPlugin, PluginContext, Unsupported
from inspan.plugin.context import make_context
from inspan.plugin.manifest_file import load_manifest
from support.harness_folders import add_harness, manifest_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugin-protocol.md"
DISCUSSED = {
    "initialize",
    "get_manifest",
    "probe",
    "launch",
    "resume",
    "fork",
    "check_ready",
    "inspect_process",
    "capture_identity",
    "get_activity",
    "get_context_usage",
    "project_resources",
    "remove_resources",
    "classify_error",
}


@pytest.fixture
def context(tmp_path: Path) -> PluginContext:
    folder = add_harness(tmp_path, "acme", manifest_text())
    return make_context(
        load_manifest(folder),
        folder=str(folder),
        data_folder=str(tmp_path / "data"),
        environ={"PATH": "/bin", "ACME_API_KEY": "secret", "EMPTY": "", "INSPAN_PROGRAM_MONKEY": "/m"},
    )


@pytest.mark.requirement("H-B1")
def test_the_contract_has_every_operation_and_a_method_for_each() -> None:
    methods = {
        name
        for name, _ in inspect.getmembers(HarnessPlugin, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }

    assert methods == {*METHODS, "initialize"}
    assert methods >= DISCUSSED


@pytest.mark.parametrize("name", METHODS)
def test_every_operation_takes_and_gives_what_its_method_says(name: str) -> None:
    spec = METHODS[name]
    signature = inspect.signature(getattr(HarnessPlugin, name), eval_str=True)

    assert signature.parameters["params"].annotation is spec.params
    assert signature.return_annotation is spec.result
    assert 0 < spec.deadline_s <= 60


@pytest.mark.parametrize("name", [*METHODS, "initialize"])
def test_every_operation_has_a_heading_on_its_page(name: str) -> None:
    assert re.search(rf"^### `{name}`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", METHODS)
def test_every_operation_is_optional(context: PluginContext, name: str) -> None:
    if name == "get_manifest":
        return
    plugin = HarnessPlugin(context)

    with pytest.raises(Unsupported):
        asyncio.run(getattr(plugin, name)(msgspec.UNSET))
    assert plugin.methods() == ("get_manifest",)


def test_the_data_only_plugin_offers_what_data_can_say_and_explains_the_rest(context: PluginContext) -> None:
    plugin = ManifestPlugin(context)

    assert set(plugin.methods()) | set(plugin.why_unsupported) == set(METHODS)
    assert not set(plugin.methods()) & set(plugin.why_unsupported)


def test_a_plugin_sees_no_secret_but_knows_which_variables_are_set(context: PluginContext) -> None:
    assert context.environ == {"PATH": "/bin", "EMPTY": "", "INSPAN_PROGRAM_MONKEY": "/m"}
    assert context.present == ("ACME_API_KEY", "INSPAN_PROGRAM_MONKEY", "PATH")


def test_everything_that_an_author_imports_is_there() -> None:
    assert set(inspan.plugin.__all__) <= set(dir(inspan.plugin))
    named = {
        shape.__name__
        for spec in METHODS.values()
        for shape in (spec.params, spec.result)
        if shape.__module__.startswith("inspan.plugin")
    }
    assert named <= set(inspan.plugin.__all__)
