"""The examples of the manifest's page are manifests."""

import re
import tomllib
from pathlib import Path

from inspan.host import HarnessRegistry
from inspan.host.sources import ENTRY_POINT_GROUP
from support.harness_folders import add_harness

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "manifest.md").read_text(encoding="utf-8")


def examples() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_example_is_a_whole_manifest(tmp_path: Path) -> None:
    add_harness(tmp_path / "harnesses", "acme", examples()[0])

    manifest = HarnessRegistry(tmp_path).manifest("acme")

    assert manifest.modes["acp"].capabilities.resume.is_supported


def test_the_overlay_example_changes_the_first_one(tmp_path: Path) -> None:
    [first, overlay, *_] = examples()
    add_harness(tmp_path / "harnesses", "base", first.replace('"acme" ', '"base" '))
    add_harness(tmp_path / "harnesses", "acme", f'id = "acme"\nextends = "base"\n{overlay}')

    assert HarnessRegistry(tmp_path).manifest("acme").modes["acp"].handshake_timeout_s == 120.0


def test_the_entry_point_example_is_in_our_group() -> None:
    assert ENTRY_POINT_GROUP in tomllib.loads(examples()[2])["project"]["entry-points"]


def test_the_examples_of_a_console_are_a_mode_and_its_rules(tmp_path: Path) -> None:
    first = examples()[0]
    mode, rules = (
        one for one in examples() if "[modes.terminal.terminal]" in one or "# terminal-rules.toml" in one
    )
    posture = '[[modes.terminal.postures]]\napprovals = "ask"\n'
    folder = add_harness(tmp_path / "harnesses", "acme", f"{first}\n{mode}\n{posture}")
    (folder / "terminal-rules.toml").write_text(rules, encoding="utf-8")

    known = HarnessRegistry(tmp_path).manifest("acme").modes["terminal"].terminal.rules

    assert known is not None
    assert [rule.name for rule in known.rules] == ["dialog.permission"]


def test_the_example_of_a_conversation_is_a_mode(tmp_path: Path) -> None:
    first = examples()[0]
    (mode,) = (one for one in examples() if "[modes.stream.stream]" in one)
    posture = '[[modes.stream.postures]]\napprovals = "ask"\n'
    add_harness(tmp_path / "harnesses", "acme", f"{first}\n{mode}\n{posture}")

    known = HarnessRegistry(tmp_path).manifest("acme").modes["stream"].stream

    assert [rule.match.when["method"] for rule in known.permissions] == ["may_i"]
