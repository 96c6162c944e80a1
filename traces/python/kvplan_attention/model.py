"""What a recording says about itself, and the numbers that the format fixes."""

from dataclasses import dataclass

MAGIC = b"\x89KVA\r\n\x1a\n"
END_MAGIC = b"KVA-END\n"
MAX_CHUNK_BYTES = 16 << 20
FORMS = {"rows": 1, "top": 2, "tensors": 3}
ELEMENTS = {"f64": 1, "f32": 2, "f16": 3, "bf16": 4}
ELEMENT_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}
PARTS = {"rows": 1, "queries": 2, "keys": 3, "values": 4}
CODECS = {"stored": 0, "zstd": 1, "zlib": 2}


class FormatError(ValueError):
    """The file, or what was asked of it, does not fit the format; says what was found and expected."""


@dataclass
class Model:
    """Shape of the recorded model. Sizes of 0 mean: not stated (rows only)."""

    name: str = ""
    layers: int = 1
    query_heads: int = 1
    kv_heads: int = 1
    key_size: int = 0
    value_size: int = 0
    cache_element_bytes: int = 0


@dataclass
class Sequence:
    name: str = ""
    tokens: int = 0
    prompt_tokens: int = 0


def _within(what, value, low, high):
    if not isinstance(value, int) or not low <= value <= high:
        raise FormatError(f"{what}: expected {low} to {high}, found {value!r}")


def check_limits(model, sequences, form, element, has_values):
    """Raises FormatError for what version 1 does not allow."""
    if form not in FORMS:
        raise FormatError(f"form: expected one of {', '.join(FORMS)}, found {form!r}")
    legal = ("f32", "f16", "bf16") if form == "tensors" else ("f64", "f32", "f16")
    if element not in legal:
        raise FormatError(f"element: expected one of {', '.join(legal)}, found {element!r}")
    _within("layers", model.layers, 1, 4096)
    _within("query_heads", model.query_heads, 1, 1024)
    _within("kv_heads", model.kv_heads, 1, model.query_heads)
    if model.query_heads % model.kv_heads:
        raise FormatError(f"kv_heads: expected a divisor of {model.query_heads}, found {model.kv_heads}")
    _within("key_size", model.key_size, 1 if form == "tensors" else 0, 65536)
    _within("value_size", model.value_size, 1 if has_values else 0, 65536)
    _within("cache_element_bytes", model.cache_element_bytes, 0, 16)
    _within("sequences", len(sequences), 1, 1 << 20)
    for i, sequence in enumerate(sequences):
        _within(f"sequences[{i}].tokens", sequence.tokens, 1, 1 << 20)
        _within(f"sequences[{i}].prompt_tokens", sequence.prompt_tokens, 0, sequence.tokens)
