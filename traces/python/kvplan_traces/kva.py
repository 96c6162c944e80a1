"""Reads .kva, after simulator/io/ATTENTION_FORMAT.md."""

import struct
import zlib

import numpy as np

from . import kva_format as kva
from . import storage, wire
from .errors import expect, located
from .framed import FramedFile

# Rows computed together from tensors.
_BLOCK = 64
_BLOCK_WEIGHTS = 1 << 22


class AttentionReader(FramedFile):
    """A recording of attention: `header`, and any (sequence, layer, head) by itself; a chunk is in memory at a time.

    Opening reads the header and the index; what is asked for is checked when it is read, `check` reads all of it.
    Raises FormatError.
    """

    def recorded(self):
        """(sequence, layer) pairs of which there is something, ascending."""
        return sorted(self._layers)

    def rows(self, sequence=0, layer=0, head=0, first=0, last=None):
        """Yields (t, weights) of every recorded row in [first, last): t + 1 weights as float64. Of a file of top
        entries what is not listed gets its even share; of tensors rows are computed."""
        last = self._tokens(sequence) if last is None else last
        if self.header.form == "tensors":
            yield from self._computed(sequence, layer, head, first, last)
            return
        for begin, count, at, raw in self._chunks("rows", sequence, layer, head, first, last):
            with located(self.path, at):
                for t, weights in (self._dense if self.header.form == "rows" else self._spread)(begin, count, raw):
                    if first <= t < last:
                        yield t, weights

    def matrix(self, sequence=0, layer=0, head=0):
        """All rows as one array [tokens, tokens]: 0 right of the diagonal, NaN where a row was not recorded."""
        tokens = self._tokens(sequence)
        out = np.full((tokens, tokens), np.nan)
        for t, weights in self.rows(sequence, layer, head):
            out[t, : t + 1] = weights
            out[t, t + 1 :] = 0
        return out

    def queries(self, sequence=0, layer=0, head=0):
        """float32 [tokens, key_size], of a query head."""
        return self._tensor("queries", sequence, layer, head)

    def keys(self, sequence=0, layer=0, head=0):
        """float32 [tokens, key_size], of a KV head."""
        return self._tensor("keys", sequence, layer, head)

    def values(self, sequence=0, layer=0, head=0):
        """float32 [tokens, value_size], of a KV head."""
        return self._tensor("values", sequence, layer, head)

    def check(self):
        """Reads every chunk, and of tensors sees that each layer is whole."""
        for sequence, layer in self.recorded():
            for part in kva.PARTS:
                for head in range(self.header.heads(part)):
                    if part != "rows":
                        self._tensor(part, sequence, layer, head)
                    elif (sequence, layer, kva.PARTS[part], head) in self._streams:
                        for _ in self.rows(sequence, layer, head):
                            pass

    def _tokens(self, sequence):
        with located(self.path):
            kva.check_below("sequence", sequence, len(self.header.sequences))
            return self.header.sequences[sequence].tokens

    def _open(self):
        tail, end = self._ends(".kva", kva.MAGIC, kva.FRAME_BYTES, kva.TRAILER_BYTES)
        expect(tail[12:] == kva.END_MAGIC, "expected a trailer: truncated")
        with located(self.path, end):
            offset, checksum = struct.unpack("<QI", tail[:12])
            expect(zlib.crc32(tail[:8]) == checksum, "expected another checksum: damaged")
            expect(offset < end, "expected the index inside the file")
        self._end = offset
        with located(self.path, 8):
            self._read_header(wire.Message(self._frame(b"HEAD", 8, offset, kva.MOST_HEADER_BYTES)))
        with located(self.path, offset):
            self._read_index(wire.Message(self._frame(b"INDX", offset, end, kva.MOST_INDEX_BYTES)))

    def _frame(self, kind, offset, end, most):
        """The payload of the frame at `offset`, which must end at or before `end`."""
        expect(offset + kva.FRAME_BYTES <= end, "expected a frame, the file is too short")
        self._file.seek(offset)
        head = self._file.read(kva.FRAME_BYTES)
        expect(head[:4] == kind, f"expected a frame {kind.decode()}")
        checksum, length = struct.unpack("<IQ", head[4:])
        room = end - offset - kva.FRAME_BYTES
        expect(length <= room, f"the frame claims {length} bytes, {room} are left: truncated")
        expect(length <= most, f"the frame claims {length} bytes, at most {most} are allowed")
        payload = self._file.read(length)
        expect(zlib.crc32(payload, zlib.crc32(kind + head[8:])) == checksum, "expected another checksum: damaged")
        return payload

    def _read_header(self, message):
        version = message.uint32(1)
        expect(version == kva.VERSION, f"expected {kva.VERSION}, found {version}", "version")
        model = wire.Message(b"".join(message.blobs(2)))
        shape = kva.AttentionModel(_text("model.name", model.blob(1)), *map(model.uint32, range(2, 8)))
        listed = message.blobs(10)
        expect(len(listed) <= kva.MOST_SEQUENCES, f"expected at most {kva.MOST_SEQUENCES}", "sequences")
        sequences = [kva.AttentionSequence(_text("sequences.name", one.blob(1)), one.uint32(2), one.uint32(3))
                     for one in map(wire.Message, listed)]
        self.header = kva.AttentionHeader(
            model=shape, sequences=sequences, form=_name("form", kva.FORMS, message.uint32(3)),
            element=_name("element", kva.ELEMENTS, message.uint32(4)), logit_scale=message.double(5),
            has_values=message.boolean(6), positions=_text("positions", message.blob(7)),
            source=_text("source", message.blob(8)), recorded_by=_text("recorded_by", message.blob(9)))
        self.header.has_values &= self.header.form == "tensors"
        self.header.check()

    def _read_index(self, message):
        columns = [message.column(number + 1, "uint64" if name == "offset" else "uint32")
                   for number, name in enumerate(kva.INDEX_COLUMNS)]
        expect(len({len(column) for column in columns}) == 1, "expected columns of one length", "index")
        self._streams = streams_of(self.header, np.stack(columns, axis=1))
        self._layers = {place[:2] for place in self._streams}

    def _chunks(self, part, sequence, layer, head, first=0, last=1 << 62):
        """(first token, tokens, offset, raw bytes) of each chunk with a token in [first, last)."""
        with located(self.path):
            kva.check_place(self.header, part, sequence, layer, head)
            expect((sequence, layer) in self._layers, f"layer {layer} of sequence {sequence} was not recorded")
        for entry in self._streams.get((sequence, layer, kva.PARTS[part], head), ()):
            *place, begin, count, at = entry.tolist()
            if begin < last and begin + count > first:
                with located(self.path, at):
                    yield begin, count, at, self._chunk(place, begin, count, at)

    def _chunk(self, place, begin, count, at):
        message = wire.Message(self._frame(b"CHNK", at, self._end, 2 * kva.MOST_CHUNK_BYTES))
        expect([message.uint32(number) for number in range(1, 7)] == [*place, begin, count],
               "expected the chunk that the index names")
        codec, raw_bytes = message.uint32(7), message.uint64(8)
        expect(raw_bytes <= kva.MOST_CHUNK_BYTES, f"expected at most {kva.MOST_CHUNK_BYTES}, found {raw_bytes}",
               "raw_bytes")
        name = _name("codec", kva.CODECS, codec)
        data = message.blob(9)
        if name != "stored":
            return (storage.from_zstd if name == "zstd" else storage.from_zlib)(data, raw_bytes)
        expect(len(data) == raw_bytes, f"expected {raw_bytes} bytes of data, found {len(data)}")
        return data

    def _dense(self, begin, count, raw):
        starts = kva.row_starts(begin, count)
        expect(len(raw) == starts[-1] * kva.WIDTHS[self.header.element], f"expected the bytes of {count} rows")
        weights = kva.from_bytes(self.header.element, raw)
        kva.check_rows(weights, starts, begin)
        weights = weights.astype(np.float64)
        for i in range(count):
            yield begin + i, weights[starts[i] : starts[i + 1]]

    def _spread(self, begin, count, raw):
        """A row at a time: few bytes can stand for long rows."""
        at = 0
        for t in range(begin, begin + count):
            weights = np.empty(t + 1)
            at = self._listed(raw, at, t, weights)
            yield t, weights
        expect(at == len(raw), "expected nothing behind the last row")

    def _listed(self, raw, at, t, out):
        """Top entries of row t, spread over `out`; where the next row begins."""
        width, field = kva.WIDTHS[self.header.element], f"row {t}"
        expect(len(raw) - at >= 4 + width, "expected a row: the chunk ends inside it", field)
        (count,) = struct.unpack_from("<I", raw, at)
        end = at + 4 + width + count * (4 + width)
        expect(count <= t + 1 and end <= len(raw), f"expected fewer entries, found {count}", field)
        positions = np.frombuffer(raw, "<u4", count, at + 4 + width).astype(np.int64)
        numbers = raw[at + 4 : at + 4 + width] + raw[at + 4 + width + 4 * count : end]
        listed = kva.from_bytes(self.header.element, numbers)
        expect(np.all(np.diff(positions, prepend=-1, append=t + 1) > 0), "expected ascending positions up to the row",
               field)
        kva.check_rows(listed, np.array([0, len(listed)]), t)
        expect(count <= t or listed[0] == 0, "expected no rest where every entry is listed", field)
        out[:] = float(listed[0]) / (t + 1 - count) if count <= t else 0.0
        out[positions] = listed[1:]
        return end

    def _tensor(self, part, sequence, layer, head):
        size = self.header.model.value_size if part == "values" else self.header.model.key_size
        pieces = [np.empty((0, size), np.float32)]
        for _, count, at, raw in self._chunks(part, sequence, layer, head):
            with located(self.path, at):
                expect(len(raw) == count * size * kva.WIDTHS[self.header.element], f"expected {count} tokens", part)
                numbers = kva.from_bytes(self.header.element, raw)
                expect(np.all(np.isfinite(numbers)), "expected finite numbers", part)
                pieces.append(numbers.reshape(count, size))
        out, tokens = np.concatenate(pieces), self._tokens(sequence)
        # Chunks do not overlap: as many tokens as the sequence has are all of them.
        with located(self.path):
            expect(len(out) == tokens, f"expected all {tokens} tokens of head {head}, found {len(out)}", part)
        return out

    def _computed(self, sequence, layer, head, first, last):
        model = self.header.model
        queries = self.queries(sequence, layer, head).astype(np.float64)
        keys = self.keys(sequence, layer, head // (model.query_heads // model.kv_heads)).astype(np.float64)
        block = max(1, min(_BLOCK, _BLOCK_WEIGHTS // len(keys)))
        for begin in range(first, last, block):
            end = min(begin + block, last)
            logits = self.header.logit_scale * (queries[begin:end] @ keys[:end].T)
            logits[np.arange(end) > np.arange(begin, end)[:, None]] = -np.inf
            for t, weights in zip(range(begin, end), kva.softmax(logits)):
                yield t, weights[: t + 1]


def streams_of(header, index):
    """{(sequence, layer, part, head): its entries} of an index that is as the format wants it."""
    sequence, layer, head, part, first, tokens, _ = index.T
    lengths = np.array([one.tokens for one in header.sequences], np.int64)
    heads = np.array([0] + [header.heads(name) for name in kva.PARTS], np.int64)
    for field, column, limit in (("sequence", sequence, len(lengths)), ("layer", layer, header.model.layers),
                                 ("part", part, len(heads))):
        _all(column < limit, field, "expected one that the header has")
    _all(head < heads[part], "head", "expected one that the part has")
    _all((tokens > 0) & (first + tokens <= lengths[sequence]), "tokens", "expected some, inside the sequence")
    streams = {}
    if len(index):
        order = np.stack((sequence, layer, part, head), axis=1)
        steps = np.diff(order, axis=0)
        changed = steps != 0
        new = changed.any(axis=1)
        up = np.take_along_axis(steps, changed.argmax(axis=1)[:, None], 1)[:, 0] > 0
        behind = (first + tokens)[:-1] <= first[1:]
        _all(np.concatenate(([True], np.where(new, up, behind))), "order", "expected it behind the entry before it")
        bounds = np.concatenate(([0], np.flatnonzero(new) + 1, [len(index)]))
        for begin, end in zip(bounds[:-1], bounds[1:]):
            streams[tuple(order[begin].tolist())] = index[begin:end]
    return streams


def _all(good, field, problem):
    if not good.all():
        expect(False, problem, f"index[{int(np.argmin(good))}].{field}")


def _name(field, table, number):
    names = [name for name, value in table.items() if value == number]
    expect(names, f"expected one of {', '.join(map(str, table.values()))}, found {number}", field)
    return names[0]


def _text(field, data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        expect(False, "expected UTF-8", field)
