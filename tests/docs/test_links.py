"""What the pages say can be followed: links lead somewhere, commands parse, targets and tests exist."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from house_rules import project_files
from inspan.cli.commands import COMMANDS, parser_of
from inspan.model.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


class Fault(NamedTuple):
    """Something on a page that cannot be followed."""

    line: int
    what: str


@cache
def pages() -> list[Path]:
    return sorted(path for path in project_files(ROOT) if path.suffix == ".md")


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """Every line of a fenced block, with its number."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip() == fence:
            fence = ""
        elif fence:
            yield number, line.strip()


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Every line outside of fenced blocks, with its number."""
    code = {number for number, _ in code_lines(text)}
    return ((number, line) for number, line in enumerate(text.splitlines(), 1) if number not in code)


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings give."""
    headings = (line.lstrip("#").strip().lower() for _, line in prose_lines(text) if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def find_dead_links(page: Path) -> list[Fault]:
    faults: list[Fault] = []
    text = page.read_text(encoding="utf-8")
    for number, line in prose_lines(text):
        bare = re.sub(r"`[^`]*`", "", line)
        links = re.findall(r"\]\(([^)\s]+)[^)]*\)", bare) + re.findall(r'(?:src|href)="([^"]+)"', bare)
        for link in links:
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                faults.append(Fault(number, f"{link} leads nowhere"))
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8")):
                faults.append(Fault(number, f"{link}: no heading gives this anchor"))
    return faults


def command_of(line: str) -> list[list[str]]:
    """The words of each `inspan` in a line of shell; redirections and what follows `&&`, `|` or `;` are cut off."""
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|&;"):
            commands.append([])
        else:
            commands[-1].append(word)
    plain: list[list[str]] = []
    for words in commands:
        # A redirection and the file that it names are the shell's.
        while (
            place := next((n for n, word in enumerate(words) if set(word) <= set("<>")), None)
        ) is not None:
            del words[place : place + 2]
        if words[:1] == ["inspan"]:
            plain.append(words[1:])
    return plain


def find_wrong_commands(text: str) -> list[Fault]:
    faults: list[Fault] = []
    for number, line in code_lines(text):
        if not re.search(r"(^|\$ |[|&;] *)inspan ", line):
            continue
        if line.startswith("inspan:"):
            continue
        for words in command_of(line):
            try:
                read(words)
            except UsageError as error:
                faults.append(Fault(number, f"{line}: {error.message}"))
    for number, line in prose_lines(text):
        for command in re.findall(r"`inspan ([a-z]+)", line):
            if command not in COMMANDS:
                faults.append(Fault(number, f"there is no command `inspan {command}`"))
    return faults


def read(words: list[str]) -> None:
    """Reads words as the program would; raises UsageError where it would refuse them."""
    if words and words[0].startswith("--") and len(words) == 1:
        return
    if not words or words[0] not in COMMANDS:
        raise UsageError(f"There is no command {words[:1]}.")
    try:
        parser_of(words[0]).read(words[1:])
    except SystemExit as left:
        assert left.code in (0, None)  # noqa: PT017 - argparse leaves by itself after `--help`


@cache
def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def find_wrong_targets(text: str) -> list[Fault]:
    lines = [(number, line.removeprefix("$ ")) for number, line in code_lines(text)]
    lines += [
        (number, words) for number, line in prose_lines(text) for words in re.findall(r"`([^`]+)`", line)
    ]
    named = [(number, line.split()[1]) for number, line in lines if re.match(r"make [a-z]+", line)]
    return [Fault(number, f"make has no {name}") for number, name in named if name not in make_targets()]


@cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def find_unknown_tests(text: str) -> list[Fault]:
    """Tests that a page names as `tests/room/test_x.py::test_y` and that do not exist."""
    faults: list[Fault] = []
    for number, line in enumerate(text.splitlines(), 1):
        for name, test in re.findall(r"`(?:tests/)?([\w/]+/test_\w+\.py)(?:::(test_\w+))?", line):
            path = ROOT / "tests" / name
            if not path.is_file():
                faults.append(Fault(number, f"there is no tests/{name}"))
            elif test and test not in functions_of(path):
                faults.append(Fault(number, f"tests/{name} has no {test}"))
    return faults


def test_every_relative_link_leads_somewhere() -> None:
    assert ROOT / "README.md" in pages()
    assert {
        str(page.relative_to(ROOT)): faults for page in pages() if (faults := find_dead_links(page))
    } == {}


@pytest.mark.parametrize("find", [find_wrong_commands, find_wrong_targets, find_unknown_tests])
def test_commands_targets_and_tests_that_a_page_names_exist(find: object) -> None:
    assert callable(find)
    found = {str(page.relative_to(ROOT)): find(page.read_text(encoding="utf-8")) for page in pages()}

    assert {name: faults for name, faults in found.items() if faults} == {}


def test_the_first_pages_show_commands() -> None:
    for name in ("README.md", "docs/getting-started.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert any(
            command_of(line) for _, line in code_lines(text) if line.startswith(("inspan ", "$ inspan "))
        )


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A head\n[a](#a-head) [b](#none) [c](gone.md)\n```\n[d](gone.md)\n```\n`[e](gone.md)`\n"
    )

    assert [fault.what.split()[0].rstrip(":") for fault in find_dead_links(page)] == ["#none", "gone.md"]


@pytest.mark.parametrize(
    "line",
    [
        "inspan nonsense",
        "inspan send",
        "$ inspan seat add a --no-such-option",
        "git diff | inspan send a --nonsense",
        "inspan seat list && inspan seat",
        "inspan watch --until never",
    ],
)
def test_a_command_that_the_program_refuses_is_found(line: str) -> None:
    assert len(find_wrong_commands(f"```sh\n{line}\n```\n")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "inspan send a - < task.md  # from a file",
        'eval "$(inspan completion bash)"',
        "git diff | inspan send a --wait",
        "$ inspan seat list --json > seats.json",
        "inspan --version",
        "inspan seat add --help",
        "inspan: There is no seat 'a'.",
    ],
)
def test_a_command_that_the_program_takes_is_no_fault(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert find_wrong_commands(f"```sh\n{line}\n```\n") == []
    capsys.readouterr()


def test_a_target_a_command_and_a_test_that_do_not_exist_are_found() -> None:
    assert find_wrong_targets("`make nonsense`\n```\nmake demo\n```\n") == [Fault(1, "make has no nonsense")]
    assert find_wrong_commands("Use `inspan nonsense`.") == [
        Fault(1, "there is no command `inspan nonsense`")
    ]
    text = "`docs/test_links.py::test_no` and `tests/docs/test_no.py` and `docs/test_links.py::test_a_dead_link_is_found`"
    assert [fault.what for fault in find_unknown_tests(text)] == [
        "tests/docs/test_links.py has no test_no",
        "there is no tests/docs/test_no.py",
    ]
