"""What a manifest must keep beyond its shape: references that lead somewhere, patterns that compile, claims with sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from inspan.model.capability import EvidenceLevel
from inspan.model.manifest import LaunchArguments, Manifest, ModeManifest, PostureRule, Program

from .chosen_session import chooses_session
from .config_checks import check_config
from .context_usage_checks import check_context_usage
from .faults import Fault
from .headless_checks import check_headless
from .hook_checks import check_hooks
from .launch_axes import check_axes
from .mcp_checks import check_mcp
from .resource_checks import check_resources
from .saved_rules import RuleTable
from .session_source_checks import check_session_source
from .stream_checks import check_stream
from .terminal_checks import check_terminal
from .versions import is_range

__all__ = ["PLACEHOLDERS", "find_contradictions"]

PLACEHOLDERS = ("session", "workspace", "model", "effort")
"""What may stand in braces in arguments."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLUGIN_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.py")


def find_contradictions(manifest: Manifest) -> list[Fault]:
    """All faults of a manifest whose shape is right."""
    found = [
        *_check_top(manifest),
        *_check_program(manifest.program, "program"),
        *_check_sign_in(manifest),
        *_check_session(manifest),
        *check_config(manifest),
        *_check_background(manifest),
        *check_hooks(manifest),
        *check_resources(manifest),
        *check_mcp(manifest),
    ]
    for name, mode in manifest.modes.items():
        at = f"modes.{name}"
        if mode.program is not None:
            found += _check_program(mode.program, f"{at}.program")
        found += _check_arguments(mode, at)
        found += _check_environment(mode, at)
        found += check_axes(mode, at)
        found += _check_postures(mode, at)
        found += _check_capabilities(manifest, mode, at)
        found += _check_diagnoses(mode, at)
        found += check_headless(mode, at)
        found += check_context_usage(mode, at)
        found += check_session_source(mode, at)
        found += check_terminal(mode, at)
        found += check_stream(mode, at)
    return found


def _check_top(manifest: Manifest) -> Iterator[Fault]:
    if not manifest.modes:
        yield Fault(key_path="modes", problem="is empty", expected="at least one mode")
    elif manifest.default_mode not in manifest.modes:
        yield Fault(
            key_path="default_mode",
            problem=f"is {manifest.default_mode!r}, which is no mode of this manifest",
            expected=f"one of {', '.join(sorted(manifest.modes))}",
        )
    if manifest.plugin and not _PLUGIN_FILE.fullmatch(manifest.plugin):
        yield Fault(
            key_path="plugin",
            problem=f"is {manifest.plugin!r}",
            expected="the name of a Python file in the manifest's own folder, such as plugin.py",
        )
    for key, other in (("extends", manifest.extends), ("wraps", manifest.wraps)):
        if other == manifest.id:
            yield Fault(
                key_path=key, problem="is the manifest's own id", expected="the id of another harness"
            )


def _check_program(program: Program, at: str) -> Iterator[Fault]:
    if not (program.names or program.paths or program.module):
        yield Fault(
            key_path=at, problem="says nothing of how the program is found", expected="names, paths or module"
        )
    yield from _check_paths(program.paths, f"{at}.paths")
    yield from _check_pattern(program.version.pattern, f"{at}.version.pattern", needs_group=True)
    yield from _check_names(program.version.environment, f"{at}.version.environment")
    ranges = {f"{at}.requires.{name}": bounds for name, bounds in program.requires.items()}
    for key_path, bounds in {f"{at}.tested": program.tested, **ranges}.items():
        if bounds and not is_range(bounds):
            yield Fault(key_path=key_path, problem=f"is {bounds!r}", expected="bounds such as '>=1.18, <2'")


def _check_sign_in(manifest: Manifest) -> Iterator[Fault]:
    sign_in = manifest.sign_in
    yield from _check_paths(sign_in.markers, "sign_in.markers")
    for name in ("signed_in", "signed_out"):
        pattern = getattr(sign_in, name)
        yield from _check_pattern(pattern, f"sign_in.{name}")
        if pattern and not sign_in.args:
            yield Fault(
                key_path=f"sign_in.{name}",
                problem="reads the answer to a question that is not asked",
                expected="sign_in.args as well",
            )


def _check_paths(paths: tuple[str, ...], at: str) -> Iterator[Fault]:
    for index, path in enumerate(paths):
        if not path.startswith(("/", "~/")):
            yield Fault(
                key_path=f"{at}[{index}]",
                problem=f"is {path!r}",
                expected="an absolute path, or one that begins with ~/",
            )


def _check_background(manifest: Manifest) -> Iterator[Fault]:
    for index, one in enumerate(manifest.background):
        at = f"background[{index}].pattern"
        yield from _check_pattern(one.pattern, at)
        if _compiles(one.pattern) and re.search(one.pattern, ""):
            yield Fault(
                key_path=at, problem="matches every command line", expected="words of this process alone"
            )


def _compiles(pattern: str) -> bool:
    return not list(_check_pattern(pattern, ""))


def _check_session(manifest: Manifest) -> Iterator[Fault]:
    yield from _check_pattern(manifest.session.id_pattern, "session.id_pattern")


