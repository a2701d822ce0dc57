"""One value as its difference from an equally long one. It knows no file and no compression.

The form: one bit per block of 256 bytes that says whether the block differs (little end first),
then the differing blocks, each the exclusive or of the two. Screens of one session differ in
small places, and what surrounds a change is equal: both become runs of zeros.
"""

from __future__ import annotations

import numpy as np

BLOCK_BYTES = 256


def encode(base: bytes, plain: bytes) -> bytes:
    """What turns `base` into `plain`; both have the same length."""
    differing, blocks = _difference(base, plain)
    return np.packbits(differing, bitorder="little").tobytes() + blocks.tobytes()


def decode(base: bytes, delta: bytes) -> bytes:
    """The bytes that `encode` was given. Raises `ValueError` for a delta of another base."""
    count = -(-len(base) // BLOCK_BYTES)
    bitmap_bytes = -(-count // 8)
    bits = np.frombuffer(delta[:bitmap_bytes], np.uint8)
    if len(bits) != bitmap_bytes:
        raise ValueError("the difference is too short")
    differing = np.unpackbits(bits, count=count, bitorder="little").astype(bool)
    changed = int(differing.sum())
    if len(delta) != bitmap_bytes + changed * BLOCK_BYTES:
        raise ValueError(f"the difference has {len(delta)} bytes: it is not of this base")
    return _applied(base, differing, delta[bitmap_bytes:], count)


def _applied(base: bytes, differing: np.ndarray, blocks: bytes, count: int) -> bytes:
    out = np.zeros(count * BLOCK_BYTES, np.uint8)
    out[: len(base)] = np.frombuffer(base, np.uint8)
    rows = out.reshape(count, BLOCK_BYTES)
    rows[differing] ^= np.frombuffer(blocks, np.uint8).reshape(-1, BLOCK_BYTES)
    return out[: len(base)].tobytes()


def _difference(base: bytes, plain: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Which blocks differ, bool (n,), and their differences, uint8 (m, BLOCK_BYTES)."""
    whole = len(plain) // BLOCK_BYTES
    width = BLOCK_BYTES // 8
    ours = np.frombuffer(plain, np.uint64, whole * width).reshape(whole, width)
    theirs = np.frombuffer(base, np.uint64, whole * width).reshape(whole, width)
    differing = (ours != theirs).any(axis=1)
    blocks = (ours[differing] ^ theirs[differing]).view(np.uint8)
    rest = plain[whole * BLOCK_BYTES :]
    if not rest:
        return differing, blocks
    last = np.zeros((1, BLOCK_BYTES), np.uint8)
    end = np.frombuffer(rest, np.uint8)
    last[0, : len(rest)] = end ^ np.frombuffer(base[whole * BLOCK_BYTES :], np.uint8)
    if not last.any():
        return np.append(differing, False), blocks
    return np.append(differing, True), np.concatenate([blocks, last])
