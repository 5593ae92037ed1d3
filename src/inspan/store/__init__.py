"""The append-only log and its projections: one SQLite file, one writer."""

from .check import check_store, rebuild_store
from .log import Store, open_store
from .records import Append, DeliveryRecord, LaunchCursor, OutboxRow, PermissionRecord
from .request_records import RequestRecord

__all__ = [
    "Append",
    "DeliveryRecord",
    "LaunchCursor",
    "OutboxRow",
    "PermissionRecord",
    "RequestRecord",
    "Store",
    "check_store",
    "open_store",
    "rebuild_store",
]
