"""The contract, held against plugins that are each wrong in one way, and against those that keep it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inspan import harnesses
from inspan.conformance.contract import CONTRACT_RULES, check_contract, main
from inspan.conformance.finding import Finding
from inspan.model.errors import ManifestError
from support.harness_folders import add_harness, add_plugin, manifest_text
from support.program import inspan

CLAIMS = """
[modes.acp.capabilities]
resume = { support = "supported" }
fork = { support = "supported" }
"""
HEAD = """
import asyncio
import msgspec
from inspan.model.posture import Posture
from inspan.plugin import *
from inspan.plugin.values import *
replace = msgspec.structs.replace
class Plugin(ManifestPlugin):
"""
BUILT_IN = sorted(
    path for path in Path(harnesses.__path__[0]).iterdir() if (path / "manifest.toml").is_file()
)


def folder_of(home: Path, body: str) -> Path:
    """A harness with a plugin of these lines."""
    folder = add_harness(home, "acme", manifest_text(top='plugin = "plugin.py"', more=CLAIMS))
    add_plugin(folder, HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    return folder


def findings(folder: Path) -> tuple[Finding, ...]:
    return asyncio.run(check_contract(folder, deadline_s=5))


@pytest.mark.requirement("H-B34")
@pytest.mark.parametrize("folder", BUILT_IN, ids=lambda folder: folder.name)
def test_every_built_in_harness_keeps_it(folder: Path) -> None:
    assert findings(folder) == ()


@pytest.mark.requirement("H-B34")
def test_a_plugin_that_refuses_and_says_what_it_has_not_keeps_it(tmp_path: Path) -> None:
    body = """
async def launch(self, params):
    if params.attempt == "fresh":
        raise Refused("not on Mondays")
    return await super().launch(params)
async def deliver(self, params):
    return DeliveryAnswer(state="accepted")
"""
    assert findings(folder_of(tmp_path, body)) == ()


WRONG = {
    "contract-load": ("initialize", "async def initialize(self):\n    raise RuntimeError('no licence')"),
    "contract-answer": ("check_ready", "async def check_ready(self, params):\n    return 'ready'"),
    "contract-deadline": ("history", "async def history(self, params):\n    await asyncio.sleep(3600)"),
    "contract-wire": (
        "get_context_usage",
        "async def get_context_usage(self, params):\n"
        "    return UsageAnswer(used_tokens=1, detail={'a': (1, 2)})",
    ),
    "contract-manifest": (
        "get_manifest",
        "async def get_manifest(self, params):\n    return replace(self.context.manifest, name='Another')",
    ),
    "contract-plan": (
        "launch",
        "async def launch(self, params):\n"
        "    return replace(await super().launch(params), program='relative/program')",
    ),
    "contract-session": (
        "resume",
        "async def resume(self, params):\n"
        "    plan = await super().resume(params)\n"
        "    return replace(plan, settings=replace(plan.settings, session_id='another'))",
    ),
    "contract-posture": (
        "launch",
        "async def launch(self, params):\n    return await super().launch(replace(params, posture=Posture()))",
    ),
    "contract-error": (
        "classify_error",
        "async def classify_error(self, params):\n"
        "    return Classified(error=replace(params.error, code='oops', message='Something failed.'))",
    ),
    "contract-quiet": (
        "preflight",
        "async def preflight(self, params):\n"
        "    open(params.workspace + '/left-behind', 'w').close()\n"
        "    return Preflight()",
    ),
}


@pytest.mark.requirement("H-B34")
@pytest.mark.parametrize("rule", sorted(WRONG))
def test_a_plugin_that_is_wrong_in_one_way_is_found_by_the_rule_of_that_way(
    tmp_path: Path, rule: str
) -> None:
    at, body = WRONG[rule]
    folder = folder_of(tmp_path, body)
    found = asyncio.run(check_contract(folder, deadline_s=0.2 if rule == "contract-deadline" else 5))

    assert {one.rule for one in found} == {rule}
    assert {one.at for one in found} == {at}


def test_every_rule_is_explained_and_has_a_plugin_that_breaks_it() -> None:
    assert set(WRONG) == set(CONTRACT_RULES)


@pytest.mark.requirement("H-B34")
def test_an_author_runs_it_from_the_command_line_and_from_a_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], throwaway_home: Path
) -> None:
    folder = folder_of(tmp_path, "async def history(self, params):\n    print('noise')\n    return 3")

    assert main([str(folder)]) == 1
    assert "It gave int, not History." in capsys.readouterr().out
    shown = inspan("harness", "lint", str(folder), "--contract")
    assert shown.status == 22
    assert "[contract-answer]" in shown.out
    assert "contract" not in inspan("harness", "lint", str(folder)).out
    assert inspan("harness", "lint", "--contract").status == 2
    assert main([]) == 2


def test_a_folder_whose_manifest_cannot_be_read_is_no_plugin_s_fault(tmp_path: Path) -> None:
    folder = add_harness(tmp_path, "acme", "schema = 1\n")
    with pytest.raises(ManifestError):
        findings(folder)
    assert main([str(folder)]) == 1
