"""What people see of a harness comes from its manifest, and a faulty one is seen with its fault."""

import asyncio
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.harness_views import ChoiceView, ModeView
from support.harness_folders import add_harness, add_program, manifest_text

MORE = """
[modes.acp.capabilities.cancel]
support = "supported"
evidence = "proved"
source = "recordings/acp.jsonl"
verified = "2026-11-30 1.0"

[[quirks]]
text = "It hums."
"""


@pytest.mark.requirement("H-A54")
def test_a_view_shows_what_the_manifest_says(tmp_path: Path) -> None:
    text = manifest_text(top='summary = "A harness"\nhomepage = "https://acme.example"', more=MORE)
    folder = add_harness(tmp_path / "harnesses", "acme", text)

    view = HarnessHost(tmp_path, environ={}).view("acme")

    assert (view.name, view.summary, view.homepage) == ("Acme", "A harness", "https://acme.example")
    assert (view.maintainer, view.tier, view.scripted) == ("Somebody", "community", False)
    assert (view.origin, view.folder, view.layers) == ("user", str(folder), (str(folder),))
    [mode] = view.modes
    assert (mode.id, mode.transport, mode.postures) == ("acp", "acp", ("approvals=ask, sandbox=none",))
    assert mode.capabilities["cancel"].verified == "2026-11-30 1.0"
    assert not mode.capabilities["resume"].is_supported
    assert view.quirks == ("It hums.",)
    assert (view.plugin, view.problem) == ("none", None)


def test_a_faulty_harness_is_seen_with_its_fault_and_what_can_be_read(tmp_path: Path) -> None:
    add_harness(tmp_path / "harnesses", "acme", manifest_text(top="nonsense = 1"))
    add_harness(tmp_path / "harnesses", "worse", "][")

    views = {view.id: view for view in HarnessHost(tmp_path, environ={}).views()}

    assert views["acme"].name == "Acme"
    assert views["acme"].problem is not None
    assert "nonsense" in views["acme"].problem.message
    assert views["worse"].name == "worse"
    assert views["worse"].problem is not None
    assert views["worse"].problem.code == "manifest_unreadable"


@pytest.mark.requirement("H-B5", "H-N57")
def test_a_harness_whose_plugin_is_not_there_is_kept_and_seen_as_missing(tmp_path: Path) -> None:
    add_harness(tmp_path / "harnesses", "acme", manifest_text(top='plugin = "plugin.py"'))

    view = HarnessHost(tmp_path, environ={}).view("acme")

    assert (view.plugin, view.name, view.default_mode) == ("missing", "Acme", "acp")
    assert view.problem is not None
    assert view.problem.code == "plugin_missing"


@pytest.mark.parametrize(
    ("on_path", "module", "installed"), [(True, "", "yes"), (False, "", "no"), (False, "acme.agent", "yes")]
)
def test_a_view_says_whether_the_program_is_there_and_runs_nothing_for_it(
    tmp_path: Path, on_path: bool, module: str, installed: str
) -> None:
    own = f'module = "{module}"\n' if module else ""
    text = manifest_text().replace('names = ["acme-agent"]', f'names = ["acme-agent"]\n{own}')
    add_harness(tmp_path / "harnesses", "acme", text)
    if on_path:
        add_program(tmp_path / "bin", "acme-agent", f"open({str(tmp_path / 'ran')!r}, 'w')")

    view = HarnessHost(tmp_path, environ={"PATH": str(tmp_path / "bin")}).view("acme")

    assert view.installed == installed
    assert not (tmp_path / "ran").exists()


def test_a_manifest_that_cannot_be_read_leaves_it_open_whether_the_program_is_there(tmp_path: Path) -> None:
    add_harness(tmp_path / "harnesses", "acme", "id = 7\n")

    assert HarnessHost(tmp_path, environ={}).view("acme").installed == "unknown"


@pytest.mark.parametrize(
    ("install", "hint"),
    [
        ("get acme", "Install it: get acme. Or name its program in INSPAN_PROGRAM_ACME. "),
        ("", "Install it, or name its program in INSPAN_PROGRAM_ACME. "),
    ],
)
def test_an_absent_program_comes_with_a_whole_sentence_of_what_to_do(
    tmp_path: Path, install: str, hint: str
) -> None:
    more = f'names = ["acme-agent"]\ninstall = "{install}"'
    add_harness(tmp_path / "harnesses", "acme", manifest_text().replace('names = ["acme-agent"]', more))

    probed = asyncio.run(HarnessHost(tmp_path, environ={"PATH": "/no/such"}).probe("acme"))

    [problem] = probed.problems
    assert problem.hint.startswith(hint)
    # The daemon looks with the surroundings in which it was started: who changed them must start it anew.
    assert "`inspan daemon stop`" in problem.hint


@pytest.mark.requirement("H-A29", "H-A28")
def test_a_view_says_by_what_a_console_is_known_to_work_and_to_ask() -> None:
    modes = {mode.id: mode for mode in HarnessHost(Path("/nowhere"), environ={}).view("gemini").modes}

    console = modes["terminal"]
    assert (console.activity_by, console.needs_input_by) == (("title", "screen"), ("title", "screen"))
    assert console.must_look_at_screen
    assert console.screen_rules > 5
    assert (modes["acp"].needs_input_by, modes["acp"].must_look_at_screen) == (("protocol",), False)
    assert modes["headless"].screen_rules == 0


CHOICES = """
[modes.acp.acp]
model_option = "model"
effort_option = "thinking"

[modes.once]
transport = "headless"

[modes.once.launch]
model_environment = { ACME_MODEL = "{model}" }

[modes.once.headless]
output = "text"
"""


@pytest.mark.requirement("H-A43", "H-A22")
def test_a_view_says_how_a_model_is_told_and_when_another_one_needs_a_new_launch(tmp_path: Path) -> None:
    text = manifest_text(more=CHOICES).replace('["acp"]', '["acp"]\nmodel_args = ["--model", "{model}"]')
    add_harness(tmp_path / "harnesses", "acme", text)

    modes = {mode.id: mode for mode in HarnessHost(tmp_path, environ={}).view("acme").modes}

    assert modes["acp"].model == ChoiceView(by="arguments", changes="session")
    assert modes["acp"].effort == ChoiceView(by="session option", changes="session")
    assert modes["once"].model == ChoiceView(by="variables", changes="launch")
    assert modes["once"].effort is None


@pytest.mark.requirement("H-A43")
def test_built_in_modes_say_when_their_model_can_be_another_one() -> None:
    def modes(harness: str) -> dict[str, ModeView]:
        return {mode.id: mode for mode in HarnessHost(Path("/nowhere"), environ={}).view(harness).modes}

    assert modes("opencode")["acp"].model == ChoiceView(by="session option", changes="session")
    assert modes("gemini")["acp"].model == ChoiceView(by="arguments", changes="offered")
    assert modes("codex")["stream"].model == ChoiceView(by="session option", changes="launch")
    assert modes("codex")["headless"].effort == ChoiceView(by="arguments", changes="launch")
    assert modes("demo")["acp"].model is None
