"""A sequence on its way to the file.

A step gives one token of every part, layer and head. Written at once, each would be a chunk of one token: 56 bytes of
index each, and the index is limited. So the tokens of a layer wait here until there are `flush_tokens` of them or
MOST_BYTES (rows grow with their token). What waits was checked for the file, so it can still be written when
the next step fails or Ctrl-C comes.
"""

from contextlib import suppress

import numpy as np
from kvplan_traces import FormatError

from .interrupts import held_back

# The limit for one layer. With 32 query heads, chunks of rows then have a quarter of a MiB.
MOST_BYTES = 8 << 20


class _Layer:
    """The data of one layer that wait to be written."""

    def __init__(self):
        self.numbers = {}  # part: arrays [heads, tokens, size]
        self.rows = {}  # part, head: (first row, bytes of each row)
        self.tokens = self.bytes = 0


class SequenceOut:
    """Begins a sequence of the writer; `end` ends it. Tokens come in order, those of one layer and step together: `add`
    and `add_rows`, then `end_step`. Raises OSError, and FormatError at once for data that readers would refuse."""

    def __init__(self, writer, name, prompt_tokens, flush_tokens):
        self._writer, self._flush_tokens = writer, flush_tokens
        self._layers, self._classes = {}, []
        with held_back():
            self.number = writer.begin(name, prompt_tokens)
            writer.flush()

    def add(self, layer, part, first, array):
        """Numbers [heads of the part, tokens, size], for tokens from `first` on."""
        try:
            self._writer.check_numbers(layer, part, array.reshape(-1, array.shape[-1]))
        except FormatError as error:
            last = first + array.shape[1] - 1
            tokens = f"token {first}" if first == last else f"tokens {first} to {last}"
            error.field = f"sequence {self.number}: layer {layer}: {part} of {tokens}"
            raise
        kept = self._layers.setdefault(layer, _Layer())
        kept.numbers.setdefault(part, []).append(array)
        kept.bytes += array.nbytes

    def add_rows(self, layer, part, head, first, rows):
        """Rows from `first` on, as the writer takes them. A prompt has many, so they are written head by head."""
        try:
            lines = self._writer.row_bytes(layer, part, rows, first)
        except FormatError as error:
            error.field = f"sequence {self.number}: layer {layer}: {part} of head {head}: {error.field}"
            raise
        kept = self._layers.setdefault(layer, _Layer())
        kept.rows.setdefault((part, head), (first, []))[1].extend(lines)
        kept.bytes += sum(map(len, lines))
        if kept.bytes >= MOST_BYTES:
            self._write(layer)

    def add_classes(self, classes):
        """Classes of the next tokens of the sequence."""
        self._classes.extend(classes)

    def end_step(self, layer, tokens):
        """Says that all data of the layer in a step of this many tokens were added."""
        kept = self._layers.get(layer)
        if kept is not None:
            kept.tokens += tokens
            if kept.tokens >= self._flush_tokens or kept.bytes >= MOST_BYTES:
                self._write(layer)

    def end(self, tokens):
        with held_back():
            self._write_all()
            self._writer.end(self.number, tokens)

    def salvage(self, error):
        """After an error: writes what waits, unless the error was one of the disk."""
        if not isinstance(error, OSError):
            with suppress(FormatError, OSError):  # the first error is the one that is reported
                self._write_all()

    def _write_all(self):
        with held_back():
            self._write_classes()
            for layer in sorted(self._layers):
                self._write(layer)

    def _write(self, layer):
        """What is in the file outlives this process. Data that fail are not tried again, since part may be written."""
        with held_back():
            self._write_classes()
            kept = self._layers.pop(layer)
            facts = self._writer.header.layer(layer)
            for part, pieces in kept.numbers.items():
                for head, array in zip(facts.heads(part), np.concatenate(pieces, axis=1)):
                    self._writer.append(self.number, layer, part, head, array)
            for (part, head), (first, lines) in kept.rows.items():
                self._writer.append(self.number, layer, part, head, lines, first)
            self._writer.flush()

    def _write_classes(self):
        """Written before any layer: a layer must not have more tokens than there are classes."""
        classes, self._classes = self._classes, []
        if classes:
            self._writer.append(self.number, 0, "token_classes", 0, classes)
            self._writer.flush()
