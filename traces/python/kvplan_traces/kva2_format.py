"""The header of .kva version 2, as simulator/io/ATTENTION_FORMAT.md describes it: what a file holds for which layers,
and the facts that are needed to compute rows from queries and keys."""

from dataclasses import dataclass

import numpy as np

from . import kva_format as kva
from . import wire
from .errors import expect

VERSION = 2
MOST_SEQUENCE_BYTES = 1 << 20
MOST_POSITION = (1 << 31) - 1
MOST_FREQUENCY = 1e5
ELEMENTS = {**kva.ELEMENTS, "u8": 5, "u32": 6}
CODECS = {**kva.CODECS, "planes-zstd": 3, "planes-zlib": 4}
PARTS = {"rows": 1, "queries": 2, "keys": 3, "values": 4, "top_rows": 5, "value_norms": 6, "layer_inputs": 7,
         "output_weights": 8, "token_classes": 9, "positions": 10}
NAMES = {number: name for name, number in PARTS.items()}
ROWS = ("rows", "top_rows")
OF_SEQUENCE = ("token_classes", "positions")
OF_QUERY_HEADS = ("rows", "top_rows", "queries", "output_weights")
LAYOUTS = {"halves": 1, "interleaved": 2}
_WEIGHTS, _TENSORS = ("f64", "f32", "f16"), ("f32", "f16", "bf16")
LEGAL = {**{name: _TENSORS for name in PARTS}, "rows": _WEIGHTS, "top_rows": _WEIGHTS, "token_classes": ("u8",),
         "positions": ("u32",)}


