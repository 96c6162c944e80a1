"""The little of the Protobuf wire format that the messages of proto/attention.proto need."""

import struct

from .model import FormatError


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    """A uint32, uint64, bool or enum field; zero is left out, as proto3 does."""
    return varint(field << 3) + varint(int(value)) if value else b""


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value) if value else b""


def blob(field, value):
    """bytes, a string, or a message; empty is left out."""
    data = value.encode("utf-8") if isinstance(value, str) else bytes(value)
    return varint(field << 3 | 2) + varint(len(data)) + data if data else b""


def message(field, data):
    """A message that is there even when it is empty."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return blob(field, b"".join(varint(value) for value in values))


def _read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise FormatError("broken Protobuf message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """Yields (field, value): an int, a float for fixed64, or bytes. Unknown fields come too."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read_varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            raw = data[at : at + size]
            if len(raw) != size:
                raise FormatError("broken Protobuf message")
            value = struct.unpack("<d" if kind == 1 else "<f", raw)[0]
            at += size
        elif kind == 2:
            size, at = _read_varint(data, at)
            if size > len(data) - at:
                raise FormatError("broken Protobuf message")
            value = data[at : at + size]
            at += size
        else:
            raise FormatError("broken Protobuf message")
        yield key >> 3, value


def unpacked(data):
    values = []
    at = 0
    while at < len(data):
        value, at = _read_varint(data, at)
        values.append(value)
    return values
