"""Version 2 of .kva: written as tokens come, read back, cut at any byte; and what the program finds in it."""

import json
import os
import random
import struct
import unittest

import numpy as np

from support import ROOT, FolderTest, cases, kvplan
from kva2_support import header
from kvplan_traces import (AttentionLayer, AttentionModel, AttentionReader, AttentionRotary, AttentionSequence,
                           FormatError, RecordingWriter, kva2_format, kva_format, wire)


def slow_row(facts, head, queries, keys, t):
    """One row by the formula of the page, number by number."""
    weights = np.zeros(t + 1)
    total = 0.0
    for i in range(t + 1):
        if facts.window and i <= t - facts.window:
            continue
        s = facts.logit_scale * float(np.dot(queries[t].astype(float), keys[i].astype(float)))
        s = facts.soft_cap * np.tanh(s / facts.soft_cap) if facts.soft_cap else s
        s += facts.bias_slopes[head] * (i - t) if facts.bias_slopes else 0
        weights[i] = np.exp(s)
        total += weights[i]
    return weights / (total + (np.exp(facts.sink_logits[head]) if facts.sink_logits else 0))


class Made:
    """A recording of random numbers, and what went into it."""

    def __init__(self, path, lengths=(30, 17), codec="planes-zlib", seed=1, steps=(11, 3), kind=None, ends=True):
        g = np.random.default_rng(seed)
        self.header, self.sent, self.lengths = kind or header(), {}, lengths
        with RecordingWriter(path, self.header, codec) as out:
            for sequence, tokens in enumerate(lengths):
                self.assert_equal(out.begin(f"number {sequence}", prompt_tokens=min(9, tokens)), sequence)
                at = 0
                while at < tokens:
                    count = min(int(g.choice(steps)), tokens - at)
                    self._tokens(g, out, sequence, at, count)
                    at += count
                    out.flush()
                if ends or sequence + 1 < len(lengths):
                    out.end(sequence)
        self.sent = {place: np.concatenate(pieces) for place, pieces in self.sent.items()}

    @staticmethod
    def assert_equal(a, b):
        assert a == b, (a, b)

    def _tokens(self, g, out, sequence, at, count):
        for part in self.header.parts:
            if part in kva2_format.OF_SEQUENCE:
                numbers = g.integers(0, 2, count) if part == "token_classes" else np.arange(at, at + count)
                self._send(out, sequence, 0, part, 0, numbers)
        for one in self.header.layers:
            facts = self.header.layer(one.layer)
            for part in facts.parts:
                for head in facts.heads(part):
                    if part == "output_weights":
                        if sequence == at == 0:
                            self._send(out, 0, one.layer, part, head, g.normal(size=(6, 10)).astype(np.float32))
                    else:
                        numbers = g.normal(size=(count, facts.size(part)))
                        numbers = np.abs(numbers) if part == "value_norms" else numbers
                        self._send(out, sequence, one.layer, part, head, numbers.astype(np.float16))

    def _send(self, out, sequence, layer, part, head, numbers):
        out.append(sequence, layer, part, head, numbers)
        self.sent.setdefault((sequence, layer, part, head), []).append(np.asarray(numbers))