@dataclass
class AttentionRotary:
    """How queries and keys were rotated: `layout` "halves" or "interleaved"; `dims` elements from `first` on, 0: none.
    Angles are position * base^(-2j/dims) / linear_factor, or position * inverse_frequencies[j] where these are given.
    A `linear_factor` or `amplitude` of 0 stands for 1."""

    layout: str = "halves"
    dims: int = 0
    base: float = 0.0
    linear_factor: float = 0.0
    inverse_frequencies: tuple = ()
    amplitude: float = 0.0
    first: int = 0

    def check(self, name):
        """Raises FormatError for values that the format cannot store."""
        expect(self.layout in LAYOUTS, f"expected one of {', '.join(LAYOUTS)}, found {self.layout!r}", f"{name}.layout")
        for part in ("dims", "first"):
            kva.within(f"{name}.{part}", getattr(self, part), 0, (1 << 32) - 1)
        for part in ("base", "linear_factor", "amplitude"):
            kva.check_real(f"{name}.{part}", getattr(self, part))
        _list_of(f"{name}.inverse_frequencies", self.inverse_frequencies)

    def check_of(self, key_size, name):
        """Raises FormatError if keys of this size cannot have been rotated in this way."""
        if not self.dims:
            return
        expect(self.dims % 2 == 0 and self.first + self.dims <= key_size,
               f"expected an even number of elements inside a key of {key_size}, found {self.dims} from {self.first}",
               f"{name}.dims")
        kva.between(f"{name}.amplitude", self.amplitude or 1.0, 1 / kva.MOST_SCALE, kva.MOST_SCALE)
        if not len(self.inverse_frequencies):
            kva.between(f"{name}.base", self.base, 1, 1e30)
            kva.between(f"{name}.linear_factor", self.linear_factor or 1.0, 1 / MOST_FREQUENCY, 1e9)
            return
        _check_numbers(f"{name}.inverse_frequencies", self.inverse_frequencies, self.dims // 2, 0, MOST_FREQUENCY)


@dataclass
class AttentionLayer:
    """What is recorded for a layer. 0, empty and None stand for the header's value; for `window`, `sink_logits` and
    `bias_slopes` they mean: none."""

    layer: int
    parts: tuple = ()
    query_heads: int = 0
    kv_heads: int = 0
    key_size: int = 0
    value_size: int = 0
    logit_scale: float = 0.0
    window: int = 0
    soft_cap: float = 0.0
    sink_logits: tuple = ()
    bias_slopes: tuple = ()
    rotary: AttentionRotary = None
    recorded_kv_heads: tuple = ()


@dataclass
class RecordingHeader:
    """The header of version 2. `parts` is {name: element}, `layers` has an `AttentionLayer` for each recorded layer."""

    model: kva.AttentionModel
    parts: dict
    layers: list
    logit_scale: float = 0.0
    soft_cap: float = 0.0
    rotary: AttentionRotary = None
    token_classes: tuple = ()
    positions: str = ""
    source: str = ""
    recorded_by: str = ""
    recorder: str = ""
    recorder_version: str = ""
    machine: str = ""
    model_digest: str = ""

    def check(self):
        """Raises FormatError for what version 2 does not allow."""
        _check_model(self.model)
        expect(self.parts, "expected some", "parts")
        for name, element in self.parts.items():
            expect(name in PARTS, f"expected one of {', '.join(PARTS)}, found {name!r}", "parts")
            expect(element in LEGAL[name], f"expected one of {', '.join(LEGAL[name])}, found {element!r}",
                   f"parts.{name}")
        expect(not all(name in self.parts for name in ROWS), "expected rows or top rows, not both", "parts")
        expect("queries" not in self.parts or "keys" in self.parts, "expected keys beside queries", "parts")
        expect(len(self.token_classes) <= 256, f"expected at most 256, found {len(self.token_classes)}",
               "token_classes")
        for i, text_of in enumerate(self.token_classes):
            kva.check_text(f"token_classes[{i}]", text_of)
        kva.check_texts("", self, ("positions", "source", "recorded_by", "recorder", "recorder_version", "machine",
                                   "model_digest"))
        expect("token_classes" not in self.parts or self.token_classes, "expected the names of classes",
               "token_classes")
        kva.check_real("logit_scale", self.logit_scale)
        kva.between("soft_cap", self.soft_cap, 0, kva.MOST_SCALE)
        if self.rotary is not None:
            self.rotary.check("rotary")
        expect(self.layers, "expected at least one", "layers")
        before = -1
        for i, one in enumerate(self.layers):
            kva.within(f"layers[{i}].layer", one.layer, before + 1, self.model.layers - 1)
            before = one.layer
            self._check_layer(one, f"layers[{i}]")

    def most(self, part):
        """The greatest number that a part of sequences may contain."""
        return len(self.token_classes) - 1 if part == "token_classes" else MOST_POSITION

    def layer(self, number):
        """The ResolvedLayer of a recorded layer; None for any other layer."""
        if "_resolved" not in self.__dict__:
            self._resolved = {one.layer: ResolvedLayer(self, one) for one in self.layers}
        return self._resolved.get(number)

    def _check_layer(self, one, name):
        for part in one.parts:
            expect(part in self.parts and part not in OF_SEQUENCE, "expected parts of the header", f"{name}.parts")
        for part in ("sink_logits", "bias_slopes", "recorded_kv_heads"):
            _list_of(f"{name}.{part}", getattr(one, part))
        kva.check_heads(name, one.query_heads or self.model.query_heads, one.kv_heads or self.model.kv_heads)
        found = ResolvedLayer(self, one)
        for part, needed_by in (("key_size", ("queries", "keys")), ("value_size", ("values", "output_weights"))):
            kva.within(f"{name}.{part}", getattr(found, part), int(_any(needed_by, found.parts)), 65536)
        if _any(("layer_inputs", "output_weights"), found.parts):
            kva.within("model.hidden_size", self.model.hidden_size, 1, 65536)
        kva.check_real(f"{name}.logit_scale", one.logit_scale)
        if "queries" in found.parts:
            expect("keys" in found.parts, "expected keys beside queries", f"{name}.parts")
            kva.check_scale(f"{name}.logit_scale", found.logit_scale)
        kva.between(f"{name}.soft_cap", found.soft_cap, 0, kva.MOST_SCALE)
        kva.within(f"{name}.window", found.window, 0, (1 << 32) - 1)
        for part in ("sink_logits", "bias_slopes"):
            if len(getattr(one, part)):
                _check_numbers(f"{name}.{part}", getattr(one, part), found.query_heads, -kva.MOST_SCALE, kva.MOST_SCALE)
        if one.rotary is not None:
            one.rotary.check(f"{name}.rotary")
        if found.rotary is not None and "keys" in found.parts:
            found.rotary.check_of(found.key_size, f"{name}.rotary")
        heads = kva.places_of(one.recorded_kv_heads, f"{name}.recorded_kv_heads")
        expect(np.all(np.diff(heads, prepend=-1, append=found.kv_heads) > 0),
               f"expected ascending numbers below {found.kv_heads}", f"{name}.recorded_kv_heads")


class ResolvedLayer:
    """A layer, with its missing facts taken from the header: `parts`, shape, `logit_scale`, `window`, `soft_cap`,
    `sink_logits`, `bias_slopes`, `rotary`, and the numbers of the recorded KV heads."""

    def __init__(self, header, one):
        model = header.model
        self.parts = tuple(name for name in sorted(header.parts, key=PARTS.get)
                           if name not in OF_SEQUENCE and (not one.parts or name in one.parts))
        for name in ("query_heads", "kv_heads", "key_size", "value_size"):
            setattr(self, name, getattr(one, name) or getattr(model, name))
        self.hidden_size = model.hidden_size
        self.logit_scale = one.logit_scale or header.logit_scale
        self.soft_cap = one.soft_cap or header.soft_cap
        self.rotary = header.rotary if one.rotary is None else one.rotary
        self.window = one.window
        self.sink_logits, self.bias_slopes = tuple(one.sink_logits), tuple(one.bias_slopes)
        self.recorded_kv_heads = tuple(one.recorded_kv_heads) or tuple(range(self.kv_heads))

    @property
    def group(self):
        return self.query_heads // self.kv_heads

    def heads(self, part):
        """Numbers of the heads for which the file has the part."""
        if part not in self.parts:
            return ()
        if part == "layer_inputs":
            return (0,)
        if part not in OF_QUERY_HEADS:
            return self.recorded_kv_heads
        return tuple(kv * self.group + i for kv in self.recorded_kv_heads for i in range(self.group))

    def size(self, part):
        """How many numbers the part has per token; for rows 1, which has no meaning."""
        sizes = {"queries": self.key_size, "keys": self.key_size, "values": self.value_size, "layer_inputs":
                 self.hidden_size, "output_weights": self.hidden_size}
        return sizes.get(part, 1)


def _check_model(model):
    kva.check_texts("model", model, ("name",))
    kva.within("model.layers", model.layers, 1, 4096)
    kva.check_heads("model", model.query_heads, model.kv_heads)
    for name, most in (("key_size", 65536), ("value_size", 65536), ("hidden_size", 65536), ("cache_element_bytes", 16)):
        kva.within(f"model.{name}", getattr(model, name), 0, most)


def _any(some, parts):
    return any(part in parts for part in some)


def _list_of(field, values):
    """Checks that the values are a one-dimensional list of numbers."""
    expect(kva.array_of(values, field).ndim == 1, "expected a list of numbers", field)


def _check_numbers(field, values, count, low, high):
    expect(len(values) == count, f"expected {count} numbers, found {len(values)}", field)
    for value in values:
        kva.between(field, value, low, high)


def to_planes(raw, width):
    count = len(raw) // width
    return np.frombuffer(raw, np.uint8, count * width).reshape(count, width).T.tobytes() + raw[count * width :]


def from_planes(data, width):
    count = len(data) // width
    return np.frombuffer(data, np.uint8, count * width).reshape(width, count).T.tobytes() + data[count * width :]


def encode(header):
    """The header as a message AttentionHeader."""
    model = header.model
    sizes = (model.layers, model.query_heads, model.kv_heads, model.key_size, model.value_size,
             model.cache_element_bytes, model.hidden_size)
    shape = wire.blob(1, model.name) + b"".join(wire.number(i, value) for i, value in enumerate(sizes, 2))
    stored = [wire.message(11, wire.number(1, PARTS[name]) + wire.number(2, ELEMENTS[header.parts[name]]))
              for name in sorted(header.parts, key=PARTS.get)]
    return b"".join([
        wire.number(1, VERSION), wire.message(2, shape), wire.double(5, header.logit_scale),
        wire.blob(7, header.positions), wire.blob(8, header.source), wire.blob(9, header.recorded_by), *stored,
        *(wire.message(12, _layer_bytes(one)) for one in header.layers), _rotary_field(13, header.rotary),
        wire.double(14, header.soft_cap), *(wire.message(15, name) for name in header.token_classes),
        wire.blob(16, header.recorder), wire.blob(17, header.recorder_version), wire.blob(18, header.machine),
        wire.blob(19, header.model_digest)])


def _layer_bytes(one):
    parts = sorted(PARTS[name] for name in one.parts)
    return b"".join([
        wire.number(1, one.layer), wire.blob(2, wire.packed(parts)), wire.number(3, one.query_heads),
        wire.number(4, one.kv_heads), wire.number(5, one.key_size), wire.number(6, one.value_size),
        wire.double(7, one.logit_scale), wire.number(8, one.window), wire.double(9, one.soft_cap),
        wire.doubles(10, one.sink_logits), wire.doubles(11, one.bias_slopes), _rotary_field(12, one.rotary),
        wire.blob(13, wire.packed(one.recorded_kv_heads))])


def _rotary_field(number, rotary):
    if rotary is None:
        return b""
    return wire.message(number, b"".join([
        wire.number(1, LAYOUTS[rotary.layout]), wire.number(2, rotary.first), wire.number(3, rotary.dims),
        wire.double(4, rotary.base), wire.double(5, rotary.linear_factor), wire.doubles(6, rotary.inverse_frequencies),
        wire.double(7, rotary.amplitude)]))


def sequence_bytes(number, sequence):
    return b"".join([wire.blob(1, sequence.name), wire.number(2, sequence.tokens),
                     wire.number(3, sequence.prompt_tokens), wire.number(4, number),
                     wire.number(5, sequence.complete)])


def decode(message):
    """The header that a message contains; it has passed `check`."""
    parts = {}
    for one in map(wire.Message, message.blobs(11)):
        name = named("parts", PARTS, one.uint32(1))
        expect(name not in parts, "expected every part once", "parts")
        parts[name] = named("parts.element", ELEMENTS, one.uint32(2))
    expect(list(parts) == sorted(parts, key=PARTS.get), "expected ascending parts", "parts")
    expect(not message.blobs(10) and not message.uint32(3) and not message.uint32(4),
           "expected no fields of version 1", "form")
    words = {name: text(name, message.blob(number)) for number, name in (
        (7, "positions"), (8, "source"), (9, "recorded_by"), (16, "recorder"), (17, "recorder_version"),
        (18, "machine"), (19, "model_digest"))}
    header = RecordingHeader(
        model=model_of(message), parts=parts, layers=[_layer_of(wire.Message(one)) for one in message.blobs(12)],
        logit_scale=message.double(5), soft_cap=message.double(14), rotary=_rotary_of(message.blobs(13)),
        token_classes=tuple(text("token_classes", name) for name in message.blobs(15)), **words)
    header.check()
    return header


def model_of(message):
    model = wire.Message(b"".join(message.blobs(2)))
    return kva.AttentionModel(text("model.name", model.blob(1)), *map(model.uint32, range(2, 9)))


def _layer_of(message):
    return AttentionLayer(
        message.uint32(1), tuple(named("layers.parts", PARTS, number) for number in _numbers(message, 2)),
        *map(message.uint32, (3, 4, 5, 6)), message.double(7), message.uint32(8), message.double(9),
        message.doubles(10), message.doubles(11), _rotary_of(message.blobs(12)), tuple(_numbers(message, 13)))


def _numbers(message, number):
    return message.column(number, "uint32").tolist()


def _rotary_of(blobs):
    if not blobs:
        return None
    message = wire.Message(b"".join(blobs))
    dims = message.uint32(3)
    layout = named("rotary.layout", LAYOUTS, message.uint32(1)) if dims else "halves"
    return AttentionRotary(layout, dims, message.double(4), message.double(5), message.doubles(6), message.double(7),
                           message.uint32(2))


def named(field, table, number):
    names = [name for name, value in table.items() if value == number]
    expect(names, f"expected one of {', '.join(map(str, table.values()))}, found {number}", field)
    return names[0]


def text(field, data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        expect(False, "expected UTF-8", field)
