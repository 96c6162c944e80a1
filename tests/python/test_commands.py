"""python3 -m kvplan_traces: what it writes the program reads, what the program refuses it refuses, in one line."""

import io
import json
import unittest
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

from support import ROOT, FolderTest, kvplan
from kvplan_traces import AttentionLayer, AttentionModel, AttentionReader, RecordingHeader, RecordingWriter
from kvplan_traces.__main__ import main

GOLDEN = ROOT / "tests/golden/policies/inputs/A.json"
MODEL = AttentionModel("tiny", layers=2, query_heads=4, kv_heads=2, key_size=8)


class Commands(FolderTest):
    def run_ours(self, *arguments):
        """(exit code, standard output, standard error)."""
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
            code = main([*map(str, arguments)])
        return code, out.getvalue(), error.getvalue()

    def good(self, *arguments):
        code, out, error = self.run_ours(*arguments)
        self.assertEqual((code, error), (0, ""))
        return out

    def bad(self, message, *arguments):
        code, out, error = self.run_ours(*arguments)
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(error, f"^kvplan_traces: [^\n]*{message}[^\n]*\n$")

    def written(self, text, name="in.json"):
        data = text if isinstance(text, bytes) else (text if isinstance(text, str) else json.dumps(text)).encode()
        self.path(name).write_bytes(data)
        return self.path(name)

    def recording(self, layer=None, parts=("queries", "keys"), send=None):
        """A recording of two tokens of layer 1, in a file."""
        header = RecordingHeader(MODEL, dict.fromkeys(parts, "f32"), [layer or AttentionLayer(1)], logit_scale=0.5)
        g = np.random.default_rng(3)
        with RecordingWriter(self.path("x.kva"), header) as out:
            out.begin("a", 1)
            for part in parts:
                for head in header.layer(1).heads(part):
                    (send or out.append)(*((out,) if send else ()), 0, 1, part, head, g.normal(size=(2, 8)))
            out.end(0)
        return self.path("x.kva")

    def test_rows_there_and_back(self):
        self.good("convert", GOLDEN, self.path("x.kva"))
        same, given = json.loads(self.good("dump", self.path("x.kva"))), json.loads(GOLDEN.read_text())
        self.assertEqual(same["rows"], given["rows"])
        self.assertEqual((same["query_heads"], same["T"]), (given["query_heads"], given["T"]))
        self.assertEqual(json.loads(self.good("info", self.path("x.kva")))["recorded"], [[0, 0]])

    def test_recorded_heads_are_dumped(self):
        """Of a subset those that are there; the program takes them."""
        path = self.recording(AttentionLayer(1, recorded_kv_heads=(1,)))
        dumped = json.loads(self.good("dump", path, 1))
        self.assertEqual((dumped["query_heads"], dumped["kv_heads"], dumped["T"]), (2, 1, 2))
        with AttentionReader(path) as reader:
            self.assertEqual(dumped["rows"], [[row.tolist() for _, row in reader.rows(0, 1, head)] for head in (2, 3)])
        self.run_kvplan("evict", self.written(dumped), "--policy", "window:window=1", "--prefill", 1)

    def test_what_cannot_be_dumped(self):
        self.bad("x.kva: layer 0 was not recorded", "dump", self.recording(), 0)
        self.bad("LAYER: expected a whole number, found 'one'", "dump", self.recording(), "one")
        self.bad("x.kva: layer 1: expected rows, or queries and keys", "dump", self.recording(parts=("keys",)), 1)
        rows = lambda out, *place: out.append(*place[:4], [[0.5, 0.5]], first=1)  # noqa: E731
        self.bad("x.kva: layer 1: head 0: expected all rows, found none of token 0",
                 "dump", self.recording(parts=("rows",), send=rows), 1)
        self.bad("x.kva: layer 1: head 1: expected all 2 rows, found 0", "dump", self.recording(
            parts=("rows",), send=lambda out, *place: place[3] or out.append(*place[:4], [[1], [0.5, 0.5]])), 1)

    def test_json_that_the_program_refuses(self):
        good = {"query_heads": 2, "kv_heads": 1, "T": 2, "rows": [[[1], [0.5, 0.5]], [[1], [0, 1]]]}
        changed = lambda **more: {**good, **more}  # noqa: E731
        self.good("convert", self.written(good), self.path("x.kva"))
        self.path("x.kva").unlink()
        for text, message in (
                ({"query_heads": 1, "T": 3, "rows": [[[1], [0.5, 0.5]]]},
                 r"rows\[0\]: expected 3 rows as T says, found 2"),
                (changed(rows=good["rows"][:1]), "rows: expected 2 heads as query_heads says, found 1"),
                (changed(rows=[*good["rows"], []]), "rows: expected 2 heads as query_heads says, found 3"),
                (changed(rows=[[[1], [1]], good["rows"][0]]), r"rows\[0\]\[1\]: expected 2 weights, found 1"),
                (changed(rows=[good["rows"][0], [[1], [0.5, "x"]]]), r"rows\[1\]\[1\]: expected numbers"),
                (changed(rows=[good["rows"][0], [[1], [0.5, True]]]), r"rows\[1\]\[1\]: expected numbers"),
                (changed(rows=[good["rows"][0], [[0], [0.5, 0.5]]]), r"rows\[1\]\[0\]: expected weights from 0 on"),
                (changed(rows=[good["rows"][0], [[1], [-0.5, 0.5]]]), r"rows\[1\]\[1\]: expected weights from 0 on"),
                (changed(rows=5), "rows: expected a list of heads"),
                (changed(rows=[5, 5]), r"rows\[0\]: expected a list of rows"),
                (changed(query_heads="2"), "query_heads: expected a whole number from 1 to 1024, found '2'"),
                (changed(query_heads=True), "query_heads: expected a whole number from 1 to 1024, found True"),
                (changed(kv_heads=0), "kv_heads: expected a whole number from 1 to 2, found 0"),
                (changed(T=2.0), "T: expected a whole number from 1 to 1048576, found 2.0"),
                ({"T": 1, "rows": []}, "query_heads: is missing"), ([1, 2], "expected a JSON object"),
                ("{\n1", "expected JSON: Expecting property name .*: line 2"),
                ("[" * 100000, "expected JSON with less deep lists"),
                (b'{"\x89": 1}', "byte 2: expected JSON in UTF-8")):
            with self.subTest(message):
                path = self.written(text)
                self.bad(f"in.json: {message}", "convert", path, self.path("x.kva"))
                code, _, error = kvplan("evict", path, "--policy", "window:window=1", "--prefill", 1)
                self.assertEqual(code, 2, error)
        self.assertEqual([one.name for one in self.folder.iterdir()], ["in.json"])

    def test_arguments(self):
        self.bad(r"info: expected info FILE, found 2 arguments", "info", 1, 2)
        self.bad(r"convert: expected convert IN.json OUT.kva \[ELEMENT\], found 1 arguments", "convert", 1)
        self.bad("TOKENS: expected a whole number, found 'many'", "synth", self.path("x.kva"), "many")
        self.bad("x.kva: model.kv_heads: expected a whole number from 1 to 4", "synth", self.path("x.kva"), 8, 1, 4, 0)
        self.bad("nothing.kva: No such file", "info", self.path("nothing.kva"))
        self.bad("in.json: expected the first bytes of a .kvt or .kva", "info", self.written("{}"))
        self.bad("x.kva: element: expected one of f64, f32, f16, found 'f8'",
                 "convert", GOLDEN, self.path("x.kva"), "f8")
        self.bad("'': expected the name of a file", "convert", GOLDEN, "")
        self.bad("no/x.kva: expected a folder .*no, there is none", "convert", GOLDEN, self.path("no/x.kva"))
        self.assertEqual(self.run_ours("hats")[0], 2)
        self.assertIn("dump FILE.kva", self.good("--help"))


if __name__ == "__main__":
    unittest.main()
