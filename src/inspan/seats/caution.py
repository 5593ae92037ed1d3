"""Caution: what is said of a harness that others keep, or that nobody tried, before anybody launches it."""

from __future__ import annotations

from inspan.model.manifest import Manifest

__all__ = ["caution_of"]


def caution_of(manifest: Manifest, mode: str) -> str:
    """Whether a community harness was tried, who keeps it and what it says that it cannot do.

    Of a built-in one only that it was not tried, where that is so, and of each that a start is expensive; empty where
    nothing is to be said.
    """
    known = manifest.modes.get(mode)
    wake = None if known is None else known.wake
    said = _keeping(manifest, mode)
    if wake is None or wake.cost != "expensive":
        return said
    costs = f"Each start of {manifest.name} is expensive" + (f": {wake.note}" if wake.note else ".")
    return f"{said} {costs}".lstrip()


def _keeping(manifest: Manifest, mode: str) -> str:
    keeper = manifest.maintainer
    known = manifest.modes.get(mode)
    if known is None or manifest.scripted:
        return ""
    program = known.program or manifest.program
    if keeper.tier != "community":
        return "" if program.tested else f"No version of {manifest.name} was tried with Inspan."
    tried = f"tried by them with {program.tested}" if program.tested else "untested: no version was tried"
    contact = f" ({keeper.contact})" if keeper.contact else ""
    claims = known.capabilities
    limits = [
        f"{name.replace('_', ' ')} {claim.support}"
        for name in claims.__struct_fields__
        if not (claim := getattr(claims, name)).is_supported
    ]
    declared = f"; declared limits: {', '.join(limits)}" if limits else ""
    return (
        f"{manifest.name} is a community harness, kept by {keeper.name}{contact} and not tested by Inspan; "
        f"{tried}{declared}."
    )
