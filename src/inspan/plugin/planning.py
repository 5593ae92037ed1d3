"""Plans from data: the launch plan that a manifest describes, and the postures that it can honour."""

from __future__ import annotations

import os
import re
import secrets
import uuid
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from inspan.model.errors import UsageError
from inspan.model.hooks import HookSettings
from inspan.model.manifest import AcpSettings, LaunchArguments, Manifest, ModeManifest, PostureRule
from inspan.model.plan import LaunchPlan, LaunchRequest, TransportSettings
from inspan.model.posture import Posture
from inspan.model.session import Provenance

from .chosen_session import chooses_session
from .launch_axes import tell_axes
from .programs import FoundProgram
from .saved_rules import merge_saved

__all__ = ["build_plan", "choose_auth", "describe_postures", "find_posture"]

_SECRET_BYTES = 32
_ARTICLES = {"model": "a model", "effort": "an effort"}
# The process stays the one that was started. No shell ever reads the prompt as code.
_PROMPT_AS_ARGUMENT = 'option=$1; shift; prompt=$(cat) || exit; exec "$@" "$option$prompt"'
_PLACEHOLDER = re.compile(r"\{(session|workspace|model|effort)\}")


def find_posture(mode: ModeManifest, posture: Posture) -> PostureRule:
    """The rule for exactly this posture: what cannot be honoured is refused, never weakened.

    Raises:
        UsageError: `posture_unsupported`, with the postures that the mode can honour.
    """
    for rule in mode.postures:
        if rule.approvals is posture.approvals and rule.sandbox is posture.sandbox:
            return rule
    wanted = f"approvals={posture.approvals}, sandbox={posture.sandbox}"
    supported = describe_postures(mode)
    raise UsageError(
        f"The harness cannot honour {wanted} in this mode.",
        code="posture_unsupported",
        hint="It can honour: " + "; ".join(supported) + "."
        if supported
        else "It declares no posture at all.",
        detail={"supported": list(supported)},
    )


def describe_postures(mode: ModeManifest) -> tuple[str, ...]:
    """The postures of a mode, in words, such as `approvals=ask, sandbox=none`."""
    return tuple(f"approvals={rule.approvals}, sandbox={rule.sandbox}" for rule in mode.postures)


def choose_auth(acp: AcpSettings, present: AbstractSet[str]) -> str | None:
    """The first sign-in method whose variable is set; `None` where no sign-in call is to be made."""
    for choice in acp.auth:
        if not choice.when_env or choice.when_env in present:
            return choice.method
    return None


