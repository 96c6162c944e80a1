"""Requests as columns, and the rules that the columns keep in every .kvt."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .errors import FormatError, expect
from .wire import text_bytes

LARGEST_TOKENS = (1 << 31) - 1
LARGEST_TIME = (1 << 63) - 1
LARGEST_BLOCK = 1 << 30
LARGEST_HASHES = 1 << 21  # of one request
MOST_DISTINCT = (1 << 32) - 1  # prefix ids
LARGEST_NAME_BYTES = 1024
MOST_WITH_WAITS = (1 << 31) - 1  # requests up to the end of a chunk with waits

REQUIRED = ("arrival_ns", "input_tokens", "output_tokens")


class Stated(NamedTuple):
    """An optional column, in which -1 means: not stated."""

    name: str
    number: int  # number of the column's field in TraceChunk
    kind: str
    digest_state: int
    most: int = None  # None: the last name that is known


STATED = (Stated("session", 6, "sint32", 9), Stated("tenant", 9, "sint32", 10),
          Stated("max_tokens", 12, "sint32", 11, LARGEST_TOKENS), Stated("ttft_ns", 13, "sint64", 12, LARGEST_TIME),
          Stated("e2e_ns", 14, "sint64", 13, LARGEST_TIME), Stated("think_ns", 15, "sint64", 16, LARGEST_TIME),
          Stated("priority", 18, "sint32", 18, LARGEST_TOKENS))


class Named(NamedTuple):
    """The names to which the numbers of a column of STATED refer."""

    column: str
    names: str
    number: int  # field with the sizes of the names; the next field has their texts
    digest_state: int


NAMED = (Named("session", "session_names", 7, 14), Named("tenant", "tenant_names", 10, 15))
OPTIONAL = tuple(column.name for column in STATED)
WAITS = ("wait_request", "wait_before")
WAITS_DIGEST_STATE = 17


def whole_numbers(name, values):
    """A column as int64; numbers are never rounded and never wrapped around."""
    column = np.asarray(values)
    if column.size == 0:
        column = column.astype(np.int64)
    expect(column.ndim == 1 and column.dtype.kind in "iu", "expected one row of whole numbers", name)
    if column.dtype.kind == "u" and column.size:
        expect(int(column.max()) <= LARGEST_TIME, "expected numbers below 2^63", name)
    return np.ascontiguousarray(column, np.int64)


def _request_numbers(name, values):
    """A column of waits as int32; numbers are never rounded and never wrapped around."""
    column = np.asarray(values)
    if column.dtype == np.int32 and column.ndim == 1 and (not column.size or column.min() >= 0):
        return column
    column = whole_numbers(name, values)
    bad = column[(column < 0) | (column >= MOST_WITH_WAITS)]
    if bad.size:
        raise FormatError(f"expected 0 to {MOST_WITH_WAITS - 1}, found {bad[0]}", field=name)
    return column.astype(np.int32)


def sorted_waits(request, before):
    """Waits in the order of files, which is by (later request of the two, request, before); each wait occurs once."""
    order = np.lexsort((before, request, np.maximum(request, before)))
    request, before = request[order], before[order]
    again = (np.diff(request) == 0) & (np.diff(before) == 0)
    first = np.concatenate((np.ones(min(len(request), 1), bool), ~again))
    return request[first], before[first]


@dataclass(eq=False)
class Columns:
    """Consecutive requests; all numbers are int64 arrays with an entry per request.

    `hash_ids` has the prefix ids of all requests in a row, `hash_count` the number of ids of each request; both are
    None where there is no block size. Other optional columns are None, or have -1 where a request states nothing.
    `session` numbers the names of the whole file; `session_names` are names that no earlier columns had. So `tenant`.

    Request `wait_request[k]` arrives only after request `wait_before[k]` has ended: two int32 arrays, empty if
    no request waits. Their numbers count the requests of the whole file from 0. Columns hold the waits with a later
    request among theirs. Cycles of waits are possible.
    """

    arrival_ns: np.ndarray
    input_tokens: np.ndarray
    output_tokens: np.ndarray
    hash_count: np.ndarray = None
    hash_ids: np.ndarray = None
    session: np.ndarray = None
    tenant: np.ndarray = None
    max_tokens: np.ndarray = None
    ttft_ns: np.ndarray = None
    e2e_ns: np.ndarray = None
    think_ns: np.ndarray = None
    priority: np.ndarray = None
    wait_request: np.ndarray = ()
    wait_before: np.ndarray = ()
    session_names: list = field(default_factory=list)
    tenant_names: list = field(default_factory=list)

    def __post_init__(self):
        for name in (*REQUIRED, "hash_count", "hash_ids", *OPTIONAL):
            if getattr(self, name) is not None:
                setattr(self, name, whole_numbers(name, getattr(self, name)))
        for name in WAITS:
            setattr(self, name, _request_numbers(name, getattr(self, name)))
        expect(len(self.wait_request) == len(self.wait_before),
               f"expected as many as in wait_request, {len(self.wait_request)}", "wait_before")
        for name in (*REQUIRED, "hash_count", *OPTIONAL):
            column = getattr(self, name)
            expect(column is None or len(column) == len(self),
                   f"expected an entry for each of {len(self)} requests", name)
        expect((self.hash_count is None) == (self.hash_ids is None), "expected hash_ids beside it", "hash_count")
        if self.hash_count is not None:
            expect(not self.hash_count.size or self.hash_count.min() >= 0, "expected counts from 0 on", "hash_count")
            found = int(self.hash_count.sum())
            expect(found == len(self.hash_ids), f"expected as many as hash_count says, {found}", "hash_ids")

    def __len__(self):
        return len(self.arrival_ns)

    def rows(self, first, last, number=0):
        """Requests [first, last) as columns without names. `number`: the file's number for the first request of `self`.
        """
        parts = {name: getattr(self, name)[first:last] for name in (*REQUIRED, *OPTIONAL)
                 if getattr(self, name) is not None}
        if self.hash_count is not None:
            begin = int(self.hash_count[:first].sum())
            parts["hash_count"] = self.hash_count[first:last]
            parts["hash_ids"] = self.hash_ids[begin : begin + int(parts["hash_count"].sum())]
        later = np.maximum(self.wait_request, self.wait_before)
        chosen = (later >= number + first) & (later < number + last)
        parts.update((name, getattr(self, name)[chosen]) for name in WAITS)
        return Columns(**parts)


def joined(pieces):
    """The fields of all pieces, one piece after the other."""
    def whole(name, missing):
        parts = [getattr(piece, name) for piece in pieces]
        if all(part is None for part in parts):
            return None
        return np.concatenate([missing(piece) if part is None else part for part, piece in zip(parts, pieces)])

    fields = {name: whole(name, lambda piece: np.full(len(piece), -1)) for name in (*REQUIRED, *OPTIONAL)}
    fields["hash_count"] = whole("hash_count", lambda piece: np.zeros(len(piece), np.int64))
    fields["hash_ids"] = whole("hash_ids", lambda piece: np.empty(0, np.int64))
    for name in WAITS:
        fields[name] = np.concatenate([getattr(piece, name) for piece in pieces])
    for kind in NAMED:
        fields[kind.names] = [name for piece in pieces for name in getattr(piece, kind.names)]
    return fields


class Rules:
    """Checks columns piece by piece, in the order of the file; raises FormatError with the request's number."""

    def __init__(self, block_tokens):
        self._block = block_tokens
        self.requests = self.references = self.distinct = 0
        self._names = {kind.column: 0 for kind in NAMED}

    def add(self, columns):
        expect(len(columns) > 0, "expected a request", "arrival_ns")
        for name in ("input_tokens", "output_tokens"):
            self._within(columns, name, 0, LARGEST_TOKENS)
        self._prefix_ids(columns)
        for kind in NAMED:
            for text in getattr(columns, kind.names):
                expect(1 <= len(text_bytes(text)) <= LARGEST_NAME_BYTES,
                       f"expected names of 1 to {LARGEST_NAME_BYTES} bytes", kind.names)
            self._names[kind.column] += len(getattr(columns, kind.names))
        for column in STATED:
            most = self._names[column.name] - 1 if column.most is None else column.most
            self._within(columns, column.name, -1, most)
        self._waits(columns)
        self.requests += len(columns)

    def _within(self, columns, name, low, high):
        column = getattr(columns, name)
        if column is None:
            return
        bad = np.flatnonzero((column < low) | (column > high))
        if bad.size:
            raise FormatError(f"request {self.requests + bad[0]}: expected {low} to "
                              f"{high if np.ndim(high) == 0 else high[bad[0]]}, found {column[bad[0]]}", field=name)

    def _prefix_ids(self, columns):
        expect((columns.hash_count is not None) == (self._block > 0),
               "expected a column" if self._block else "expected no column: there is no block size", "hash_count")
        if not self._block:
            return
        most = np.minimum(-(-columns.input_tokens // self._block), LARGEST_HASHES)
        self._within(columns, "hash_count", 0, most)
        ids = columns.hash_ids
        greatest = np.maximum.accumulate(np.concatenate(([self.distinct - 1], ids)))
        bad = np.flatnonzero((ids < 0) | (ids > greatest[:-1] + 1))
        if bad.size:
            row = np.searchsorted(np.cumsum(columns.hash_count), bad[0], side="right")
            raise FormatError(f"request {self.requests + row}: expected an id of at most {greatest[bad[0]] + 1} "
                              f"(numbered by first appearance), found {ids[bad[0]]}", field="hash_ids")
        self.distinct = int(greatest[-1]) + 1
        expect(self.distinct <= MOST_DISTINCT, f"expected ids below {MOST_DISTINCT}", "hash_ids")
        self.references += len(ids)

    def _waits(self, columns):
        request, before = columns.wait_request, columns.wait_before
        later, end = np.maximum(request, before), self.requests + len(columns)
        expect(not later.size or end <= MOST_WITH_WAITS, f"expected at most {MOST_WITH_WAITS} requests", "wait_before")
        bad = np.flatnonzero((later < self.requests) | (later >= end))
        if bad.size:
            raise FormatError(f"request {request[bad[0]]} waits for request {before[bad[0]]}: expected "
                              f"{self.requests} to {end - 1} as the later of the two", field="wait_before")
        # The first of the three numbers that differs from the previous wait's number must be greater.
        steps = [np.diff(column) for column in (later, request, before)]
        step = np.where(steps[0] != 0, steps[0], np.where(steps[1] != 0, steps[1], steps[2]))
        bad = np.flatnonzero(step <= 0) + 1
        if bad.size:
            raise FormatError(f"request {request[bad[0]]} waits for request {before[bad[0]]}: expected waits in order, "
                              "each once", field="wait_before")
