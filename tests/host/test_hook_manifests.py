"""Hooks in a manifest: what contradicts itself is refused with its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.errors import ManifestError
from support.harness_folders import add_harness, manifest_text

PROOF = 'source = "seen"\nverified = "2026-11-30"\n'
SEAT = "[[hooks.install]]\nscope = 'seat'\n"
SHARED = "[[hooks.install]]\nscope = 'shared'\n"


def manifest_of(home: Path, hooks: str) -> HarnessHost:
    add_harness(home / "harnesses", "acme", manifest_text(more=hooks))
    return HarnessHost(home, environ={})


def event(fields: str) -> str:
    return f"[hooks]\n{PROOF}events = [{{ name = 'Stop', {fields} }}]\n"


@pytest.mark.requirement("H-A30")
@pytest.mark.parametrize(
    ("hooks", "key"),
    [
        (f"[hooks]\n{PROOF}", "hooks.events"),
        ("[hooks]\nevents = [{ name = 'Stop', says = 'idle' }]", "hooks"),
        (event("says = ''"), "hooks.events[0]"),
        (event("says = 'idle', ends = {}"), "hooks.events[0].says"),
        (event("says = 'idle', kind = 'permission'"), "hooks.events[0].kind"),
        (event("says = 'idle', changes_session = true"), "hooks.events[0].changes_session"),
        (event("ends = { limited = '(' }"), "hooks.events[0].ends.limited"),
        (event("says = 'gone'"), "hooks.events[0].says"),
        (
            event("says = 'idle'") + "[hooks.session]\nid = 'a'\nfile = 'b'\nfile_pattern = '(?P<session>.)'",
            "hooks.session.id",
        ),
        (event("says = 'idle'") + "[hooks.session]\nfile = 'b'", "hooks.session.file_pattern"),
        (
            event("says = 'idle'") + "[hooks.session]\nfile = 'b'\nfile_pattern = '.'",
            "hooks.session.file_pattern",
        ),
        (event("says = 'idle'") + f"{SHARED}path = '/x'\nentry = 'x'", "hooks.install[0].entry"),
        (event("says = 'idle'") + f"{SHARED}path = 'x'\nentry = '{{command}}'", "hooks.install[0].path"),
        (
            event("says = 'idle'") + f"{SHARED}path = '/x'\nentry = '{{command}}'\nargs = ['{{file}}']",
            "hooks.install[0]",
        ),
        (
            event("says = 'idle'") + f"{SEAT}path = '/x'\nentry = '{{command}}'\nargs = ['{{file}}']",
            "hooks.install[0].path",
        ),
        (
            event("says = 'idle'") + f"{SEAT}path = 'a/../../x'\nentry = '{{command}}'\nargs = ['{{file}}']",
            "hooks.install[0].path",
        ),
        (event("says = 'idle'") + f"{SEAT}path = 'x'\nentry = '{{command}}'", "hooks.install[0]"),
    ],
)
def test_hooks_that_contradict_themselves_are_refused_with_their_key(
    tmp_path: Path, hooks: str, key: str
) -> None:
    with pytest.raises(ManifestError) as refusal:
        manifest_of(tmp_path, hooks).registry.manifest("acme")

    assert refusal.value.detail["key_path"] == key


@pytest.mark.requirement("H-A30")
def test_the_place_of_hooks_is_data_of_its_own(tmp_path: Path) -> None:
    place = (
        f"{SHARED}path = '{{home}}/.acme/hooks.json'\nentry = '{{command}}'\npreamble = {{ version = '1' }}"
    )
    host = manifest_of(tmp_path, event("says = 'idle'") + place)

    (install,) = host.registry.manifest("acme").hooks.install

    assert (install.path, install.preamble) == ("{home}/.acme/hooks.json", {"version": "1"})
