"""Side files (simulator/io/SIDE_FORMAT.md): facts of a model's weights or calibration for kvplan's formats."""

import json
import pathlib
import struct

import numpy as np

from . import storage
from .errors import FormatError, expect, located
from .kva import AttentionReader
from .kva2_format import RecordingHeader

FORMAT = "kvplan side 1"
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_MOST_HEADER = 16 << 20
_ROUNDS = 50


def read_safetensors(path):
    """(metadata, {name: a function that reads the tensor}) of a safetensors file."""
    with located(path), open(path, "rb") as file:
        begin = file.read(8)
        expect(len(begin) == 8, "expected the length of a header")
        (length,) = struct.unpack("<Q", begin)
        expect(length <= _MOST_HEADER, f"expected a header of at most {_MOST_HEADER} bytes, found {length}")
        try:
            header = json.loads(file.read(length))
        except ValueError:
            raise FormatError("expected a header of JSON", byte=8) from None
        expect(isinstance(header, dict), "expected an object", "header")
    metadata = header.pop("__metadata__", {})

    def reader(name, said):
        def read():
            with located(path, field=name), open(path, "rb") as file:
                expect(said.get("dtype") in _DTYPES, f"expected one of {', '.join(_DTYPES)}, found {said.get('dtype')}")
                begin, end = said["data_offsets"]
                file.seek(8 + length + begin)
                numbers = np.frombuffer(file.read(end - begin), _DTYPES[said["dtype"]])
                expect(numbers.size == np.prod(said["shape"]), "expected as many numbers as the shape says")
                if said["dtype"] == "BF16":
                    numbers = (numbers.astype("<u4") << 16).view("<f4")
                return numbers.reshape(said["shape"])
        return read

    return metadata, {name: reader(name, said) for name, said in header.items()}


def write_side(path, tensors, source, model_digest=""):
    """Writes a side file: `tensors` by the names of SIDE_FORMAT.md, as float32. It appears whole or not at all."""
    header = {"__metadata__": {"format": FORMAT, "source": source, "model_digest": model_digest}}
    at, data = 0, []
    for name, numbers in tensors.items():
        raw = np.ascontiguousarray(numbers, "<f4")
        expect(np.all(np.isfinite(raw)), "expected finite numbers", name)
        header[name] = {"dtype": "F32", "shape": list(raw.shape), "data_offsets": [at, at + raw.nbytes]}
        data.append(raw.tobytes())
        at += raw.nbytes
    said = json.dumps(header, separators=(",", ":")).encode()
    out = storage.OutputFile(path)
    try:
        for part in (struct.pack("<Q", len(said)), said, *data):
            out.write(part)
        out.commit()
    except BaseException:
        out.discard()
        raise


def _span(matrix, rank, name):
    """The `rank` orthonormal vectors that span most of the rows of a matrix, as rows."""
    expect(1 <= rank <= matrix.shape[1], f"expected a rank from 1 to {matrix.shape[1]}, found {rank}", name)
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    return vectors[:, np.argsort(values)[::-1][:rank]].T


