"""`inspan questions` and `inspan answer`: forms that harnesses want filled in."""

from __future__ import annotations

from inspan.model.errors import InspanError, UsageError

from .arguments import Namespace, Parser
from .context import Context, at
from .conversation_phrases import field_words
from .fields import Json, record, records, text
from .output import bold, cut, dim, toned
from .phrases import since

__all__ = ["build_answer", "build_questions"]


def build_questions(parser: Parser) -> None:
    """Adds the arguments of `questions`."""
    parser.name("seat", "seat", "only this seat", is_optional=True)
    parser.set_defaults(run=_list)
    parser.example("inspan questions", "every form that waits for you, field by field")


def build_answer(parser: Parser) -> None:
    """Adds the arguments of `answer`."""
    parser.name("target", "question", "a question's id, or a seat with one open question")
    parser.add_argument(
        "--field",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a field of the form; several choices with commas between them; repeatable",
    )
    parser.add_argument("--decline", action="store_true", help="refuse to fill the form in")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the record")
    parser.set_defaults(run=_answer)
    parser.example(
        "inspan answer review --field branch=main", "fills in the one form that this seat asks for"
    )
    parser.example("inspan answer review --decline", "the harness goes on without an answer")


def _list(context: Context, args: Namespace) -> int:
    questions = records(context.get("/v1/questions", seat=args.seat))
    if context.output.is_json:
        context.output.value(questions)
    elif not questions:
        context.output.remark("No harness waits for an answer.")
    else:
        for one in questions:
            context.output.line(
                bold(text(one, "id")), f"  {text(one, 'seat')}  ", cut(text(one, "message"), 200)
            )
            context.output.line(dim(f"  asked {since(text(one, 'opened_at'))} ago"))
            for field in records(one, "fields"):
                context.output.line("    ", *field_words(field))
    return 0


def _answer(context: Context, args: Namespace) -> int:
    fields = dict(map(_assignment, args.field))
    if args.decline and fields:
        raise UsageError("A form is filled in or declined, not both.", hint="Leave one of the two out.")
    question, seat = _find(context, args.target)
    body: Json = {"action": "decline" if args.decline else "accept", "reason": args.reason}
    body.update({name: value for name, value in (("fields", fields), ("seat", seat)) if value})
    answered = record(context.call("POST", at("questions", question, "answer"), body=body))
    if context.output.is_json:
        context.output.value(answered)
    else:
        context.output.line(toned(text(answered, "action")), "  ", cut(text(answered, "message"), 200))
    return 0


def _find(context: Context, target: str) -> tuple[str, str | None]:
    """The id of the question that `target` means, and its seat where `target` is a seat's name."""
    try:
        return text(record(context.get(at("questions", target))), "id", default=target), None
    except InspanError as error:
        if error.code != "unknown_question":
            raise
        unknown = error
    try:
        context.seat(target)
    except InspanError as error:
        if error.code not in ("unknown_seat", "invalid_argument"):
            raise
        raise unknown from error
    questions = records(context.get("/v1/questions", seat=target))
    if len(questions) == 1:
        return text(questions[0], "id"), target
    if not questions:
        raise UsageError(
            f"The seat {target!r} asks nothing.", code="question_closed", hint="See `inspan questions`."
        )
    listed = "; ".join(f"{text(one, 'id')}: {cut(text(one, 'message'), 60)}" for one in questions)
    raise UsageError(
        f"The seat {target!r} has {len(questions)} open questions: {listed}.", hint="Name one by its id."
    )


def _assignment(word: str) -> tuple[str, str]:
    name, is_given, value = word.partition("=")
    if not name or not is_given:
        raise UsageError(f"{word!r} fills in no field.", hint="Give it as --field NAME=VALUE.")
    return name, value
