"""What simulator/io/ATTENTION_FORMAT.md defines for both versions of .kva: frames, limits, numbers and rows; and the
header of version 1."""

import math
import numbers
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from .errors import FormatError, expect

MAGIC = b"\x89KVA\r\n\x1a\n"
END_MAGIC = b"KVA-END\n"
FRAME_BYTES = 16
TRAILER_BYTES = 20
MOST_CHUNK_BYTES = 16 << 20  # bytes of data after decompression
MOST_HEADER_BYTES = 64 << 20
MOST_INDEX_BYTES = 1 << 30
MOST_SEQUENCES = 1 << 20
MOST_SUM = 1.01
MOST_SCALE = 1e6  # for logits, soft caps, sinks and slopes

FORMS = {"rows": 1, "top": 2, "tensors": 3}
ELEMENTS = {"f64": 1, "f32": 2, "f16": 3, "bf16": 4}
PARTS = {"rows": 1, "queries": 2, "keys": 3, "values": 4}
CODECS = {"stored": 0, "zstd": 1, "zlib": 2}
WIDTHS = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "u8": 1, "u32": 4}
_TYPES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<u2", "u8": "u1", "u32": "<u4"}
INDEX_COLUMNS = ("sequence", "layer", "head", "part", "first_token", "tokens", "offset")


@dataclass
class AttentionModel:
    """Shape of the recorded model. A size of 0 means: not stated. `hidden_size` belongs to version 2."""

    name: str = ""
    layers: int = 1
    query_heads: int = 1
    kv_heads: int = 1
    key_size: int = 0
    value_size: int = 0
    cache_element_bytes: int = 0
    hidden_size: int = 0


@dataclass
class AttentionSequence:
    """`complete` is False for an incomplete sequence of version 2; a reader's `tokens` is the usable part of it."""

    name: str = ""
    tokens: int = 0
    prompt_tokens: int = 0
    complete: bool = True


@dataclass
class AttentionHeader:
    """The header of version 1. `form` is "rows", "top" (the largest weights of each row and the sum of the others) or
    "tensors"; `element` is f64, f32 or f16 (rows, top), or f32, f16 or bf16 (tensors). Row t of tensors is
    softmax(`logit_scale` * q_t . k)."""

    model: AttentionModel
    sequences: list
    form: str = "rows"
    element: str = "f32"
    logit_scale: float = 0.0
    has_values: bool = False
    positions: str = ""
    source: str = ""
    recorded_by: str = ""

    def check(self):
        """Raises FormatError for what version 1 does not allow."""
        tensors = self.form == "tensors"
        expect(self.form in FORMS, f"expected one of {', '.join(FORMS)}, found {self.form!r}", "form")
        legal = ("f32", "f16", "bf16") if tensors else ("f64", "f32", "f16")
        expect(self.element in legal, f"expected one of {', '.join(legal)}, found {self.element!r}", "element")
        model = self.model
        within("model.layers", model.layers, 1, 4096)
        check_heads("model", model.query_heads, model.kv_heads)
        within("model.key_size", model.key_size, int(tensors), 65536)
        within("model.value_size", model.value_size, int(tensors and self.has_values), 65536)
        within("model.cache_element_bytes", model.cache_element_bytes, 0, 16)
        check_texts("model", model, ("name",))
        check_texts("", self, ("positions", "source", "recorded_by"))
        within("sequences", len(self.sequences), 1, MOST_SEQUENCES)
        for i, sequence in enumerate(self.sequences):
            check_text(f"sequences[{i}].name", sequence.name)
            within(f"sequences[{i}].tokens", sequence.tokens, 1, 1 << 20)
            within(f"sequences[{i}].prompt_tokens", sequence.prompt_tokens, 0, sequence.tokens)
        if tensors:
            check_scale("logit_scale", self.logit_scale)

    def heads(self, part):
        """How many heads have the part; 0 if files of this form do not have it."""
        if (self.form == "tensors") == (part == "rows") or (part == "values" and not self.has_values):
            return 0
        return self.model.query_heads if part in ("rows", "queries") else self.model.kv_heads


def within(field, value, low, high):
    expect(isinstance(value, numbers.Integral) and not isinstance(value, bool) and low <= value <= high,
           f"expected a whole number from {low} to {high}, found {value!r}", field)


def between(field, value, low, high):
    """Raises FormatError unless the value is in [low, high]; a NaN never is."""
    expect(isinstance(value, numbers.Real) and low <= value <= high,
           f"expected a number from {low:g} to {high:g}, found {value!r}", field)


def check_real(field, value):
    expect(isinstance(value, numbers.Real), f"expected a number, found {value!r}", field)


def check_scale(field, value):
    expect(isinstance(value, numbers.Real) and 0 < value <= MOST_SCALE,
           f"expected a number above 0 and at most {MOST_SCALE:g}, found {value!r}", field)


def check_heads(name, query_heads, kv_heads):
    within(dotted(name, "query_heads"), query_heads, 1, 1024)
    within(dotted(name, "kv_heads"), kv_heads, 1, query_heads)
    expect(query_heads % kv_heads == 0, f"expected a divisor of {query_heads} query heads, found {kv_heads}",
           dotted(name, "kv_heads"))


def check_text(field, value):
    expect(isinstance(value, str), f"expected a text, found {value!r}", field)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        expect(False, f"expected a text in UTF-8, found {value[error.start]!r}", field)


