"""The routes of the HTTP interface, one module a noun."""

from .control import CONTROL_ROUTES
from .events import EVENT_ROUTES
from .harnesses import HARNESS_ROUTES
from .hooks import HOOK_ROUTES
from .permissions import PERMISSION_ROUTES
from .prompts import PROMPT_ROUTES
from .requests import REQUEST_ROUTES
from .seats import SEAT_ROUTES
from .sessions import SESSION_ROUTES
from .terminals import TERMINAL_ROUTES

__all__ = ["ROUTES"]

ROUTES = (
    *CONTROL_ROUTES,
    *HARNESS_ROUTES,
    *HOOK_ROUTES,
    *SEAT_ROUTES,
    *PROMPT_ROUTES,
    *REQUEST_ROUTES,
    *SESSION_ROUTES,
    *TERMINAL_ROUTES,
    *PERMISSION_ROUTES,
    *EVENT_ROUTES,
)
"""Every route, in the order of the reference page."""