def build_plan(
    manifest: Manifest,
    request: LaunchRequest,
    *,
    program: FoundProgram,
    present: AbstractSet[str],
    made_session: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> LaunchPlan:
    """The plan of a launch, from the manifest alone.

    Args:
        manifest: The merged manifest.
        request: What is to be launched; its mode exists.
        program: The program that was found.
        present: Names of variables that the harness's process will have from the daemon.
        made_session: The id of a session that was made for this launch.
        environ: The daemon's variables, where the operator may have set rules that a posture is merged with.

    Raises:
        UsageError: `posture_unsupported`; `invalid_argument` where the mode takes no model, where a reference
            is missing, or where the operator sets a variable that the posture needs; `option_unknown` of an axis.
    """
    mode = manifest.modes[request.mode]
    rule = find_posture(mode, request.posture)
    arguments = _arguments_of(mode, request)
    options = {**rule.config_options}
    extra: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    for what, wanted, own_args, own_variables, option in (
        (
            "model",
            request.model,
            arguments.model_args,
            arguments.model_environment,
            mode.acp.model_option or mode.stream.model_option,
        ),
        (
            "effort",
            request.effort,
            arguments.effort_args,
            arguments.effort_environment,
            mode.acp.effort_option or mode.stream.effort_option,
        ),
    ):
        if not wanted:
            continue
        if own_args or own_variables:
            extra += own_args
            variables |= own_variables
        elif option:
            options[option] = wanted
        else:
            raise UsageError(
                f"{manifest.name} cannot be told {_ARTICLES[what]} in its mode {request.mode!r}.",
                hint=f"Leave the {what} out, and choose it in the harness's own settings.",
            )
    session = request.reference.id if request.reference and request.attempt != "fresh" else None
    if session is None:
        session = made_session
    if session is None and mode.session_id.kind in ("chosen", "environment"):
        session = str(uuid.uuid4())
    if session is None and chooses_session(mode):
        session = str(uuid.uuid4())
    if mode.session_id.variable and session is not None:
        variables[mode.session_id.variable] = session
    values = {
        "session": session or "",
        "workspace": request.workspace,
        "model": request.model or "",
        "effort": request.effort or "",
    }
    told = tell_axes(mode, request.axes, workspace=request.workspace)
    argv = _taking_prompt(
        mode,
        program.path,
        *program.prefix,
        *(_fill(one, values) for one in (*arguments.args, *extra, *rule.args)),
        *told.args,
    )
    return LaunchPlan(
        program=argv[0],
        arguments=argv[1:],
        cwd=request.workspace,
        environment=_environment_of(
            manifest,
            mode,
            rule,
            request,
            chosen={**{key: _fill(one, values) for key, one in variables.items()}, **told.environment},
            told=merge_saved(rule, {**(environ or {}), **request.environment}),
            present=present,
        ),
        merged=tuple(rule.merges),
        strip=(
            *mode.environment.strip,
            *_conflicting(mode, _set_names(present, request.environment), request),
        ),
        transport=mode.transport,
        settings=TransportSettings(
            workspace=request.workspace,
            attempt=request.attempt,
            session_id=session,
            session_source=mode.session_id,
            auth_method=choose_auth(mode.acp, _set_names(present, request.environment)),
            session_mode=rule.session_mode,
            config_options=options,
            acp=mode.acp,
            reads_last_words=bool(mode.turn_text_failures),
            headless=mode.headless,
            terminal=mode.terminal,
            stream=mode.stream,
            context_usage=mode.context_usage,
            hooks=manifest.hooks if mode.transport == "terminal" else HookSettings(),
            listed_in=_listed_in(request),
            answers_questions=True,
            has_approval_signal=mode.capabilities.permission_report.is_supported,
        ),
        handshake_timeout_s=mode.handshake_timeout_s,
        cold_start_timeout_s=mode.cold_start_timeout_s,
        stop_grace_s=mode.stop_grace_s,
    )


def _taking_prompt(mode: ModeManifest, *argv: str) -> tuple[str, ...]:
    """The command that takes the prompt as core gives it: on standard input, whatever the harness itself reads."""
    if mode.transport != "headless" or mode.headless.prompt == "stdin":
        return argv
    return ("/bin/sh", "-c", _PROMPT_AS_ARGUMENT, "sh", mode.headless.prompt_option, *argv)


def _listed_in(request: LaunchRequest) -> tuple[str, ...]:
    """Where a session that its operator chose must belong to, if the harness says where its sessions belong to."""
    reference = request.reference
    if request.attempt != "resume" or reference is None or reference.provenance is not Provenance.CHOSEN:
        return ()
    return tuple(dict.fromkeys((os.path.normpath(request.workspace), os.path.realpath(request.workspace))))


def _arguments_of(mode: ModeManifest, request: LaunchRequest) -> LaunchArguments:
    if request.attempt == "fresh":
        return mode.launch
    if request.reference is None:
        raise UsageError(f"To {request.attempt}, a session reference is needed.")
    own = mode.resume if request.attempt == "resume" else mode.fork
    # Over a protocol the session is opened by a call, so that the program starts as for a fresh launch.
    return own if own.args else mode.launch


def _environment_of(
    manifest: Manifest,
    mode: ModeManifest,
    rule: PostureRule,
    request: LaunchRequest,
    *,
    chosen: Mapping[str, str],
    told: Mapping[str, str],
    present: AbstractSet[str],
) -> dict[str, str]:
    """Later ones win: the manifest's, the operator's, the model's and the effort's, the posture's."""
    set_already = _set_names(present, request.environment)
    made = {
        name: secrets.token_urlsafe(_SECRET_BYTES)
        for name in mode.environment.generate
        if name not in set_already
    }
    contested = sorted(
        name
        for name, value in rule.environment.items()
        if name not in rule.merges and request.environment.get(name, value) != value
    )
    if contested:
        raise UsageError(
            f"The seat sets {', '.join(contested)}, by which {manifest.name} is told its posture.",
            hint="Unset it for this seat; what it holds belongs into the harness's own settings.",
            detail={"variables": contested},
        )
    return {**mode.environment.set, **request.environment, **made, **chosen, **told}


def _conflicting(mode: ModeManifest, is_set: AbstractSet[str], request: LaunchRequest) -> tuple[str, ...]:
    """Variables of the daemon that another one rules out; what the operator set for the seat itself stays."""
    return tuple(
        name
        for winner, losers in mode.environment.conflicts.items()
        if winner in is_set
        for name in losers
        if name in is_set and name not in request.environment
    )


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _set_names(present: AbstractSet[str], own: Mapping[str, str]) -> AbstractSet[str]:
    """Variables that the harness's process will have: the daemon's, but for what the operator set or emptied."""
    return (present - own.keys()) | {name for name, value in own.items() if value}
