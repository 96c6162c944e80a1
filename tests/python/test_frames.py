"""Traces as pandas frames and back."""

import random
import unittest

import numpy as np
import pandas as pd

from support import ROOT, FolderTest, expect_same, info, random_trace
from kvplan_traces import FormatError, Header, Trace

TRACE = dict(arrival_ns=[5, 6, 7], input_tokens=[40, 0, 33], output_tokens=[1, 2, 3])


class ToFrame(unittest.TestCase):
    def test_columns_and_what_is_not_stated(self):
        trace = Trace(**TRACE, hash_count=[2, 0, 3], hash_ids=[0, 1, 0, 1, 2], session=[0, -1, 1],
                      session_names=["chat", "名"], tenant=[0, 1, 2], tenant_names=["t", "t", "t (1)"],
                      max_tokens=[-1, 7, -1], ttft_ns=[-1, (1 << 63) - 1, 0], header=Header(block_tokens=16))
        frame = trace.to_frame()
        self.assertEqual(list(frame.columns), ["arrival_ns", "input_tokens", "output_tokens", "session", "tenant",
                                               "max_tokens", "ttft_ns", "hashes"])
        self.assertEqual(list(frame["session"].cat.categories), ["chat", "名"])
        self.assertEqual(frame["session"].tolist(), ["chat", np.nan, "名"])
        self.assertEqual(frame["tenant"].tolist(), ["t", "t (1)", "t (1) (2)"])  # two names that are alike stay apart
        self.assertEqual(frame["max_tokens"].tolist(), [pd.NA, 7, pd.NA])
        self.assertEqual(frame["ttft_ns"].tolist(), [pd.NA, (1 << 63) - 1, 0])  # exact, not a float
        self.assertEqual([part.tolist() for part in frame["hashes"]], [[0, 1], [], [0, 1, 2]])
        self.assertEqual(trace.hash_frame().values.tolist(), [[0, 0, 0], [0, 1, 1], [2, 0, 0], [2, 1, 1], [2, 2, 2]])
        self.assertNotIn("hashes", trace.to_frame(hashes=False))

    def test_waits_and_pauses(self):
        trace = Trace(**TRACE, think_ns=[-1, 4, (1 << 63) - 1], wait_request=[2, 2, 0], wait_before=[1, 0, 2])
        frame = trace.to_frame()
        self.assertEqual(list(frame.columns)[3:], ["think_ns", "after"])
        self.assertEqual(frame["think_ns"].tolist(), [pd.NA, 4, (1 << 63) - 1])
        self.assertEqual([part.tolist() for part in frame["after"]], [[2], [], [0, 1]])
        self.assertNotIn("after", Trace(**TRACE).to_frame())
        # One entry each, where numpy might see a table.
        chain = Trace(**TRACE, wait_request=[0, 1, 2], wait_before=[1, 0, 0])
        self.assertEqual([part.tolist() for part in chain.to_frame()["after"]], [[1], [0], [0]])

    def test_there_and_back(self):
        for seed in range(40):
            with self.subTest(seed):
                trace = random_trace(seed)
                again = Trace.from_frame(trace.to_frame(), like=trace)
                for names in ("session_names", "tenant_names"):  # what is alike was told apart
                    self.assertEqual(len(getattr(again, names)), len(getattr(trace, names)))
                    setattr(again, names, getattr(trace, names))
                expect_same(self, again, trace)


