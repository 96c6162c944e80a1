"""Reads and writes .kvt, as traces/FORMAT.md describes it."""

import dataclasses
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

from . import storage, wire
from .columns import LARGEST_BLOCK, NAMED, STATED, WAITS, Columns, Rules, joined, sorted_waits
from .digest import Digest
from .errors import expect, located
from .figures import describe
from .framed import FramedFile

VERSION = 1
MAGIC = b"\x89KVT\r\n\x1a\n"
END_MAGIC = b"KVT-END\n"
FRAME_BYTES = 16
TRAILER_BYTES = 16
CHUNK_LIMIT = 24 << 20
OTHER_LIMIT = 4 << 20
# The sizes at which this writer ends a chunk.
CHUNK_REQUESTS = 1 << 16
CHUNK_IDS = 1 << 20
CHUNK_WAITS = 1 << 18
CHUNK_NAME_BYTES = 4 << 20

# Field numbers in TraceChunk: arrivals are 1, prefix ids 4 and 5, waits 16 and 17; columns.py has optional columns.
_PLAIN = {"input_tokens": 2, "output_tokens": 3}


@dataclass
class Header:
    """What a trace says about itself. Texts are for people, the other values are part of the content."""

    block_tokens: int = 0  # tokens of one prefix id; 0 = no prefix ids
    times_per_session: bool = False  # arrivals of different sessions cannot be compared
    last_may_be_partial: bool = False  # the last id of a prompt may stand for a partly filled block
    format: str = ""  # the importer that read the original
    sources: list = field(default_factory=list)
    options: list = field(default_factory=list)
    warnings: list = field(default_factory=list)
    writer: str = "kvplan_traces"


@dataclass
class _Index:
    offsets: np.ndarray
    counts: np.ndarray
    requests: int
    references: int
    distinct: int
    last_may_be_partial: bool
    digest: str
    warnings: list