class Version2(FolderTest):
    def test_every_part_and_codec(self):
        for codec in kva2_format.CODECS:
            with self.subTest(codec):
                made = Made(self.path("x.kva"), codec=codec)
                with AttentionReader(self.path("x.kva")) as reader:
                    reader.check()
                    self.same(reader, made)
                    self.assertIsNone(reader.cut_at)
                    self.assertEqual([one.complete for one in reader.sequences], [True, True])
                    self.assertEqual(reader.header.layers, made.header.layers)
                    self.assertEqual(reader.header, made.header)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["x.kva"])

    def test_tokens_that_come_again_are_packed_smaller(self):
        """And both ways of packing planes are read back."""
        g = np.random.default_rng(3)
        sizes = {}
        for name, numbers in (("again", np.tile(g.normal(size=(8, 64)), (40, 1))), ("new", g.normal(size=(320, 64)))):
            one = header({"keys": "f16"}, [AttentionLayer(0, rotary=AttentionRotary("halves", 8, base=1e4))],
                         model=AttentionModel("one", layers=1, query_heads=1, kv_heads=1, key_size=64, value_size=64,
                                              cache_element_bytes=2, hidden_size=10))
            with RecordingWriter(self.path("x.kva"), one, "planes-zlib") as out:
                out.begin("one", prompt_tokens=4)
                out.append(0, 0, "keys", 0, numbers.astype(np.float16))
                out.end(0)
            with AttentionReader(self.path("x.kva")) as reader:
                np.testing.assert_array_equal(reader.keys(0, 0, 0), numbers.astype(np.float16))
            sizes[name] = os.path.getsize(self.path("x.kva"))
        self.assertLess(sizes["again"], sizes["new"] / 8)

    def same(self, reader, made):
        asks = {"queries": reader.queries, "keys": reader.keys, "values": reader.values}
        for (sequence, layer, part, head), sent in made.sent.items():
            if part in asks:
                found = asks[part](sequence, layer, head)
            elif part == "value_norms":
                found = reader.value_norms(sequence, layer, head)[:, None]
            elif part == "layer_inputs":
                # bfloat16 keeps 8 bits of the mantissa
                np.testing.assert_allclose(reader.layer_inputs(sequence, layer), sent, rtol=2.0**-8)
                continue
            elif part == "output_weights":
                found = reader.output_weights(layer, head)
            else:
                found = getattr(reader, part)(sequence)
            self.assertEqual(found.tolist(), sent.tolist(), (sequence, layer, part, head))

    def test_rows_are_computed_by_the_facts_of_their_layer(self):
        made = Made(self.path("x.kva"))
        with AttentionReader(self.path("x.kva")) as reader:
            for sequence in (0, 1):
                for layer, head in ((0, 1), (1, 0), (1, 3), (2, 2), (2, 3)):
                    facts = reader.layer(layer)
                    queries = made.sent[sequence, layer, "queries", head]
                    keys = made.sent[sequence, layer, "keys", head // 2]
                    rows = dict(reader.rows(sequence, layer, head))
                    self.assertEqual(len(rows), made.lengths[sequence])
                    for t, row in rows.items():
                        np.testing.assert_allclose(row, slow_row(facts, head, queries, keys, t), atol=1e-12)
            with self.assertRaisesRegex(FormatError, "head 1 of layer 2 was not recorded"):
                list(reader.rows(0, 2, 1))
            with self.assertRaisesRegex(FormatError, "layer 3 was not recorded"):
                reader.layer(3)

    def test_recorded_rows(self):
        g = np.random.default_rng(4)
        whole = np.tril(g.random((20, 20)))
        whole = [row[: t + 1] / row.sum() for t, row in enumerate(whole)]
        for part, element in (("rows", "f64"), ("top_rows", "f64")):
            kind = header({part: element}, [AttentionLayer(0), AttentionLayer(1, window=4)])
            with RecordingWriter(self.path(f"{part}.kva"), kind) as out:
                out.begin()
                for head in range(4):
                    lines = whole[5:] if part == "rows" else [self.listed(row) for row in whole[5:]]
                    out.append(0, 0, part, head, lines[:6], first=5)
                    out.append(0, 0, part, head, lines[6:])
                out.end(0)
            with AttentionReader(self.path(f"{part}.kva")) as reader:
                reader.check()
                rows = dict(reader.rows(0, 0, 2))
                self.assertEqual(sorted(rows), list(range(5, 20)))
                for t, row in rows.items():
                    if part == "rows":
                        self.assertEqual(row.tolist(), whole[t].tolist())
                    else:
                        places, weights, rest = self.listed(whole[t])
                        self.assertEqual(row[places].tolist(), weights.tolist())
                        np.testing.assert_allclose(np.delete(row, places), rest / max(t + 1 - len(places), 1))

    @staticmethod
    def listed(row):
        places = np.sort(np.argsort(-row)[:3])
        return places, row[places], float(np.delete(row, places).sum()) if len(row) > 3 else 0.0

    def test_a_file_cut_anywhere_keeps_what_was_whole(self):
        made = Made(self.path("x.kva"))
        data = self.path("x.kva").read_bytes()
        before = 0
        places = np.random.default_rng(7).integers(0, len(data), cases(150))
        for at in sorted({0, 7, 9, len(data) - 1, len(data) - 21, *places.tolist()}):
            self.path("cut.kva").write_bytes(data[:at])
            try:
                reader = AttentionReader(self.path("cut.kva"))
            except FormatError as error:
                self.assertLess(at, 700, str(error))  # inside the magic and the header
                continue
            with reader:
                reader.check()
                self.assertLessEqual(reader.cut_at, at)
                here = self.whole_tokens(reader, made)
                self.assertGreaterEqual(here, before)
                before = here
        self.assertEqual(before, sum(made.lengths) * 2)

    def whole_tokens(self, reader, made):
        """Tokens that are there of layers 0 and 1, each of them what was sent."""
        total = 0
        for sequence in range(len(reader.sequences)):
            for layer in (0, 1):
                if (sequence, layer) in reader.recorded():
                    tokens = reader.tokens(sequence, layer)
                    total += tokens
                    if tokens:
                        found = reader.keys(sequence, layer, 1)
                        self.assertEqual(found.tolist(), made.sent[sequence, layer, "keys", 1][:tokens].tolist())
                        self.assertEqual(len(list(reader.rows(sequence, layer, 0))), tokens)
        return total

    def test_a_finished_file_with_an_unfinished_sequence(self):
        Made(self.path("x.kva"), ends=False)
        with AttentionReader(self.path("x.kva")) as reader:
            reader.check()
            self.assertIsNone(reader.cut_at)
            self.assertEqual([one.complete for one in reader.sequences], [True, False])
            self.assertEqual([reader.tokens(0), reader.tokens(1)], [30, 17])

    def test_damage_is_refused_not_repaired(self):
        Made(self.path("x.kva"))
        data = bytearray(self.path("x.kva").read_bytes())
        for at in np.random.default_rng(8).integers(8, len(data) - 20, 60).tolist():
            data[at] ^= 4
            self.path("x.kva").write_bytes(data)
            with self.assertRaisesRegex(FormatError, "^.*x.kva: [^\n]*$"):
                with AttentionReader(self.path("x.kva")) as reader:
                    reader.check()
            data[at] ^= 4

    @staticmethod
    def frames(data):
        """(kind, payload, where it begins) of each frame in front of the trailer."""
        out, at = [], 8
        while at < len(data) - 20:
            kind, _, size = struct.unpack_from("<4sIQ", data, at)
            out.append((kind, data[at + 16 : at + 16 + size], at))
            at += 16 + size
        return out

    @staticmethod
    def assembled(frames, whole=True):
        """A file of these (kind, payload)."""
        out, index = kva_format.MAGIC, 0
        for kind, payload in frames:
            index = len(out)
            out += kva_format.frame(kind, bytes(payload))
        return out + kva_format.trailer(index) if whole else out

    def refused(self, data, message):
        """By `check`, in one line that begins so."""
        self.path("x.kva").write_bytes(data)
        with self.assertRaisesRegex(FormatError, f"^[^ ]*x.kva: {message}[^\n]*$"):
            with AttentionReader(self.path("x.kva")) as reader:
                reader.check()

    def test_every_byte_of_a_finished_file(self):
        """Between frames that the index needs, too; what no index names is whole all the same."""
        kind = header({"rows": "f32"}, [AttentionLayer(0)], token_classes=())
        with RecordingWriter(self.path("x.kva"), kind) as out:
            out.begin("a", 1)
            out.append(0, 0, "rows", 0, [[1.0], [0.5, 0.5]])
            out.end(0)
        data = bytearray(self.path("x.kva").read_bytes())
        self.assertEqual([at for at in range(len(data)) if self.taken(data, at, at % 8)], [])

    def taken(self, data, at, bit):
        data[at] ^= 1 << bit
        self.path("x.kva").write_bytes(data)
        data[at] ^= 1 << bit
        try:
            with AttentionReader(self.path("x.kva")) as reader:
                reader.check()
                return reader.cut_at is None  # without its trailer it is a file that was cut
        except FormatError as error:
            self.assertRegex(str(error), "^[^ ]*x.kva: [^\n]*$")
            return False

    def test_frames_and_index_say_the_same(self):
        Made(self.path("x.kva"), lengths=(9, 5))
        frames = [frame[:2] for frame in self.frames(self.path("x.kva").read_bytes())]
        at = [i for i, (kind, _) in enumerate(frames) if kind == b"SEQN"][-1]
        same_size = kva2_format.sequence_bytes(1, AttentionSequence("NUMBER 1", 5, 5))
        self.assertEqual(len(same_size), len(frames[at][1]))
        for payload, message in ((same_size, "byte [0-9]*: sequence 1: expected the sequence as the index has it"),
                                 (b"\xff" * len(same_size), "byte [0-9]*: SEQN: expected a whole number")):
            changed = list(frames)
            changed[at] = b"SEQN", payload
            self.refused(self.assembled(changed), message)
        for number, message in ((1, "sequence 1: expected the sequence as the index has it"),  # a third frame of it
                                (2, "sequence 2: expected a sequence that the index has")):
            more = b"SEQN", kva2_format.sequence_bytes(number, AttentionSequence("more", 5, 5))
            self.refused(self.assembled([*frames[:-1], more, frames[-1]]), f"byte [0-9]*: {message}")
        for kind in (b"XTRA", b"SEQN"):  # unknown frames are passed over
            self.path("x.kva").write_bytes(self.assembled([*frames[:-1], (kind, frames[at][1]), frames[-1]]))
            with AttentionReader(self.path("x.kva")) as reader:
                reader.check()
        data = self.assembled(frames)
        self.refused(data[:-20] + b"gap" + data[-20:], "byte [0-9]*: expected the trailer behind the index")

    def test_classes_and_positions_out_of_range(self):
        """In a finished file and in one that was cut; by the program, too, where it reads them."""
        for part, kind, message, last in (
                ("token_classes", dict(parts={"keys": "f32", "queries": "f32", "token_classes": "u8"}),
                 "token_classes: expected 0 to 1, found 200", b"\xc8"),
                ("positions", dict(parts={"keys": "f32", "queries": "f32", "positions": "u32"}, token_classes=()),
                 "positions: expected 0 to 2147483647, found 4278190092", b"\xff")):
            biased = [AttentionLayer(0, bias_slopes=(0.5,) * 4)]
            Made(self.path("x.kva"), lengths=(13,), codec="stored", kind=header(layers=biased, **kind), steps=(13,))
            frames = [frame[:2] for frame in self.frames(self.path("x.kva").read_bytes())]
            at = next(i for i, (kind, _) in enumerate(frames) if kind == b"CHNK")
            frames[at] = b"CHNK", frames[at][1][:-1] + last
            self.refused(self.assembled(frames), f"byte [0-9]*: {message}")
            code, _, error = kvplan("frontier", self.path("x.kva"), "--policies", "h2o", "--budgets", 4)
            self.assertEqual((code, error.count("\n")), (2, 1), error)
            self.refused(self.assembled(frames[:-2], whole=False), f"byte [0-9]*: {message}")

    def test_cut_files_name_the_frame(self):
        """What was cut has no index: the byte is that of the frame, the field one of its own."""
        Made(self.path("x.kva"), lengths=(9,))
        frames = self.frames(self.path("x.kva").read_bytes())
        behind = frames[1][2]
        chunk = lambda *place: b"".join(wire.number(i, value) for i, value in enumerate(place, 1))  # noqa: E731
        for kind, payload, message in (
                (b"CHNK", b"\xff" * 20, "CHNK: expected a whole number"),
                (b"SEQN", b"\xff" * 20, "SEQN: expected a whole number"),
                (b"SEQN", wire.number(4, 1 << 20), "SEQN.sequence: expected less than 1048576, found 1048576"),
                (b"CHNK", chunk(1 << 20, 0, 0, 3, 0, 1), "CHNK.sequence: expected less than 1048576, found 1048576"),
                (b"CHNK", chunk(0, 9, 0, 3, 0, 1), "CHNK.layer: expected one that the header has, found 9"),
                (b"CHNK", chunk(0, 0, 7, 3, 0, 1), "CHNK.head: expected one that the header has, found 7"),
                (b"CHNK", chunk(0, 0, 0, 77, 0, 1), "CHNK.part: expected one that the header has, found 77"),
                (b"CHNK", chunk(0, 0, 0, 3, 0, 0), "CHNK.tokens: expected some, inside the sequence, found 0")):
            data = self.assembled([frames[0][:2], (kind, payload)], whole=False)
            self.refused(data, f"byte {behind}: {message}")
        twice = chunk(0, 0, 0, 3, 5, 2)
        both = [frames[0][:2], (b"CHNK", chunk(0, 0, 0, 3, 4, 2)), (b"CHNK", twice)]
        self.refused(self.assembled(both, whole=False),
                     f"byte {behind + 16 + len(twice)}: CHNK.first_token: expected none that another chunk has")

    def test_changed_messages_are_read_or_refused(self):
        """Checksums are right, what they cover is not: a reading, or one line."""
        Made(self.path("x.kva"), lengths=(9, 5))
        data = self.path("x.kva").read_bytes()
        r, refused = random.Random(5), 0
        for _ in range(cases(400, 100)):
            self.path("x.kva").write_bytes(self.changed(r, data))
            try:
                with AttentionReader(self.path("x.kva")) as reader:
                    reader.check()
            except FormatError as error:
                self.assertRegex(str(error), "^[^\n]*x.kva: [^\n]*$")
                refused += 1
        self.assertGreater(refused, 50)

    @staticmethod
    def changed(r, data):
        """A frame's message with some bytes changed, put in or left out; with a trailer or cut behind it."""
        frames = [[kind, bytearray(payload)] for kind, payload, _ in Version2.frames(data)]
        message = r.choice([r.choice(frames), frames[0], frames[-1]])[1]
        for _ in range(r.choice([1, 1, 2, 5])):
            place = r.randrange(len(message))
            some = r.choice([b"", bytes([r.randrange(256)]), bytes([message[place] ^ 1 << r.randrange(8)]),
                             bytes([message[place], r.randrange(256)])])
            message[place : place + 1] = some
        return Version2.assembled(frames, whole=r.random() >= 0.3)

    def test_the_program_finds_the_same(self):
        made = Made(self.path("x.kva"))
        code, _, error = kvplan("attention", "info", self.path("x.kva"))
        if code and "version" in error:
            self.skipTest("this kvplan reads version 1 alone")
        for sequence, layer in ((0, 0), (1, 0), (0, 1)):
            out = self.run_kvplan("evict", self.path("x.kva"), "--policy", "oracle-topk:k=3,group=1", "--prefill", 1,
                                  "--layer", layer, "--sequence", sequence, "--json", "-")
            found = [step["attended_mass"] for step in json.loads(out)["steps"]]
            facts = made.header.layer(layer)
            for t, masses in enumerate(found, 1):
                for head, mass in enumerate(masses):
                    row = slow_row(facts, head, made.sent[sequence, layer, "queries", head],
                                   made.sent[sequence, layer, "keys", head // 2], t)
                    self.assertAlmostEqual(mass, np.sort(row)[-3:].sum(), places=6)
        data = self.path("x.kva").read_bytes()
        self.path("cut.kva").write_bytes(data[: len(data) * 2 // 3])
        code, _, error = kvplan("evict", self.path("cut.kva"), "--policy", "window:window=4", "--prefill", 4)
        self.assertEqual(code, 0, error)
        with AttentionReader(self.path("cut.kva")) as reader:
            self.assertIn(str(reader.cut_at), error)


    def test_the_program_says_what_is_missing(self):
        """By the numbers of the model's heads, whatever subset is recorded."""
        rows = header({"rows": "f32"}, [AttentionLayer(1, recorded_kv_heads=(1,))])
        keys = header({"keys": "f32", "values": "f32"}, [AttentionLayer(0)])
        for kind, send, command, message in (
                (rows, lambda out: [out.append(0, 1, "rows", head, [[0.25] * 4], first=3) for head in (2, 3)],
                 ("attention", "analyse", "--layer", 1), "row 0 of query head 2 is needed but was not recorded"),
                (keys, lambda out: [out.append(0, 0, part, head, np.ones((4, 8 if part == "keys" else 6)))
                                    for part in ("keys", "values") for head in (0, 1)],
                 ("format", "--format", "int8", "--prefill", 2),
                 "recording holds no queries; formats need queries, keys and")):
            kind.token_classes = ()
            with RecordingWriter(self.path("x.kva"), kind) as out:
                out.begin("a", 2)
                send(out)
                out.end(0)
            code, _, error = kvplan(*command, self.path("x.kva"))
            self.assertEqual((code, error.count("\n")), (2, 1), error)
            self.assertIn(f"x.kva: {message}", error)


    def test_recordings_of_several_models(self):
        """They are pooled, and a sentence says that they are come from different models: by shape, or by digest."""
        def of(name, digest, layer):
            kind = header({"queries": "f32", "keys": "f32"}, [layer], token_classes=(), model_digest=digest)
            with RecordingWriter(self.path(name), kind) as out:
                out.begin("a", 4)
                for part, heads in (("queries", 4), ("keys", 2)):
                    for head in range(heads):
                        out.append(0, layer.layer, part, head, np.ones((9, 8)))
                out.end(0)
            return self.path(name)

        a, same, other, unknown = (of(f"{i}.kva", digest, AttentionLayer(0))
                                   for i, digest in enumerate(("sha256:1", "sha256:1", "sha256:2", "")))
        shaped = ROOT / "simulator/examples/replay/attention.kva"
        for inputs, several in (((a, same), False), ((a, unknown, same), False), ((a, other), True),
                                ((unknown, a, other), True), ((a, shaped), True)):
            out = self.run_kvplan("frontier", *inputs, "--policies", "h2o", "--budgets", "4").decode()
            self.assertEqual("come from different models" in out, several, inputs)


class Sample(unittest.TestCase):
    """traces/samples/tiny_llama.kva is what its page says."""

    def test_it_is_whole_and_small(self):
        path = ROOT / "traces/samples/tiny_llama.kva"
        self.assertLess(path.stat().st_size, 20_000_000)
        with AttentionReader(path) as reader:
            reader.check()
            self.assertIsNone(reader.cut_at)
            self.assertEqual(len(reader.recorded()), len(reader.sequences) * 6)
            self.assertEqual(len(reader.sequences), 8)
            self.assertTrue(all(one.complete and one.prompt_tokens for one in reader.sequences))
            self.assertEqual(reader.header.parts, {"queries": "f16", "keys": "f16", "values": "f16",
                                                   "token_classes": "u8"})
            self.assertIn("public domain", reader.header.source)
            needle = reader.header.token_classes.index("needle")
            for sequence, one in enumerate(reader.sequences):
                self.assertEqual(needle in reader.token_classes(sequence), one.name.startswith("needle"), one.name)
                rows = reader.matrix(sequence, 5, 7)
                np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-12)


if __name__ == "__main__":
    unittest.main()
