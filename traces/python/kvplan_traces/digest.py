"""The digest that traces/FORMAT.md defines: equal digests mean equal content."""

import numpy as np

from .columns import NAMED, STATED, WAITS_DIGEST_STATE
from .wire import text_bytes

_FIRST_STATES = 15  # of the first version; later ones count where they are not 0


def _mixed(state, values):
    # Each value depends on the previous one: this loop takes most of the time of reading a large file.
    for value in values:
        state = (state ^ value) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 32
    return state


class Digest:
    """The digest of columns that are added piece by piece, in the order of the file."""

    def __init__(self):
        # States are numbered from 1, as in FORMAT.md.
        last = max(WAITS_DIGEST_STATE, *(column.digest_state for column in STATED))
        self._states = dict.fromkeys(range(1, 1 + last), 0)
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
        for stated in STATED:
            column = getattr(columns, stated.name)
            if column is not None:
                rows = np.flatnonzero(column != -1)
                self._mix(stated.digest_state, np.stack((rows + self._requests, column[rows]), axis=1).ravel())
        self._mix(WAITS_DIGEST_STATE, np.stack((columns.wait_request, columns.wait_before), axis=1).ravel())
        for kind in NAMED:
            for text in map(text_bytes, getattr(columns, kind.names)):
                self._states[kind.digest_state] = _mixed(self._states[kind.digest_state], (len(text), *text))
        self._requests += len(columns)

    def text(self, header):
        partial = header.block_tokens > 0 and header.last_may_be_partial
        values = [self._requests, header.block_tokens, int(partial), int(not header.times_per_session)]
        for number, state in self._states.items():
            if number <= _FIRST_STATES:
                values.append(state)
            elif state:
                values += [number, state]
        return f"{_mixed(0, values):016x}"

    def _mix(self, number, column):
        values = np.ascontiguousarray(column, np.int64).view(np.uint64).tolist()
        self._states[number] = _mixed(self._states[number], values)