class TraceReader(FramedFile):
    """A .kvt chunk by chunk, in bounded memory: iterating gives `Columns`, in the order of the file.

    Opening reads `header` and the totals `requests`, `references`, `distinct`, `digest`. A complete iteration checks
    every byte, and the digest unless `verify` is False. Raises FormatError.
    """

    def __init__(self, path, verify=True):
        self._verify = verify
        super().__init__(path)

    def __len__(self):
        """The number of chunks."""
        return len(self._index.offsets)

    def __iter__(self):
        with located(self.path):
            rules, digest = Rules(self.header.block_tokens), Digest()
            chunks = 0
            for at, kind, message, _ in self._frames(self._first_chunk):
                with located(self.path, at):
                    expect(kind == b"CHNK", f"expected a frame CHNK, found {kind.decode('latin-1')}")
                    columns = self._columns(message, rules.requests)
                    rules.add(columns)
                    expect(chunks < len(self) and self._index.offsets[chunks] == at
                           and self._index.counts[chunks] == len(columns), "expected a chunk as the index has it",
                           "chunk_offset")
                    chunks += 1
                    if self._verify:
                        digest.add(columns)
                yield columns
            with located(self.path, self._end):
                expect(chunks == len(self), "expected as many chunks as there are", "chunk_offset")
                for name in ("requests", "references", "distinct"):
                    expect(getattr(rules, name) == getattr(self, name),
                           f"expected {getattr(rules, name)}, found {getattr(self, name)}", name)
                if self._verify:
                    found = digest.text(self.header)
                    expect(found == self.digest, f"expected {found}, found {self.digest}", "digest")

    def chunk(self, number):
        """The columns of one chunk by itself, with the names that appear first in it."""
        at = int(self._index.offsets[number])
        with located(self.path, at):
            kind, message, _ = self._frame(at)
            expect(kind == b"CHNK", "expected a frame CHNK")
            columns = self._columns(message, int(self._index.counts[:number].sum()))
            expect(len(columns) == self._index.counts[number], "expected as many requests as the index has")
            return columns

    def _open(self):
        # From _end on, only the index is read.
        trailer, self._end = self._ends(".kvt", MAGIC, FRAME_BYTES, TRAILER_BYTES)
        offset, end = struct.unpack("<Q8s", trailer)
        expect(end == END_MAGIC, "expected KVT-END at the end of the file: truncated")
        expect(8 <= offset <= self._end - FRAME_BYTES, f"expected the index inside the file, found {offset}")
        self._index = self._read_index(offset)
        self._end = offset
        at, kind, message, self._first_chunk = next(self._frames(8), (8, b"", b"", 8))
        with located(self.path, at):
            expect(kind == b"HEAD", "expected a frame HEAD")
            self._read_header(wire.Message(message))
        for name in ("requests", "references", "distinct", "digest"):
            setattr(self, name, getattr(self._index, name))

    def _read_index(self, offset):
        with located(self.path, offset):
            kind, data, after = self._frame(offset)
            expect(kind == b"INDX" and after == self._end, "expected a frame INDX that ends the file")
            message = wire.Message(data)
            index = _Index(
                message.column(1, "uint64"), message.column(2, "uint32"), *map(message.uint64, (3, 4, 5)),
                message.boolean(6), message.blob(7).decode("latin-1"), list(map(wire.text, message.blobs(8))))
            expect(len(index.offsets) == len(index.counts), "expected an entry for each chunk", "chunk_requests")
            return index

    def _read_header(self, message):
        version = message.uint32(1)
        expect(version == VERSION, f"expected {VERSION}, found {version}", "version")
        expect(message.uint32(3) <= LARGEST_BLOCK, f"expected at most {LARGEST_BLOCK}", "block_tokens")
        self.header = Header(
            block_tokens=message.uint32(3), times_per_session=message.boolean(4), format=wire.text(message.blob(5)),
            sources=list(map(wire.text, message.blobs(6))), options=list(map(wire.text, message.blobs(7))),
            last_may_be_partial=self._index.last_may_be_partial, warnings=self._index.warnings,
            writer=wire.text(message.blob(2)))

    def _frames(self, at):
        """(offset, kind, message, next offset) of each frame before the index; skips frames of a lower-case kind."""
        while at < self._end:
            with located(self.path, at):
                kind, message, after = self._frame(at)
                skipped = kind[:1].islower()
                expect(skipped or kind in (b"HEAD", b"CHNK", b"INDX"), "expected a frame HEAD, CHNK or INDX")
            if not skipped:
                yield at, kind, message, after
            at = after

    def _frame(self, at):
        """(kind, message, next offset); the message of a frame to be skipped stays packed."""
        expect(at + FRAME_BYTES <= self._end, "expected a frame: truncated")
        self._file.seek(at)
        head = self._file.read(FRAME_BYTES)
        kind, raw, stored, checksum = struct.unpack("<4sIII", head)
        limit = CHUNK_LIMIT if kind == b"CHNK" else OTHER_LIMIT
        expect(raw <= limit and stored <= limit + limit // 64 + 1024,
               f"a frame of {raw} bytes ({stored} stored); at most {limit} are read")
        expect(stored <= self._end - at - FRAME_BYTES, f"expected {stored} bytes in the frame: truncated")
        data = self._file.read(stored)
        expect(zlib.crc32(data, zlib.crc32(head[:12])) == checksum, "expected another checksum: damaged")
        message = b"" if kind[:1].islower() else storage.from_zstd(data, raw)
        return kind, message, at + FRAME_BYTES + stored

    def _columns(self, data, first_request):
        message = wire.Message(data)
        parts = {"arrival_ns": np.cumsum(message.column(1, "sint64"))}  # wraps around, as FORMAT.md demands
        for name, number in _PLAIN.items():
            parts[name] = message.column(number, "uint32")
        for stated in STATED:
            column = message.column(stated.number, stated.kind)
            parts[stated.name] = column if column.size else None
        counts, ids = message.column(4, "uint32"), np.cumsum(message.column(5, "sint64"))
        if self.header.block_tokens or counts.size or ids.size:
            parts["hash_count"], parts["hash_ids"] = counts, ids
        steps, back = message.column(16, "sint64"), message.column(17, "sint64")
        expect(len(steps) == len(back), f"expected as many as in wait_request, {len(steps)}, found {len(back)}",
               "wait_before")
        parts["wait_request"] = np.cumsum(steps) + np.int64(first_request)
        parts["wait_before"] = parts["wait_request"] - back
        for kind in NAMED:
            sizes = message.column(kind.number, "uint32")
            expect(len(sizes) <= len(parts["arrival_ns"]), "expected no more new names than requests", kind.names)
            parts[kind.names] = _split(kind.names, sizes, message.blob(kind.number + 1))
        return Columns(**parts)


def _split(name, sizes, data):
    expect(int(sizes.sum()) == len(data), f"expected texts of {int(sizes.sum())} bytes, found {len(data)}", name)
    ends = np.cumsum(sizes).tolist()
    return [wire.text(data[end - size : end]) for end, size in zip(ends, sizes.tolist())]


