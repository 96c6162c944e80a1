"""Broken and hostile files: what one side refuses the other refuses, and what both take is the same."""

import json
import random
import struct
import unittest
import zlib
from unittest import mock

import numpy as np
import zstandard

from support import FolderTest, cases, info, kvplan, random_trace
from kvplan_traces import (AttentionHeader, AttentionModel, AttentionReader, AttentionSequence, AttentionWriter,
                           FormatError, Header, Trace, TraceReader, kvt, wire)


def small_trace():
    return Trace([5, 3, 99], [40, 16, 33], [1, 0, 7], hash_count=[2, 1, 2], hash_ids=[0, 1, 0, 0, 2],
                 session=[0, -1, 0], session_names=["chat"], tenant=[0, 1, 0], tenant_names=["a", "é"],
                 max_tokens=[-1, 9, 9], ttft_ns=[5, -1, 7], e2e_ns=[9, 8, 1 << 40],
                 think_ns=[-1, 3, 1 << 33], wait_request=[1, 0, 2], wait_before=[0, 2, 1],
                 header=Header(16, warnings=["Odd."], sources=["x.csv"]))


def mutate(r, data):
    """A few bytes changed, removed, put in or repeated."""
    data = bytearray(data)
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        at = r.randrange(len(data) + 1)
        kind = r.choice([0, 1, 2, 3, 4, 4, 4, 4])
        if kind == 0:
            data[at : at + 1] = bytes([r.randrange(256)])
        elif kind == 1:
            data[at : at + r.choice([1, 1, 2, 9])] = b""
        elif kind == 2:
            data[at:at] = r.choice([b"\0", b"\x01", b"\xff" * 9 + b"\x01", b"\x1b\x0c", b"\xf2\x07\x01\x05",
                                    b"\xff\xff\xff\xff\x0f", bytes([r.randrange(256)])])
        elif kind == 3:
            data[at:at] = data[at : at + r.randrange(1, 12)]
        elif data:
            data[at % len(data)] ^= 1 << r.randrange(8)
    return bytes(data)


