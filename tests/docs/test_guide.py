"""The guide for authors can be followed as it stands: its folder passes lint, and its plugin keeps the contract."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from inspan.conformance.contract import check_contract
from inspan.conformance.lint import lint_folder
from inspan.conformance.scaffold import scaffold_files
from inspan.host import HarnessHost
from inspan.model.turn import CallError

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "writing-a-harness.md").read_text(encoding="utf-8")
POLICY = (DOCS / "compatibility.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def follow(home: Path) -> Path:
    """Makes the folder that the guide leads to."""
    folder = home / "harnesses" / "acme"
    for name, text in scaffold_files("acme", program="acme-agent", is_from_console=False).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (facts,) = blocks("toml")
    plugin, _ = blocks("python")
    manifest = folder / "manifest.toml"
    manifest.write_text(f'plugin = "plugin.py"\n{manifest.read_text()}\n{facts}')
    (folder / "plugin.py").write_text(plugin)
    return folder


@pytest.mark.requirement("H-B34")
def test_what_the_guide_makes_passes_lint_and_keeps_the_contract(tmp_path: Path) -> None:
    folder = follow(tmp_path)

    assert [one for one in lint_folder(folder) if one.severity == "fault"] == []
    assert asyncio.run(check_contract(folder)) == ()


@pytest.mark.requirement("H-B34")
def test_its_plugin_does_what_the_guide_says_once_it_is_trusted(tmp_path: Path) -> None:
    follow(tmp_path)

    async def run() -> CallError:
        async with HarnessHost(tmp_path, environ={}, placement="in_process") as host:
            host.trust_harness("acme")
            return await host.classify_error(
                "acme", "acp", CallError(code="call_failed", message="no more", raw_code=4711)
            )

    known = asyncio.run(run())
    assert (known.code, known.message, known.hint) == ("limited", "no more", "Wait until midnight.")


@pytest.mark.requirement("H-B34")
def test_its_tests_run_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = follow(tmp_path)
    monkeypatch.chdir(folder.parent)
    names: dict[str, object] = {}
    exec(blocks("python")[1], names)  # noqa: S102 - the page's own code

    for name in ("test_acme_keeps_the_contract", "test_acme_is_what_it_says"):
        test = names[name]
        assert callable(test)
        test()


def test_the_policy_names_everything_that_has_a_version() -> None:
    for word in ("`schema = 1`", "PROTOCOL_VERSION", "`/v1`", "event", "Exit statuses", "renamed"):
        assert word in POLICY
