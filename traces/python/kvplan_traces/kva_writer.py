"""Writes .kva version 1, as simulator/io/ATTENTION_FORMAT.md describes it."""

import dataclasses
import os
import zlib

import numpy as np

from . import kva_format as kva
from . import storage, wire
from .errors import expect, located
from .kva_index import Version1

CHUNK_BYTES = 1 << 20


class AttentionWriter:
    """Use as a context manager: the file appears when the block ends without an exception. Raises FormatError.

    `codec` is "zlib", "zstd" or "stored". Heads may come in any order; tokens of one head may come in several calls.
    """

    def __init__(self, path, header, codec="zlib"):
        if header.form == "tensors" and not header.logit_scale:
            header = dataclasses.replace(header, logit_scale=kva.default_logit_scale(header.model))
        with located(os.fspath(path)):
            header.check()
            expect(codec in kva.CODECS, f"expected one of {', '.join(kva.CODECS)}, found {codec!r}", "codec")
            begin = kva.MAGIC + kva.header_frame(_header_bytes(header))
        self.header, self._codec, self._index = header, codec, []
        self._out = storage.OutputFile(path)
        self._out.write(begin)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                with located(self._out.path):
                    self._finish()
        finally:
            self._out.discard()

    def rows(self, sequence, layer, head, rows, first=0):
        """Dense rows first, first + 1, ...: any iterable; row t has t + 1 weights."""
        self._check("rows", "rows", sequence, layer, head)
        self._cut("rows", sequence, layer, head, first, (self._dense(t, row) for t, row in enumerate(rows, first)))

    def matrix(self, sequence, layer, head, matrix, first=0):
        """Rows first, first + 1, ... of an array; the part right of the diagonal is ignored."""
        self.rows(sequence, layer, head, (row[: t + 1] for t, row in enumerate(matrix, first)), first)

    def top(self, sequence, layer, head, rows, first=0):
        """Rows as (positions, weights, rest): ascending positions, their weights, the sum of all other weights."""
        self._check("top", "rows", sequence, layer, head)
        self._cut("rows", sequence, layer, head, first, (self._listed(t, row) for t, row in enumerate(rows, first)))

    def queries(self, sequence, layer, head, tokens, first=0):
        """An array [tokens, key_size] for a query head, from token `first` on."""
        self._tensor("queries", sequence, layer, head, tokens, first)

    def keys(self, sequence, layer, head, tokens, first=0):
        """An array [tokens, key_size] for a KV head."""
        self._tensor("keys", sequence, layer, head, tokens, first)

    def values(self, sequence, layer, head, tokens, first=0):
        """An array [tokens, value_size] for a KV head."""
        self._tensor("values", sequence, layer, head, tokens, first)

    def _check(self, form, part, sequence, layer, head):
        with located(self._out.path):
            expect(self.header.form == form, f"expected {self.header.form}, as the header says", "form")
            kva.check_place(self.header, part, sequence, layer, head)

    def _dense(self, t, row):
        raw = kva.to_bytes(self.header.element, row)
        expect(len(raw) == (t + 1) * kva.WIDTHS[self.header.element], f"expected {t + 1} weights", f"row {t}")
        weights = kva.from_bytes(self.header.element, raw)
        kva.check_rows(weights, np.array([0, len(weights)]), t)
        return raw

    def _listed(self, t, row):
        return kva.listed_row(self.header.element, t, row)

    def _tensor(self, part, sequence, layer, head, tokens, first):
        self._check("tensors", part, sequence, layer, head)
        size = self.header.model.value_size if part == "values" else self.header.model.key_size
        with located(self._out.path):
            array = kva.array_of(tokens, part)
            expect(array.ndim == 2 and array.shape[1] == size, f"expected an array [tokens, {size}]", part)
        self._cut(part, sequence, layer, head, first, (kva.to_bytes(self.header.element, token) for token in array))

    def _cut(self, part, sequence, layer, head, first, encoded):
        """Writes chunks of about a megabyte."""
        parts, size = [], 0
        with located(self._out.path):
            for raw in encoded:
                if parts and size + len(raw) > CHUNK_BYTES:
                    self._chunk(part, sequence, layer, head, first, parts)
                    first, parts, size = first + len(parts), [], 0
                parts.append(raw)
                size += len(raw)
            if parts:
                self._chunk(part, sequence, layer, head, first, parts)

    def _chunk(self, part, sequence, layer, head, first, parts):
        last = first + len(parts)
        tokens = self.header.sequences[sequence].tokens
        expect(0 <= first and last <= tokens, f"expected tokens below {tokens}, found {first} to {last - 1}", part)
        raw = b"".join(parts)
        data = {"stored": bytes, "zstd": storage.zstd_bytes, "zlib": zlib.compress}[self._codec](raw)
        place = (sequence, layer, head, kva.PARTS[part], first, len(parts))
        self._index.append((*place, self._out.tell()))
        fields = [wire.number(i + 1, value) for i, value in enumerate((*place, kva.CODECS[self._codec], len(raw)))]
        self._out.write(kva.frame(b"CHNK", b"".join(fields) + wire.blob(9, data)))

    def _finish(self):
        index = np.array(sorted(self._index, key=lambda entry: (*entry[:2], entry[3], entry[2], entry[4])), np.int64)
        index = index.reshape(-1, len(kva.INDEX_COLUMNS))
        streams = Version1(self.header, index.copy()).streams
        if self.header.form == "tensors":
            for sequence, layer in {place[:2] for place in streams}:
                for part, number in kva.PARTS.items():
                    for head in range(self.header.heads(part)):
                        entries = streams.get((sequence, layer, number, head), index[:0])
                        expect(entries[:, 5].sum() == self.header.sequences[sequence].tokens,
                               f"expected all tokens of head {head} of layer {layer} of sequence {sequence}", part)
        at = self._out.tell()
        columns = b"".join(wire.blob(i + 1, wire.packed(column)) for i, column in enumerate(index.T))
        self._out.write(kva.frame(b"INDX", columns) + kva.trailer(at))
        self._out.commit()


def _header_bytes(header):
    model = header.model
    sizes = (model.layers, model.query_heads, model.kv_heads, model.key_size, model.value_size,
             model.cache_element_bytes)
    shape = wire.blob(1, model.name) + b"".join(wire.number(i, value) for i, value in enumerate(sizes, 2))
    sequences = b"".join(
        wire.message(10, wire.blob(1, one.name) + wire.number(2, one.tokens) + wire.number(3, one.prompt_tokens))
        for one in header.sequences)
    return b"".join([
        wire.number(1, 1), wire.message(2, shape), wire.number(3, kva.FORMS[header.form]),
        wire.number(4, kva.ELEMENTS[header.element]), wire.double(5, header.logit_scale),
        wire.number(6, header.has_values),
        wire.blob(7, header.positions), wire.blob(8, header.source), wire.blob(9, header.recorded_by), sequences])
