"""Reads .kva, versions 1 and 2, as simulator/io/ATTENTION_FORMAT.md describes them."""

import os
import struct
import zlib

import numpy as np

from . import kva2_format as kva2
from . import kva_format as kva
from . import storage, wire
from .errors import FormatError, expect, located
from .framed import FramedFile
from .kva_index import Version1, Version2, message_of, recovered, sequence_of

# The number of rows that are computed from tensors at a time.
_BLOCK = 64
_BLOCK_WEIGHTS = 1 << 22


class AttentionReader(FramedFile):
    """A recording of attention: `header` (an AttentionHeader, or for version 2 a RecordingHeader), `sequences`, and the
    data of any (sequence, layer, head). One chunk is in memory at a time.

    Opening reads the header and the index. Data are checked when they are read; `check` reads all of them. A truncated
    file of version 2 is read up to its first incomplete frame: `cut_at` is that byte, or None if the file is complete.
    Raises FormatError.
    """

    def recorded(self):
        """The (sequence, layer) pairs for which something is recorded, ascending."""
        return sorted(self._contents.layers)

    def tokens(self, sequence=0, layer=None):
        """How many tokens of a sequence are recorded. For an incomplete sequence: the tokens for which everything is
        recorded, in the layer or else in all layers of the sequence."""
        with located(self.path):
            kva.check_below("sequence", sequence, len(self.sequences))
            return self._contents.tokens(sequence, layer)

    def layer(self, number=0):
        """The known facts of a layer: its shape, logit_scale, window, soft_cap, sink_logits, ... (ResolvedLayer)."""
        with located(self.path):
            found = self._contents.layer(number)
            expect(found is not None, f"layer {number} was not recorded")
            return found

    def rows(self, sequence=0, layer=0, head=0, first=0, last=None):
        """Yields (t, weights) of every recorded row in [first, last): t + 1 weights as float64. The rest of a top row
        is spread evenly over its other tokens. If a layer has no rows, they are computed from its tensors."""
        facts = self.layer(layer)
        tokens = self.tokens(sequence, layer)
        last = tokens if last is None else min(last, tokens)
        kind = next((part for part in kva2.ROWS if part in facts.parts), None)
        if kind is None and "queries" in facts.parts:
            yield from self._computed(facts, sequence, layer, head, first, last)
            return
        for begin, count, at, raw in self._chunks(kind or "rows", sequence, layer, head, first, last):
            with located(self.path, at):
                for t, weights in (self._dense if kind == "rows" else self._spread)(facts, begin, count, raw):
                    if first <= t < last:
                        yield t, weights

    def matrix(self, sequence=0, layer=0, head=0):
        """All rows as one array [tokens, tokens]: 0 right of the diagonal, NaN where a row was not recorded."""
        tokens = self.tokens(sequence, layer)
        out = np.full((tokens, tokens), np.nan)
        for t, weights in self.rows(sequence, layer, head):
            out[t, : t + 1] = weights
            out[t, t + 1 :] = 0
        return out

    def queries(self, sequence=0, layer=0, head=0):
        """float32 [tokens, key_size], for a query head."""
        return self._tensor("queries", sequence, layer, head)

    def keys(self, sequence=0, layer=0, head=0):
        """float32 [tokens, key_size], for a KV head."""
        return self._tensor("keys", sequence, layer, head)

    def values(self, sequence=0, layer=0, head=0):
        """float32 [tokens, value_size], for a KV head."""
        return self._tensor("values", sequence, layer, head)

    def value_norms(self, sequence=0, layer=0, head=0):
        """float32 [tokens], for a KV head: as recorded, else computed from its values."""
        if "value_norms" not in self.layer(layer).parts:
            return np.linalg.norm(self.values(sequence, layer, head), axis=1)
        return self._tensor("value_norms", sequence, layer, head)[:, 0]

    def layer_inputs(self, sequence=0, layer=0):
        """float32 [tokens, hidden_size]."""
        return self._tensor("layer_inputs", sequence, layer, 0)

    def output_weights(self, layer=0, head=0):
        """float32 [value_size, hidden_size], for a query head."""
        return self._tensor("output_weights", 0, layer, head)

    def token_classes(self, sequence=0):
        """[tokens], each an index into header.token_classes."""
        return self._tensor("token_classes", sequence, 0, 0)[:, 0]

    def positions(self, sequence=0):
        """[tokens]: 0, 1, ... if the file has no positions."""
        if "positions" not in self._contents.of_sequences:
            return np.arange(self.tokens(sequence))
        return self._tensor("positions", sequence, 0, 0)[:, 0]

    def check(self):
        """Reads every chunk (in complete files of version 2 every frame); checks that complete sequences are whole."""
        if self._contents.one_behind_the_other and self.cut_at is None:
            self._check_frames()
        for part, sequence, layer, head in self._contents.wanted():
            if part not in kva2.ROWS:
                self._tensor(part, sequence, layer, head)
            elif (sequence, layer, kva2.PARTS[part], head) in self._contents.streams:
                for _ in self.rows(sequence, layer, head):
                    pass

    def _open(self):
        tail, end = self._ends(".kva", kva.MAGIC, kva.FRAME_BYTES, kva.TRAILER_BYTES)
        whole = tail[12:] == kva.END_MAGIC
        self._end = end if whole else end + kva.TRAILER_BYTES
        self.cut_at = None
        with located(self.path, 8, "HEAD"):
            payload, self._first = self._frame(b"HEAD", 8, self._end, kva.MOST_HEADER_BYTES)
            message = wire.Message(payload)
            version = message.uint32(1)
            expect(version in (1, kva2.VERSION), f"expected 1 or {kva2.VERSION}, found {version}", "version")
            self.header = (header_of_version_1 if version == 1 else kva2.decode)(message)
        if whole:
            with located(self.path, end):
                offset, checksum = struct.unpack("<QI", tail[:12])
                expect(zlib.crc32(tail[:8]) == checksum, "expected another checksum: damaged")
                expect(offset < end, "expected the index inside the file")
            with located(self.path, offset, "INDX"):
                payload, self._behind = self._frame(b"INDX", offset, end, kva.MOST_INDEX_BYTES)
                index = wire.Message(payload)
                self._contents = (Version1 if version == 1 else Version2)(self.header, index)
            self._end = offset
        else:
            with located(self.path, self._end - kva.TRAILER_BYTES):
                expect(version > 1, "expected a trailer: truncated")
            self._contents, self.cut_at = recovered(self.header, self._whole_frames(self._first))
            self._end = self.cut_at
        self.sequences = self._contents.sequences

    def _check_frames(self):
        """Checks that valid frames follow each other without a gap from the header to the trailer, and that the index
        agrees with the last frame of each sequence."""
        at, last = self._first, {}
        while at < self._end:
            self._file.seek(at)
            kind = self._file.read(4)
            with located(self.path, at):
                payload, after = self._frame(kind, at, self._end, kva.MOST_INDEX_BYTES)
                if kind == b"SEQN":
                    number, one = sequence_of(payload)
                    last[number] = at, one
            at = after
        size = self._file.seek(0, os.SEEK_END)
        with located(self.path, self._behind):
            expect(self._behind == size - kva.TRAILER_BYTES, "expected the trailer behind the index")
        for number, one in enumerate(self.sequences):
            at, said = last.pop(number, (self._end, None))
            with located(self.path, at):
                expect(said == one, "expected the sequence as the index has it" if said else
                       "expected a frame SEQN of every sequence of the index", f"sequence {number}")
        for number, (at, _) in last.items():
            with located(self.path, at):
                expect(False, "expected a sequence that the index has", f"sequence {number}")

    def _whole_frames(self, at):
        """(kind, payload, offset) of each frame from `at` on, up to the first invalid one; then (None, b"", offset)."""
        while True:
            self._file.seek(at)
            kind = self._file.read(4)
            try:
                payload, after = self._frame(kind, at, self._end, kva.MOST_INDEX_BYTES)
            except FormatError:
                yield None, b"", at
                return
            yield kind, payload, at
            at = after

    def _frame(self, kind, offset, end, most):
        """(the payload of the frame at `offset`, where the frame ends). Its end must be at or before `end`."""
        expect(offset + kva.FRAME_BYTES <= end, "expected a frame, the file is too short")
        self._file.seek(offset)
        head = self._file.read(kva.FRAME_BYTES)
        expect(head[:4] == kind, f"expected a frame {kind.decode('ascii', 'replace')}")
        checksum, length = struct.unpack("<IQ", head[4:])
        room = end - offset - kva.FRAME_BYTES
        expect(length <= room, f"the frame claims {length} bytes, {room} are left: truncated")
        expect(length <= most, f"the frame claims {length} bytes, at most {most} are allowed")
        payload = self._file.read(length)
        expect(zlib.crc32(payload, zlib.crc32(kind + head[8:])) == checksum, "expected another checksum: damaged")
        return payload, offset + kva.FRAME_BYTES + length

    def _chunks(self, part, sequence, layer, head, first=0, last=1 << 62):
        """(first token, tokens, offset, raw bytes) of each chunk with a token in [first, last)."""
        with located(self.path):
            self._contents.check_place(part, sequence, layer, head)
        for entry in self._contents.streams.get((sequence, layer, kva2.PARTS[part], head), ()):
            *_, begin, count, at = entry.tolist()
            if begin < last and begin + count > first:
                with located(self.path, at):
                    yield begin, count, at, self._chunk(entry.tolist(), part)

    def _chunk(self, entry, part):
        *place, _, begin, count, at = entry
        message = message_of(b"CHNK", self._frame(b"CHNK", at, self._end, 2 * kva.MOST_CHUNK_BYTES)[0])
        expect([message.uint32(field) for field in range(1, 7)]
               == [*place, self._contents.number(part), begin, count], "expected the chunk that the index names")
        raw_bytes = message.uint64(8)
        expect(raw_bytes <= kva.MOST_CHUNK_BYTES, f"expected at most {kva.MOST_CHUNK_BYTES}, found {raw_bytes}",
               "raw_bytes")
        name = kva2.named("codec", self._contents.codecs, message.uint32(7))
        data = message.blob(9)
        if name == "stored":
            expect(len(data) == raw_bytes, f"expected {raw_bytes} bytes of data, found {len(data)}")
            return data
        raw = (storage.from_zstd if name.endswith("zstd") else storage.from_zlib)(data, raw_bytes)
        return kva2.from_planes(raw, self._width(part)) if name.startswith("planes") else raw

    def _element(self, part):
        return self._contents.elements[part]

    def _width(self, part):
        return kva.WIDTHS[self._element(part)]

    def _dense(self, facts, begin, count, raw):
        starts = kva.row_starts(begin, count)
        expect(len(raw) == starts[-1] * self._width("rows"), f"expected the bytes of {count} rows")
        weights = kva.from_bytes(self._element("rows"), raw)
        kva.check_rows(weights, starts, begin, bool(facts.sink_logits))
        weights = weights.astype(np.float64)
        for i in range(count):
            row = weights[starts[i] : starts[i + 1]]
            unseen = row[: _first_seen(facts, begin + i)]
            expect(not np.any(unseen), "expected 0 outside the window", f"row {begin + i}")
            yield begin + i, row

    def _spread(self, facts, begin, count, raw):
        """Yields one row at a time, since few bytes can stand for long rows."""
        at = 0
        for t in range(begin, begin + count):
            weights = np.zeros(t + 1)
            at = self._listed(raw, at, t, weights, facts)
            yield t, weights
        expect(at == len(raw), "expected nothing behind the last row")

    def _listed(self, raw, at, t, out, facts):
        """Reads the top entries of row t into `out` and spreads the rest over the others; where the next row begins."""
        width, field, seen = self._width("top_rows"), f"row {t}", _first_seen(facts, t)
        expect(len(raw) - at >= 4 + width, "expected a row: the chunk ends inside it", field)
        (count,) = struct.unpack_from("<I", raw, at)
        end = at + 4 + width + count * (4 + width)
        expect(count <= t + 1 - seen and end <= len(raw), f"expected fewer entries, found {count}", field)
        positions = np.frombuffer(raw, "<u4", count, at + 4 + width).astype(np.int64)
        numbers = raw[at + 4 : at + 4 + width] + raw[at + 4 + width + 4 * count : end]
        listed = kva.from_bytes(self._element("top_rows"), numbers)
        expect(np.all(np.diff(positions, prepend=seen - 1, append=t + 1) > 0),
               "expected ascending positions up to the row", field)
        kva.check_rows(listed, np.array([0, len(listed)]), t, bool(facts.sink_logits))
        others = t + 1 - seen - count
        expect(others or listed[0] == 0, "expected no rest where every entry is listed", field)
        out[seen:] = float(listed[0]) / others if others else 0.0
        out[positions] = listed[1:]
        return end

    def _tensor(self, part, sequence, layer, head):
        facts = None if part in kva2.OF_SEQUENCE else self.layer(layer)
        size = facts.size(part) if facts else 1
        pieces = [np.empty((0, size), np.int64 if part in kva2.OF_SEQUENCE else np.float32)]
        for _, count, at, raw in self._chunks(part, sequence, layer, head):
            with located(self.path, at):
                expect(len(raw) == count * size * self._width(part), f"expected {count} tokens", part)
                numbers = kva.from_bytes(self._element(part), raw)
                expect(np.all(np.isfinite(numbers)), "expected finite numbers", part)
                expect(part != "value_norms" or np.all(numbers >= 0), "expected lengths from 0 on", part)
                if part in kva2.OF_SEQUENCE:
                    most, found = self.header.most(part), numbers.max(initial=0)
                    expect(found <= most, f"expected 0 to {most}, found {found}", part)
                pieces.append(numbers.reshape(count, size))
        out = np.concatenate(pieces)
        # Chunks do not overlap, so if the number of tokens is right, none is missing.
        with located(self.path):
            tokens = self._contents.length(part, sequence, layer)
            complete = self.sequences[sequence].complete or part == "output_weights"
            expect(len(out) == tokens if complete else len(out) >= tokens,
                   f"expected all {tokens} tokens of head {head}, found {len(out)}", part)
        return out[:tokens]

    def _computed(self, facts, sequence, layer, head, first, last):
        queries = self.queries(sequence, layer, head).astype(np.float64)
        keys = self.keys(sequence, layer, head // facts.group).astype(np.float64)
        at = self.positions(sequence)[: len(keys)].astype(np.float64) if facts.bias_slopes else None
        block = max(1, min(_BLOCK, _BLOCK_WEIGHTS // max(len(keys), 1)))
        for begin in range(first, last, block):
            end = min(begin + block, last)
            yield from enumerate_rows(facts, head, queries, keys, at, begin, end)


def enumerate_rows(facts, head, queries, keys, at, begin, end):
    """(t, weights) of rows begin .. end-1, computed as the format's page says; `at`: positions, for biases."""
    logits = facts.logit_scale * (queries[begin:end] @ keys[:end].T)
    if facts.soft_cap:
        logits = facts.soft_cap * np.tanh(logits / facts.soft_cap)
    if facts.bias_slopes:
        logits += facts.bias_slopes[head] * (at[None, :end] - at[begin:end, None])
    t, i = np.arange(begin, end)[:, None], np.arange(end)
    logits[(i > t) | (facts.window > 0) & (i <= t - facts.window)] = -np.inf
    sink = facts.sink_logits[head] if facts.sink_logits else -np.inf
    most = np.maximum(logits.max(axis=1, keepdims=True), sink)
    weights = np.exp(logits - most)
    weights /= weights.sum(axis=1, keepdims=True) + np.exp(sink - most)
    for row, one in zip(range(begin, end), weights):
        yield row, one[: row + 1]


def _first_seen(facts, t):
    return max(0, t + 1 - facts.window) if facts.window else 0


def header_of_version_1(message):
    listed = message.blobs(10)
    expect(len(listed) <= kva.MOST_SEQUENCES, f"expected at most {kva.MOST_SEQUENCES}", "sequences")
    sequences = [kva.AttentionSequence(kva2.text("sequences.name", one.blob(1)), one.uint32(2), one.uint32(3))
                 for one in map(wire.Message, listed)]
    model = kva2.model_of(message)
    model.hidden_size = 0
    header = kva.AttentionHeader(
        model=model, sequences=sequences, form=kva2.named("form", kva.FORMS, message.uint32(3)),
        element=kva2.named("element", kva.ELEMENTS, message.uint32(4)), logit_scale=message.double(5),
        has_values=message.boolean(6), positions=kva2.text("positions", message.blob(7)),
        source=kva2.text("source", message.blob(8)), recorded_by=kva2.text("recorded_by", message.blob(9)))
    header.has_values &= header.form == "tensors"
    header.check()
    return header
