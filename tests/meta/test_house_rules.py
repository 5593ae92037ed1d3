"""The house rules hold, and each check finds a sample that breaks its rule in exactly one way."""

from pathlib import Path

import pytest

from house_rules import (
    HARNESS_IDS,
    LITERAL_ONLY_IDS,
    find_harness_ids,
    find_machine_traces,
    find_module_faults,
    harness_ids_of,
    project_files,
)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "inspan"
ROOT_FOLDER = "/" + "root" + "/"
GOOD_MODULE = '"""A module."""\n\n__all__ = ["value"]\n\nvalue = 1\n'


@pytest.mark.requirement("DEC9")
def test_no_module_outside_the_harnesses_names_a_harness() -> None:
    assert find_harness_ids(PACKAGE) == []


def test_every_module_is_short_named_for_its_noun_and_says_what_it_offers() -> None:
    assert find_module_faults(PACKAGE) == []


def test_no_file_names_a_machine_or_a_package_registry() -> None:
    files = [path for path in project_files(ROOT) if path.name != "uv.lock"]

    assert len(files) > 10
    assert find_machine_traces(ROOT, files) == []


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small package that keeps every rule."""
    for name, text in {
        "__init__.py": '"""The package."""\n',
        "cli/main.py": GOOD_MODULE.replace("1", '["demo"]'),
        "harnesses/codex/manifest.toml": 'id = "codex"\n',
        "harnesses/newcomer/manifest.toml": 'id = "newcomer"\n',
        "seats/decide.py": GOOD_MODULE.replace("1", '"a goose, a cursor and a demo"'),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_package_that_keeps_the_rules_has_no_findings(package: Path) -> None:
    assert find_harness_ids(package) == []
    assert find_module_faults(package) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("seats/other.py", "# only Codex does this\n"),
        ("seats/other.py", 'variable = "GEMINI_API_KEY"\n'),
        ("seats/other.py", "class claude_code: ...\n"),
        ("seats/other.py", 'if harness == "cursor": ...\n'),
        ("seats/other.py", 'steps = {"amp": 1}\n'),
        ("seats/other.py", 'steps = "demo"\n'),
        ("cli/other.py", 'if harness == "demo": ...\n'),
        ("cli/other.py", 'add_seat(harness="demo")\n'),
        ("seats/other.py", "# a newcomer whose folder exists\n"),
        ("seats/README.md", "Works with opencode.\n"),
        ("seats/limits.toml", "[goose]\nlimit = 3\n"),
        ("seats/qwen.py", "\n"),
        ("seats/pi/rules.py", "\n"),
    ],
)
def test_a_harness_that_core_names_is_found(package: Path, name: str, text: str) -> None:
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text(text, encoding="utf-8")

    [finding] = find_harness_ids(package)

    assert finding.startswith(name)


@pytest.mark.parametrize("harness", sorted(HARNESS_IDS - {"inspan"}))
def test_each_known_id_is_found_as_a_literal(package: Path, harness: str) -> None:
    (package / "seats" / "other.py").write_text(f'known = ["{harness}"]\n', encoding="utf-8")

    assert find_harness_ids(package)


def test_every_literal_only_id_is_a_known_id_and_every_folder_is_looked_for() -> None:
    assert LITERAL_ONLY_IDS < HARNESS_IDS
    assert {folder.name for folder in (PACKAGE / "harnesses").glob("[a-z]*/")} - {"inspan"} <= harness_ids_of(
        PACKAGE
    )


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("seats/long.py", GOOD_MODULE + "\n" * 495, "500 lines"),
        ("seats/utils.py", GOOD_MODULE, "does not say what it holds"),
        ("seats/seat_manager.py", GOOD_MODULE, "does not say what it holds"),
        ("types/seat.py", GOOD_MODULE, "does not say what it holds"),
        ("seats/bare.py", GOOD_MODULE.replace('"""A module."""', ""), "no docstring"),
        ("seats/open.py", GOOD_MODULE.replace("__all__", "names"), "no __all__"),
    ],
)
def test_a_module_that_breaks_one_rule_is_found(package: Path, name: str, text: str, fault: str) -> None:
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text(text, encoding="utf-8")

    [finding] = find_module_faults(package)

    assert finding.startswith(name)
    assert fault in finding


@pytest.mark.parametrize("line", [f"see {ROOT_FOLDER}notes", "index = https://" + "pypi" + ".org/simple"])
def test_a_trace_of_a_machine_or_a_registry_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "page.md").write_text(f"# A page\n{line}\n", encoding="utf-8")

    [finding] = find_machine_traces(tmp_path, project_files(tmp_path))

    assert finding.startswith("page.md:2: names ")


def test_an_ordinary_path_is_no_trace_of_a_machine(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"tests{ROOT_FOLDER}x and ~{ROOT_FOLDER}y\n", encoding="utf-8")

    assert find_machine_traces(tmp_path, project_files(tmp_path)) == []
