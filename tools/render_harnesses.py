"""Write docs/harnesses.md from the manifests of the built-in harnesses: what is known of each, and how well.

python tools/render_harnesses.py [--check] [PAGE]
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from inspan.host.registry import HarnessRegistry
from inspan.model.capability import Claim, EvidenceLevel, Support
from inspan.model.manifest import Manifest, ModeManifest
from inspan.model.posture import Sandbox
from inspan.plugin.signals import read_signals

__all__ = ["main", "render"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "harnesses.md"
FOLDERS = ROOT / "src" / "inspan" / "harnesses"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ABILITIES = ("launch", "resume", "permission_answer", "cancel", "context_usage")

_OPENING = """\
# Harnesses

<!-- Made by `python tools/render_harnesses.py` from the manifests; a test fails where it is stale. -->

What ships with Inspan, as its manifests say it. Each folder says more: how to sign in, which postures it can honour,
its quirks. `inspan harness show ID` prints the same for the harnesses of your home, overlays included.

How well a claim is backed: **proved** by a run or a recording of one, **probed** by asking the installed program, or
*declared*: said by somebody, and not tried. `?` is unknown, and never counts as a yes. *Tried with* is the range of
versions of the mode's program that was tried; nothing means that none was. *Asks by* is by what it is known that a person
owes an answer: a message of a **protocol**, the **output** of a one-shot run, which tells what was denied, or **title** and
**screen**, where there is no signal and the console itself is looked at; `?` where nothing is known of it. A run that *asks
nobody* tells no denial either: what it may not do is refused to the model, or not offered. *Checked on* is the day on which it was
run or asked last. *Postures* are what a seat may do unasked there, with the sandbox where there is one; any other is refused
before launch.

| id | harness | mode | tried with | checked on | asks by | launch | resume | answer permissions | cancel | context usage | postures |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""

_CLOSING = """
A recording is a conversation that the harness really had. It lies in `recordings/` of its folder and is replayed in
the tests. A harness of your own is a folder as well: [the manifest](manifest.md).
"""


def render() -> str:
    """The whole page as Markdown."""
    with tempfile.TemporaryDirectory(prefix="isp-") as home:
        entries = [entry for entry in HarnessRegistry(Path(home)).list() if (FOLDERS / entry.id).is_dir()]
        manifests = [entry.require() for entry in entries]
    rows = [row for manifest in manifests for row in _rows(manifest)]
    return _OPENING + "\n".join(rows) + "\n" + _CLOSING


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page, or with `--check` only say whether it is fresh: 0 where it is, 1 where it is stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is stale")
    parser.add_argument("page", type=Path, nargs="?", default=PAGE)
    options = parser.parse_args(argv)
    page: Path = options.page
    text = render()
    if not options.check:
        page.write_text(text, encoding="utf-8")
    elif not page.exists() or page.read_text(encoding="utf-8") != text:
        print(f"{page} is stale: run `python tools/render_harnesses.py`", file=sys.stderr)
        return 1
    return 0


def _rows(manifest: Manifest) -> list[str]:
    return [_row(manifest, name, mode) for name, mode in manifest.modes.items()]


def _row(manifest: Manifest, name: str, mode: ModeManifest) -> str:
    program = mode.program or manifest.program
    claims = [getattr(mode.capabilities, ability) for ability in ABILITIES]
    looked = [claim.verified for claim in claims if claim.evidence is not EvidenceLevel.DECLARED]
    checked = max((found[0] for one in looked if (found := _DATE.match(one))), default="")
    cells = [
        f"[`{manifest.id}`](../src/inspan/harnesses/{manifest.id}/README.md)",
        manifest.name,
        f"`{name}`",
        f"`{program.tested}`" if program.tested else "",
        checked,
        _asks_by(mode),
        *map(_shown, claims),
        ", ".join(
            rule.approvals.value if rule.sandbox is Sandbox.NONE else f"{rule.approvals} in {rule.sandbox}"
            for rule in mode.postures
        ),
    ]
    return "| " + " | ".join(cells) + " |"


def _asks_by(mode: ModeManifest) -> str:
    found = ", ".join(read_signals(mode).needs_input)
    if mode.transport == "headless":
        return found or "asks nobody"
    if mode.capabilities.permission_report.support is Support.UNSUPPORTED:
        return "asks nothing"
    return found or "?"


def _shown(claim: Claim) -> str:
    if claim.support is Support.UNKNOWN:
        return "?"
    word = "yes" if claim.is_supported else "no"
    since = f" since {claim.since}" if claim.since else ""
    level = str(claim.evidence)
    return f"{word}{since}, " + (f"*{level}*" if level == "declared" else f"**{level}**")


if __name__ == "__main__":
    raise SystemExit(main())
