"""What a .kva holds, as its index or (in a truncated file) its frames say: the same interface for both versions."""

import numpy as np

from . import kva2_format as kva2
from . import kva_format as kva
from . import wire
from .errors import FormatError, expect, located

MOST_TOKENS = 1 << 20


class Contents:
    """`streams` is {(sequence, layer, part, head): its index entries}, `sequences` what is known of each, `layers` the
    (sequence, layer) pairs with data, `elements` {part: how its numbers are stored}, `of_sequences` the parts that
    belong to no layer, `codecs` the codecs of the version."""

    of_sequences = ()
    one_behind_the_other = True  # frames follow each other without gaps
    order = "order", "expected it behind the entry before it"

    @staticmethod
    def number(part):
        """The part's number in chunks."""
        return kva2.PARTS[part]

    def tokens(self, sequence, layer=None):
        one = self.sequences[sequence]
        if one.complete:
            return one.tokens
        if layer is None:
            lengths = [self._whole(sequence, number) for number in self._layers_of(sequence)]
            return min(lengths) if lengths else 0
        return self._whole(sequence, layer)

    def length(self, part, sequence, layer):
        """How many tokens of the part must be there."""
        if part == "output_weights":
            return self.layer(layer).value_size
        return self.tokens(sequence, None if part in kva2.OF_SEQUENCE else layer)

    def check_place(self, part, sequence, layer, head):
        kva.check_below("sequence", sequence, len(self.sequences))
        if part in kva2.OF_SEQUENCE:
            expect(part in self.of_sequences, f"expected a file with {part}", "part")
            return
        found = self.layer(layer)
        expect(found is not None, f"layer {layer} was not recorded")
        expect(part in found.parts, f"expected a file with {part}: this one has {', '.join(found.parts)}", "part")
        kva.check_below("head", head, found.query_heads if part in kva2.OF_QUERY_HEADS else found.kv_heads)
        expect(head in found.heads(part), f"head {head} of layer {layer} was not recorded")
        expect(part == "output_weights" or (sequence, layer) in self.layers,
               f"layer {layer} of sequence {sequence} was not recorded")

    def wanted(self):
        """(part, sequence, layer, head) of all data that must be complete."""
        for sequence, layer in sorted(self.layers):
            found = self.layer(layer)
            for part in found.parts:
                if part != "output_weights":
                    yield from ((part, sequence, layer, head) for head in found.heads(part))
        for sequence in range(len(self.sequences)):
            yield from ((part, sequence, 0, 0) for part in self.of_sequences)
        for sequence, layer, part, head in self.streams:
            if part == kva2.PARTS["output_weights"]:
                yield "output_weights", sequence, layer, head

    def _take(self, index):
        """Takes the streams of a valid index; FormatError for any other."""
        self._check(index)
        self.streams = self._streams(index)
        self.layers = {place[:2] for place in self.streams
                       if kva2.NAMES[place[2]] not in (*kva2.OF_SEQUENCE, "output_weights")}

    def _check(self, index):
        sequence, layer, head, part, first, tokens, _ = index.T
        lengths = np.array([one.tokens if one.complete else MOST_TOKENS for one in self.sequences], np.int64)
        self._all(index, sequence < len(lengths), "sequence", f"expected less than {len(lengths)}")
        # Checked once per place, since there are few places and many entries.
        places, where = np.unique(index[:, 1:4], axis=0, return_inverse=True)
        most = np.zeros(len(places), np.int64)
        bad = np.zeros(len(places), np.int64)
        for i, (number, one, kind) in enumerate(places.tolist()):
            name = kva2.NAMES.get(kind)
            found = self.layer(number)
            if name in self.of_sequences:
                bad[i] = 3 * (one != 0) or number != 0
            elif found is None or name not in found.parts:
                bad[i] = 2 if found is not None else 1
            else:
                bad[i] = 3 * (one not in found.heads(name))
                most[i] = found.value_size if name == "output_weights" else 0
        where = where.reshape(-1)
        for number, field in ((1, "layer"), (2, "part"), (3, "head")):
            self._all(index, bad[where] != number, field, "expected one that the header has")
        self._all(index, (most[where] == 0) | (sequence == 0), "sequence", "expected 0, of output weights")
        limit = np.where(most[where] > 0, most[where], lengths[sequence])
        self._all(index, (tokens > 0) & (first + tokens <= limit), "tokens", "expected some, inside the sequence")

    def _streams(self, index):
        """{(sequence, layer, part, head): its entries}; raises FormatError unless they ascend and do not overlap."""
        sequence, layer, head, part, first, tokens, _ = index.T
        streams = {}
        if len(index):
            order = np.stack((sequence, layer, part, head), axis=1)
            steps = np.diff(order, axis=0)
            changed = steps != 0
            new = changed.any(axis=1)
            up = np.take_along_axis(steps, changed.argmax(axis=1)[:, None], 1)[:, 0] > 0
            behind = (first + tokens)[:-1] <= first[1:]
            self._all(index, np.concatenate(([True], np.where(new, up, behind))), *self.order)
            bounds = np.concatenate(([0], np.flatnonzero(new) + 1, [len(index)]))
            for begin, end in zip(bounds[:-1], bounds[1:]):
                streams[tuple(order[begin].tolist())] = index[begin:end]
        return streams

    @staticmethod
    def _all(index, good, field, problem):
        """Raises FormatError for the first entry that is not good."""
        if not good.all():
            i = int(np.argmin(good))
            column = kva.INDEX_COLUMNS.index(field) if field in kva.INDEX_COLUMNS else None
            found = "" if column is None else f", found {index[i, column]}"
            raise FormatError(f"{problem}{found}", field=f"index[{i}].{field}")

    def _layers_of(self, sequence):
        return [layer for number, layer in self.layers if number == sequence]

    def _whole(self, sequence, layer):
        """Tokens from 0 on without a gap: the least number over all heads and parts that the layer must have."""
        found = self.layer(layer)
        places = [(part, layer, head) for part in found.parts if part != "output_weights" for head in found.heads(part)]
        places += [(part, 0, 0) for part in self.of_sequences]
        return min(self._reach(sequence, *place) for place in places) if places else 0

    def _reach(self, sequence, part, layer, head):
        entries = self.streams.get((sequence, layer, kva2.PARTS[part], head))
        if entries is None:
            return 0
        ends = entries[:, 4] + entries[:, 5]
        if part in kva2.ROWS:
            return int(ends[-1])
        begins = np.concatenate(([0], ends))
        gaps = np.flatnonzero(entries[:, 4] != begins[:-1])
        return int(begins[gaps[0]] if gaps.size else ends[-1])


