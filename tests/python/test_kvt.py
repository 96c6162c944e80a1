"""A .kvt written by either side is read by the other, with the same figures and the same digest."""

import gzip
import random
import unittest
from unittest import mock

import numpy as np
import zstandard

from support import ROOT, SHARED, FolderTest, cases, expect_same, info, random_trace, random_waits
from kvplan_traces import Columns, FormatError, Header, Trace, TraceReader, TraceWriter, kvt

RECORDED = ["azure_llm_2023_conv.csv", "claude_code_sessions_small.jsonl.gz", "dynamo_request_trace_pi.jsonl.gz",
            "generated_servegen_deepseek-r1_1800s.csv.gz", "lengths_arxiv_summarization.csv", "lengths_sharegpt_8k.csv",
            "mooncake_arxiv_head1000.jsonl", "mooncake_fast25_conversation.jsonl.zst",
            "otel/prefix_sharing_example.json"]


class RealTraces(FolderTest):
    def both_ways(self, path):
        expected = info(path)
        trace = Trace.read(path)
        self.assertEqual(trace.info(), expected)
        trace.write(self.path("again.kvt"))
        self.assertEqual(info(self.path("again.kvt")), expected)
        # By way of a frame nothing is lost either.
        Trace.from_frame(trace.to_frame(), like=trace).write(self.path("framed.kvt"))
        self.assertEqual(info(self.path("framed.kvt")), expected)
        return trace

    def test_the_bundled_sample(self):
        trace = self.both_ways(ROOT / "traces/samples/chat.kvt")
        self.assertGreater(len(trace), 100)

    def test_packed_as_a_whole(self):
        """What kvplan reads of a packed .kvt is read here; what is cut off, or goes on, is refused."""
        plain = (ROOT / "traces/samples/chat.kvt").read_bytes()
        expected = Trace.read(ROOT / "traces/samples/chat.kvt").info()
        zstd = zstandard.ZstdCompressor().compress
        half = len(plain) // 2
        for name, packed in [("t.kvt.gz", gzip.compress(plain)), ("t.kvt.zst", zstd(plain)),
                             ("two.kvt.gz", gzip.compress(plain[:half]) + gzip.compress(plain[half:])),
                             ("two.kvt.zst", zstd(plain[:half]) + zstd(plain[half:]))]:
            with self.subTest(name):
                path = self.path(name)
                path.write_bytes(packed)
                self.assertEqual(info(path), expected)
                self.assertEqual(Trace.read(path).info(), expected)
                for damaged in (packed[:-9], packed[: len(packed) // 2], packed[:5], packed + b"more"):
                    path.write_bytes(damaged)
                    with self.assertRaises(FormatError) as caught:
                        Trace.read(path)
                    self.assertTrue(str(caught.exception).startswith(str(path)), caught.exception)
        with mock.patch("kvplan_traces.storage._MOST_UNPACKED", len(plain) - 1):
            path.write_bytes(zstd(plain))
            with self.assertRaisesRegex(FormatError, "at most"):
                Trace.read(path)

    def test_recorded_traces(self):
        if not SHARED.is_dir():
            self.skipTest(f"the recorded traces are not in {SHARED}")
        for name in RECORDED:
            with self.subTest(name):
                self.run_kvplan("trace", "import", SHARED / "traces" / name, "-o", self.path())
                trace = self.both_ways(self.path())
                if name.startswith("claude_code"):  # calls that wait for those before them and for sub-agents
                    self.assertGreater(trace.info()["turns"]["waits"], trace.info()["turns"]["waiting"])
                    self.assertGreater((trace.think_ns > 0).sum(), 100)


class BothWays(FolderTest):
    def test_random_traces(self):
        for seed in range(cases(40)):
            with self.subTest(seed):
                trace = random_trace(seed)
                trace.write(self.path("ours.kvt"))
                self.assertEqual(trace.info(), told := info(self.path("ours.kvt")))
                self.assertEqual(told["digest"], trace.digest())
                expect_same(self, Trace.read(self.path("ours.kvt")), trace)
                # And as the program writes it.
                self.run_kvplan("trace", "convert", self.path("ours.kvt"), "-o", self.path("theirs.kvt"))
                theirs = Trace.read(self.path("theirs.kvt"))
                expect_same(self, theirs, trace)
                self.assertEqual(theirs.digest(), trace.digest())

    def test_every_column_is_in_some_of_them(self):
        traces = [random_trace(seed) for seed in range(40)]
        for column in ("hash_ids", "session", "tenant", "max_tokens", "priority", "ttft_ns", "e2e_ns", "think_ns"):
            there = [getattr(trace, column) is not None for trace in traces]
            self.assertTrue(any(there) and not all(there), column)
        turns = [trace.info()["turns"] for trace in traces]
        self.assertIn(None, turns)
        chains = [told["longest_chain"] for told in turns if told]
        self.assertIn(None, chains)  # a circle
        self.assertIn(17, chains)
        self.assertTrue(any(told and told["longest_chain"] and (trace.wait_before > trace.wait_request).any()
                            for told, trace in zip(turns, traces)))

    def small_chunks(self, requests=5, waits=1 << 18):
        return mock.patch.multiple(kvt, CHUNK_REQUESTS=requests, CHUNK_WAITS=waits)

    def test_waits_across_chunks(self):
        for seed in range(cases(12)):
            with self.subTest(seed):
                trace = random_trace(2 * seed + 1, requests=40)
                waits = random_waits(random.Random(seed), 40)
                trace = Trace.from_frame(trace.to_frame().drop(columns="after", errors="ignore"), like=trace)
                trace.wait_request, trace.wait_before = (np.array(waits[name], np.int32) for name in waits)
                for sizes in ({}, {"waits": 3}):
                    with self.small_chunks(**sizes):
                        trace.write(self.path())
                    found = Trace.read(self.path())
                    self.assertEqual(set(zip(found.wait_request.tolist(), found.wait_before.tolist())),
                                     set(zip(*waits.values())))
                    self.assertEqual(info(self.path()), found.info())
                    with TraceReader(self.path()) as reader:
                        self.assertGreaterEqual(len(reader), 8)
                        first = 0
                        for i, piece in enumerate(reader):
                            later = np.maximum(piece.wait_request, piece.wait_before)
                            self.assertTrue(((later >= first) & (later < first + len(piece))).all())
                            self.assertEqual(reader.chunk(i).wait_request.tolist(), piece.wait_request.tolist())
                            self.assertTrue(not sizes or len(piece) == 1 or len(later) <= 3)
                            first += len(piece)
                    # The program puts the waits into its own chunks.
                    self.run_kvplan("trace", "convert", self.path(), "-o", self.path("theirs.kvt"))
                    expect_same(self, Trace.read(self.path("theirs.kvt")), found)

    def test_many_waits(self):
        n = 800
        rows = np.repeat(np.arange(n), np.arange(n))
        before = np.concatenate([np.arange(i) for i in range(n)])
        columns = dict(arrival_ns=np.arange(n), input_tokens=np.ones(n, int), output_tokens=np.ones(n, int))
        trace = Trace(**columns, wait_request=rows[::-1], wait_before=before[::-1])
        trace.write(self.path())
        with TraceReader(self.path()) as reader:
            self.assertEqual([len(reader), *(len(piece.wait_request) <= 1 << 18 for piece in reader)], [2, True, True])
        self.assertEqual(info(self.path()), trace.info())
        self.assertEqual(trace.info()["turns"], {"waiting": n - 1, "waits": n * (n - 1) // 2, "longest_chain": n})
        # All wait for the last one: more waits than a chunk has otherwise, and more than an import takes.
        n = 300_000
        columns = dict(arrival_ns=np.arange(n), input_tokens=np.ones(n, int), output_tokens=np.ones(n, int))
        trace = Trace(**columns, wait_request=np.arange(n - 1), wait_before=np.full(n - 1, n - 1))
        trace.write(self.path())
        self.assertEqual(info(self.path()), trace.info())
        self.assertEqual(trace.info()["turns"], {"waiting": n - 1, "waits": n - 1, "longest_chain": 2})

    def test_an_order_of_waits_is_no_content(self):
        columns = dict(arrival_ns=[0, 1, 2], input_tokens=[1, 1, 1], output_tokens=[1, 1, 1])
        one = Trace(**columns, wait_request=[2, 0, 2, 1, 2], wait_before=[1, 2, 0, 0, 1])
        self.assertEqual(one.wait_request.dtype, np.int32)
        self.assertEqual(list(zip(one.wait_request, one.wait_before)), [(1, 0), (0, 2), (2, 0), (2, 1)])
        two = Trace(**columns, wait_request=[1, 0, 2, 2], wait_before=[0, 2, 0, 1])
        self.assertEqual(one.digest(), two.digest())
        self.assertNotEqual(one.digest(), Trace(**columns, wait_request=[1, 2, 2], wait_before=[0, 0, 1]).digest())
        self.assertNotEqual(Trace(**columns).digest(), Trace(**columns, think_ns=[-1, 0, -1]).digest())
        self.assertEqual(Trace(**columns).digest(), Trace(**columns, think_ns=[-1, -1, -1]).digest())
        with TraceWriter(self.path(), one.header) as out:
            for first, waits in ((0, ([], [])), (1, ([1], [0])), (2, ([2, 2, 0, 2], [1, 0, 2, 1]))):
                piece = one.rows(first, first + 1)
                piece.wait_request, piece.wait_before = (np.array(numbers, np.int32) for numbers in waits)
                out.append(piece)
        self.assertEqual(info(self.path()), one.info())

    def test_chunks_end_where_the_page_says(self):
        n = 70_000
        ids = np.arange(n * 20) % 700
        ids[:700] = np.arange(700)
        names = [f"{i:01000d}" for i in range(9000)]
        session = np.minimum(np.arange(n), len(names) - 1)
        trace = Trace(np.arange(n), np.full(n, 640), np.ones(n, int), hash_count=np.full(n, 20), hash_ids=ids,
                      session=session, session_names=names, header=Header(block_tokens=32))
        trace.write(self.path())
        with TraceReader(self.path()) as reader:
            pieces = list(reader)
            self.assertEqual(len(reader), len(pieces))
            for i, piece in enumerate(pieces):
                self.assertLessEqual(len(piece), 65_536)
                self.assertLessEqual(len(piece.hash_ids), 1 << 20)
                self.assertLessEqual(sum(map(len, piece.session_names)), 4 << 20)
                alone = reader.chunk(i)
                self.assertEqual(alone.hash_ids.tolist(), piece.hash_ids.tolist())
                self.assertEqual(alone.session_names, piece.session_names)
            self.assertGreater(len(pieces), 3)
            # Two walks at once do not disturb each other.
            self.assertEqual([len(a) for a, _ in zip(reader, reader)], [len(piece) for piece in pieces])
        self.assertEqual(info(self.path()), trace.info())

    def test_piece_by_piece_is_the_same_as_at_once(self):
        trace = random_trace(seed=5, requests=300)
        with TraceWriter(self.path(), trace.header) as out:
            for first in range(0, 300, 7):
                piece = trace.rows(first, first + 7)
                for column, names in (("session", "session_names"), ("tenant", "tenant_names")):
                    numbers = getattr(trace, column)
                    if numbers is not None:
                        known = [max(0, numbers[:end].max(initial=-1) + 1) for end in (first, first + 7)]
                        setattr(piece, names, getattr(trace, names)[known[0] : known[1]])
                out.append(piece)
        self.assertEqual(info(self.path())["digest"], trace.digest())

    def test_a_longest_prompt(self):
        most = 1 << 21
        trace = Trace([0], [most], [1], hash_count=[most], hash_ids=np.arange(most), header=Header(block_tokens=1))
        trace.write(self.path())
        self.assertEqual(info(self.path()), trace.info())
        with self.assertRaisesRegex(FormatError, "hash_count: request 0: expected 0 to 2097152, found 2097153"):
            Trace([0], [most + 1], [1], hash_count=[most + 1], hash_ids=np.arange(most + 1),
                  header=Header(block_tokens=1)).write(self.path("more.kvt"))

    def test_hashes_of_a_request(self):
        trace = Trace([0, 1, 2], [32, 0, 48], [1, 1, 1], hash_count=[2, 0, 3], hash_ids=[0, 1, 0, 1, 2],
                      header=Header(block_tokens=16))
        self.assertEqual([trace.hashes(i).tolist() for i in range(3)], [[0, 1], [], [0, 1, 2]])


class Writing(FolderTest):
    GOOD = dict(arrival_ns=[0, 1], input_tokens=[9, 9], output_tokens=[1, 1])

    def refused(self, message, header=None, **columns):
        self.path().write_bytes(b"what was there")
        with self.assertRaises(FormatError) as caught:
            Trace(**{**self.GOOD, **columns}, header=header or Header()).write(self.path())
        self.assertRegex(str(caught.exception), message)
        self.assertNotIn("\n", str(caught.exception))
        self.assertEqual(self.path().read_bytes(), b"what was there")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["x.kvt"])

    def test_what_no_reader_takes(self):
        hashed = Header(block_tokens=4)
        self.refused(r"input_tokens: request 1: expected 0 to 2147483647, found 2147483648", input_tokens=[0, 1 << 31])
        self.refused(r"output_tokens: request 0: expected 0 to 2147483647, found -1", output_tokens=[-1, 1])
        self.refused(r"input_tokens: expected one row of whole numbers", input_tokens=[0.5, 1])
        self.refused(r"input_tokens: expected an entry for each of 2 requests", input_tokens=[1])
        self.refused(r"session: request 1: expected -1 to 0, found 1", session=[0, 1], session_names=["a"])
        self.refused(r"session_names: expected names of 1 to 1024 bytes", session=[0, 0], session_names=[""])
        self.refused(r"session_names: expected names of 1 to 1024 bytes", session=[0, 0], session_names=["é" * 513])
        self.refused(r"session_names: expected no more new names than requests", session=[0, 1],
                     session_names=["a", "b", "c"])
        self.refused(r"max_tokens: request 0: expected -1 to 2147483647, found -2", max_tokens=[-2, 1])
        self.refused(r"think_ns: request 0: expected -1 to 9223372036854775807, found -2", think_ns=[-2, 1])
        self.refused(r"wait_before: expected as many as in wait_request, 1", wait_request=[1])
        self.refused(r"wait_before: expected 0 to 2147483646, found -1", wait_request=[1], wait_before=[-1])
        self.refused(r"wait_request: expected 0 to 2147483646, found 4294967296", wait_request=[1 << 32],
                     wait_before=[0])
        self.refused(r"wait_request: expected one row of whole numbers", wait_request=[0.5], wait_before=[0])
        self.refused(r"wait_before: request 0 waits for request 2: expected 0 to 1 as the later of the two",
                     wait_request=[1, 0], wait_before=[0, 2])
        self.refused(r"e2e_ns: expected numbers below 2\^63", e2e_ns=np.array([0, 1 << 63], np.uint64))
        self.refused(r"hash_count: expected a column", header=hashed)
        self.refused(r"hash_count: expected no column", hash_count=[1, 0], hash_ids=[0])
        self.refused(r"hash_count: request 1: expected 0 to 3, found 4", hashed, hash_count=[0, 4],
                     hash_ids=[0, 1, 2, 3])
        self.refused(r"hash_ids: expected as many as hash_count says, 2", hashed, hash_count=[1, 1], hash_ids=[0])
        self.refused(r"hash_ids: request 1: expected an id of at most 1 .*, found 2", hashed, hash_count=[1, 1],
                     hash_ids=[0, 2])
        self.refused(r"block_tokens: expected 0 to 1073741824", Header(block_tokens=(1 << 30) + 1), hash_count=[0, 0],
                     hash_ids=[])
        self.refused("expected a request", arrival_ns=[], input_tokens=[], output_tokens=[])
        self.refused("expected at most 4194304 bytes in INDX", Header(warnings=["x" * (1 << 22)]))

    def test_waits_come_with_the_later_request(self):
        for first, second in (([1], [0]), ([0], [1])):
            for pieces in (((first, second), ((), ())), (((), ()), ((), ())), (((), ()), ([0], [0]))):
                with self.subTest((first, pieces)):
                    good = pieces[0] == ((), ()) and pieces[1] == ((), ())
                    try:
                        with TraceWriter(self.path()) as out:
                            for request, before in pieces:
                                out.append(Columns([0], [1], [1], wait_request=request, wait_before=before))
                        self.assertTrue(good)
                    except FormatError as error:
                        self.assertFalse(good)
                        self.assertRegex(str(error), r"x.kvt: wait_before: request \d waits for request \d: expected")
        with self.assertRaisesRegex(FormatError, "expected a request that has the waits"):
            with TraceWriter(self.path()) as out:
                out.append(Columns([], [], [], wait_request=[0], wait_before=[0]))

    def test_an_exception_leaves_nothing(self):
        with self.assertRaises(KeyError):
            with TraceWriter(self.path()) as out:
                out.append(Columns(**self.GOOD))
                raise KeyError
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