def _check_arguments(mode: ModeManifest, at: str) -> Iterator[Fault]:
    sets: tuple[tuple[str, LaunchArguments], ...] = (
        ("launch", mode.launch),
        ("resume", mode.resume),
        ("fork", mode.fork),
    )
    for name, arguments in sets:
        is_named = name != "launch" or mode.session_id.kind in ("chosen", "command") or chooses_session(mode)
        with_session = {"workspace", "session"} if is_named else {"workspace"}
        yield from _check_placeholders(arguments.args, f"{at}.{name}.args", with_session)
        for choice in ("model", "effort"):
            allowed = with_session | {choice}
            yield from _check_placeholders(
                getattr(arguments, f"{choice}_args"), f"{at}.{name}.{choice}_args", allowed
            )
            variables: dict[str, str] = getattr(arguments, f"{choice}_environment")
            where = f"{at}.{name}.{choice}_environment"
            yield from _check_names(variables, where)
            yield from _check_placeholders(tuple(variables.values()), where, allowed)
    for index, rule in enumerate(mode.postures):
        yield from _check_placeholders(rule.args, f"{at}.postures[{index}].args", {"workspace"})


def _check_placeholders(args: tuple[str, ...], at: str, allowed: set[str]) -> Iterator[Fault]:
    for index, arg in enumerate(args):
        for name in _PLACEHOLDER.findall(arg):
            if name not in allowed:
                yield Fault(
                    key_path=f"{at}[{index}]",
                    problem=f"has the placeholder {{{name}}}",
                    expected="only " + ", ".join(f"{{{one}}}" for one in PLACEHOLDERS if one in allowed),
                )


def _check_environment(mode: ModeManifest, at: str) -> Iterator[Fault]:
    yield from _check_names(mode.environment.set, f"{at}.environment.set")
    for index, rule in enumerate(mode.postures):
        yield from _check_names(rule.environment, f"{at}.postures[{index}].environment")
        yield from _check_merges(rule, f"{at}.postures[{index}].merges")
    for index, choice in enumerate(mode.acp.auth):
        if choice.when_env:
            yield from _check_names({choice.when_env: ""}, f"{at}.acp.auth[{index}].when_env")


def _check_merges(rule: PostureRule, at: str) -> Iterator[Fault]:
    for name, how in rule.merges.items():
        try:
            msgspec.json.decode(
                rule.environment.get(name, ""), type=RuleTable if how == "rules" else dict[str, object]
            )
        except msgspec.DecodeError:
            yield Fault(
                key_path=f"{at}.{name}",
                problem=f"is {how!r}, and the posture sets the variable to no such thing",
                expected="a variable in environment that holds a JSON object",
            )


def _check_names(variables: dict[str, str], at: str) -> Iterator[Fault]:
    for name in variables:
        if not _ENV_NAME.fullmatch(name):
            yield Fault(
                key_path=at,
                problem=f"has {name!r}, which cannot name a variable",
                expected="letters, digits and '_', not beginning with a digit",
            )


def _check_postures(mode: ModeManifest, at: str) -> Iterator[Fault]:
    seen: set[tuple[str, str]] = set()
    for index, rule in enumerate(mode.postures):
        key = (rule.approvals.value, rule.sandbox.value)
        if key in seen:
            yield Fault(
                key_path=f"{at}.postures[{index}]",
                problem=f"is a second rule for approvals={key[0]}, sandbox={key[1]}",
                expected="one rule a posture",
            )
        seen.add(key)


def _check_capabilities(manifest: Manifest, mode: ModeManifest, at: str) -> Iterator[Fault]:
    claims = mode.capabilities
    for name in claims.__struct_fields__:
        claim = getattr(claims, name)
        if claim.evidence is EvidenceLevel.PROVED and not (claim.source and claim.verified):
            yield Fault(
                key_path=f"{at}.capabilities.{name}",
                problem="is proved without a proof",
                expected="source (where it was seen) and verified (date and version)",
            )
    if mode.transport == "plugin":
        if not manifest.plugin:
            yield Fault(
                key_path=f"{at}.transport",
                problem="is plugin",
                expected="acp, or a manifest that names a plugin",
            )
        return
    if claims.resume.is_supported and not (mode.resume.args or mode.acp.resume_methods):
        yield Fault(
            key_path=f"{at}.capabilities.resume",
            problem="is supported, but the mode has no way to resume",
            expected="arguments in resume.args, or a method in acp.resume_methods",
        )


def _check_diagnoses(mode: ModeManifest, at: str) -> Iterator[Fault]:
    for index, diagnosis in enumerate(mode.diagnoses):
        here = f"{at}.diagnoses[{index}]"
        yield from _check_pattern(diagnosis.message_pattern, f"{here}.message_pattern")
        yield from _check_pattern(diagnosis.data_pattern, f"{here}.data_pattern")
        if diagnosis.raw_code is None and not diagnosis.message_pattern and not diagnosis.data_pattern:
            yield Fault(
                key_path=here,
                problem="would match every error",
                expected="raw_code, message_pattern or data_pattern",
            )
    for index, failure in enumerate(mode.turn_text_failures):
        here = f"{at}.turn_text_failures[{index}].pattern"
        yield from _check_pattern(failure.pattern, here)
        if not failure.pattern.startswith("^"):
            yield Fault(
                key_path=here,
                problem="may match anywhere in an answer",
                expected="a pattern that begins with ^: an answer that quotes an error is none",
            )


def _check_pattern(pattern: str, at: str, *, needs_group: bool = False) -> Iterator[Fault]:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        yield Fault(
            key_path=at, problem=f"does not compile ({error})", expected="a regular expression of Python's re"
        )
        return
    if needs_group and not groups:
        yield Fault(key_path=at, problem="has no group", expected="a first group that holds the version")