class Traces(FolderTest):
    def setUp(self):
        super().setUp()
        small_trace().write(self.path())
        self.data = self.path().read_bytes()

    def ours(self, data):
        """The figures that the package finds, or its error."""
        self.path().write_bytes(data)
        try:
            return Trace.read(self.path()).info()
        except FormatError as error:
            self.assertIn("x.kvt: ", str(error))
            self.assertNotIn("\n", str(error))
            return error

    def test_every_bit_is_checked(self):
        self.assertEqual(self.ours(self.data), info(self.path()))
        for at in range(len(self.data)):
            for bit in range(8):
                flipped = bytearray(self.data)
                flipped[at] ^= 1 << bit
                self.assertIsInstance(self.ours(bytes(flipped)), FormatError, (at, bit))
                if bit == at // 3 % 8 and at % 3 == 0:
                    self.assertIsNone(info(self.path()), (at, bit))

    def test_every_length_is_checked(self):
        for size in range(len(self.data)):
            self.assertIsInstance(self.ours(self.data[:size]), FormatError, size)
            if size % 17 == 0:
                self.assertIsNone(info(self.path()), size)
        for tail in (b"\0", self.data):
            self.assertIsInstance(self.ours(self.data + tail), FormatError)
            self.assertIsNone(info(self.path()))

    def frames(self):
        at, out = 8, []
        while at < len(self.data) - 16:
            kind, raw, stored = struct.unpack_from("<4sII", self.data, at)
            out.append((kind, zstandard.ZstdDecompressor().decompress(self.data[at + 16 : at + 16 + stored], raw)))
            at += 16 + stored
        return out

    @staticmethod
    def frame(kind, message, stored=None, raw=None):
        stored = zstandard.ZstdCompressor().compress(message) if stored is None else stored
        head = struct.pack("<4sII", kind, len(message) if raw is None else raw, len(stored))
        return head + struct.pack("<I", zlib.crc32(head + stored)) + stored

    def assembled(self, frames):
        """A file with right checksums and a right trailer of these (kind, message) or whole frames."""
        out, index = self.data[:8], 0
        for frame in frames:
            frame = frame if isinstance(frame, bytes) else self.frame(*frame)
            index = len(out) if frame[:4] == b"INDX" else index
            out += frame
        return out + struct.pack("<Q", index) + b"KVT-END\n"

    def both(self, data):
        """The verdict of both sides, which must be one: figures, or None."""
        ours = self.ours(data)
        code, out, error = kvplan("trace", "info", self.path(), "--json", "-")
        self.assertIn(code, (0, 2), error)
        if code:
            self.assertIsInstance(ours, FormatError, f"the program says {error}")
        else:
            self.assertEqual(ours, json.loads(out))
        return None if code else ours, error

    def mended(self, frames, error):
        """These frames with the digest that the program finds."""
        known, told = wire.Message(frames[-1][1]).blob(7), error.split("the columns give ")[1][:16].encode()
        return [*frames[:-1], (b"INDX", frames[-1][1].replace(known, told))]

    def test_changed_messages(self):
        """Checksums are right, content is not. Where nothing but the digest is wrong, it is mended and tried again."""
        self.assertIsNotNone(self.both(self.assembled(self.frames()))[0])
        r = random.Random(11)
        taken = mended = 0
        for _ in range(cases(300, 300)):
            frames = self.frames()
            place = r.choice([0, 1, 1, 1, 1, 1, 2])
            frames[place] = (frames[place][0], mutate(r, frames[place][1]))
            figures, error = self.both(self.assembled(frames))
            if "digest: the columns give " in error and place != 2:
                figures, error = self.both(self.assembled(self.mended(frames, error)))
                self.assertIsNotNone(figures, error)
                mended += 1
            taken += figures is not None
        self.assertGreater(mended, 20)
        self.assertGreater(taken, mended + 10)

    def two_chunks_with_waits(self):
        trace = Trace([4, 1, 9, 6, 7], [9] * 5, [1] * 5, think_ns=[-1, -1, -1, 2, 200], wait_request=[1, 3, 4, 3, 0],
                      wait_before=[0, 0, 1, 2, 4])
        with mock.patch.object(kvt, "CHUNK_REQUESTS", 3):
            trace.write(self.path())
        self.data = self.path().read_bytes()
        frames = self.frames()
        self.assertEqual([kind for kind, _ in frames], [b"HEAD", b"CHNK", b"CHNK", b"INDX"])
        return frames

    def verdict(self, frames):
        """The figures of both sides, where need be with the digest mended, or None."""
        figures, error = self.both(self.assembled(frames))
        if "digest: the columns give " in error:
            figures, error = self.both(self.assembled(self.mended(frames, error)))
            self.assertIsNotNone(figures, error)
        return figures

    def test_every_bit_of_a_chunk_with_waits(self):
        """Checksums are right. The last chunk, since what changes its size moves no other."""
        head, first, (_, message), index = self.two_chunks_with_waits()
        known = self.verdict([head, first, (b"CHNK", message), index])
        verdicts = []
        for at in range(len(message)):
            for bit in range(8):
                flipped = bytearray(message)
                flipped[at] ^= 1 << bit
                verdicts.append(self.verdict([head, first, (b"CHNK", bytes(flipped)), index]))
        self.assertGreater(verdicts.count(None), 50)
        taken = [figures for figures in verdicts if figures]
        self.assertGreater(len({figures["digest"] for figures in taken} - {known["digest"]}), 20)
        self.assertTrue(any(figures["turns"] != known["turns"] for figures in taken))

    def test_what_waits_may_be(self):
        """Waits of the last chunk, with requests 3 and 4."""
        head, first, (_, message), index = self.two_chunks_with_waits()
        plain = b"".join(wire.blob(number, wire.Message(message).blob(number)) for number in (1, 2, 3, 15))

        def verdict(steps, back):
            waits = b"".join(wire.blob(number, wire.packed(wire.zigzag(np.array(values, np.uint64).view(np.int64))))
                             for number, values in ((16, steps), (17, back)))
            return self.verdict([head, first, (b"CHNK", plain + waits), index]) is not None

        def coded(pairs):
            waiting = [request for request, _ in pairs]
            steps = [(a - b) % (1 << 64) for a, b in zip(waiting, [3, *waiting])]
            return steps, [(a - b) % (1 << 64) for a, b in pairs]

        for pairs, good in (([], True), ([(3, 0)], True), ([(0, 3)], True), ([(3, 3)], True), ([(3, 4), (4, 3)], True),
                            ([(0, 3), (3, 0), (3, 1), (0, 4), (1, 4), (4, 0), (4, 3), (4, 4)], True),
                            ([(3, 0), (3, 0)], False), ([(3, 1), (3, 0)], False), ([(3, 0), (0, 3)], False),
                            ([(4, 0), (3, 0)], False), ([(1, 4), (0, 4)], False), ([(0, 4), (3, 0)], False),
                            ([(2, 1)], False), ([(1, 2)], False), ([(5, 0)], False), ([(0, 5)], False),
                            ([(3, -1)], False), ([(-1, 3)], False), ([(3, (1 << 63) - 1)], False),
                            ([((1 << 63) - 1, 3)], False), ([(3, -(1 << 63))], False), ([(3, 1 << 32)], False),
                            ([((1 << 32) + 3, 0)], False), ([(3, (1 << 31) - 1)], False)):
            with self.subTest(pairs):
                self.assertEqual(verdict(*coded(pairs)), good)
        for steps, back in (([0], []), ([], [3]), ([0, 1], [3]), ([0], [3, 4])):
            with self.subTest((steps, back)):
                self.assertFalse(verdict(steps, back))

    def test_frames_that_others_add(self):
        head, chunk, index = self.frames()
        note = self.frame(b"note", b"", b"not even zstd", 7)
        # In front of the chunk it moves it, so that the index is wrong.
        for frames, good in (([head, chunk, note, index], True), ([head, note, chunk, index], False),
                             ([head, chunk, self.frame(b"NOTE", b"x"), index], False), ([chunk, head, index], False),
                             ([head, head, chunk, index], False), ([head, chunk, index, index], False),
                             ([head, index], False), ([head, chunk, note[:-1] + b"!", index], False)):
            self.assertEqual(self.both(self.assembled(frames))[0] is not None, good)

    def test_sizes(self):
        head, chunk, index = self.frames()
        for frame in (self.frame(b"CHNK", b"", b"", 25 << 20), self.frame(b"CHNK", chunk[1], raw=len(chunk[1]) - 1),
                      self.frame(b"CHNK", chunk[1], raw=len(chunk[1]) + 1), self.frame(b"CHNK", bytes(25 << 20)),
                      self.frame(b"CHNK", chunk[1], b"no zstd")):
            self.assertIsNone(self.both(self.assembled([head, frame, index]))[0])
        # A frame that does not say its size, as writers of streams make it, is as good.
        stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
        unsized = stream.compress(chunk[1]) + stream.flush()
        moved = self.frame(b"CHNK", chunk[1], unsized)
        self.assertEqual(self.both(self.assembled([head, moved, index]))[0], small_trace().info())
        # Two frames in the place of one are not, nor is anything behind it.
        parts = [zstandard.ZstdCompressor().compress(part) for part in (chunk[1][:9], chunk[1][9:])]
        whole = zstandard.ZstdCompressor().compress(chunk[1])
        for stored in (b"".join(parts), whole + b"!", whole[:-1], whole + parts[0]):
            self.assertIsNone(self.both(self.assembled([head, self.frame(b"CHNK", chunk[1], stored), index]))[0])

    def test_errors_say_where(self):
        _, chunk, _ = self.frames()
        at = self.data.index(b"CHNK")
        damaged = bytearray(self.data)
        damaged[at + 20] ^= 1
        self.assertEqual(str(self.ours(bytes(damaged))),
                         f"{self.path()}: byte {at}: expected another checksum: damaged")
        self.assertEqual(str(self.ours(b"PNG")), f"{self.path()}: expected the first bytes of a .kvt")
        with self.assertRaises(OSError):
            TraceReader(self.path("absent.kvt"))


