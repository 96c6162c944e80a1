"""Reads .kva files, a chunk at a time."""

import os
import struct
import zlib

from . import frames, wire
from .model import (ELEMENT_BYTES, ELEMENTS, END_MAGIC, FORMS, MAGIC, MAX_CHUNK_BYTES, PARTS, FormatError, Model,
                    Sequence, check_limits)


def _name(table, value, what):
    for name, number in table.items():
        if number == value:
            return name
    raise FormatError(f"{what}: {value} is not known")


class Reader:
    """Attributes: model, sequences, form, element, logit_scale, has_values, positions, source, recorded_by."""

    def __init__(self, path):
        self._file = open(path, "rb")
        try:
            self._open()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def rows(self, sequence=0, layer=0, head=0):
        """Yields (t, weights) of every recorded row; what top entries do not list gets its even share."""
        for first, count, raw in self._chunks("rows", sequence, layer, head):
            at = 0
            for t in range(first, first + count):
                if self.form == "rows":
                    size = (t + 1) * ELEMENT_BYTES[self.element]
                    yield t, frames.unpack(self.element, raw[at : at + size])
                else:
                    size, row = self._spread(raw, at, t)
                    yield t, row
                at += size
            if at != len(raw):
                raise FormatError("bytes are left after the last row")

    def tensor(self, part, sequence=0, layer=0, head=0):
        """A list per token, of the part "queries", "keys" or "values"."""
        size = self.model.value_size if part == "values" else self.model.key_size
        tokens = []
        for _, count, raw in self._chunks(part, sequence, layer, head):
            numbers = frames.unpack(self.element, raw)
            if len(numbers) != count * size:
                raise FormatError(f"expected {count * size} numbers, found {len(numbers)}")
            tokens += [numbers[i * size : (i + 1) * size] for i in range(count)]
        return tokens

    def _open(self):
        end = os.fstat(self._file.fileno()).st_size
        if self._file.read(8) != MAGIC:
            raise FormatError("not a .kva file")
        if end < 8 + frames.TRAILER_BYTES:
            raise FormatError("no trailer: truncated")
        self._file.seek(end - frames.TRAILER_BYTES)
        tail = self._file.read(frames.TRAILER_BYTES)
        offset, checksum = struct.unpack("<QI", tail[:12])
        if tail[12:] != END_MAGIC:
            raise FormatError("no trailer: truncated")
        if zlib.crc32(tail[:8]) != checksum or offset > end:
            raise FormatError("damaged trailer")
        self._end = offset
        self._read_header(frames.read_frame(self._file, b"HEAD", 8, offset))
        self._read_index(frames.read_frame(self._file, b"INDX", offset, end - frames.TRAILER_BYTES))

    def _read_header(self, payload):
        got = {number: value for number, value in wire.fields(payload) if number != 10}
        if got.get(1) != 1:
            raise FormatError(f"version: expected 1, found {got.get(1, 0)}")
        shape = dict(wire.fields(got.get(2, b"")))
        self.model = Model(shape.get(1, b"").decode(), *(shape.get(i, 0) for i in range(2, 8)))
        self.form = _name(FORMS, got.get(3, 0), "form")
        self.element = _name(ELEMENTS, got.get(4, 0), "element")
        self.logit_scale = got.get(5, 0.0)
        self.has_values = bool(got.get(6, 0))
        self.positions, self.source, self.recorded_by = (got.get(i, b"").decode() for i in (7, 8, 9))
        self.sequences = []
        for number, value in wire.fields(payload):
            if number == 10:
                one = dict(wire.fields(value))
                self.sequences.append(Sequence(one.get(1, b"").decode(), one.get(2, 0), one.get(3, 0)))
        check_limits(self.model, self.sequences, self.form, self.element, self.has_values)

    def _read_index(self, payload):
        columns = {i: [] for i in range(1, 8)}
        for number, value in wire.fields(payload):
            if number in columns:
                columns[number] += wire.unpacked(value) if isinstance(value, bytes) else [value]
        if len({len(column) for column in columns.values()}) != 1:
            raise FormatError("the index has columns of different lengths")
        self._index = list(zip(*(columns[i] for i in range(1, 8))))

    def _chunks(self, part, sequence, layer, head):
        place = (sequence, layer, head, PARTS[part])
        for entry in self._index:
            if entry[:4] != place:
                continue
            payload = frames.read_frame(self._file, b"CHNK", entry[6], self._end)
            got = dict(wire.fields(payload))
            if tuple(got.get(i, 0) for i in range(1, 7)) != entry[:6]:
                raise FormatError(f"byte {entry[6]}: the chunk is not the one that the index names")
            if got.get(8, 0) > MAX_CHUNK_BYTES:
                raise FormatError(f"byte {entry[6]}: a chunk of {got[8]} bytes")
            yield entry[4], entry[5], frames.decompress(got.get(7, 0), got.get(9, b""), got.get(8, 0))

    def _spread(self, raw, at, t):
        width = ELEMENT_BYTES[self.element]
        (count,) = struct.unpack_from("<I", raw, at)
        size = 4 + width + count * (4 + width)
        if count > t + 1 or at + size > len(raw):
            raise FormatError(f"row {t}: claims {count} entries")
        (rest,) = frames.unpack(self.element, raw[at + 4 : at + 4 + width])
        positions = struct.unpack_from(f"<{count}I", raw, at + 4 + width)
        weights = frames.unpack(self.element, raw[at + 4 + width + 4 * count : at + size])
        row = [rest / (t + 1 - count) if count <= t else 0.0] * (t + 1)
        for position, weight in zip(positions, weights):
            row[position] = weight
        return size, row
