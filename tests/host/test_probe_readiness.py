"""What a probe says beyond the version: runtimes, sign-in, the programs of the modes, and what to do first."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.plan import ProbeResult, ProgramFound, RuntimeFound
from support.harness_folders import add_harness, add_program, manifest_text

ADAPTER = """
[modes.acp.program]
names = ["acme-adapter"]
tested = ">=2, <3"
install = "npm install -g acme-adapter"
version = { package = "@acme/adapter" }
"""


def probe(tmp_path: Path, *, more: str = "", program: str = "", **environ: str) -> ProbeResult:
    """Probes the harness `acme`; programs are looked for in `tmp_path/bin` alone."""
    text = manifest_text(more=more).replace(
        'names = ["acme-agent"]', f'names = ["acme-agent"]\ninstall = "npm install -g acme"\n{program}'
    )
    add_harness(tmp_path / "home" / "harnesses", "acme", text)
    host = HarnessHost(
        tmp_path / "home", environ={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), **environ}
    )
    return asyncio.run(host.probe("acme"))


def add_adapter(tmp_path: Path, *, package: str = "@acme/adapter", version: str = "2.1.0") -> None:
    """Installs the adapter as npm does: a link into a package that lies elsewhere."""
    folder = tmp_path / "lib/node_modules/@acme/adapter"
    add_program(folder / "dist", "index.js", "raise SystemExit('the adapter was run')")
    (folder / "package.json").write_text(json.dumps({"name": package, "version": version}), encoding="utf-8")
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin/acme-adapter").symlink_to(folder / "dist/index.js")


def codes(result: ProbeResult) -> list[tuple[str, bool]]:
    return [(problem.code, problem.is_fatal) for problem in result.problems]


@pytest.mark.requirement("H-A32")
def test_a_missing_program_says_how_it_is_installed(tmp_path: Path) -> None:
    result = probe(tmp_path)

    assert result.installed == "no"
    [problem] = result.problems
    assert problem.code == "not_installed"
    assert "npm install -g acme" in problem.hint


@pytest.mark.parametrize(
    ("said", "version", "is_met"),
    [("v22.3.0", "22.3.0", "yes"), ("v20.20.2", "20.20.2", "no"), ("hello", None, "unknown")],
)
def test_a_runtime_is_held_against_what_the_harness_needs(
    tmp_path: Path, said: str, version: str | None, is_met: str
) -> None:
    add_program(tmp_path / "bin", "acme-agent", "print('1.0')")
    add_program(tmp_path / "bin", "node", f"print({said!r})")

    result = probe(tmp_path, program='requires = { node = ">=22" }')

    [runtime] = result.runtime
    assert runtime == RuntimeFound(
        name="node", wanted=">=22", program=str(tmp_path / "bin/node"), version=version, is_met=runtime.is_met
    )
    assert runtime.is_met == is_met
    assert codes(result) == ([("runtime_unfit", False)] if is_met == "no" else [])


def test_what_is_needed_comes_before_what_needs_it(tmp_path: Path) -> None:
    result = probe(tmp_path, program='requires = { node = ">=22", other = "" }')

    assert [runtime.is_met for runtime in result.runtime] == ["no", "no"]
    assert [problem.code for problem in result.problems] == [
        "runtime_unfit",
        "runtime_unfit",
        "not_installed",
    ]
    assert "node >=22" in result.problems[0].message


SIGN_IN = """
[sign_in]
environment = ["ACME_API_KEY"]
hint = "Run `acme login`."
"""


def test_a_variable_that_is_set_signs_in_and_its_value_is_nowhere(tmp_path: Path) -> None:
    add_program(tmp_path / "bin", "acme-agent", "print('1.0')")

    result = probe(tmp_path, more=SIGN_IN, ACME_API_KEY="very-secret")

    assert (result.signed_in, result.signed_in_by, result.sign_in_hint) == ("yes", "ACME_API_KEY", "")
    assert "very-secret" not in repr(result)


@pytest.mark.requirement("H-A8")
def test_the_providers_whose_variables_are_set_are_named_and_sign_in_as_the_harness_s_own_do(
    tmp_path: Path,
) -> None:
    more = """
[[sign_in.providers]]
id = "north"
name = "North"
environment = ["NORTH_KEY"]
locators = ["NORTH_URL"]

