"""The house rules that a linter does not know, each as a function that gives one line a finding."""

import ast
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

__all__ = [
    "HARNESS_IDS",
    "LITERAL_ONLY_IDS",
    "find_harness_ids",
    "find_machine_traces",
    "find_module_faults",
    "harness_ids_of",
    "project_files",
]

HARNESS_IDS = frozenset(
    [
        "aider",
        "amp",
        "antigravity",
        "auggie",
        "claude",
        "claude-code",
        "cline",
        "codex",
        "copilot",
        "crush",
        "cursor",
        "demo",
        "droid",
        "dsh",
        "gemini",
        "goose",
        "grok",
        "hermes",
        "inspan",
        "kilo",
        "kimi",
        "kiro",
        "letta",
        "openclaw",
        "opencode",
        "pi",
        "qwen",
        "vibe",
    ]
)
"""Every harness id that the project knows, whether its folder exists yet or not."""

LITERAL_ONLY_IDS = frozenset(
    [
        "aider",
        "amp",
        "cline",
        "copilot",
        "crush",
        "cursor",
        "demo",
        "droid",
        "goose",
        "grok",
        "hermes",
        "kilo",
        "kiro",
        "letta",
        "pi",
        "vibe",
    ]
)
"""Ids that are words of their own: only a string that is exactly the id counts as naming the harness."""

MAX_MODULE_LINES = 500

_OWN_NAME = (
    "inspan"  # the package's, the program's and the product's name: to look for it would find every file
)
_OWN_COMMAND = "demo"  # also a command of our own program, so `cli` may say it
_VAGUE_NAMES = frozenset(
    ["base", "common", "helper", "helpers", "manager", "managers", "misc", "types", "util", "utils"]
)
_MACHINE_FOLDERS = ("work", "root", "farm")
_REGISTRIES = ("pypi.org", "pythonhosted.org", "npmjs.org", "npmjs.com", "opt/pypi", "opt/wheels")
_NOT_PROJECT = frozenset(
    [
        ".git",
        ".venv",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".import_linter_cache",
        "__pycache__",
        "node_modules",
        "dist",
        "build",
    ]
)


def harness_ids_of(package: Path) -> frozenset[str]:
    """Give every harness id that core may not name: the known ones and the folders of `harnesses/`."""
    folders = (folder.name for folder in (package / "harnesses").glob("*/"))
    return (HARNESS_IDS | {name for name in folders if name[0] not in "_."}) - {_OWN_NAME}


def find_harness_ids(package: Path) -> list[str]:
    """Find harness ids in what stands in `package` outside `harnesses/`: in file names, text and string literals."""
    ids = harness_ids_of(package)
    anywhere = _token_pattern(ids - LITERAL_ONLY_IDS)
    literal = ids & LITERAL_ONLY_IDS
    found: list[str] = []
    for path in _files_below(package, left_out="harnesses"):
        name = path.relative_to(package)
        if words := anywhere.findall(name.as_posix()) or literal & {
            part.lower() for part in (*name.parts, name.stem)
        }:
            found.append(f"{name}: is named after {', '.join(sorted(words))}")
        text = _text_of(path)
        if text is None:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found.extend(f"{name}:{number}: names {word}" for word in anywhere.findall(line))
        found.extend(
            f"{name}:{number}: has the literal {value!r}"
            for number, value in _literals(text, suffix=path.suffix, is_cli=name.parts[0] == "cli")
            if value.lower() in literal
        )
    return found


def find_module_faults(package: Path) -> list[str]:
    """Find modules that are too long, vaguely named, or lack a docstring or `__all__`."""
    found: list[str] = []
    for path in _files_below(package):
        if path.suffix != ".py":
            continue
        name = path.relative_to(package)
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) >= MAX_MODULE_LINES:
            found.append(f"{name}: has {lines} lines; from {MAX_MODULE_LINES} on it is two modules")
        for part in (*name.parts[:-1], name.stem):
            if part.lower().rpartition("_")[2] in _VAGUE_NAMES:
                found.append(f"{name}: {part!r} does not say what it holds")
        module = ast.parse(text)
        if not ast.get_docstring(module):
            found.append(f"{name}: has no docstring")
        is_private = any(part[0] == "_" and not part.startswith("__") for part in name.parts)
        if not is_private and path.stem != "__main__" and not _has_all(module) and len(module.body) > 1:
            found.append(f"{name}: has no __all__")
    return found


def find_machine_traces(root: Path, files: Iterable[Path]) -> list[str]:
    """Find paths of a particular machine and hosts of package registries in `files`, all below `root`."""
    folders = "|".join(_MACHINE_FOLDERS)
    pattern = re.compile(
        rf"(?<![\w.~$}})-])/(?:{folders})/|" + "|".join(re.escape(host) for host in _REGISTRIES)
    )
    own_file = Path(__file__).resolve()
    found: list[str] = []
    for path in files:
        if path.resolve() == own_file or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if match := pattern.search(line):
                found.append(f"{path.relative_to(root)}:{number}: names {match[0]}")
    return found


def project_files(root: Path) -> list[Path]:
    """Give the files that belong to the project: what git tracks, or all but caches where there is no git."""
    git = shutil.which("git")
    if git and (root / ".git").exists():
        listed = subprocess.run(
            [git, "-C", str(root), "ls-files", "-z"], capture_output=True, check=True, text=True
        )
        return sorted(root / name for name in listed.stdout.split("\0") if name)
    return sorted(_files_below(root))


def _files_below(folder: Path, *, left_out: str = "") -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _NOT_PROJECT or path.name == left_out:
            continue
        if path.is_dir():
            yield from _files_below(path)
        else:
            yield path


def _token_pattern(ids: Iterable[str]) -> re.Pattern[str]:
    words = "|".join(re.escape(one).replace(r"\-", "[-_ ]?") for one in sorted(ids, key=len, reverse=True))
    return re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])", re.IGNORECASE)


def _text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _literals(text: str, *, suffix: str, is_cli: bool) -> Iterator[tuple[int, str]]:
    if suffix == ".toml":
        yield from ((1, value) for value in _toml_strings(tomllib.loads(text)))
    if suffix != ".py":
        return
    tree = ast.parse(text)
    used_as_id = {
        id(value)
        for node in ast.walk(tree)
        for value in (
            [node.left, *node.comparators]
            if isinstance(node, ast.Compare)
            else [node.value]
            if isinstance(node, ast.keyword) and node.arg == "harness"
            else ()
        )
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if is_cli and node.value == _OWN_COMMAND and id(node) not in used_as_id:
                continue
            yield node.lineno, node.value


def _toml_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _toml_strings(one)
    elif isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield key
            yield from _toml_strings(one)


def _has_all(module: ast.Module) -> bool:
    return any(
        isinstance(target, ast.Name) and target.id == "__all__"
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    )
