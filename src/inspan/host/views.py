"""Views of harnesses: what a list, a page or a table shows of one, all of it from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from inspan.model.errors import HarnessError, InspanError
from inspan.model.harness_views import ChoiceView, PostureView
from inspan.model.manifest import ConfigFolder, Manifest, ModeManifest, PostureRule
from inspan.model.plan import ProbeResult, Problem
from inspan.model.views import HarnessView, ModeView
from inspan.plugin.planning import describe_postures
from inspan.plugin.programs import find_program
from inspan.plugin.signals import read_limit_signals, read_signals

from .registry import RegisteredHarness

__all__ = ["PluginState", "view_harness"]

PluginState = Literal["none", "ready", "missing", "incompatible", "untrusted"]


def view_harness(
    entry: RegisteredHarness,
    *,
    plugin: PluginState,
    problem: InspanError | None,
    environ: Mapping[str, str],
    probe: ProbeResult | None = None,
) -> HarnessView:
    """The view of one harness; of a faulty one, as much as can be read. `environ` says where programs are."""
    manifest = entry.manifest
    layers = tuple(str(layer.folder) for layer in entry.layered.layers)
    if manifest is None:
        table = entry.layered.table
        return HarnessView(
            id=entry.id,
            name=_text(table.get("name")) or entry.id,
            origin=entry.origin,
            folder=str(entry.folder),
            layers=layers,
            maintainer="",
            tier="community",
            default_mode="",
            modes=(),
            summary=_text(table.get("summary")),
            plugin=plugin,
            problem=Problem.of(problem) if problem else None,
        )
    return HarnessView(
        id=manifest.id,
        name=manifest.name,
        origin=entry.origin,
        folder=str(entry.folder),
        layers=layers,
        maintainer=manifest.maintainer.name,
        tier=manifest.maintainer.tier,
        default_mode=manifest.default_mode,
        modes=tuple(_view_mode(manifest, name, mode) for name, mode in manifest.modes.items()),
        summary=manifest.summary,
        homepage=manifest.homepage,
        scripted=manifest.scripted,
        install=manifest.program.install,
        tested=manifest.program.tested,
        requires={
            name: bounds
            for program in (manifest.program, *(mode.program for mode in manifest.modes.values()))
            if program
            for name, bounds in program.requires.items()
        },
        sign_in=manifest.sign_in.hint,
        auth_variables=manifest.sign_in.auth_variables,
        locators=manifest.sign_in.locator_variables,
        config=manifest.config if manifest.config != ConfigFolder() else None,
        takes_over=manifest.takes_over,
        background=manifest.background,
        quirks=tuple(quirk.text for quirk in manifest.quirks),
        plugin=plugin,
        installed=_see_program(manifest, environ),
        problem=Problem.of(problem) if problem else None,
        probe=probe,
    )


def _view_mode(manifest: Manifest, name: str, mode: ModeManifest) -> ModeView:
    signals, rules = read_signals(mode), mode.terminal.rules
    return ModeView(
        id=name,
        transport=mode.transport,
        capabilities={
            field: getattr(mode.capabilities, field) for field in mode.capabilities.__struct_fields__
        },
        postures=describe_postures(mode),
        posture_rules=tuple(_view_posture(rule) for rule in mode.postures),
        install=mode.program.install if mode.program else "",
        tested=mode.program.tested if mode.program else "",
        activity_by=signals.activity,
        needs_input_by=signals.needs_input,
        limit_by=read_limit_signals(manifest, mode),
        model=_view_choice(
            mode,
            mode.launch.model_args,
            mode.launch.model_environment,
            mode.acp.model_option,
            mode.stream.model_option,
        ),
        effort=_view_choice(
            mode,
            mode.launch.effort_args,
            mode.launch.effort_environment,
            mode.acp.effort_option,
            mode.stream.effort_option,
        ),
        axes={axis: known.values for axis, known in mode.axes.items()},
        must_look_at_screen=signals.must_look_at_screen,
        screen_rules=len(rules.rules) if rules is not None else 0,
    )


def _view_choice(
    mode: ModeManifest, args: tuple[str, ...], variables: Mapping[str, str], option: str, at_start: str
) -> ChoiceView | None:
    """How a choice is told: arguments and variables prevail over an option, as they do in a plan.

    An option of the protocol can be set again in an open session, one that stands in the calls of a start cannot.
    """
    if not (args or variables or option or at_start):
        return None
    by = "arguments" if args else "variables" if variables else "session option"
    offers = "offered" if mode.transport == "acp" else "launch"
    return ChoiceView(by=by, changes="session" if option else offers)


def _see_program(manifest: Manifest, environ: Mapping[str, str]) -> Literal["yes", "no"]:
    try:
        find_program(manifest, environ, mode=manifest.default_mode)
    except HarnessError:
        return "no"
    return "yes"


def _view_posture(rule: PostureRule) -> PostureView:
    told = [
        ("arguments", " ".join(rule.args)),
        ("variables", ", ".join(f"{name}={value}" for name, value in rule.environment.items())),
        ("session mode", rule.session_mode or ""),
        ("session options", ", ".join(f"{name}={value}" for name, value in rule.config_options.items())),
    ]
    return PostureView(
        approvals=rule.approvals,
        sandbox=rule.sandbox,
        how="; ".join(f"{what} {how}" for what, how in told if how),
        source=rule.source,
        verified=rule.verified,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
