"""One-shot runs for another program: what a manifest's grant becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspan.host import HarnessRegistry
from inspan.host.one_shots import OneShot, plan_one_shot
from inspan.model.errors import ManifestError
from support.harness_folders import add_harness, add_program, manifest_text

MODE = """\
[sign_in]
environment = ["ACME_KEY"]
locators = ["ACME_URL"]

[config]
variable = "ACME_HOME"

[modes.once]
transport = "headless"

[modes.once.launch]
args = ["run", "--json"]

[modes.once.environment]
set = { ACME_QUIET = "1" }
conflicts = { ACME_TOKEN = ["ACME_KEY"] }

[modes.once.headless]
output = "text"
"""


def planned(
    home: Path, grant: str, *, more: str = "", environ: dict[str, str] | None = None
) -> OneShot | None:
    add_harness(home / "harnesses", "acme", manifest_text(more=f"{MODE}{more}\n{grant}"))
    manifest = HarnessRegistry(home).manifest("acme")
    return plan_one_shot(manifest, program="a2app", environ=environ or {"PATH": str(home / "bin")})


GRANT = """\
[modes.once.headless.grant]
reach = "program"
args = ["--allow", "shell({program} *)"]
inherits = ["ACME_TRUSTS"]
source = "acme --help"
verified = "2026-12-01 1.0"
"""


@pytest.mark.requirement("P27")
def test_a_run_has_the_launch_arguments_the_leave_for_one_program_and_the_prompt_on_standard_input(
    tmp_path: Path,
) -> None:
    (tmp_path / "bin").mkdir()
    program = add_program(tmp_path / "bin", "acme-agent", "")
    once = planned(tmp_path, GRANT)
    assert once is not None
    assert (once.program, once.problem) == (str(program), "")
    assert once.args == ("run", "--json", "--allow", "shell(a2app *)")
    assert (once.takes_prompt, once.reach, once.makes_session) == ("stdin", "program", False)
    assert once.environment == {"ACME_QUIET": "1"}
    assert once.inherits == ("ACME_KEY", "ACME_URL", "ACME_HOME", "ACME_TRUSTS")


def test_a_prompt_that_is_an_argument_stands_at_the_end_behind_its_option(tmp_path: Path) -> None:
    once = planned(tmp_path, GRANT, more='prompt = "argument"\nprompt_option = "--ask="\n')
    assert once is not None
    assert (once.args[-1], once.takes_prompt) == ("--ask={prompt}", "argument")


def test_a_harness_that_is_not_installed_says_so_and_how_to_install_it(tmp_path: Path) -> None:
    once = planned(tmp_path, GRANT)
    assert once is not None
    assert "not installed" in once.problem
    assert once.program == "acme-agent"


def test_a_harness_without_a_grant_is_not_run_at_all(tmp_path: Path) -> None:
    assert planned(tmp_path, "") is None


def test_rules_that_the_operator_saved_stay_in_force_after_the_grants_own(tmp_path: Path) -> None:
    grant = GRANT.replace(
        'args = ["--allow", "shell({program} *)"]',
        """environment = { ACME_RULES = '{"shell":{"*":"ask","{program} *":"allow"}}' }
merges = { ACME_RULES = "rules" }""",
    )
    once = planned(tmp_path, grant, environ={"PATH": "", "ACME_RULES": '{"shell":{"a2app x *":"deny"}}'})
    assert once is not None
    assert once.environment["ACME_RULES"] == '{"shell":{"*":"ask","a2app *":"allow","a2app x *":"deny"}}'
    spoilt = planned(tmp_path, grant, environ={"PATH": "", "ACME_RULES": "no rules"})
    assert spoilt is not None
    assert "ACME_RULES" in spoilt.problem
    assert "no rules" not in spoilt.problem


def test_a_variable_that_another_one_rules_out_is_not_inherited(tmp_path: Path) -> None:
    once = planned(tmp_path, GRANT, environ={"PATH": "", "ACME_TOKEN": "set"})
    assert once is not None
    assert "ACME_KEY" not in once.inherits


@pytest.mark.parametrize(
    ("old", "new", "key_path"),
    [
        ("shell({program} *)", "shell(*)", "modes.once.headless.grant"),
        ('source = "acme --help"', "", "modes.once.headless.grant"),
        (
            "args =",
            'merges = { ACME_RULES = "rules" }\nargs =',
            "modes.once.headless.grant.merges.ACME_RULES",
        ),
    ],
)
def test_a_grant_that_contradicts_itself_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, key_path: str
) -> None:
    assert old in GRANT
    with pytest.raises(ManifestError) as caught:
        planned(tmp_path, GRANT.replace(old, new))
    assert caught.value.detail["key_path"] == key_path