class Version1(Contents):
    """`index`: the message, or a table with its columns."""

    codecs = kva.CODECS
    one_behind_the_other = False

    def __init__(self, header, index):
        self.sequences = header.sequences
        names = {"rows": ("rows",), "top": ("top_rows",), "tensors": ("queries", "keys", "values")}[header.form]
        names = names if header.has_values or header.form != "tensors" else names[:2]
        self.elements = dict.fromkeys(names, header.element)
        one = kva2.RecordingHeader(header.model, self.elements, [], logit_scale=header.logit_scale)
        self._layer = kva2.ResolvedLayer(one, kva2.AttentionLayer(0))
        self._count = header.model.layers
        table = _columns(index) if isinstance(index, wire.Message) else index
        if header.form == "top":  # version 1 has the same number for rows of both kinds
            expect(np.all(table[:, 3] != kva2.PARTS["top_rows"]), "expected one that the header has", "part")
            table[:, 3] = np.where(table[:, 3] == kva2.PARTS["rows"], kva2.PARTS["top_rows"], table[:, 3])
        self._take(table)

    @staticmethod
    def number(part):
        return kva2.PARTS["rows" if part == "top_rows" else part]

    def layer(self, number):
        return self._layer if 0 <= number < self._count else None


class Version2(Contents):
    codecs = kva2.CODECS

    def __init__(self, header, index):
        self._header, self.elements = header, header.parts
        self.of_sequences = tuple(part for part in kva2.OF_SEQUENCE if part in header.parts)
        self.sequences = [_sequence(i, wire.Message(one)) for i, one in enumerate(index.blobs(8))]
        expect(0 < len(self.sequences) <= kva.MOST_SEQUENCES, f"expected 1 to {kva.MOST_SEQUENCES}", "sequences")
        self._take(_columns(index))

    def layer(self, number):
        return self._header.layer(number)


