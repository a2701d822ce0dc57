"""The truth on disk: journal segments, blob packs, and what is derived from them. Runs nothing."""

from clew.store.errors import Damaged, Finding, StoreFull
from clew.store.index import Index
from clew.store.load import Attempt, Loaded, attempts, load
from clew.store.lock import Lock, lock
from clew.store.log import Log
from clew.store.packing import pack, unpack
from clew.store.reader import Reader
from clew.store.record import Locator, Recorder
from clew.store.upkeep import Collected, check, gc, named_digests
from clew.store.writer import Writer, folder_bytes

__all__ = [
    "Attempt", "Collected", "Damaged", "Finding", "Index", "Loaded", "Locator", "Lock", "Log",
    "Reader", "Recorder", "StoreFull", "Writer", "attempts", "check", "folder_bytes", "gc", "load",
    "lock", "named_digests", "pack", "unpack",
]  # fmt: skip
