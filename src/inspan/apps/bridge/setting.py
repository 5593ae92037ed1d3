"""The setting of a bridge command: the app, the profiles that there are, and which of them was chosen and why."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from inspan.apps.folder import Folder
from inspan.apps.profiles import harnesses_path
from inspan.apps.registry import a2app_home

from .builtin import read_built_ins
from .choosing import Choice, choose, known_profiles
from .harnesses_file import HarnessesFile, read_harnesses
from .ladder import Surroundings, climb
from .prompt import AppFacts
from .routes import Profile
from .seats import SeatBook

__all__ = ["Setting", "open_setting"]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a command works on.

    Attributes:
        folder: The app.
        facts: The same, as a prompt names it.
        profiles: All that there are.
        file: `harnesses.json`; `None` where there is none.
        choice: The harness, and why it.
        around: What decides about its rungs.
        variables: What each harness's program is known to need, by its name.
    """

    folder: Folder
    facts: AppFacts
    profiles: tuple[Profile, ...]
    file: HarnessesFile | None
    choice: Choice
    around: Surroundings
    variables: dict[str, tuple[str, ...]]


def open_setting(folder: Folder, *, harness: str | None, environ: Mapping[str, str] | None = None) -> Setting:
    """Reads the profiles and chooses. Nothing is started.

    Args:
        folder: The app.
        harness: What the command line names.
        environ: Variables; the process's own if none are given.

    Raises:
        Rejected: `harnesses.json` is wrong, or what was named is not known.
    """
    variables = dict(os.environ if environ is None else environ)
    file = read_harnesses(harnesses_path(a2app_home()))
    built_in = read_built_ins(variables)
    profiles = known_profiles(built_in.profiles, file)
    around = Surroundings(app=folder.path, environ=variables, seats=SeatBook())
    choice = choose(
        profiles, named=harness, environ=variables, file=file, climb=lambda one: climb(one, around)
    )
    facts = AppFacts(id=folder.id, name=folder.name, folder=folder.path)
    return Setting(
        folder=folder,
        facts=facts,
        profiles=profiles,
        file=file,
        choice=choice,
        around=around,
        variables=built_in.variables,
    )