[[sign_in.providers]]
id = "south"
name = "South"
environment = ["SOUTH_KEY"]
"""
    nobody = probe(tmp_path, more=more)
    north = probe(tmp_path, more=more, NORTH_KEY="a secret")

    assert (nobody.providers, nobody.signed_in) == ((), "unknown")
    assert (north.providers, north.signed_in, north.signed_in_by) == (("north",), "yes", "NORTH_KEY")
    assert "a secret" not in repr(north)


@pytest.mark.parametrize("value", [{}, {"ACME_API_KEY": ""}])
def test_without_a_variable_nobody_can_say_and_the_way_to_sign_in_is_told(
    tmp_path: Path, value: dict[str, str]
) -> None:
    add_program(tmp_path / "bin", "acme-agent", "print('1.0')")

    result = probe(tmp_path, more=SIGN_IN, **value)

    assert (result.signed_in, result.signed_in_by) == ("unknown", "")
    assert result.sign_in_hint == "Run `acme login`."
    assert result.problems == ()


def test_a_file_that_a_sign_in_leaves_is_seen_and_never_read(tmp_path: Path) -> None:
    add_program(tmp_path / "bin", "acme-agent", "print('1.0')")
    more = SIGN_IN + 'markers = ["~/.acme/credentials"]\n'
    assert probe(tmp_path, more=more).signed_in == "unknown"

    (tmp_path / ".acme").mkdir()
    (tmp_path / ".acme/credentials").write_text("very-secret", encoding="utf-8")
    (tmp_path / ".acme/credentials").chmod(0)

    result = probe(tmp_path, more=more)
    assert (result.signed_in, result.signed_in_by) == ("yes", "~/.acme/credentials")


STATUS = SIGN_IN + 'args = ["login", "status"]\n'


@pytest.mark.parametrize(
    ("answer", "patterns", "signed_in"),
    [
        ("print('ok')", "", "yes"),
        ("raise SystemExit(1)", "", "no"),
        ("print('Not logged in'); raise SystemExit(1)", 'signed_out = "Not logged in"', "no"),
        ("print('Who knows'); raise SystemExit(1)", 'signed_out = "Not logged in"', "unknown"),
        ("print('Logged in as a')", 'signed_in = "Logged in"', "yes"),
        ("print('Who knows')", 'signed_in = "Logged in"', "unknown"),
    ],
)
def test_a_program_that_can_be_asked_says_whether_somebody_is_signed_in(
    tmp_path: Path, answer: str, patterns: str, signed_in: str
) -> None:
    source = f"import sys\nif sys.argv[1:] == ['login', 'status']:\n    {answer}\nelse:\n    print('1.0')"
    add_program(tmp_path / "bin", "acme-agent", source)

    result = probe(tmp_path, more=STATUS + patterns + "\n")

    assert result.signed_in == signed_in
    assert codes(result) == ([("auth_required", True)] if signed_in == "no" else [])
    if signed_in == "no":
        assert result.problems[0].hint == "Run `acme login`."


def test_a_variable_goes_before_what_the_program_says_since_it_does_not_see_it(tmp_path: Path) -> None:
    add_program(tmp_path / "bin", "acme-agent", "import sys\nsys.exit('login' in sys.argv)")

    assert probe(tmp_path, more=STATUS, ACME_API_KEY="x").signed_in == "yes"


def test_a_program_that_is_not_there_cannot_say_who_is_signed_in(tmp_path: Path) -> None:
    assert probe(tmp_path, more=STATUS).signed_in == "unknown"


def test_the_version_of_an_adapter_is_read_from_its_package_without_running_it(tmp_path: Path) -> None:
    add_adapter(tmp_path)

    result = probe(tmp_path, more=ADAPTER)

    assert (result.installed, result.version, result.tested) == ("yes", "2.1.0", "yes")
    assert result.program == str(tmp_path / "bin/acme-adapter")
    assert result.problems == ()


@pytest.mark.parametrize("package", ["@somebody/else", ""])
def test_a_package_of_another_name_says_nothing_of_the_version(tmp_path: Path, package: str) -> None:
    add_adapter(tmp_path, package=package)

    result = probe(tmp_path, more=ADAPTER)

    assert (result.installed, result.version, result.tested) == ("yes", None, "unknown")
    assert codes(result) == [("probe_failed", False)]


@pytest.mark.requirement("DEC6")
def test_the_program_of_the_default_mode_decides_and_that_of_another_is_told_too(tmp_path: Path) -> None:
    add_adapter(tmp_path, version="3.0.0")
    more = ADAPTER + '[modes.other]\ntransport = "acp"\n[[modes.other.postures]]\napprovals = "bypass"\n'

    result = probe(tmp_path, more=more)

    assert (result.installed, result.tested) == ("yes", "no")
    assert result.programs == (
        ProgramFound(
            modes=("acp",),
            installed="yes",
            program=str(tmp_path / "bin/acme-adapter"),
            version="3.0.0",
            tested="no",
        ),
        ProgramFound(modes=("other",), installed="no"),
    )
    assert codes(result) == [("version_untested", False), ("not_installed", False)]


def test_a_program_without_a_way_to_say_its_version_is_not_run(tmp_path: Path) -> None:
    add_program(tmp_path / "bin", "acme-agent", "raise SystemExit('it was run')")

    result = probe(tmp_path, program="version = { args = [] }")

    assert (result.installed, result.version, result.problems) == ("yes", None, ())


def test_the_variable_of_a_mode_names_the_program_of_that_mode_alone(tmp_path: Path) -> None:
    adapter = add_program(tmp_path / "elsewhere", "my-adapter", "")

    result = probe(tmp_path, more=ADAPTER, INSPAN_PROGRAM_ACME_ACP=str(adapter))

    assert result.program == str(adapter)
    missing = probe(tmp_path, more=ADAPTER, INSPAN_PROGRAM_ACME=str(adapter))
    assert missing.installed == "no"
    assert "INSPAN_PROGRAM_ACME_ACP" in missing.problems[0].hint
