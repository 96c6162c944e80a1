"""Writes .kva version 2 while tokens are recorded, as simulator/io/ATTENTION_FORMAT.md describes it."""

import os
import zlib
from array import array

import numpy as np

from . import kva2_format as kva2
from . import kva_format as kva
from . import storage, wire
from .errors import FormatError, expect, located

CHUNK_BYTES = 1 << 20
PART_SUFFIX = ".part"


class RecordingWriter:
    """Use as a context manager: PATH appears when the block ends without an exception. Until then, and also if the
    process is killed or the disk is full, the data are in PATH.part, which every reader of .kva reads up to the first
    incomplete frame. Lengths need not be known in advance. Raises FormatError and OSError.

        with RecordingWriter("run.kva", header) as out:
            sequence = out.begin("chat", prompt_tokens=40)
            out.append(sequence, layer, "keys", head, array)     # [tokens, key_size], the next tokens of that head
            out.flush()                                          # what was appended survives a kill of the process
            out.end(sequence)

    `codec` is "planes-zlib", "planes-zstd", or one of version 1. When a sequence ends, all heads of a layer must have
    the same tokens; rows, which may be missing, begin where `first` says. An existing PATH.part is an error, or is
    replaced with `overwrite`.
    """

    def __init__(self, path, header, codec="planes-zlib", overwrite=False):
        with located(os.fspath(path)):
            header.check()
            expect(codec in kva2.CODECS, f"expected one of {', '.join(kva2.CODECS)}, found {codec!r}", "codec")
            begin = kva.MAGIC + kva.header_frame(kva2.encode(header))
        self.path, self.header, self.sequences = os.fspath(path), header, []
        self.part_path = self.path + PART_SUFFIX
        self._codec, self._index, self._reach, self._done = codec, array("q"), {}, False
        storage.check_replaceable(self.path)
        storage.check_replaceable(self.part_path)
        if not overwrite and os.path.exists(self.part_path):
            raise FileExistsError(f"{self.part_path}: there is a recording that was cut: rename or remove it")
        self._file = open(self.part_path, "wb" if overwrite else "xb")
        self._at, self._begin_bytes = 0, len(begin)
        try:
            self._write(begin)
            self.flush()
        except BaseException:
            self.abandon()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()
        else:
            self.abandon()

    def begin(self, name="", prompt_tokens=0):
        """Begins a new sequence and returns its number."""
        with located(self.part_path):
            number = len(self.sequences)
            expect(number < kva.MOST_SEQUENCES, f"expected at most {kva.MOST_SEQUENCES}", "sequences")
            kva.check_text("name", name)
            kva.within("prompt_tokens", prompt_tokens, 0, 1 << 20)
            longest = kva2.sequence_bytes(number, kva.AttentionSequence(name, 1 << 20, prompt_tokens))
            expect(len(longest) <= kva2.MOST_SEQUENCE_BYTES,
                   f"expected at most {kva2.MOST_SEQUENCE_BYTES} bytes with all that is known of a sequence, "
                   f"found {len(longest)}", "name")
        self.sequences.append(kva.AttentionSequence(name, 0, prompt_tokens, complete=False))
        self._sequence(number)
        return number

    def append(self, sequence, layer, part, head, tokens, first=None):
        """The next tokens of a part. An array [tokens, size], or [tokens] for one number per token; for rows a list of
        arrays; for top rows a list of (positions, weights, rest); for both kinds of rows also what `row_bytes` gave."""
        with located(self.part_path):
            self._place(sequence, layer, part, head)
            place = (sequence, layer, head, kva2.PARTS[part])
            reach = self._reach.get(place, 0)
            begin = reach if first is None else first
            expect(begin == reach or part in kva2.ROWS and begin > reach, f"expected token {reach}, found {begin}",
                   part)
            facts = self.header.layer(layer)
            lines = (self._lines if part in kva2.ROWS else self._tokens)(facts, part, tokens, begin)
            self._cut(place, part, begin, lines)

    def check_numbers(self, layer, part, tokens):
        """Raises FormatError if `append` would refuse this array [tokens, size]; for callers that append it later."""
        with located(self.part_path):
            kva.to_bytes(self.header.parts[part], self._tokens(self.header.layer(layer), part, tokens))

    def row_bytes(self, layer, part, rows, first):
        """Rows or top rows `first`, first + 1, ... as a list for `append`; raises FormatError for an invalid row."""
        with located(self.part_path):
            return list(self._lines(self.header.layer(layer), part, rows, first))

    def end(self, sequence, tokens=None):
        """Ends a complete sequence of this many tokens (None: as many as came); FormatError if data are missing."""
        with located(self.part_path):
            one = self._unfinished(sequence)
            reached = {place: reach for place, reach in self._reach.items()
                       if place[0] == sequence and place[3] != kva2.PARTS["output_weights"]}
            most = max(reached.values(), default=0)
            one.tokens = most if tokens is None else tokens
            kva.within("tokens", one.tokens, max(most, 1), 1 << 20)
            kva.within("prompt_tokens", one.prompt_tokens, 0, one.tokens)
            self._expect_whole(sequence, one.tokens, reached)
            one.complete = True
            self._sequence(sequence)
            for place in reached:
                del self._reach[place]
        self.flush()

    def flush(self):
        self._file.flush()

    def close(self):
        """Writes index and trailer and renames the file. A sequence that was not ended remains incomplete."""
        if self._done:
            return
        try:
            with located(self.part_path):
                expect(self.sequences, "expected at least one", "sequences")
            table = np.frombuffer(self._index, np.int64).reshape(-1, len(kva.INDEX_COLUMNS))
            table = table[np.lexsort((table[:, 4], table[:, 2], table[:, 3], table[:, 1], table[:, 0]))]
            columns = [wire.blob(i + 1, wire.packed(column)) for i, column in enumerate(table.T)]
            columns += [wire.message(8, kva2.sequence_bytes(i, one)) for i, one in enumerate(self.sequences)]
            at, index = self._at, b"".join(columns)
            with located(self.part_path):
                expect(len(index) <= kva.MOST_INDEX_BYTES,
                       f"expected at most {kva.MOST_INDEX_BYTES} bytes, found {len(index)}: too many chunks", "index")
            self._write(kva.frame(b"INDX", index) + kva.trailer(at))
            self._file.flush()
            os.fsync(self._file.fileno())
        except BaseException:
            self.abandon()
            raise
        self._file.close()
        os.replace(self.part_path, self.path)
        self._done = True

    def abandon(self):
        """Ends writing. PATH.part remains, unless its header is incomplete: such a file is useless and is removed."""
        if not self._done:
            self._done = True
            try:
                self._file.close()
            except OSError:
                pass  # an error of writing was reported before
            if os.path.getsize(self.part_path) < self._begin_bytes:
                os.unlink(self.part_path)

    def _write(self, data):
        self._file.write(data)
        self._at += len(data)

    def _sequence(self, number):
        self._write(kva.frame(b"SEQN", kva2.sequence_bytes(number, self.sequences[number])))

    def _unfinished(self, sequence):
        kva.check_below("sequence", sequence, len(self.sequences))
        expect(not self.sequences[sequence].complete, f"sequence {sequence} has ended", "sequence")
        return self.sequences[sequence]

    def _place(self, sequence, layer, part, head):
        expect(part in self.header.parts, f"expected one of {', '.join(self.header.parts)}, found {part!r}", "part")
        if part == "output_weights":
            expect(sequence == 0 and self.sequences, "expected 0", "sequence")
        else:
            self._unfinished(sequence)
        if part in kva2.OF_SEQUENCE:
            expect(layer == 0 and head == 0, "expected layer 0 and head 0", part)
            return
        facts = self.header.layer(layer)
        expect(facts is not None, "expected a layer of the header", f"layer {layer}")
        expect(head in facts.heads(part), f"expected a head that has {part}", f"layer {layer}: head {head}")

    def _lines(self, facts, part, rows, first):
        """Yields the bytes of each row."""
        encode = {"rows": self._dense, "top_rows": self._listed}[part]
        for t, row in enumerate(rows, first):
            with located(None, field=f"row {t}"):
                raw = row if isinstance(row, bytes) else encode(facts, t, row)
            yield raw

    def _tokens(self, facts, part, tokens, _=None):
        size = 1 if part in kva2.OF_SEQUENCE else facts.size(part)
        of_places = part in kva2.OF_SEQUENCE
        numbers = (kva.places_of if of_places else kva.array_of)(tokens, part)
        numbers = numbers[:, None] if numbers.ndim == 1 else numbers
        expect(numbers.ndim == 2 and numbers.shape[1] == size, f"expected an array [tokens, {size}]", part)
        expect(part != "value_norms" or not np.any(numbers < 0), "expected lengths from 0 on", part)
        if of_places:
            most = self.header.most(part)
            expect(np.all((numbers >= 0) & (numbers <= most)), f"expected 0 to {most}", part)
        return numbers

    def _dense(self, facts, t, row):
        row = kva.array_of(row, f"row {t}")
        expect(row.shape == (t + 1,), f"expected {t + 1} weights", f"row {t}")
        seen = max(0, t + 1 - facts.window) if facts.window else 0
        expect(not np.any(row[:seen]), "expected 0 outside the window", f"row {t}")
        raw = kva.to_bytes(self.header.parts["rows"], row)
        weights = kva.from_bytes(self.header.parts["rows"], raw)
        kva.check_rows(weights, np.array([0, len(weights)]), t, bool(facts.sink_logits))
        return raw

    def _listed(self, facts, t, row):
        seen = max(0, t + 1 - facts.window) if facts.window else 0
        return kva.listed_row(self.header.parts["top_rows"], t, row, seen, bool(facts.sink_logits))

    def _cut(self, place, part, first, lines):
        """Writes chunks of about a megabyte. Numbers become bytes one chunk at a time, rows one row at a time."""
        element = self.header.parts[part]
        with located(self.part_path):
            try:
                if isinstance(lines, np.ndarray):
                    step = max(1, CHUNK_BYTES // (lines.shape[1] * kva.WIDTHS[element]))
                    for at in range(0, len(lines), step):
                        some = lines[at : at + step]
                        self._chunk(place, part, first + at, len(some), kva.to_bytes(element, some))
                    return
                parts, size = [], 0
                for raw in lines:
                    if parts and size + len(raw) > CHUNK_BYTES:
                        self._chunk(place, part, first, len(parts), b"".join(parts))
                        first, parts, size = first + len(parts), [], 0
                    parts.append(raw)
                    size += len(raw)
                if parts:
                    self._chunk(place, part, first, len(parts), b"".join(parts))
            except FormatError as error:
                sequence, layer, head, _ = place
                where = f"sequence {sequence}: layer {layer}: {part} of head {head}"
                error.field = where if error.field is None else f"{where}: {error.field}"
                raise

    def _chunk(self, place, part, first, tokens, raw):
        last = first + tokens
        most = self.header.layer(place[1]).value_size if part == "output_weights" else 1 << 20
        expect(last <= most, f"expected at most {most} tokens, found {last}")
        name, data = self._codec, raw
        if name.startswith("planes"):
            data = kva2.to_planes(raw, kva.WIDTHS[self.header.parts[part]])
        if name != "stored":
            data = storage.zstd_bytes(data) if name.endswith("zstd") else _zlib_bytes(data, name, raw, tokens)
        if name != "stored" and len(data) >= len(raw):
            name, data = "stored", raw
        fields = [wire.number(i + 1, value)
                  for i, value in enumerate((*place, first, tokens, kva2.CODECS[name], len(raw)))]
        self._index.extend((*place, first, tokens, self._at))
        self._reach[place] = last
        self._write(kva.frame(b"CHNK", b"".join(fields) + wire.blob(9, data)))

    def _expect_whole(self, sequence, tokens, reached):
        """Checks that every part (but rows and output weights) has all tokens, for each head of each recorded layer."""
        for layer in sorted({place[1] for place in reached if kva2.NAMES[place[3]] not in kva2.OF_SEQUENCE}):
            facts = self.header.layer(layer)
            for part in facts.parts:
                for head in facts.heads(part) if part not in (*kva2.ROWS, "output_weights") else ():
                    found = reached.get((sequence, layer, head, kva2.PARTS[part]), 0)
                    expect(found == tokens, f"expected all {tokens} tokens of head {head}, found {found}",
                           f"sequence {sequence}: layer {layer}: {part}")
        for part in kva2.OF_SEQUENCE:
            if part in self.header.parts:
                found = reached.get((sequence, 0, 0, kva2.PARTS[part]), 0)
                expect(found == tokens, f"expected all {tokens} tokens, found {found}", f"sequence {sequence}: {part}")


def _zlib_bytes(data, codec, raw, tokens):
    """Byte planes have runs, and some bytes are more frequent than others. A search for earlier matches takes several
    times as long; it finds some where tokens have the same numbers again, such as values of a first layer."""
    if codec != "planes-zlib":
        return zlib.compress(data)
    size = max(len(raw) // max(tokens, 1), 1)
    different = len({raw[at : at + size] for at in range(0, len(raw), size)})
    if 8 * different < 7 * tokens:
        return zlib.compress(data)
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    return packer.compress(data) + packer.flush()
