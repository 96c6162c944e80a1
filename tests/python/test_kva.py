"""A .kva written by either side is read by the other, in every form and number format."""

import json
import unittest

import numpy as np

from support import ROOT, FolderTest
from kvplan_traces import (AttentionHeader, AttentionModel, AttentionReader, AttentionSequence, AttentionWriter,
                           FormatError)

SHAPE = AttentionModel("tiny", layers=2, query_heads=4, kv_heads=2, key_size=8, value_size=5, cache_element_bytes=2)
TOKENS = 60


def header(form="rows", element="f64", tokens=TOKENS, **more):
    more = {"source": "a test", "recorded_by": "tests/python", "positions": "none", **more}
    return AttentionHeader(SHAPE, [AttentionSequence("first", tokens, 7), AttentionSequence("second", 9)], form,
                           element, **more)


def rows_of(generator, tokens=TOKENS):
    """Rows [tokens, tokens] with zeros right of the diagonal; a few tokens stand out, as they do in models."""
    weights = np.tril(generator.random((tokens, tokens)) ** 6)
    return weights / weights.sum(axis=1, keepdims=True)


def rounded(element, values):
    """The numbers that a file of the element can hold: an own, slower way than the package's."""
    if element != "bf16":
        return values.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[element]).astype(np.float64)
    kept = np.float32(values)
    mantissa, exponent = np.frexp(kept.astype(np.float64))
    return np.ldexp(np.round(mantissa * 256), exponent - 8)  # 8 bits, to even