def check_texts(name, holder, fields):
    for field in fields:
        check_text(dotted(name, field), getattr(holder, field))


def dotted(name, field):
    return f"{name}.{field}" if name else field


def header_frame(payload):
    """The HEAD frame; raises FormatError for a header that readers would refuse."""
    expect(len(payload) <= MOST_HEADER_BYTES,
           f"expected at most {MOST_HEADER_BYTES} bytes with all texts, found {len(payload)}", "header")
    return frame(b"HEAD", payload)


def check_place(header, part, sequence, layer, head):
    for field, value, limit in (("sequence", sequence, len(header.sequences)), ("layer", layer, header.model.layers),
                                ("head", head, header.heads(part))):
        expect(limit > 0, f"expected a file with {part}: this one has {header.form}", "part")
        check_below(field, value, limit)


def check_below(field, value, limit):
    expect(0 <= value < limit, f"expected 0 to {limit - 1}, found {value}", field)


def frame(kind, payload):
    length = struct.pack("<Q", len(payload))
    return kind + struct.pack("<I", zlib.crc32(payload, zlib.crc32(kind + length))) + length + payload


def trailer(index_offset):
    offset = struct.pack("<Q", index_offset)
    return offset + struct.pack("<I", zlib.crc32(offset)) + END_MAGIC


def array_of(values, field=None):
    """An array of real numbers; raises FormatError for anything else."""
    try:
        out = np.asarray(values)
    except (TypeError, ValueError) as error:  # lists of different lengths, tensors on another device
        raise FormatError(f"expected an array of numbers: {error}", field=field) from None
    expect(out.dtype.kind in "biuf", f"expected an array of real numbers, found one of {out.dtype}", field)
    return out


def places_of(values, field=None):
    """An array of whole numbers, as int64."""
    out = array_of(values, field)
    expect(out.dtype.kind != "f" or np.all(out == np.floor(out)), "expected whole numbers", field)
    with np.errstate(invalid="ignore"):
        return out.astype(np.int64)


def to_bytes(element, values):
    """The numbers as bytes, rounded to the nearest values of the element type."""
    values = array_of(values)
    with np.errstate(over="ignore"):
        if element != "bf16":
            out = values.astype(_TYPES[element])
            expect(np.all(np.isfinite(out)), f"expected finite numbers that fit {element}")
            return out.tobytes()
        floats = np.ascontiguousarray(values, "<f4")
    expect(np.all(np.isfinite(floats)), "expected finite numbers that fit bf16")
    bits = floats.view("<u4")  # numbers are finite, so sums fit 32 bits
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    expect(np.all(rounded & np.uint32(0x7F80) != 0x7F80), "expected finite numbers that fit bf16")
    return rounded.astype("<u2").tobytes()


def from_bytes(element, raw):
    """float64 from f64, int64 from whole numbers, float32 from the other types, all without rounding. The caller must
    check that numbers are finite."""
    values = np.frombuffer(raw, _TYPES[element])
    if element in ("u8", "u32"):
        return values.astype(np.int64)
    with np.errstate(invalid="ignore"):
        if element == "bf16":
            return (values.astype("<u4") << 16).view("<f4").astype(np.float32, copy=False)
        return values.astype(np.float64 if element == "f64" else np.float32)


def row_starts(first, count):
    """Where each of the dense rows first, first + 1, ... begins among the weights, and where the last one ends."""
    sizes = np.arange(first + 1, first + count + 1)
    return np.concatenate(([0], np.cumsum(sizes)))


def check_rows(weights, starts, first, sink=False):
    """Raises FormatError for an invalid row. Row first + i has the weights starts[i] .. starts[i + 1]; with a sink they
    may sum to 0."""
    negative = ~(weights >= 0)  # NaN too
    sums = np.add.reduceat(weights, starts[:-1], dtype=np.float64)
    bad = ~((sums > 0) | sink & (sums == 0)) | ~(sums <= MOST_SUM) | (np.add.reduceat(negative, starts[:-1]) > 0)
    if bad.any():
        i = int(np.argmax(bad))
        raise FormatError(f"expected weights from 0 on that sum to 1, found a sum of {sums[i]}",
                          field=f"row {first + i}")


def listed_row(element, t, row, seen=0, sink=False):
    """The bytes of a top row (positions, weights, rest) of token t with a window that begins at `seen`."""
    field = f"row {t}"
    expect(isinstance(row, (tuple, list)) and len(row) == 3, "expected (positions, weights, rest)", field)
    positions, weights, rest = places_of(row[0], field), array_of(row[1], field), array_of(row[2], field)
    expect(positions.ndim == 1 and positions.shape == weights.shape and rest.ndim == 0
           and np.all(np.diff(positions, prepend=seen - 1, append=t + 1) > 0),
           f"expected ascending positions from {seen} to {t} and a weight for each", field)
    expect(len(positions) <= t - seen or rest == 0, "expected no rest where every entry is listed", field)
    numbers_of = to_bytes(element, np.concatenate(([rest], weights)))
    kept = from_bytes(element, numbers_of)
    check_rows(kept, np.array([0, len(kept)]), t, sink)
    width = WIDTHS[element]
    return (struct.pack("<I", len(positions)) + numbers_of[:width] + positions.astype("<u4").tobytes()
            + numbers_of[width:])


def default_logit_scale(model):
    return 1 / math.sqrt(model.key_size)
