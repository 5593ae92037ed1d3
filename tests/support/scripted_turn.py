"""A seat, a prompt and its turn on the scripted HTTP: what `run`, `send --wait` and `watch` meet."""

from typing import Any

from support.scripted_http import Request, ScriptedHttp, envelope

__all__ = ["ScriptedTurn"]


class ScriptedTurn:
    """Answers like a daemon with one seat; a prompt that comes in plays the events of its turn.

    Attributes:
        daemon: The server.
        delivery: The view of the prompt, once it came in.
        story: Kind and fields of the events that follow `delivery_queued`, as far as they are known beforehand.
    """

    def __init__(self, daemon: ScriptedHttp, *story: tuple[str, dict[str, Any]], seat: str = "review"):
        self.daemon = daemon
        self.story = list(story)
        self.delivery: dict[str, Any] = {}
        self.seat = seat
        self._position = 10
        daemon.on(
            "GET", "/v1/status", {"pid": 1, "version": "0.1.0", "api": 1, "last_position": 10, "store": "ok"}
        )
        daemon.on("GET", f"/v1/seats/{seat}", {"name": seat, "harness": "h", "status": "idle"})
        daemon.on("POST", f"/v1/seats/{seat}/prompts", self._queue)
        daemon.on("GET", "/v1/turns/t_1", self._show_turn)
        # What belongs to others, and what was before: it must not be taken for this prompt's.
        daemon.emit(envelope(9, "turn_ended", seat=seat, turn="t_0", outcome="failed"))

    def tell(self, kind: str, **event: Any) -> None:
        """One more event of the turn."""
        if kind.startswith("delivery_") or kind == "turn_ended":
            event = {"delivery": self.delivery["id"], **event}
        match kind:
            case "delivery_sending":
                event["turn"] = self.delivery["turn"] = "t_1"
                self.delivery["state"] = "sending"
            case "turn_ended":
                self.delivery.update(turn_outcome=event["outcome"], state="started")
            case _ if kind.startswith("delivery_"):
                self.delivery["state"] = kind.removeprefix("delivery_")
            case _:
                pass
        self._position += 1
        turn = "t_1" if self.delivery.get("turn") else None
        shown = envelope(self._position, kind, seat=self.seat, turn=turn)
        shown["event"].update(event)
        self.daemon.emit(shown)

    def end(self, outcome: str) -> None:
        """The turn ends."""
        self.tell("turn_ended", turn="t_1", outcome=outcome, raw_reason="end_turn")

    def _queue(self, request: Request) -> dict[str, Any]:
        self.delivery = {
            "id": request.body["id"],
            "seat": self.seat,
            "state": "queued",
            "text": request.body["text"],
        }
        answer = dict(self.delivery)
        self.daemon.on("GET", f"/v1/deliveries/{request.body['id']}", self._show_delivery)
        self.tell("delivery_queued", text=request.body["text"])
        self._position += 1
        self.daemon.emit(
            envelope(
                self._position, "message_chunk", seat=self.seat, turn="t_0", role="agent", text="NOT OURS"
            )
        )
        for kind, event in self.story:
            self.tell(kind, **event)
        return answer

    def _show_delivery(self, _: Request) -> dict[str, Any]:
        return self.delivery

    def _show_turn(self, _: Request) -> dict[str, Any]:
        return {"id": "t_1", "outcome": self.delivery.get("turn_outcome")}
