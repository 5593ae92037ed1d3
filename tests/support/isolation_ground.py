"""A ground for seats whose harness keeps its configuration in a folder that a variable names, and tells what it found."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from inspan.model.views import SendPrompt
from inspan.seats.core import Seats

from .host_ground import HostGround, open_host_ground
from .seat_ground import until

__all__ = ["open_isolation_ground", "operators_folder", "ran", "runs"]

_AGENT = """
import json, os, sys
from pathlib import Path
state = Path(os.environ["ACME_STATE"])
folder = Path(os.environ.get("ACME_HOME") or os.environ["HOME"] + "/.acme")
prompt = sys.stdin.read()
with (state / "runs.jsonl").open("a") as file:
    files = {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".inspan")
    }
    run = {"args": sys.argv[1:], "folder": str(folder), "files": files, "environment": dict(os.environ)}
    file.write(json.dumps(run) + "\\n")
if "daemons" in prompt:
    import subprocess
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for name in ("hub", "other"):
        command = [sys.executable, "-c", "import time; time.sleep(600)", f"--acme-{name}-daemon"]
        left = subprocess.Popen(command, start_new_session=True, **quiet)
        (state / f"{name}.pid").write_text(str(left.pid))
if "remove" in prompt:
    (folder / "auth.json").unlink()
if "sign-in" in prompt:
    sys.stderr.write("Error: not signed in\\n")
    sys.exit(1)
folder.mkdir(exist_ok=True)
(folder / "conversation").write_text(prompt)
print("hello")
"""

_MODE = """
[config]
folder = "~/.acme"
variable = "ACME_HOME"
isolation = "whole"
{config}

[sign_in]
environment = ["ACME_API_KEY"]
locators = ["ACME_BASE_URL"]
hint = "Run `acme login`."

[modes.once]
transport = "headless"
[modes.once.launch]
args = ["new", "--session", "{{session}}"]
[modes.once.resume]
args = ["again", "--session", "{{session}}"]
[modes.once.fork]
args = ["branch", "--from", "{{session}}"]
[modes.once.headless]
output = "text"
[modes.once.capabilities]
resume = {{ support = "supported" }}
fork = {{ support = "supported" }}
activity = {{ support = "supported" }}
permission_report = {{ support = "supported" }}
[[modes.once.postures]]
approvals = "ask"
[modes.once.session_id]
kind = "chosen"
[[modes.once.diagnoses]]
message_pattern = "not signed in"
code = "auth_required"
title = "Nobody is signed in"
remedy = "Run `acme login`."
"""


@asynccontextmanager
async def open_isolation_ground(
    config: str = "", *, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[HostGround]:
    """A ground whose harness has `config` as the further keys of its manifest's `[config]`."""
    async with open_host_ground(
        program=_AGENT, more=_MODE.format(config=config), mode="once", environ=environ
    ) as ground:
        yield ground


def operators_folder(ground: HostGround, **files: str) -> Path:
    """The operator's own configuration, with files whose names have `_` in the place of the dot."""
    folder = ground.path / ".acme"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def runs(ground: HostGround) -> list[dict[str, Any]]:
    """What each run of the harness found, in order."""
    path = ground.state / "runs.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def ran(ground: HostGround, seats: Seats, name: str = "worker", text: str = "hi") -> dict[str, Any]:
    """Sends a prompt and gives what the run found that took it."""
    before = len(runs(ground))
    sent = await seats.send_prompt(name, SendPrompt(text=text))
    await until(
        seats,
        name,
        lambda view: (
            (view.last_turn is not None and view.last_turn.delivery == sent.id)
            or view.status in ("held", "failed")
        ),
    )
    found = runs(ground)
    return found[-1] if len(found) > before else {}