def _grouped(matrix, heads, group, rank, name):
    """[group, vector, channel]: bases for a matrix; its columns are the channels of `heads` heads."""
    expect(matrix.ndim == 2 and matrix.shape[1] % heads == 0, f"expected channels of {heads} heads", name)
    group = min(group, heads) if group else heads
    expect(heads % group == 0, f"expected a divisor of {heads} heads, found {group}", "group")
    return np.stack([_span(part, rank, name) for part in np.split(matrix.astype(float), heads // group, axis=1)])


def bases_of_weight(weight, heads, group, rank, moment=None):
    """Bases for `palu` and `lorc` from a projection's weight, as Hugging Face stores it: [heads * size, hidden_size].
    `group` heads share a basis, 0: all. `moment`: second moment of the inputs, [hidden_size, hidden_size], by which the
    weight is whitened."""
    weight = np.asarray(weight, float)
    if moment is not None:
        weight = weight @ np.linalg.cholesky(moment)
    return _grouped(weight.T, heads, group, rank, "weight")


def unrotated(keys, positions, rotary):
    """Keys [tokens, size] before position encoding; `rotary` None: they were not rotated."""
    keys = np.array(keys, float)
    if rotary is None or not rotary.dims:
        return keys
    pair = np.arange(rotary.dims // 2)
    frequency = (np.array(rotary.inverse_frequencies) if len(rotary.inverse_frequencies)
                 else rotary.base ** (-2.0 * pair / rotary.dims) / (rotary.linear_factor or 1.0))
    halves = rotary.layout == "halves"
    low = rotary.first + (pair if halves else 2 * pair)
    high = low + (rotary.dims // 2 if halves else 1)
    angle = np.asarray(positions, float)[:, None] * frequency
    a, b = keys[:, low] / (rotary.amplitude or 1.0), keys[:, high] / (rotary.amplitude or 1.0)
    keys[:, low] = a * np.cos(angle) + b * np.sin(angle)
    keys[:, high] = b * np.cos(angle) - a * np.sin(angle)
    return keys


def _recorded(recording, layer, part):
    """([tokens, heads * size] over all sequences, heads); keys are as they were before position encoding."""
    facts = recording.layer(layer)
    with located(recording.path, field=f"layer {layer}"):
        expect(part in facts.parts, f"expected recorded {part}")
    with located(recording.path):
        expect(isinstance(recording.header, RecordingHeader),
               "expected a recording of version 2, which says how keys were rotated")
    out = []
    for sequence, recorded_layer in recording.recorded():
        if recorded_layer != layer:
            continue
        positions = recording.positions(sequence)[: recording.tokens(sequence, layer)]
        heads = []
        for head in facts.recorded_kv_heads:
            rows = getattr(recording, part)(sequence, layer, head)
            heads.append(unrotated(rows, positions, facts.rotary) if part == "keys" else rows.astype(float))
        out.append(np.concatenate(heads, axis=1))
    return np.concatenate(out), len(facts.recorded_kv_heads)


def _layers(recording):
    return sorted({layer for _, layer in recording.recorded()})


def bases_of_recording(path, rank, rank_v, group):
    """({name: tensor}, model digest): bases for all layers of a recording, which hold most of its keys and values. A
    weight that is whitened by the second moment of the same tokens gives the same bases."""
    with AttentionReader(path) as recording:
        out = {}
        for layer in _layers(recording):
            for part, of in (("keys", rank), ("values", rank_v)):
                rows, heads = _recorded(recording, layer, part)
                out[f"layers.{layer}.{part}.basis"] = _grouped(rows, heads, group, of, part)
        return out, recording.header.model_digest


def bases_of_model(folder, rank, rank_v, group):
    """{name: tensor}: bases from the weights in the safetensors files of a Hugging Face model's folder."""
    folder = pathlib.Path(folder)
    config = storage.read_json(folder / "config.json")
    with located(folder / "config.json"):
        heads = config.get("num_key_value_heads", config.get("num_attention_heads"))
        expect(isinstance(heads, int) and heads > 0, "expected a number of heads", "num_key_value_heads")
    weights = {}
    for path in sorted(folder.glob("*.safetensors")):
        weights.update(read_safetensors(path)[1])
    out, layer = {}, 0
    while f"model.layers.{layer}.self_attn.k_proj.weight" in weights:
        for part, letter, of in (("keys", "k", rank), ("values", "v", rank_v)):
            name = f"model.layers.{layer}.self_attn.{letter}_proj.weight"
            with located(folder, field=name):
                expect(name in weights, "is missing")
                out[f"layers.{layer}.{part}.basis"] = bases_of_weight(weights[name](), heads, group, of)
        layer += 1
    with located(folder):
        expect(out, "expected weights named model.layers.0.self_attn.k_proj.weight, ... in *.safetensors")
    return out


def table_of(numbers, bits):
    """2^bits ascending numbers that stand for numbers from -1 to 1: Lloyd's algorithm, begun with even steps."""
    table = np.linspace(-1, 1, 1 << bits)
    for _ in range(_ROUNDS):
        place = np.searchsorted((table[1:] + table[:-1]) / 2, numbers)
        count = np.bincount(place, minlength=table.size)
        sums = np.bincount(place, numbers, table.size)
        moved = np.where(count > 0, sums / np.maximum(count, 1), table)
        if np.array_equal(moved, table):
            break
        table = moved
    return table


def _between(rows, outliers):
    """(low, high) of each column once its extreme numbers are left out, half of the share `outliers` at either end."""
    ordered = np.sort(rows, axis=0)
    beyond = int(outliers / 2 * len(rows))
    return ordered[beyond], ordered[len(rows) - 1 - beyond]


def _relative(rows, low, high):
    """The numbers that lie between the thresholds, scaled so that the thresholds become -1 and 1."""
    half = np.where(high > low, (high - low) / 2, 1)
    inside = (rows >= low) & (rows <= high)
    return ((rows - (high + low) / 2) / half)[inside]


def tables_of_recording(path, bits, outliers):
    """Like bases_of_recording, for `kvquant`: thresholds of the key channels, and tables, from all tokens of a
    recording. The paper weights numbers by Fisher information, which a recording does not hold: here all weigh the
    same."""
    expect(2 <= bits <= 8, f"expected 2 to 8, found {bits}", "BITS")
    expect(0 <= outliers <= 0.5, f"expected 0 to 0.5, found {outliers}", "OUTLIERS")
    with AttentionReader(path) as recording:
        out = {}
        for layer in _layers(recording):
            keys, heads = _recorded(recording, layer, "keys")
            low, high = _between(keys, outliers)
            values, value_heads = _recorded(recording, layer, "values")
            tokens = values.reshape(-1, values.shape[1] // value_heads).T  # each token has thresholds of its own
            name = f"layers.{layer}"
            out.update({f"{name}.keys.low": low.reshape(heads, -1), f"{name}.keys.high": high.reshape(heads, -1),
                        f"{name}.keys.table": table_of(_relative(keys, low, high), bits),
                        f"{name}.values.table": table_of(_relative(tokens, *_between(tokens, outliers)), bits)})
        return out, recording.header.model_digest