class Recordings(FolderTest):
    def setUp(self):
        super().setUp()
        self.models = {"rows": "f16", "top": "f32", "tensors": "bf16"}

    def small(self, form):
        g = np.random.default_rng(7)
        model = AttentionModel("m", 1, 2, 1, 3, 2, 2)
        header = AttentionHeader(model, [AttentionSequence("s", 5, 2)], form, self.models[form],
                                 has_values=form == "tensors")
        with AttentionWriter(self.path("x.kva"), header, "stored" if form == "rows" else "zlib") as out:
            for head in range(2):
                rows = [row / row.sum() for row in (g.random(t + 1) for t in range(5))]
                if form == "rows":
                    out.rows(0, 0, head, rows)
                elif form == "top":
                    out.top(0, 0, head, [([t // 2], [row[t // 2]], 0 if t == 0 else row.sum() - row[t // 2])
                                         for t, row in enumerate(rows)])
                else:
                    out.queries(0, 0, head, g.normal(size=(5, 3)))
            if form == "tensors":
                out.keys(0, 0, 0, g.normal(size=(5, 3)))
                out.values(0, 0, 0, g.normal(size=(5, 2)))
        return self.path("x.kva").read_bytes()

    def ours(self, data):
        """All that the package reads, or its error."""
        self.path("x.kva").write_bytes(data)
        try:
            with AttentionReader(self.path("x.kva")) as reader:
                reader.check()
                return [[row.tolist() for _, row in reader.rows(0, 0, head)] for head in range(2)]
        except FormatError as error:
            self.assertIn("x.kva: ", str(error))
            return error

    def theirs(self):
        """The mass of the largest weight of each row, as the program reads it; where it refuses, its error."""
        code, out, error = kvplan("evict", self.path("x.kva"), "--policy", "oracle-topk:k=1,group=1", "--prefill", 1,
                                  "--json", "-")
        self.assertIn(code, (0, 2), error)
        return error if code else [step["attended_mass"] for step in json.loads(out)["steps"]]

    def test_every_bit_and_length_is_checked(self):
        for form in self.models:
            with self.subTest(form):
                data = self.small(form)
                self.same(self.ours(data), self.theirs())
                for at in range(len(data)):
                    for bit in range(8):
                        flipped = bytearray(data)
                        flipped[at] ^= 1 << bit
                        self.assertIsInstance(self.ours(bytes(flipped)), FormatError, (at, bit))
                        if at // 5 % 8 == bit and at % 5 == 0:
                            self.assertIsInstance(self.theirs(), str, (at, bit))
                    self.assertIsInstance(self.ours(data[:at]), FormatError, at)

    def same(self, ours, theirs):
        found = [[max(row) for row in rows[1:]] for rows in ours]
        np.testing.assert_allclose(np.array(theirs).T, found, atol=1e-9, rtol=0)

    @staticmethod
    def parts(data):
        at, out = 8, []
        while at < len(data) - 20:
            kind, _, size = struct.unpack_from("<4sIQ", data, at)
            out.append((kind, data[at + 16 : at + 16 + size]))
            at += 16 + size
        return out

    @staticmethod
    def assembled(data, parts):
        out, at = data[:8], 0
        for kind, payload in parts:
            at = len(out)
            length = struct.pack("<Q", len(payload))
            out += kind + struct.pack("<I", zlib.crc32(kind + length + payload)) + length + payload
        return out + struct.pack("<QI", at, zlib.crc32(struct.pack("<Q", at))) + b"KVA-END\n"

    def test_changed_messages(self):
        taken = 0
        for form in self.models:
            data = self.small(form)
            r = random.Random(form)
            for i in range(cases(120, 120)):
                parts = self.parts(data)
                # The index is last: what moves it moves nothing that it names. Chunks keep their size.
                place = r.randrange(len(parts))
                kind, payload = parts[place]
                changed = bytearray(payload)
                if kind == b"INDX":
                    changed = bytearray(mutate(r, payload))
                else:
                    for _ in range(r.choice([1, 1, 2])):
                        changed[r.randrange(len(changed))] ^= 1 << r.randrange(8)
                parts[place] = (kind, bytes(changed))
                ours = self.ours(self.assembled(data, parts))
                theirs = self.theirs()
                if isinstance(theirs, str) and "was not recorded" in theirs:
                    continue  # a row that the policy needs; the file is good all the same
                if isinstance(theirs, str):
                    self.assertIsInstance(ours, FormatError, theirs)
                elif isinstance(ours, FormatError):
                    # The program reads what it is asked for, `check` reads all.
                    self.assertIn("was not recorded", str(ours), (form, i))
                else:
                    self.same(ours, theirs)
                    taken += 1
        self.assertGreater(taken, 30)

    def test_one_stream_is_one(self):
        data = self.small("rows")
        parts = self.parts(data)
        kind, payload = parts[2]  # the last chunk: what grows here moves nothing but the index
        stored = wire.Message(payload)
        fields = [wire.number(number, stored.uint64(number)) for number in range(1, 7)]
        raw = stored.blob(9)
        for codec, packed in ((1, zstandard.ZstdCompressor().compress(raw)), (2, zlib.compress(raw)), (0, raw)):
            for tail, good in ((b"", True), (b"!", False), (packed, False)):
                parts[2] = (kind, b"".join([*fields, wire.number(7, codec), wire.number(8, len(raw)),
                                            wire.blob(9, packed + tail)]))
                ours, theirs = self.ours(self.assembled(data, parts)), self.theirs()
                self.assertEqual(isinstance(ours, list), good, (codec, tail))
                self.assertEqual(isinstance(theirs, list), good, (codec, tail))


if __name__ == "__main__":
    unittest.main()
