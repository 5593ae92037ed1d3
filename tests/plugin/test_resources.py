"""Where a harness reads resources in a workspace, and that nothing outside of it is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspan.model.errors import UsageError
from inspan.model.resource import ResourceKind, ResourceMode, ResourcePlace
from inspan.model.resource_views import ResourceView
from inspan.plugin.resources import look_at_place

GUIDE = "{projectRoot}/AGENTS.md"
SKILL = "{projectRoot}/.acme/skills/{id}"
COMMAND = "{projectRoot}/.acme/commands/do-{id}.md"
NESTED = "{projectRoot}/.acme/agents/{id}/agent.toml"


def look(workspace: Path, target: str, mode: ResourceMode, resource: str | None = None) -> ResourceView:
    place = ResourcePlace(kind=ResourceKind.SKILL, target=target, mode=mode)
    return look_at_place(place, str(workspace), resource)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.mark.requirement("H-A5")
def test_a_template_becomes_a_path_in_the_workspace_and_says_whether_something_is_there(
    workspace: Path,
) -> None:
    missing = look(workspace, GUIDE, ResourceMode.APPEND_BLOCK)
    assert (missing.path, missing.exists, missing.problem) == (str(workspace / "AGENTS.md"), "no", None)
    (workspace / "AGENTS.md").write_text("Be kind.\n")
    assert look(workspace, GUIDE, ResourceMode.APPEND_BLOCK).exists == "yes"
    assert look(workspace, GUIDE, ResourceMode.FILE).exists == "yes"

    named = look(workspace, SKILL, ResourceMode.DIRECTORY, "review")
    assert (named.path, named.exists) == (str(workspace / ".acme/skills/review"), "no")
    (workspace / ".acme/skills/review").mkdir(parents=True)
    assert look(workspace, SKILL, ResourceMode.DIRECTORY, "review").exists == "yes"
    assert look(workspace, SKILL, ResourceMode.FILE, "review").exists == "no", "a folder is no file"


@pytest.mark.requirement("H-A5")
def test_a_place_of_many_names_those_that_are_there(workspace: Path) -> None:
    for name in ("review", "build", ".hidden"):
        (workspace / ".acme/skills" / name).mkdir(parents=True)
    (workspace / ".acme/skills/notes.txt").touch()
    (workspace / ".acme/commands").mkdir()
    for name in ("do-it.md", "do-that.md", "other.md", "do-it.txt", "do-.md"):
        (workspace / ".acme/commands" / name).touch()
    (workspace / ".acme/agents/tester").mkdir(parents=True)
    (workspace / ".acme/agents/empty").mkdir()
    (workspace / ".acme/agents/tester/agent.toml").touch()

    assert look(workspace, SKILL, ResourceMode.DIRECTORY).found == ("build", "review")
    assert look(workspace, COMMAND, ResourceMode.FILE).found == ("it", "that")
    assert look(workspace, NESTED, ResourceMode.FILE).found == ("tester",)
    empty = look(workspace, "{projectRoot}/none/{id}", ResourceMode.FILE)
    assert (empty.exists, empty.found) == ("no", ())


@pytest.mark.requirement("H-A5")
@pytest.mark.parametrize("resource", ["../outside", "..", ".", "a/b", "", "-x", "a\0b", "x" * 129])
def test_a_name_that_could_lead_elsewhere_is_refused(workspace: Path, resource: str) -> None:
    with pytest.raises(UsageError, match="cannot name a resource"):
        look(workspace, SKILL, ResourceMode.DIRECTORY, resource)


@pytest.mark.requirement("H-A5")
def test_a_target_that_leads_out_of_the_workspace_is_refused_and_not_looked_at(
    workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "skills" / "theirs").mkdir(parents=True)
    (outside / "AGENTS.md").touch()
    (workspace / ".acme").symlink_to(outside)
    (workspace / "AGENTS.md").symlink_to(outside / "AGENTS.md")
    for target, mode, resource in (
        ("{projectRoot}/../outside/AGENTS.md", ResourceMode.FILE, None),
        (GUIDE, ResourceMode.APPEND_BLOCK, None),
        (SKILL, ResourceMode.DIRECTORY, "theirs"),
        (SKILL, ResourceMode.DIRECTORY, None),
    ):
        found = look(workspace, target, mode, resource)
        assert found.problem is not None
        assert found.problem.code == "resource_outside"
        assert (found.exists, found.found) == ("unknown", ())


@pytest.mark.requirement("H-A5")
def test_one_of_many_that_is_a_link_to_elsewhere_is_left_out_and_a_link_inside_is_not(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    skills = workspace / ".acme/skills"
    (skills / "own").mkdir(parents=True)
    (skills / "theirs").symlink_to(tmp_path / "outside")
    (skills / "twin").symlink_to(skills / "own")

    assert look(workspace, SKILL, ResourceMode.DIRECTORY).found == ("own", "twin")


def test_a_workspace_that_is_itself_reached_by_a_link_is_no_way_out(workspace: Path, tmp_path: Path) -> None:
    (workspace / "AGENTS.md").touch()
    (tmp_path / "link").symlink_to(workspace)

    assert look(tmp_path / "link", GUIDE, ResourceMode.FILE).exists == "yes"