class Cut(Version2):
    """Contents of a file without an index: what stands before the cut. Errors name a chunk by its byte."""

    order = "first_token", "expected none that another chunk has"

    def __init__(self, header, sequences, entries):
        self._header, self.elements = header, header.parts
        self.of_sequences = tuple(part for part in kva2.OF_SEQUENCE if part in header.parts)
        self.sequences = sequences
        table = np.array(entries, np.int64).reshape(-1, len(kva.INDEX_COLUMNS))
        self._take(table[np.lexsort((table[:, 4], table[:, 2], table[:, 3], table[:, 1], table[:, 0]))])

    @staticmethod
    def _all(index, good, field, problem):
        if not good.all():
            entry = index[np.argmin(good)]
            found = entry[kva.INDEX_COLUMNS.index(field)]
            raise FormatError(f"{problem}, found {found}", field=f"CHNK.{field}", byte=int(entry[-1]))


def recovered(header, frames):
    """(Cut, byte where the file was cut). `frames`: (kind, payload, offset) of valid frames; the last kind is None."""
    known, entries = {}, []
    for kind, payload, at in frames:
        if kind is None:
            break
        with located(None, at):
            if kind == b"SEQN":
                number, one = sequence_of(payload)
                known[number] = one
            elif kind == b"CHNK":
                message = message_of(kind, payload)
                entries.append([message.uint32(field) for field in range(1, 7)] + [at])
                expect(entries[-1][0] < kva.MOST_SEQUENCES,
                       f"expected less than {kva.MOST_SEQUENCES}, found {entries[-1][0]}", "CHNK.sequence")
    count = 1 + max([*known, *(entry[0] for entry in entries)], default=0)
    sequences = [known.get(number) or kva.AttentionSequence(complete=False) for number in range(count)]
    return Cut(header, sequences, entries), at


def message_of(kind, payload):
    """The message in a frame."""
    with located(None, field=kind.decode()):
        return wire.Message(payload)


def sequence_of(payload):
    """(number, sequence) from a frame SEQN."""
    message = message_of(b"SEQN", payload)
    number = message.uint32(4)
    expect(number < kva.MOST_SEQUENCES, f"expected less than {kva.MOST_SEQUENCES}, found {number}", "SEQN.sequence")
    return number, _sequence(number, message)


def _sequence(number, message):
    one = kva.AttentionSequence(kva2.text("sequences.name", message.blob(1)), message.uint32(2), message.uint32(3),
                                message.boolean(5))
    field = f"sequences[{number}]"
    expect(message.uint32(4) == number, f"expected {number}, found {message.uint32(4)}", f"{field}.sequence")
    kva.within(f"{field}.tokens", one.tokens, int(one.complete), MOST_TOKENS)
    kva.within(f"{field}.prompt_tokens", one.prompt_tokens, 0, one.tokens if one.complete else MOST_TOKENS)
    return one


def _columns(index):
    columns = [index.column(number + 1, "uint64" if name == "offset" else "uint32")
               for number, name in enumerate(kva.INDEX_COLUMNS)]
    expect(len({len(column) for column in columns}) == 1, "expected columns of one length", "index")
    return np.stack(columns, axis=1)
