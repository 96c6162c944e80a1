"""The parts of the Protobuf wire format that .kvt and .kva need; whole columns are decoded by numpy."""

import itertools
import struct

import numpy as np

from .errors import FormatError, expect

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_GROUP, _GROUP_END = 3, 4
_MASK32 = (1 << 32) - 1
_MASK64 = (1 << 64) - 1
_GROUPS_DEEP = 100
_BLOCK = 1 << 18


def _read_varint(data, at, most=10):
    value = shift = 0
    while True:
        expect(at < len(data) and shift < 7 * most, "expected a whole number in the message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK64, at
        shift += 7


def _take(data, at, size):
    expect(size <= len(data) - at, "expected as many bytes in the message as it names")
    return data[at : at + size], at + size


def _skip_group(data, at, number, deep=1):
    expect(deep <= _GROUPS_DEEP, "expected fewer groups in each other")
    while True:
        key, at = _read_key(data, at)
        form = key & 7
        if form == _GROUP_END:
            expect(key >> 3 == number, "expected the end of the group")
            return at
        if form == _GROUP:
            at = _skip_group(data, at, key >> 3, deep + 1)
        else:
            _, at = _read_value(data, at, form)


def _read_key(data, at):
    key, at = _read_varint(data, at, 5)
    key &= _MASK32
    expect(key >> 3 > 0, "expected the number of a field")
    return key, at


def _read_value(data, at, form):
    if form == VARINT:
        return _read_varint(data, at)
    if form == BYTES:
        size, at = _read_varint(data, at, 5)
        return _take(data, at, size)
    expect(form in (FIXED64, FIXED32), f"expected a field of a known form, found form {form}")
    return _take(data, at, 8 if form == FIXED64 else 4)


def fields(data):
    """(number, form, value) of each field: an int for a varint, bytes for all other forms. Groups are skipped."""
    at = 0
    while at < len(data):
        key, at = _read_key(data, at)
        if key & 7 == _GROUP:
            at = _skip_group(data, at, key >> 3)
        else:
            value, at = _read_value(data, at, key & 7)
            yield key >> 3, key & 7, value


class Message:
    """A message by fields. A known field of the wrong form counts as unknown; if a field repeats, the last counts."""

    def __init__(self, data):
        self._fields, self._fixed = {}, {}
        for number, form, value in fields(data):
            if form in (VARINT, BYTES):
                self._fields.setdefault(number, []).append(value)
            elif form == FIXED64:
                self._fixed.setdefault(number, []).append(value)

    def uint32(self, number):
        return self.uint64(number) & _MASK32

    def uint64(self, number):
        return next((value for value in reversed(self._fields.get(number, ())) if isinstance(value, int)), 0)

    def boolean(self, number):
        return self.uint64(number) != 0

    def double(self, number):
        return struct.unpack("<d", self._fixed.get(number, [bytes(8)])[-1])[0]

    def doubles(self, number):
        """All entries of a repeated double, packed or not."""
        data = b"".join(self.blobs(number)) or b"".join(self._fixed.get(number, ()))
        expect(len(data) % 8 == 0, "expected whole numbers in the column")
        return struct.unpack(f"<{len(data) // 8}d", data)

    def blob(self, number):
        return (self.blobs(number) or [b""])[-1]

    def blobs(self, number):
        return [value for value in self._fields.get(number, ()) if isinstance(value, bytes)]

    def column(self, number, kind):
        """All entries of a repeated number, packed or not, as int64. `kind`: uint32, uint64, sint32 or sint64."""
        parts = [np.empty(0, np.uint64)]
        for packs, values in itertools.groupby(self._fields.get(number, ()), lambda value: isinstance(value, bytes)):
            parts += map(varints, values) if packs else [np.array(list(values), np.uint64)]
        values = np.concatenate(parts)
        if kind.endswith("32"):
            values &= np.uint64(_MASK32)
        if kind[0] == "s":
            return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)
        if kind == "uint64" and values.size and values.max() >> np.uint64(63):
            raise FormatError("expected a number below 2^63")
        return values.view(np.int64)


def varints(data):
    """Decodes varints that follow each other."""
    octets = np.frombuffer(data, np.uint8)
    expect(octets.size == 0 or octets[-1] < 0x80, "expected a whole number in the column")
    out = np.empty(np.count_nonzero(octets < 0x80), np.uint64)
    at = done = 0
    while at < octets.size:
        # A block of whole varints at a time, since the temporary arrays are several times as large.
        end = min(at + _BLOCK, octets.size)
        while end > at and octets[end - 1] >= 0x80:
            end -= 1
        values = _varints(octets[at:end])
        out[done : done + values.size] = values
        at, done = end, done + values.size
    return out


def _varints(octets):
    ends = np.flatnonzero(octets < 0x80)
    starts = np.concatenate(([0], ends + 1))[: ends.size]
    sizes = ends - starts + 1
    longest = int(sizes.max()) if sizes.size else 11  # none: one number fills the block
    expect(longest <= 10, "expected numbers of at most 10 bytes in the column")
    values = (octets[starts] & 0x7F).astype(np.uint64)
    for k in range(1, longest):
        longer = np.flatnonzero(sizes > k)
        values[longer] |= (octets[starts[longer] + k] & 0x7F).astype(np.uint64) << np.uint64(7 * k)
    return values


def packed(values):
    """Encodes numbers as varints that follow each other, modulo 2^64."""
    values = np.ascontiguousarray(values, np.int64).view(np.uint64)
    sizes = np.ones(values.size, np.int64)
    for k in range(1, 10):
        sizes += values >> np.uint64(7 * k) != 0
    starts = np.cumsum(sizes) - sizes
    out = np.empty(int(sizes.sum()), np.uint8)
    for k in range(int(sizes.max()) if sizes.size else 0):
        longer = np.flatnonzero(sizes > k)
        octets = (values[longer] >> np.uint64(7 * k)).astype(np.uint8) & 0x7F
        out[starts[longer] + k] = octets | ((sizes[longer] > k + 1).astype(np.uint8) << 7)
    return out.tobytes()


def zigzag(values):
    values = np.ascontiguousarray(values, np.int64)
    return (values << 1) ^ (values >> 63)


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    """A field with an unsigned number, a bool or an enum; zero is left out, as in proto3."""
    return varint(field << 3 | VARINT) + varint(int(value)) if value else b""


def double(field, value):
    return varint(field << 3 | FIXED64) + struct.pack("<d", value) if value else b""


def doubles(field, values):
    return blob(field, struct.pack(f"<{len(values)}d", *values))


def message(field, data):
    """A field with bytes, text or a message; it is written even when it is empty, as entries of repeated fields are."""
    data = text_bytes(data) if isinstance(data, str) else data
    return varint(field << 3 | BYTES) + varint(len(data)) + data


def blob(field, data):
    """A field with bytes or text; an empty one is left out."""
    return message(field, data) if data else b""


def text(data):
    """Decodes text so that encoding gives the same bytes again, valid UTF-8 or not."""
    return data.decode("utf-8", "surrogateescape")


def text_bytes(value):
    return value.encode("utf-8", "surrogateescape")