class Program:
    """The rows of one layer as `kvplan evict` reads them: the k largest weights of each; it prints their sum."""

    def __init__(self, test, path, layer=0, k=3, sequence=0):
        out = test.run_kvplan("evict", path, "--policy", f"oracle-topk:k={k}", "--prefill", 1, "--layer", layer,
                              "--sequence", sequence, "--json", "-")
        self.mass = np.array([step["attended_mass"] for step in json.loads(out)["steps"]])

    @staticmethod
    def expected(heads, k=3):
        # Query heads of one KV head are averaged before positions are chosen (`agg=mean`).
        out = []
        for t in range(1, len(heads[0])):
            group = len(heads) // SHAPE.kv_heads
            line = []
            for head, rows in enumerate(heads):
                mean = np.mean([other[t] for other in heads[head // group * group :][:group]], axis=0)
                line.append(rows[t][np.argsort(-mean, kind="stable")[:k]].sum())
            out.append(line)
        return np.array(out)


class OurFiles(FolderTest):
    def agree(self, heads, layer=0):
        """What the program and the reader find in the file are the rows of these heads."""
        with AttentionReader(self.path()) as reader:
            for head, rows in enumerate(heads):
                np.testing.assert_allclose(reader.matrix(0, layer, head), rows, atol=1e-12, rtol=0)
        np.testing.assert_allclose(Program(self, self.path(), layer).mass, Program.expected(heads), atol=1e-9, rtol=0)

    def test_dense_rows(self):
        for element in ("f64", "f32", "f16"):
            for codec in ("zlib", "zstd", "stored"):
                with self.subTest(element=element, codec=codec):
                    g = np.random.default_rng(1)
                    layers = [[rows_of(g) for _ in range(4)] for _ in range(2)]
                    with AttentionWriter(self.path(), header(element=element), codec) as out:
                        for layer, heads in enumerate(layers):
                            for head in (2, 0, 3, 1):
                                out.matrix(0, layer, head, heads[head])
                    for layer, heads in enumerate(layers):
                        self.agree([rounded(element, rows) for rows in heads], layer)

    def test_top_entries(self):
        for element in ("f64", "f32", "f16"):
            with self.subTest(element):
                g = np.random.default_rng(2)
                heads = [rounded(element, rows_of(g)) for _ in range(4)]
                spread = [rows.copy() for rows in heads]
                with AttentionWriter(self.path(), header("top", element)) as out:
                    for head, rows in enumerate(heads):
                        out.top(0, 0, head, [self.cut(rows[t, : t + 1], spread[head][t, : t + 1], element)
                                             for t in range(TOKENS)])
                self.agree(spread)

    @staticmethod
    def cut(row, spread, element):
        """The seven largest entries; `spread` becomes what a reader makes of them."""
        listed = np.sort(np.argsort(-row)[:7])
        others = np.setdiff1d(np.arange(len(row)), listed)
        rest = float(rounded(element, np.array(row[others].sum())))
        spread[others] = rest / max(len(others), 1)
        return listed, row[listed], rest

    def test_tensors(self):
        for element in ("f32", "f16", "bf16"):
            with self.subTest(element):
                g = np.random.default_rng(3)
                queries = [g.normal(size=(TOKENS, 8)) * 2 for _ in range(4)]
                keys, values = ([g.normal(size=(TOKENS, size)) for _ in range(2)] for size in (8, 5))
                scale = 0.4
                kind = header("tensors", element, logit_scale=scale, has_values=True)
                with AttentionWriter(self.path(), kind) as out:
                    for head in range(4):
                        out.queries(0, 1, head, queries[head])
                    for head in range(2):
                        out.keys(0, 1, head, keys[head][:20])
                        out.keys(0, 1, head, keys[head][20:], first=20)
                        out.values(0, 1, head, values[head])
                expected = []
                for head in range(4):
                    q, k = rounded(element, queries[head]), rounded(element, keys[head // 2])
                    logits = np.where(np.tri(TOKENS, dtype=bool), scale * q @ k.T, -np.inf)
                    weights = np.exp(logits)
                    expected.append(weights / weights.sum(axis=1, keepdims=True))
                self.agree(expected, layer=1)
                with AttentionReader(self.path()) as reader:
                    self.assertEqual(reader.recorded(), [(0, 1)])
                    for head in range(2):
                        self.assertEqual(reader.keys(0, 1, head).tolist(), rounded(element, keys[head]).tolist())
                        self.assertEqual(reader.values(0, 1, head).tolist(), rounded(element, values[head]).tolist())
                    self.assertEqual(reader.queries(0, 1, 3).tolist(), rounded(element, queries[3]).tolist())
                    some = dict(reader.rows(0, 1, 2, first=17, last=19))
                    self.assertEqual(sorted(some), [17, 18])
                    np.testing.assert_allclose(some[18], expected[2][18, :19], atol=1e-12)

    def test_several_chunks_and_rows_that_are_not_there(self):
        g = np.random.default_rng(4)
        rows = rows_of(g, 700)
        with AttentionWriter(self.path(), header(tokens=700)) as out:
            out.matrix(0, 0, 1, rows[600:], first=600)
            out.matrix(0, 0, 1, rows[30:600], first=30)
        with AttentionReader(self.path()) as reader:
            found = reader.matrix(0, 0, 1)
            self.assertTrue(np.isnan(found[:30]).all())
            self.assertTrue(np.array_equal(found[30:], rows[30:]))
            self.assertEqual([t for t, _ in reader.rows(0, 0, 1, first=10, last=33)], [30, 31, 32])
            self.assertEqual(list(reader.rows(0, 0, 0)), [])
            with self.assertRaisesRegex(FormatError, "layer 1 of sequence 0 was not recorded"):
                list(reader.rows(0, 1, 0))
            with self.assertRaisesRegex(FormatError, "head: expected 0 to 3, found 4"):
                list(reader.rows(0, 0, 4))
            for read in (lambda: list(reader.rows(2, 0, 0)), lambda: reader.matrix(-1, 0, 0)):
                with self.assertRaisesRegex(FormatError, "x.kvt: sequence: expected 0 to 1, found"):
                    read()
            with self.assertRaisesRegex(FormatError, "part: expected a file with keys"):
                reader.keys(0, 0, 0)

    def test_a_second_sequence(self):
        g = np.random.default_rng(5)
        heads = [rows_of(g, 9) for _ in range(4)]
        with AttentionWriter(self.path(), header()) as out:
            for head, rows in enumerate(heads):
                out.matrix(1, 0, head, rows)
        np.testing.assert_allclose(Program(self, self.path(), sequence=1).mass, Program.expected(heads), atol=1e-9)


class TheirFiles(FolderTest):
    def test_converted_rows(self):
        for name in ("A", "E"):
            source = ROOT / f"tests/golden/policies/inputs/{name}.json"
            data = json.loads(source.read_text())
            for element in ("f64", "f32", "f16"):
                with self.subTest(name=name, element=element):
                    self.run_kvplan("attention", "convert", source, "-o", self.path(), "--element", element)
                    with AttentionReader(self.path()) as reader:
                        reader.check()
                        self.assertEqual(reader.header.sequences[0].tokens, data["T"])
                        for head, rows in enumerate(data["rows"]):
                            for t, row in reader.rows(0, 0, head):
                                self.assertEqual(row.tolist(), rounded(element, np.array(rows[t])).tolist())
                            self.assertEqual(t + 1, data["T"])

    def test_top_entries(self):
        source = ROOT / "tests/golden/policies/inputs/A.json"
        data = json.loads(source.read_text())
        self.run_kvplan("attention", "convert", source, "-o", self.path(), "--top", 5)
        with AttentionReader(self.path()) as reader:
            self.assertEqual(reader.header.form, "top")
            for t, row in reader.rows(0, 0, 0):
                recorded = np.array(data["rows"][0][t])
                largest = np.argsort(-recorded, kind="stable")[:5]
                others = np.setdiff1d(np.arange(t + 1), largest)
                self.assertEqual(row[largest].tolist(), recorded[largest].tolist())
                np.testing.assert_allclose(row[others], recorded[others].mean() if len(others) else 0, atol=1e-15)


class Writing(FolderTest):
    def refused(self, message, write, **kinds):
        with self.assertRaisesRegex(FormatError, message):
            with AttentionWriter(self.path(), header(**kinds)) as out:
                write(out)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_no_reader_takes(self):
        self.refused("row 1: expected 2 weights", lambda out: out.rows(0, 0, 0, [[1], [1]]))
        self.refused("row 1: expected weights from 0 on", lambda out: out.rows(0, 0, 0, [[1], [1.5, -0.5]]))
        self.refused("row 0: .* found a sum of 0", lambda out: out.rows(0, 0, 0, [[0]]))
        self.refused("row 0: .* found a sum of 1.02", lambda out: out.rows(0, 0, 0, [[1.02]]))
        self.refused("expected finite numbers that fit f64", lambda out: out.rows(0, 0, 0, [[np.nan]]))
        self.refused("expected finite numbers that fit f16", lambda out: out.rows(0, 0, 0, [[1e6]]), element="f16")
        self.refused("rows: expected tokens below 9", lambda out: out.rows(1, 0, 0, [[1] + [0] * 9], first=9))
        self.refused("layer: expected 0 to 1, found 2", lambda out: out.rows(0, 2, 0, [[1]]))
        self.refused("form: expected rows", lambda out: out.top(0, 0, 0, []))
        self.refused("row 0: expected ascending positions", lambda out: out.top(0, 0, 0, [([1], [1], 0)]), form="top")
        self.refused("row 0: expected no rest", lambda out: out.top(0, 0, 0, [([0], [0.5], 0.5)]), form="top")
        self.refused(r"index\[1\].order: expected it behind",
                     lambda out: [out.rows(0, 0, 0, [[1], [1, 0]]), out.rows(0, 0, 0, [[1, 0]], first=1)])
        self.refused("keys: expected all tokens of head 0 of layer 0",
                     lambda out: [out.queries(0, 0, head, np.ones((TOKENS, 8))) for head in range(4)],
                     form="tensors", element="f16")
        self.refused("expected finite numbers that fit bf16", lambda out: out.keys(0, 0, 0, [[np.nan] * 8]),
                     form="tensors", element="bf16")
        self.refused("expected finite numbers that fit bf16", lambda out: out.keys(0, 0, 0, [[3.4e38] * 8]),
                     form="tensors", element="bf16")
        for wrong, found in ((["a"] * 8, "<U1"), ([1j] * 8, "complex128"), ([None] * 8, "object")):
            self.refused(f"keys: expected an array of real numbers, found one of {found}",
                         lambda out, wrong=wrong: out.keys(0, 0, 0, [wrong]), form="tensors", element="f32")
        self.refused("row 0: expected whole numbers", lambda out: out.top(0, 0, 0, [([0.5], [1], 0)]), form="top")
        self.refused("queries: expected an array", lambda out: out.queries(0, 0, 0, np.ones((3, 7))), form="tensors",
                     element="f16")

    def test_headers(self):
        for field, message, kinds in (("element", "expected one of f32, f16, bf16", dict(form="tensors")),
                                      ("form", "expected one of rows, top, tensors", dict(form="other")),
                                      ("source", "expected a text in UTF-8", dict(source="\ud800")),
                                      (r"sequences\[0\].tokens", "from 1 to 1048576, found 2.0", dict(tokens=2.0)),
                                      ("header", "expected at most 67108864 bytes", dict(source="x" * (64 << 20))),
                                      ("logit_scale", "above 0", dict(form="tensors", element="f32", logit_scale=-1.0)),
                                      (r"sequences\[0\].prompt_tokens", "expected a whole number from 0 to 5, found 7",
                                       dict(tokens=5))):
            with self.assertRaisesRegex(FormatError, f"^[^ ]*x.kvt: {field}: [^\n]*{message}[^\n]*$"):
                AttentionWriter(self.path(), header(**kinds))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
