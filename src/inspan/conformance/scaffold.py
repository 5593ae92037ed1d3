"""Scaffold: the files that a new harness begins with. They claim nothing that nobody has seen, and pass lint."""

from __future__ import annotations

import json

__all__ = ["scaffold_files"]


def scaffold_files(harness: str, *, program: str, is_from_console: bool) -> dict[str, str]:
    """The text of every file, by its path in the harness's folder.

    Args:
        harness: The harness's id.
        program: The name of its program on PATH.
        is_from_console: Its console is all there is; otherwise it is taken to speak ACP as well.
    """
    name = " ".join(part.capitalize() for part in harness.split("-"))
    acp = "" if is_from_console else _ACP
    values = {
        "ID": harness,
        "NAME": name,
        "PROGRAM": json.dumps(program),
        "COMMAND": program,
        "DEFAULT": "terminal" if is_from_console else "acp",
    }
    files = {
        "manifest.toml": _MANIFEST + acp + _TERMINAL,
        "terminal-rules.toml": _RULES,
        "recordings/terminal/80x24.json": _SET,
        "README.md": _README + ("" if is_from_console else _README_ACP),
    }
    return {path: _fill(text, values) for path, text in files.items()}


def _fill(text: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


_MANIFEST = """\
# What Inspan knows of @NAME@. Every key: docs/schema/manifest-keys.md; how it is read: docs/manifest.md.
schema = 1
id = "@ID@"
name = "@NAME@"
summary = "A coding agent."
default_mode = "@DEFAULT@"

[maintainer]
name = "You"

[program]
names = [@PROGRAM@]
# install = "npm install -g ..."          # a command line that a person may run
# tested = ">=1.2, <2"                     # the versions that you tried

[session]
resume_type = "@ID@.session.v1"
"""

_ACP = """
[modes.acp]
transport = "acp"

[modes.acp.launch]
args = ["acp"]

[modes.acp.capabilities.launch]
support = "supported"
source = "nobody has tried it yet"
verified = "never"

# Nobody knows yet what it asks. `bypass` is what such a harness can honour; add `ask` once you saw it ask.
[[modes.acp.postures]]
approvals = "bypass"
source = "as it comes"
verified = "never"
"""

_TERMINAL = """
# Its own console. Until a rule says what a screen is, its state is unknown.
[modes.terminal]
transport = "terminal"

[modes.terminal.launch]
args = []
# model_args = ["--model", "{model}"]

# [modes.terminal.resume]
# args = ["--resume", "{session}"]

[modes.terminal.terminal]
rules_file = "terminal-rules.toml"

[modes.terminal.capabilities.launch]
support = "supported"
source = "nobody has tried it yet"
verified = "never"

[[modes.terminal.postures]]
approvals = "bypass"
source = "as it comes"
verified = "never"
"""

_RULES = """\
# How the console of @NAME@ is read. docs/manifest.md says what a rule may be; `inspan harness lint @ID@` checks it.
schema = 1
source = "recordings in recordings/terminal"
verified = "never"

# Take this line away with the first rule.
rules = []

# A rule says what is so (`report`) when what it wants is seen in its region. For example:
#
# [[rules]]
# name = "work.line"
# report = "running"                       # running, idle, needs_input, ready, limit, error, ignore
# priority = 600                           # the highest that matches tells the activity
# region = { of = "last_rows", rows = 6 }  # never the whole screen, where a message could say the same
# all = ['esc to interrupt']
# matches = ["80x24/busy"]                 # screens in recordings/terminal that it must match,
# spares = ["80x24/idle"]                  # and screens that it must not
#
# Begin with the dialogs (needs_input, above 700), then work (600), then the free composer (idle, 400), which wants
# what stands beside the prompt as well and `none` of what shows work. `ready` is the same with two features at least.
"""

_SET = """\
{
 "provenance": "live",
 "terminal": "answering",
 "columns": 80,
 "rows": 24,
 "states": {}
}
"""

_README = """\
# @NAME@

Its facts are in `manifest.toml`, its console is read by `terminal-rules.toml`, and `recordings/` proves both.

## How to go on
1. `inspan harness probe @ID@` says whether the program is found.
2. Record the console in each state, on a terminal of 80x24, from a folder of this harness:
   `inspan record --command @COMMAND@ --to recordings/terminal`.
   Good states: ready, busy, idle, approval, question, interrupted, limit, autherror, draft, and every dialog before the
   first prompt. Each gets a label, which says what the screen *is*; the labels land in `recordings/terminal/80x24.json`.
3. Look over what was recorded: names, paths and keys do not belong in it.
4. Write rules, and look what they make of a recording:
   `inspan harness replay @ID@ FILE.raw --size 80x24`.
5. `inspan harness lint @ID@` replays everything; it fails where a screen is not what its label says.
"""

_README_ACP = """
## Over ACP
If the program speaks the Agent Client Protocol, correct `[modes.acp.launch]`, keep a wire log as `recordings/acp.jsonl`,
and write down what it comes to with `python -m inspan.conformance.expect FOLDER`. Otherwise take the mode out and make
`terminal` the default.
"""
