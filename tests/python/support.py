"""What the tests of traces/python share: the program, the data, and random traces.

KVPLAN is the program to compare with, KVPLAN_SHARED the folder with the recorded traces (else ../shared).
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("KVPLAN_SHARED", ROOT.parent / "shared"))
KVPLAN = os.environ.get("KVPLAN", str(ROOT / "build/bin/kvplan"))
sys.path.insert(0, str(ROOT / "traces/python"))

import numpy as np  # noqa: E402

from kvplan_traces import Header, Trace  # noqa: E402


def cases(fallback, enough=1):
    """How many random cases to try; KVPLAN_RANDOM_CASES asks for more (5000) or for a part of them (1/8), which is at
    least `enough`."""
    asked = os.environ.get("KVPLAN_RANDOM_CASES", "0")
    if asked.startswith("1/"):
        return max(enough, fallback // int(asked[2:]))
    return max(fallback, int(asked))


def kvplan(*arguments):
    """(exit code, standard output, standard error) of the program."""
    done = subprocess.run([KVPLAN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def info(path):
    """What `kvplan trace info` says of a trace; None if it refuses it."""
    code, out, error = kvplan("trace", "info", path, "--json", "-")
    assert code in (0, 2), error
    return json.loads(out) if code == 0 else None


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name="x.kvt"):
        return self.folder / name

    def run_kvplan(self, *arguments):
        code, out, error = kvplan(*arguments)
        self.assertEqual(code, 0, error)
        return out


COLUMNS = ("arrival_ns", "input_tokens", "output_tokens", "hash_count", "hash_ids", "session", "tenant", "max_tokens",
           "priority", "ttft_ns", "e2e_ns", "think_ns", "wait_request", "wait_before")


def expect_same(test, found, expected):
    """Equal content; an optional column in which nothing is stated is as good as none."""
    for name in COLUMNS:
        columns = [getattr(trace, name) for trace in (found, expected)]
        if name not in ("hash_count", "hash_ids", "wait_request", "wait_before"):
            columns = [None if column is None or np.all(column == -1) else column for column in columns]
        test.assertEqual(*[None if column is None else column.tolist() for column in columns], name)
    test.assertEqual(found.session_names, expected.session_names)
    test.assertEqual(found.tenant_names, expected.tenant_names)
    for name in ("block_tokens", "times_per_session", "last_may_be_partial", "format", "sources", "options",
                 "warnings"):
        test.assertEqual(getattr(found.header, name), getattr(expected.header, name), name)


LARGEST = (1 << 63) - 1


def random_trace(seed, requests=None):
    """Any content that a .kvt may have: each optional column there or not, extreme numbers, odd names."""
    r = random.Random(seed)
    n = requests or r.choice([1, 2, 17, 300])
    some = lambda: r.random() < 0.5  # noqa: E731
    arrivals = [r.choice([r.randrange(10**9), r.randrange(10**18), -r.randrange(10**9), LARGEST, -LARGEST - 1])
                if seed % 3 == 0 else i * 10**6 + r.randrange(10**5) for i in range(n)]
    inputs = [r.choice([0, 1, r.randrange(200), r.randrange(3000), (1 << 31) - 1]) for _ in range(n)]
    parts = {"arrival_ns": arrivals, "input_tokens": inputs,
             "output_tokens": [r.choice([0, 1, r.randrange(2000), (1 << 31) - 1]) for _ in range(n)]}
    header = Header(format=r.choice(["", "mooncake", "a b"]), times_per_session=some(), writer="test",
                    sources=[r.choice(["a.csv", "ü.jsonl", "", "\udcff"]) for _ in range(r.randrange(3))],
                    options=[f"block={r.randrange(9)}" for _ in range(r.randrange(3))],
                    warnings=[r.choice(["Odd.", "", "3 of 4 \"x\"."]) for _ in range(r.randrange(3))])
    if some():
        header.block_tokens, header.last_may_be_partial = r.choice([1, 16, 512, 1 << 30]), some()
        counts, ids, greatest = [], [], -1
        for tokens in inputs:
            counts.append(r.randrange(min(-(-tokens // header.block_tokens), 40) + 1))
            for _ in range(counts[-1]):
                ids.append(r.randrange(greatest + 2))
                greatest = max(greatest, ids[-1])
        parts.update(hash_count=counts, hash_ids=ids)
    for column, names in (("session", "session_names"), ("tenant", "tenant_names")):
        if some():
            numbers, known = [], 0
            for _ in range(n):
                numbers.append(-1 if r.random() < 0.2 else r.randrange(known + 1))
                known = max(known, numbers[-1] + 1)
            parts[column] = numbers
            odd = ["s", "名", "with space", "é" * 510, "\udcff\udc80", "\0"]
            parts[names] = [r.choice(odd) + str(i) * (i % 3 > 0) for i in range(known)]
    for column, most in (("max_tokens", (1 << 31) - 1), ("priority", (1 << 31) - 1), ("ttft_ns", LARGEST),
                         ("e2e_ns", LARGEST)):
        if some():
            parts[column] = [r.choice([-1, 0, 1, r.randrange(10**6), most]) for _ in range(n)]
    if some():
        parts["think_ns"] = [r.choice([-1, 0, r.randrange(10**10), LARGEST]) for _ in range(n)]
    if some():
        parts.update(random_waits(r, n))
    return Trace(**parts, header=header)


def random_waits(r, n):
    """Waits of n requests in any order, some of them twice: for earlier ones, for later ones too, or in circles."""
    kind = r.choice(["back", "line", "forward", "any"])
    rank = list(range(n))
    if kind == "forward":  # waits follow an order that is not the file's: no cycle
        r.shuffle(rank)
    pairs = [(i, i - 1) for i in range(1, n)] if kind == "line" else []
    for _ in range(r.randrange(1, 2 * n + 2)):
        a, b = r.randrange(n), r.randrange(n)
        if kind == "any":
            pairs.append((a, b))
        elif a != b:
            pairs.append((a, b) if rank[a] > rank[b] else (b, a))
    pairs += pairs[:2]
    r.shuffle(pairs)
    return {"wait_request": [a for a, _ in pairs], "wait_before": [b for _, b in pairs]}