class TraceWriter:
    """Writes a .kvt piece by piece, in bounded memory. Use as a context manager: the file appears when the block ends
    without an exception. Raises FormatError for data that readers would refuse."""

    def __init__(self, path, header=None):
        self.header = header or Header()
        self._digest, self._rules = Digest(), Rules(self.header.block_tokens)
        self._offsets, self._counts, self._pending = [], [], []
        self._pending_rows = self._pending_ids = self._pending_waits = 0
        self._named = {kind.column: 0 for kind in NAMED}  # names given before the pending columns
        expect(0 <= self.header.block_tokens <= LARGEST_BLOCK, f"expected 0 to {LARGEST_BLOCK}", "block_tokens")
        self._out = storage.OutputFile(path)
        self._out.write(MAGIC)
        self._frame(b"HEAD", b"".join([
            wire.number(1, VERSION), wire.blob(2, self.header.writer), wire.number(3, self.header.block_tokens),
            wire.number(4, bool(self.header.times_per_session)), wire.blob(5, self.header.format),
            *(wire.message(6, text) for text in self.header.sources),
            *(wire.message(7, text) for text in self.header.options)]))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self._out.discard()
            return
        try:
            with located(self._out.path):
                self._finish()
        finally:
            self._out.discard()

    def append(self, columns):
        """Adds requests. `session_names` and `tenant_names` are new names only. Waits may be in any order; the later
        request of each wait is one of these requests."""
        with located(self._out.path):
            if not len(columns):
                expect(not any(getattr(columns, kind.names) for kind in NAMED), "expected a request that has the names")
                expect(not len(columns.wait_request), "expected a request that has the waits")
                return
            columns = _with_sorted_waits(columns)
            self._rules.add(columns)
            self._digest.add(columns)
            self._pending.append(columns)
            self._pending_rows += len(columns)
            self._pending_ids += 0 if columns.hash_ids is None else len(columns.hash_ids)
            self._pending_waits += len(columns.wait_request)
            if (self._pending_rows >= CHUNK_REQUESTS or self._pending_ids >= CHUNK_IDS
                    or self._pending_waits >= CHUNK_WAITS):
                self._flush()

    def _flush(self):
        if not self._pending:
            return
        whole = Columns(**joined(self._pending))
        self._pending = []
        self._pending_rows = self._pending_ids = self._pending_waits = 0
        before = sum(self._counts)
        for first, last, names in _cuts(whole, self._named, before):
            piece = whole.rows(first, last, before)
            for field_name, (begin, end) in names.items():
                setattr(piece, field_name, getattr(whole, field_name)[begin:end])
            self._chunk(piece, before + first)
        for kind in NAMED:
            self._named[kind.column] += len(getattr(whole, kind.names))

    def _chunk(self, columns, first_request):
        parts = [wire.blob(1, wire.packed(wire.zigzag(_steps(columns.arrival_ns))))]
        parts += [wire.blob(number, wire.packed(getattr(columns, name))) for name, number in _PLAIN.items()]
        if columns.hash_count is not None:
            parts.append(wire.blob(4, wire.packed(columns.hash_count)))
            parts.append(wire.blob(5, wire.packed(wire.zigzag(_steps(columns.hash_ids)))))
        parts += [wire.blob(stated.number, wire.packed(wire.zigzag(getattr(columns, stated.name))))
                  for stated in STATED if getattr(columns, stated.name) is not None]
        waiting = columns.wait_request.astype(np.int64)
        parts.append(wire.blob(16, wire.packed(wire.zigzag(np.diff(waiting, prepend=np.int64(first_request))))))
        parts.append(wire.blob(17, wire.packed(wire.zigzag(waiting - columns.wait_before))))
        for kind in NAMED:
            texts = list(map(wire.text_bytes, getattr(columns, kind.names)))
            expect(len(texts) <= len(columns), "expected no more new names than requests", kind.names)
            parts.append(wire.blob(kind.number, wire.packed([len(text) for text in texts])))
            parts.append(wire.blob(kind.number + 1, b"".join(texts)))
        self._offsets.append(self._out.tell())
        self._counts.append(len(columns))
        self._frame(b"CHNK", b"".join(parts))

    def _frame(self, kind, message):
        limit = CHUNK_LIMIT if kind == b"CHNK" else OTHER_LIMIT
        expect(len(message) <= limit, f"expected at most {limit} bytes in {kind.decode()}, found {len(message)}")
        data = storage.zstd_bytes(message)
        head = struct.pack("<4sII", kind, len(message), len(data))
        self._out.write(head + struct.pack("<I", zlib.crc32(data, zlib.crc32(head))) + data)

    def _finish(self):
        self._flush()
        expect(self._rules.requests > 0, "expected a request")
        at = self._out.tell()
        self._frame(b"INDX", b"".join([
            wire.blob(1, wire.packed(self._offsets)), wire.blob(2, wire.packed(self._counts)),
            wire.number(3, self._rules.requests), wire.number(4, self._rules.references),
            wire.number(5, self._rules.distinct), wire.number(6, bool(self.header.last_may_be_partial)),
            wire.blob(7, self._digest.text(self.header)), *(wire.message(8, text) for text in self.header.warnings)]))
        self._out.write(struct.pack("<Q", at) + END_MAGIC)
        self._out.commit()


