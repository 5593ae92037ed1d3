"""The scripts: what the agent does for a prompt, chosen by the first word in it that names one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

__all__ = ["SCRIPTS", "ScriptError", "Stage", "choose_script"]

LABEL = "[scripted] "


class ScriptError(Exception):
    """The prompt is to be answered with a JSON-RPC error.

    Attributes:
        code: The error's code.
        data: The error's data.
    """

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Stage(Protocol):
    """What a script can do. Every method raises `Cancelled` of the agent once the turn was cancelled."""

    cwd: str

    def say(self, text: str) -> None:
        """Tells a piece of the answer."""
        ...

    def think(self, text: str) -> None:
        """Tells a piece of reasoning."""
        ...

    def update(self, update: dict[str, Any]) -> None:
        """Tells any update."""
        ...

    def wait(self, seconds: float | None) -> None:
        """Waits; for ever with `None`."""
        ...

    def ask(self, title: str, file: str, text: str) -> bool:
        """Announces a write and asks whether it may be done."""
        ...

    def print_raw(self, line: str) -> None:
        """Puts a line on the wire that is no message."""
        ...


def choose_script(text: str) -> tuple[Callable[[Stage, str], str], str]:
    """The script for a prompt, and its name."""
    words = re.findall(r"[a-z_]+", text.lower())
    for word in words:
        if word in SCRIPTS:
            return SCRIPTS[word], word
    return _answer, "answer"


def _answer(stage: Stage, text: str) -> str:
    stage.say("You said: ")
    stage.say(text)
    return "end_turn"


def _permission(stage: Stage, text: str) -> str:
    times = 2 if re.search(r"\btwice\b", text.lower()) else 1
    for number in range(1, times + 1):
        name = "inspan-demo.txt" if times == 1 else f"inspan-demo-{number}.txt"
        stage.say(f"I would like to write {name}.\n")
        if not stage.ask(f"Write {name}", name, "Written by the scripted demo agent.\n"):
            stage.say(f"You did not allow {name}; I go on without it.\n")
            continue
        try:
            with Path(stage.cwd, name).open("a", encoding="utf-8") as file:
                file.write("Written by the scripted demo agent.\n")
        except OSError as error:
            stage.say(f"You allowed {name}, but writing it failed: {error.strerror}.\n")
        else:
            stage.say(f"You allowed {name}; it is written.\n")
    return "end_turn"


def _slow(stage: Stage, text: str) -> str:
    match = re.search(r"\bslow\s+(\d+)", text.lower())
    lines = int(match[1]) if match else 10
    match = re.search(r"\binterval=(\d+(?:\.\d+)?)", text.lower())
    interval_s = float(match[1]) if match else 0.1
    for number in range(1, lines + 1):
        stage.say(f"line {number} of {lines}\n")
        if number < lines:
            stage.wait(interval_s)
    return "end_turn"


def _hang(stage: Stage, text: str) -> str:
    del text
    stage.say("I say no more until you cancel.")
    stage.wait(None)
    return "end_turn"


def _crash(stage: Stage, text: str) -> str:
    del text
    stage.say("I am about to crash.")
    print("inspan-demo: crashing, as the prompt asked", file=sys.stderr, flush=True)
    os._exit(3)


def _quota(stage: Stage, text: str) -> str:
    del stage, text
    raise ScriptError(429, "The scripted usage limit was reached.", {"errorKind": "rate_limit"})


def _sign_in(stage: Stage, text: str) -> str:
    del stage, text
    raise ScriptError(-32000, "Authentication required", {"authMethods": []})


def _noise(stage: Stage, text: str) -> str:
    stage.print_raw("inspan-demo: this line is no message")
    stage.print_raw("{ and neither is this")
    stage.print_raw("")
    return _answer(stage, text)


def _big(stage: Stage, text: str) -> str:
    match = re.search(r"\bbig\s+(\d+)", text.lower())
    stage.say("x" * 1024 * (int(match[1]) if match else 1024))
    return "end_turn"


def _plan(stage: Stage, text: str) -> str:
    del text
    steps = ["Read the question", "Think of an answer", "Say it"]
    for done in range(len(steps) + 1):
        statuses = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
        stage.update(
            {
                "sessionUpdate": "plan",
                "entries": [
                    {"content": step, "priority": "medium", "status": status}
                    for step, status in zip(steps, statuses, strict=False)
                ],
            }
        )
    stage.say("The plan is done.")
    return "end_turn"


def _think(stage: Stage, text: str) -> str:
    stage.think("The person wants an answer. ")
    stage.think("A script has one.")
    return _answer(stage, text)


def _refuse(stage: Stage, text: str) -> str:
    del text
    stage.say("I decline, as the prompt asked.")
    return "refusal"


def _overrun(stage: Stage, text: str) -> str:
    del text
    stage.say("I stop here: the scripted budget of tokens is used up.")
    return "max_tokens"


SCRIPTS: dict[str, Callable[[Stage, str], str]] = {
    "crash": _crash,
    "hang": _hang,
    "quota": _quota,
    "signin": _sign_in,
    "slow": _slow,
    "noise": _noise,
    "big": _big,
    "ask": _permission,
    "permission": _permission,
    "plan": _plan,
    "think": _think,
    "refuse": _refuse,
    "overrun": _overrun,
}
"""Word to script; any other prompt is said back."""
