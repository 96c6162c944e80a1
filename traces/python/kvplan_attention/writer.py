"""Writes .kva files, a chunk at a time."""

import os
import struct
import tempfile
import zlib

from . import frames, wire
from .model import CODECS, ELEMENT_BYTES, ELEMENTS, END_MAGIC, FORMS, MAGIC, PARTS, FormatError, check_limits

CHUNK_BYTES = 1 << 20


class Writer:
    """Use as a context manager: the file appears when the block ends without an exception.

    `form` is "rows", "top" or "tensors"; `element` one of f64, f32, f16 (rows) or f32, f16, bf16 (tensors).
    """

    def __init__(self, path, model, sequences, form="rows", element="f32", logit_scale=None, has_values=False,
                 positions="", source="", recorded_by=""):
        check_limits(model, sequences, form, element, has_values)
        self._model, self._sequences, self._form, self._element = model, list(sequences), form, element
        if form == "tensors" and logit_scale is None:
            logit_scale = model.key_size ** -0.5
        self._index = []
        self._path = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(self._path))
        self._file = tempfile.NamedTemporaryFile(dir=folder, prefix=".kva", delete=False)
        shape = b"".join([
            wire.blob(1, model.name), wire.number(2, model.layers), wire.number(3, model.query_heads),
            wire.number(4, model.kv_heads), wire.number(5, model.key_size), wire.number(6, model.value_size),
            wire.number(7, model.cache_element_bytes)])
        header = b"".join([
            wire.number(1, 1), wire.message(2, shape), wire.number(3, FORMS[form]), wire.number(4, ELEMENTS[element]),
            wire.double(5, logit_scale or 0.0), wire.number(6, has_values), wire.blob(7, positions),
            wire.blob(8, source), wire.blob(9, recorded_by)])
        for sequence in sequences:
            header += wire.message(10, wire.blob(1, sequence.name) + wire.number(2, sequence.tokens)
                                   + wire.number(3, sequence.prompt_tokens))
        self._file.write(MAGIC + frames.frame(b"HEAD", header))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.finish()
        else:
            self.discard()

    def rows(self, sequence, layer, head, rows, first=0):
        """Dense rows first, first + 1, ...: row t has t + 1 weights (or its bytes in the element's format)."""
        self._expect("rows")
        encoded = ((t, self._dense(t, row)) for t, row in enumerate(rows, first))
        self._chunks(sequence, layer, head, "rows", encoded)

    def top(self, sequence, layer, head, rows, first=0):
        """Rows as (positions, weights, rest): ascending positions, their weights, the mass of all others."""
        self._expect("top")
        encoded = ((t, self._listed(t, *row)) for t, row in enumerate(rows, first))
        self._chunks(sequence, layer, head, "rows", encoded)

    def queries(self, sequence, layer, head, tokens):
        """One sequence of `key_size` numbers (or bytes) per token, from token 0 on."""
        self._tensor(sequence, layer, head, "queries", tokens, self._model.key_size)

    def keys(self, sequence, layer, kv_head, tokens):
        self._tensor(sequence, layer, kv_head, "keys", tokens, self._model.key_size)

    def values(self, sequence, layer, kv_head, tokens):
        self._tensor(sequence, layer, kv_head, "values", tokens, self._model.value_size)

    def finish(self):
        """Writes the index and puts the file in its place."""
        try:
            # (sequence, layer, part, head, first, tokens, offset)
            self._index.sort()
            columns = list(zip(*self._index)) or [()] * 7
            order = [columns[0], columns[1], columns[3], columns[2], columns[4], columns[5], columns[6]]
            payload = b"".join(wire.packed(i + 1, column) for i, column in enumerate(order))
            at = self._file.tell()
            self._file.write(frames.frame(b"INDX", payload) + frames.trailer(at, END_MAGIC))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(self._file.name, 0o666 & ~mask)
            os.replace(self._file.name, self._path)
        except BaseException:
            self.discard()
            raise

    def discard(self):
        """Leaves nothing behind."""
        self._file.close()
        if os.path.exists(self._file.name):
            os.unlink(self._file.name)

    def _expect(self, form):
        if self._form != form:
            raise FormatError(f"this file holds {self._form}, not {form}")

    def _dense(self, t, row):
        raw = frames.pack(self._element, row)
        if len(raw) != (t + 1) * ELEMENT_BYTES[self._element]:
            raise FormatError(f"row {t}: expected {t + 1} weights")
        return raw

    def _listed(self, t, positions, weights, rest):
        positions, weights = list(positions), list(weights)
        ascending = all(a < b for a, b in zip([-1] + positions, positions + [t + 1]))
        if len(positions) != len(weights) or not ascending:
            raise FormatError(f"row {t}: expected ascending positions up to {t} and a weight for each")
        return (struct.pack("<I", len(positions)) + frames.pack(self._element, [rest])
                + struct.pack(f"<{len(positions)}I", *positions) + frames.pack(self._element, weights))

    def _tensor(self, sequence, layer, head, part, tokens, size):
        self._expect("tensors")
        width = size * ELEMENT_BYTES[self._element]

        def encoded():
            for t, token in enumerate(tokens):
                raw = frames.pack(self._element, token)
                if len(raw) != width:
                    raise FormatError(f"{part} of token {t}: expected {size} numbers")
                yield t, raw

        self._chunks(sequence, layer, head, part, encoded())

    def _chunks(self, sequence, layer, head, part, encoded):
        begin, count, parts, size = None, 0, [], 0
        for t, raw in encoded:
            if count and size + len(raw) > CHUNK_BYTES:
                self._chunk(sequence, layer, head, part, begin, count, b"".join(parts))
                begin, count, parts, size = None, 0, [], 0
            begin = t if begin is None else begin
            count += 1
            parts.append(raw)
            size += len(raw)
        if count:
            self._chunk(sequence, layer, head, part, begin, count, b"".join(parts))

    def _chunk(self, sequence, layer, head, part, first, count, raw):
        heads = self._model.query_heads if part in ("rows", "queries") else self._model.kv_heads
        for what, value, limit in (("sequence", sequence, len(self._sequences)), ("layer", layer, self._model.layers),
                                   ("head", head, heads)):
            if not 0 <= value < limit:
                raise FormatError(f"{what}: expected less than {limit}, found {value}")
        if first < 0 or first + count > self._sequences[sequence].tokens:
            raise FormatError(f"tokens {first} to {first + count - 1} are not all in the sequence")
        payload = b"".join([
            wire.number(1, sequence), wire.number(2, layer), wire.number(3, head), wire.number(4, PARTS[part]),
            wire.number(5, first), wire.number(6, count), wire.number(7, CODECS["zlib"]), wire.number(8, len(raw)),
            wire.blob(9, zlib.compress(raw, 6))])
        self._index.append((sequence, layer, PARTS[part], head, first, count, self._file.tell()))
        self._file.write(frames.frame(b"CHNK", payload))