def _steps(values):
    return np.diff(values, prepend=np.int64(0))  # wraps around, as FORMAT.md demands


def _with_sorted_waits(columns):
    pairs = sorted_waits(columns.wait_request, columns.wait_before)
    return dataclasses.replace(columns, **dict(zip(WAITS, pairs)))


def _cuts(columns, named, requests):
    """Where chunks end: (first row, row after the last, {names: range of the chunk's names}). `named` and `requests`:
    numbers of earlier names and requests."""
    rows = len(columns)
    loads = [(np.arange(rows + 1), CHUNK_REQUESTS)]
    if columns.hash_count is not None:
        loads.append((np.concatenate(([0], np.cumsum(columns.hash_count))), CHUNK_IDS))
    later = np.maximum(columns.wait_request, columns.wait_before)
    loads.append((np.searchsorted(later, requests + np.arange(rows + 1)), CHUNK_WAITS))
    needed = {}
    for kind in NAMED:
        column, texts = getattr(columns, kind.column), getattr(columns, kind.names)
        ends = needed[kind.names] = np.zeros(rows + 1, np.int64)
        if column is not None:
            ends[1:] = np.maximum.accumulate(np.maximum(column + 1 - named[kind.column], 0))
        ends[rows] = len(texts)
        sizes = np.cumsum([0] + [len(wire.text_bytes(text)) for text in texts])
        loads.append((sizes[ends], CHUNK_NAME_BYTES))
    first = 0
    while first < rows:
        fit = min(np.searchsorted(load, load[first] + limit, side="right") - 1 for load, limit in loads)
        last = max(first + 1, int(fit))
        yield first, last, {names: (ends[first], ends[last]) for names, ends in needed.items()}
        first = last


@dataclass(eq=False)
class Trace(Columns):
    """A whole trace in memory: the columns of all requests, all names, and the header. Waits may be given in any
    order."""

    header: Header = field(default_factory=Header)

    def __post_init__(self):
        super().__post_init__()
        self.wait_request, self.wait_before = sorted_waits(self.wait_request, self.wait_before)

    @classmethod
    def read(cls, path, verify=True):
        """Reads a .kvt. Without `verify` the digest, most of the work, is not computed; checksums are still checked."""
        with TraceReader(path, verify) as reader:
            pieces = list(reader)
            expect(pieces, "expected a request")
            return cls(**joined(pieces), header=reader.header)

    def write(self, path):
        with TraceWriter(path, self.header) as out:
            out.append(self)

    def digest(self):
        found = Digest()
        found.add(self)
        return found.text(self.header)

    def hashes(self, request):
        """The prefix ids of one request."""
        if self.hash_ids is None:
            return np.empty(0, np.int64)
        first = int(self.hash_count[:request].sum())
        return self.hash_ids[first : first + int(self.hash_count[request])]

    def info(self):
        """The object that `kvplan trace info --json` prints."""
        return describe(self.header, [self], self.digest())

    def to_frame(self, hashes=True):
        """A pandas frame, one row per request; see `kvplan_traces.frames`."""
        from . import frames

        return frames.to_frame(self, hashes)

    def hash_frame(self):
        """A pandas frame, one row per prefix id; see `kvplan_traces.frames`."""
        from . import frames

        return frames.hash_frame(self)

    @classmethod
    def from_frame(cls, frame, like=None, **header):
        """The trace of a pandas frame; see `kvplan_traces.frames`."""
        from . import frames

        header = frames.header_of(like, header, Header())
        return cls(**frames.columns_of(frame, header), header=header)
