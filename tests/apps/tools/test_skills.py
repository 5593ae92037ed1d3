"""The six skills and the command: they name what is there, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from inspan.apps.programs.agent_app.help import help_for
from inspan.apps.programs.agent_app.skills import SKILLS_FOLDER, find_skills
from inspan.apps.tools.kickoff import ACTIVITIES

SIX = ("creator", "modify", "importer", "operator", "walk-verify", "connect")
COMMAND = SKILLS_FOLDER.parent / "commands" / "agent-app.md"
TEXTS = [*SKILLS_FOLDER.glob("*/SKILL.md"), SKILLS_FOLDER / "QUALITY.md", COMMAND]


@pytest.mark.requirement("P15")
def test_there_are_six_skills_and_the_index_says_what_they_say() -> None:
    skills = {skill.name: skill for skill in find_skills()}
    assert set(skills) == set(SIX)
    index = json.loads((SKILLS_FOLDER / "index.json").read_text())["skills"]
    assert [one["name"] for one in index] == list(SIX)
    for one in index:
        assert (one["activity"], one["description"]) == (
            skills[one["name"]].activity,
            skills[one["name"]].description,
        )
        assert (SKILLS_FOLDER / one["path"]).is_file()
    assert set(ACTIVITIES.values()) <= set(SIX)


@pytest.mark.requirement("P15")
@pytest.mark.parametrize(
    "path", [path for path in TEXTS if path.name == "SKILL.md"], ids=lambda path: path.parent.name
)
def test_the_head_of_a_skill_has_one_line_a_field(path: Path) -> None:
    _, head, body = path.read_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
    assert (
        {"name", "activity", "description"}
        <= set(fields)
        <= {"name", "activity", "description", "stack", "toolkit"}
    )
    assert fields["name"] == fields["activity"] == path.parent.name
    assert len(fields["description"]) < 400
    assert body.strip().startswith("# ")


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_command_line_in_a_text_is_one_of_our_programs(path: Path) -> None:
    text = path.read_text()
    building: list[str] = re.findall(r"`agent-app (?:DIR|\. )? ?([a-z-]+)", text)
    for verb in building:
        assert help_for([verb]) != help_for([]), verb
    operating = re.findall(r"`a2app (?:DIR|https://ADDRESS) ([a-z-]+)", text)
    assert set(operating) <= {"data", "tasks", "identity", "whoami", "context", "events", "--find"}, operating
    for other in re.findall(r"\*\*([a-z-]+)\*\*|`\.\./([A-Z]+\.md)`", text):
        assert not other[0] or other[0] in SIX
        assert not other[1] or (SKILLS_FOLDER / other[1]).is_file()


@pytest.mark.requirement("P15")
def test_the_command_sends_each_kind_of_request_to_its_skill() -> None:
    text = COMMAND.read_text()
    assert text.startswith("---\ndescription: ")
    assert "\nargument-hint: " in text
    assert "$ARGUMENTS" in text
    assert re.findall(r"\*\*([a-z-]+)\*\*", text) == list(SIX)