class FromFrame(FolderTest):
    def test_a_selection_is_what_the_program_selects(self):
        path = ROOT / "traces/samples/chat.kvt"
        trace = Trace.read(path)
        frame = trace.to_frame()
        since = frame["arrival_ns"] - frame["arrival_ns"].min()
        self.run_kvplan("trace", "window", path, "--from", 10, "--to", 50, "-o", self.path())
        chosen = Trace.from_frame(frame[(since >= 10 * 10**9) & (since < 50 * 10**9)], like=trace)
        self.assertLess(len(chosen), len(trace))
        self.assertGreater(len(chosen), 50)
        self.assertEqual(chosen.digest(), info(self.path())["digest"])

    def test_a_selection_of_those_that_wait(self):
        n = 200
        r = random.Random(3)
        trace = Trace(np.arange(n) * 10**9, np.full(n, 9), np.ones(n, int), think_ns=[r.randrange(9) for _ in range(n)],
                      session=np.arange(n) % 40, session_names=[f"s{i}" for i in range(40)],
                      wait_request=[r.randrange(n) for _ in range(2000)],
                      wait_before=[r.randrange(n) for _ in range(2000)])
        trace.write(self.path("all.kvt"))
        self.run_kvplan("trace", "window", self.path("all.kvt"), "--from", 20, "--to", 120, "-o", self.path())
        chosen = Trace.from_frame(trace.to_frame().iloc[20:120], like=trace)
        self.assertGreater(chosen.info()["turns"]["waits"], 300)
        self.assertEqual({**chosen.info(), "options": 0}, {**info(self.path()), "options": 0})
        # Rows in another order are requests in another order; the waits stay.
        turned = Trace.from_frame(trace.to_frame().iloc[::-1], like=trace)
        self.assertEqual(set(zip((n - 1 - turned.wait_request).tolist(), (n - 1 - turned.wait_before).tolist())),
                         set(zip(trace.wait_request.tolist(), trace.wait_before.tolist())))

    def test_lists_of_any_kind(self):
        frame = pd.DataFrame({**TRACE, "after": [None, (0, 0), np.array([1, 0], np.uint8)]}, index=[0, 1, 2])
        found = Trace.from_frame(frame)
        self.assertEqual(list(zip(found.wait_request, found.wait_before)), [(1, 0), (2, 0), (2, 1)])
        frame["after"] = [pd.NA, [], np.nan]
        self.assertEqual(len(Trace.from_frame(frame).wait_request), 0)

    def test_hashes_and_names_of_any_kind(self):
        frame = pd.DataFrame({**TRACE, "session": [7, 9, 7], "max_tokens": [1.0, np.nan, 3.0],
                              "hashes": [[1 << 63, 5], None, ["text", 5, (1 << 64) - 1]]})
        trace = Trace.from_frame(frame, block_tokens=16)
        self.assertEqual(trace.hash_ids.tolist(), [0, 1, 2, 1, 3])
        self.assertEqual(trace.hash_count.tolist(), [2, 0, 3])
        self.assertEqual((trace.session.tolist(), trace.session_names), ([0, 1, 0], ["7", "9"]))
        self.assertEqual(trace.max_tokens.tolist(), [1, -1, 3])
        # Neighbours beyond 2^53 are two ids, also where signed and unsigned arrays meet.
        frame["hashes"] = [np.array([1 << 63, (1 << 63) + 1], np.uint64), np.array([], np.int64), np.array([3, 4])]
        self.assertEqual(Trace.from_frame(frame, block_tokens=16).hash_ids.tolist(), [0, 1, 2, 3])

    def test_the_header(self):
        like = Trace(**TRACE, hash_count=[0, 0, 0], hash_ids=[],
                     header=Header(block_tokens=16, last_may_be_partial=True, times_per_session=True, format="x"))
        found = Trace.from_frame(like.to_frame(hashes=False), like=like, format="y").header
        self.assertEqual(found, Header(times_per_session=True, format="y"))
        self.assertEqual(like.header.block_tokens, 16)

    def test_what_is_refused(self):
        def refused(message, **columns):
            with self.assertRaisesRegex(FormatError, message):
                Trace.from_frame(pd.DataFrame({**TRACE, **columns}))

        refused("block_tokens: expected the tokens of one prefix id", hashes=[[1], [], []])
        refused("frame: expected the columns arrival_ns, .*; found other too", other=[1, 2, 3])
        refused("input_tokens: expected a number in every row", input_tokens=[1, np.nan, 2])
        refused("input_tokens: expected whole numbers", input_tokens=[1, 0.5, 2])
        refused("ttft_ns: expected whole numbers", ttft_ns=[1.0, np.nan, 2.0**60])
        refused("input_tokens: expected one row of whole numbers", input_tokens=["1", "2", "3"])
        refused("after: expected one row of whole numbers", after=[[], ["a"], []])
        refused("think_ns: expected whole numbers", think_ns=[0.5, 1, 2])
        for index in (["a", "b", "c"], [0, 1, 1]):
            with self.assertRaisesRegex(FormatError, "after: expected an index that numbers the requests, each once"):
                Trace.from_frame(pd.DataFrame({**TRACE, "after": [[], [0], [0]]}, index=index))
        refused("session: expected names that differ as text", session=[1, "1", 2])
        with self.assertRaisesRegex(FormatError, "frame: expected the columns input_tokens, output_tokens"):
            Trace.from_frame(pd.DataFrame({"arrival_ns": [1]}))


if __name__ == "__main__":
    unittest.main()
