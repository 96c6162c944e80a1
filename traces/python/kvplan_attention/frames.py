"""Frames, checksums, compression and number formats of a .kva file."""

import ctypes
import ctypes.util
import struct
import sys
import zlib
from array import array

from .model import FormatError

HEADER_BYTES = 16
TRAILER_BYTES = 20


def frame(kind, payload):
    length = struct.pack("<Q", len(payload))
    return kind + struct.pack("<I", zlib.crc32(payload, zlib.crc32(kind + length))) + length + payload


def trailer(index_offset, end_magic):
    offset = struct.pack("<Q", index_offset)
    return offset + struct.pack("<I", zlib.crc32(offset)) + end_magic


def read_frame(file, kind, offset, end):
    """The payload of the frame at `offset`, which must end at or before `end`."""
    if offset < 0 or offset + HEADER_BYTES > end:
        raise FormatError(f"byte {offset}: expected a frame, the file is too short")
    file.seek(offset)
    head = file.read(HEADER_BYTES)
    if head[:4] != kind:
        raise FormatError(f"byte {offset}: expected a frame {kind.decode()}")
    checksum, length = struct.unpack("<IQ", head[4:])
    if length > end - offset - HEADER_BYTES:
        raise FormatError(f"byte {offset}: the frame claims {length} bytes: truncated")
    payload = file.read(length)
    if zlib.crc32(payload, zlib.crc32(kind + head[8:])) != checksum:
        raise FormatError(f"byte {offset}: checksum does not match")
    return payload


def _zstd(data, raw_bytes):
    """By whichever zstd this Python or this system has."""
    try:
        from compression import zstd  # Python 3.14

        return zstd.decompress(data)
    except ImportError:
        pass
    try:
        import zstandard

        return zstandard.ZstdDecompressor().decompress(data, max_output_size=raw_bytes)
    except ImportError:
        pass
    name = ctypes.util.find_library("zstd")
    if name is None:
        raise FormatError("chunks are zstd, and neither compression.zstd, zstandard nor libzstd is there")
    library = ctypes.CDLL(name)
    call = library.ZSTD_decompress
    call.restype = ctypes.c_size_t
    call.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(max(raw_bytes, 1))
    size = call(out, raw_bytes, data, len(data))
    return out.raw[:size] if size <= raw_bytes else b""


def decompress(codec, data, raw_bytes):
    if codec == 0:
        raw = data
    elif codec == 1:
        raw = _zstd(data, raw_bytes)
    elif codec == 2:
        try:
            raw = zlib.decompressobj().decompress(data, raw_bytes + 1)
        except zlib.error as error:
            raise FormatError(str(error)) from None
    else:
        raise FormatError(f"unknown codec {codec}")
    if len(raw) != raw_bytes:
        raise FormatError(f"expected {raw_bytes} bytes of data, found {len(raw)}")
    return raw


def _bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def pack(element, values):
    """Numbers as bytes. A bytes-like object is taken as it is: already in the element's format."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        return bytes(values)
    values = list(values)
    if element == "bf16":
        out = array("H", (_bf16(value) for value in values))
        if sys.byteorder == "big":
            out.byteswap()
        return out.tobytes()
    letter = {"f64": "d", "f32": "f", "f16": "e"}[element]
    return struct.pack(f"<{len(values)}{letter}", *values)


def unpack(element, raw):
    """A list of floats."""
    if element == "bf16":
        count = len(raw) // 2
        return [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in struct.unpack(f"<{count}H", raw)]
    letter, size = {"f64": ("d", 8), "f32": ("f", 4), "f16": ("e", 2)}[element]
    return list(struct.unpack(f"<{len(raw) // size}{letter}", raw))
