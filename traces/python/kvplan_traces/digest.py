"""The digest of traces/FORMAT.md: equal digests mean equal content."""

import numpy as np

from .wire import text_bytes

_STATED = ((9, "session"), (10, "tenant"), (11, "max_tokens"), (12, "ttft_ns"), (13, "e2e_ns"))
_NAMES = ((14, "session_names"), (15, "tenant_names"))


def _mixed(state, values):
    # Each value depends on the one before: this loop is what most of reading a large file takes.
    for value in values:
        state = (state ^ value) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 32
    return state


class Digest:
    """Columns go in piece by piece, in the order of the file."""

    def __init__(self):
        self._states = [0] * 16  # numbered from 1, as on the page
        self._requests = self._references = 0

    def add(self, columns):
        for number, name in ((1, "arrival_ns"), (2, "input_tokens"), (3, "output_tokens"), (4, "hash_count")):
            if getattr(columns, name) is not None:
                self._mix(number, getattr(columns, name))
        if columns.hash_ids is not None:
            for lane in range(4):
                first = (lane - self._references) % 4
                self._mix(5 + lane, columns.hash_ids[first::4])
            self._references += len(columns.hash_ids)
        for number, name in _STATED:
            column = getattr(columns, name)
            if column is not None:
                rows = np.flatnonzero(column != -1)
                self._mix(number, np.stack((rows + self._requests, column[rows]), axis=1).ravel())
        for number, name in _NAMES:
            for text in map(text_bytes, getattr(columns, name)):
                self._states[number] = _mixed(self._states[number], (len(text), *text))
        self._requests += len(columns)

    def text(self, header):
        partial = header.block_tokens > 0 and header.last_may_be_partial
        values = (self._requests, header.block_tokens, int(partial), int(not header.times_per_session))
        return f"{_mixed(_mixed(0, values), self._states[1:]):016x}"

    def _mix(self, number, column):
        values = np.ascontiguousarray(column, np.int64).view(np.uint64).tolist()
        self._states[number] = _mixed(self._states[number], values)
