"""Linting: what is wrong with a harness's folder, or with that of a harness which is registered."""

from __future__ import annotations

from pathlib import Path

import msgspec

from inspan.conformance.lint import Finding, lint_folder
from inspan.host.registry import HarnessRegistry, RegisteredHarness
from inspan.model.errors import InspanError, ManifestError, UsageError
from inspan.model.ids import HARNESS_ID

from .context import Context
from .exits import Exit
from .output import bad, bold, dim, good, warn

__all__ = ["lint"]


def lint(context: Context, target: str | None, *, with_contract: bool = False) -> int:
    """Prints the findings, and gives 0 where none of them is a fault.

    Args:
        context: Where to write, and the home whose harnesses are meant.
        target: A folder, or the id of a registered harness; `None` takes all that are registered.
        with_contract: Also hold the code in the folder to the contract, which runs it.

    Raises:
        UsageError: `unknown_harness`, or there is no such folder.
    """
    found = _findings(context, target)
    if with_contract:
        name, broken = _contract(target)
        found[name] = (*broken, *found[name])
    faults = sum(one.severity == "fault" for findings in found.values() for one in findings)
    if context.output.is_json:
        context.output.value({name: msgspec.to_builtins(findings) for name, findings in found.items()})
    else:
        for name, findings in found.items():
            _tell(context, name, findings)
    return Exit.PLUGIN if faults else Exit.OK


def _findings(context: Context, target: str | None) -> dict[str, tuple[Finding, ...]]:
    if target is not None and (not HARNESS_ID.fullmatch(target) or Path(target).is_dir()):
        folder = Path(target).resolve()
        if not folder.is_dir():
            raise UsageError(
                f"{target} is no folder, and no harness has that id.",
                hint="Name a harness's id, or the folder that its manifest.toml lies in.",
            )
        return {folder.name: lint_folder(folder)}
    registry = HarnessRegistry(context.home.path)
    entries = registry.list() if target is None else (registry.get(target),)
    return {entry.id: _lint_entry(entry) for entry in entries}


def _contract(target: str | None) -> tuple[str, tuple[Finding, ...]]:
    import asyncio

    from inspan.conformance.contract import check_contract

    if target is None or not Path(target).is_dir():
        raise UsageError(
            "The contract is held against the code of one folder, which runs it.",
            hint="Name the folder: `inspan harness lint ./acme --contract`.",
        )
    folder = Path(target).resolve()
    try:
        return folder.name, asyncio.run(check_contract(folder))
    except ManifestError:
        return folder.name, ()  # the findings say what is wrong with it


def _lint_entry(entry: RegisteredHarness) -> tuple[Finding, ...]:
    if entry.problem is None and entry.manifest is not None:
        # The lowest layer is the harness itself: its recordings and its page lie there.
        lowest, *over = entry.layered.layers
        return lint_folder(lowest.folder, manifest=entry.manifest, over=tuple(layer.folder for layer in over))
    error = entry.problem or InspanError("It has no manifest.")
    at = str(error.detail.get("file", entry.folder))
    return (Finding(severity="fault", rule="manifest", at=at, message=error.message, hint=error.hint),)


def _tell(context: Context, name: str, findings: tuple[Finding, ...]) -> None:
    output = context.output
    if not findings:
        output.line(good("ok"), "      ", bold(name))
    for one in findings:
        tone = bad("fault ") if one.severity == "fault" else warn("advice")
        output.line(tone, "  ", bold(name), f"  {one.at}: {one.message}", dim(f"  [{one.rule}]"))
        if one.hint:
            output.line(dim(f"        next: {one.hint}"))
