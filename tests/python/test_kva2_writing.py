"""What a writer of version 2 of .kva refuses, and which files it leaves."""

import os
import unittest
from unittest import mock

import numpy as np

from support import FolderTest, kvplan
from kva2_support import LAYERS, MODEL, header
from kvplan_traces import (AttentionLayer, AttentionModel, AttentionReader, AttentionRotary, FormatError,
                           RecordingHeader, RecordingWriter, storage)


class Writing(FolderTest):
    def refused(self, message, write, kind=None):
        with self.assertRaisesRegex(FormatError, message):
            with RecordingWriter(self.path("x.kva"), kind or header(), overwrite=True) as out:
                out.begin()
                write(out)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["x.kva.part"])

    def test_what_no_reader_takes(self):
        ones = np.ones
        self.refused("keys: expected an array", lambda out: out.append(0, 0, "keys", 0, ones((3, 7))))
        self.refused("sequence 0: layer 1: keys of head 1: expected finite numbers that fit f32",
                     lambda out: out.append(0, 1, "keys", 1, np.full((2, 8), np.nan)))
        self.refused("fit f16", lambda out: out.append(0, 0, "values", 0, np.full((2, 6), 1e5)))
        self.refused("layer 2: head 0: expected a head", lambda out: out.append(0, 2, "keys", 0, ones((2, 8))))
        self.refused("layer 7: expected a layer", lambda out: out.append(0, 7, "keys", 0, ones((2, 8))))
        self.refused("part: expected one of .* found 'rows'", lambda out: out.append(0, 0, "rows", 0, [[1]]))
        self.refused("keys: expected token 0, found 3", lambda out: out.append(0, 0, "keys", 0, ones((2, 8)), first=3))
        self.refused("token_classes: expected whole numbers", lambda out: out.append(0, 0, "token_classes", 0, [0.5]))
        for wrong, found in ((["a"] * 8, "<U1"), ([1j] * 8, "complex128"), ([None] * 8, "object")):
            self.refused(f"keys: expected an array of real numbers, found one of {found}",
                         lambda out, wrong=wrong: out.append(0, 0, "keys", 0, [wrong]))
        self.refused("keys: expected an array of numbers: ", lambda out: out.append(0, 0, "keys", 0, [[1, 2], [3]]))
        self.refused("value_norms: expected lengths from 0 on", lambda out: out.append(0, 0, "value_norms", 0, [-1.0]))
        self.refused("token_classes: expected 0 to 1", lambda out: out.append(0, 0, "token_classes", 0, [2]))
        self.refused("sequence: expected 0 to 0, found 1", lambda out: out.append(1, 0, "keys", 0, ones((2, 8))))
        self.refused("sequence 0: layer 0: queries: expected all 2 tokens of head 0, found 0",
                     lambda out: [out.append(0, 0, "keys", 0, ones((2, 8))), out.end(0)])
        rows = header({"rows": "f32"}, [AttentionLayer(1, window=2)])
        self.refused("rows of head 0: row 2: expected 0 outside the window",
                     lambda out: out.append(0, 1, "rows", 0, [[1], [0, 1], [0.5, 0, 0.5]]), rows)
        self.refused("row 1: expected weights from 0 on", lambda out: out.append(0, 1, "rows", 0, [[1], [2, 1]]), rows)

    def test_headers(self):
        for message, kind in (("parts: expected rows or top rows", header({"rows": "f32", "top_rows": "f32"})),
                              ("parts: expected keys beside queries", header({"queries": "f32"})),
                              ("parts.keys: expected one of f32, f16, bf16", header({"keys": "f64"})),
                              ("layers: expected at least one", RecordingHeader(MODEL, {"keys": "f32"}, [])),
                              (r"layers\[1\].layer: expected a whole number from 1 to 2",
                               header(layers=[LAYERS[0], LAYERS[0]])),
                              (r"layers\[0\].logit_scale: expected a number above 0", header(logit_scale=0.0)),
                              (r"layers\[0\].sink_logits: expected 4", header(layers=[AttentionLayer(
                                  0, sink_logits=(1.0,))])),
                              (r"layers\[0\].rotary.dims: expected an even number", header(layers=[AttentionLayer(
                                  0, rotary=AttentionRotary("halves", 10, 1e4))])),
                              (r"layers\[0\].recorded_kv_heads", header(layers=[AttentionLayer(
                                  0, recorded_kv_heads=(1, 0))])),
                              ("source: expected a text in UTF-8, found '.ud800'", header(source="\ud800")),
                              ("machine: expected a text, found 5", header(machine=5)),
                              (r"token_classes\[1\]: expected a text", header(token_classes=("text", "\udcff"))),
                              ("header: expected at most 67108864 bytes", header(source="x" * (64 << 20))),
                              ("rotary.layout: expected one of", header(rotary=AttentionRotary("spiral"))),
                              (r"layers\[0\].kv_heads: expected a whole number", header(layers=[AttentionLayer(
                                  0, kv_heads=2.0)])),
                              (r"layers\[0\].recorded_kv_heads: expected whole", header(layers=[AttentionLayer(
                                  0, recorded_kv_heads=(0.5,))])),
                              ("token_classes: expected the names", header(token_classes=()))):
            with self.assertRaisesRegex(FormatError, f"^[^ ]*x.kva: {message}[^\n]*$"):
                RecordingWriter(self.path("x.kva"), kind)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_limits_are_the_program_s(self):
        """The writer takes what the page allows, and the program reads it; beyond that both refuse."""
        layer = lambda **facts: header({"keys": "f32", "queries": "f32"}, [AttentionLayer(0, **facts)])  # noqa: E731
        turned = lambda **facts: layer(rotary=AttentionRotary(dims=8, **{"base": 1e4, **facts}))  # noqa: E731
        given = lambda number: turned(inverse_frequencies=(number,) * 4)  # noqa: E731
        shaped = lambda part, **sizes: header(  # noqa: E731
            {part: "f32"}, [AttentionLayer(0)], token_classes=(), model=AttentionModel(**sizes))
        for field, kind, good, bad in (
                ("sink_logits", lambda x: layer(sink_logits=(x, 0.0, 0.0, 0.0)), (1e6, -1e6), (1e7, float("nan"))),
                ("bias_slopes", lambda x: layer(bias_slopes=(0.0, 0.0, 0.0, x)), (1e6, -1e6), (1e9, -1000001.0)),
                ("logit_scale", lambda x: layer(logit_scale=x), (1e6, 1e-30), (1000001.0, -1.0)),
                ("soft_cap", lambda x: layer(soft_cap=x), (0.0, 1e6), (1000001.0, -1.0)),
                ("base", lambda x: turned(base=x), (1.0, 1e30), (1e31, 0.5)),
                ("linear_factor", lambda x: turned(linear_factor=x), (0.0, 1e-5, 1e9), (1e12, 1e-6, -1.0)),
                ("amplitude", lambda x: turned(amplitude=x), (0.0, 1e-6, 1e6), (1e7, 1e-7)),
                ("dims", lambda x: turned(first=x), (0,), (1, (1 << 32) - 1)),
                ("inverse_frequencies", given, (0.0, 1e5), (1e6, -1.0)),
                ("inverse_frequencies", lambda x: turned(inverse_frequencies=x), ((), (1.0,) * 4), ((1.0,) * 3,)),
                ("key_size", lambda x: shaped("keys", key_size=x), (1, 65536), (0, 65537)),
                ("value_size", lambda x: shaped("output_weights", hidden_size=4, value_size=x), (1, 65536), (0, 65537)),
                ("hidden_size", lambda x: shaped("layer_inputs", hidden_size=x), (1, 65536), (0, 65537)),
                ("query_heads", lambda x: shaped("value_norms", query_heads=x), (1, 1024), (0, 1025))):
            for value in good:
                with self.subTest(field, taken=value):
                    self.empty_recording(kind(value))
                    self.run_kvplan("attention", "info", self.path("x.kva"))
            for value in bad:
                with self.subTest(field, refused=value):
                    with self.assertRaisesRegex(FormatError, f"^[^ ]*x.kva: [^ ]*{field}: [^\n]*$"):
                        self.empty_recording(kind(value))
                    with mock.patch.object(RecordingHeader, "check"):
                        self.empty_recording(kind(value))
                    self.assertEqual(kvplan("attention", "info", self.path("x.kva"))[0], 2)

    def empty_recording(self, kind):
        with RecordingWriter(self.path("x.kva"), kind, overwrite=True) as out:
            out.begin("a")

    def test_names_of_sequences(self):
        with RecordingWriter(self.path("x.kva"), header()) as out:
            for name, message in (("\ud800", "name: expected a text in UTF-8"), (None, "name: expected a text"),
                                  ("x" * (1 << 20), "name: expected at most 1048576 bytes")):
                with self.assertRaisesRegex(FormatError, f"x.kva.part: {message}"):
                    out.begin(name)
            self.assertEqual(out.begin("a"), 0)
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertEqual([one.name for one in reader.sequences], ["a"])

    def test_a_sink_may_have_it_all(self):
        """Rows of sum 0, by both sides; without a sink by neither."""
        for part, row in (("rows", [0.0]), ("top_rows", ([0], [0.0], 0.0))):
            sink = header({part: "f32"}, [AttentionLayer(0, sink_logits=(1.0,) * 4)], token_classes=())
            plain = header({part: "f32"}, [AttentionLayer(0)], token_classes=())
            with RecordingWriter(self.path("x.kva"), sink) as out:
                out.begin("a", 1)
                for head in range(4):
                    out.append(0, 0, part, head, [row])
                out.end(0)
            with AttentionReader(self.path("x.kva")) as reader:
                reader.check()
                self.assertEqual(reader.matrix(0, 0, 3).tolist(), [[0.0]])
            self.run_kvplan("attention", "analyse", self.path("x.kva"))
            self.path("x.kva").unlink()
            self.refused("row 0: expected weights from 0 on", lambda out: out.append(0, 0, part, 0, [row]), plain)
            self.path("x.kva.part").unlink()

    def test_nothing_but_files_is_replaced(self):
        os.mkfifo(self.path("pipe"))
        self.path("folder").mkdir()
        for name in ("pipe", "folder"):
            for write in (lambda path: RecordingWriter(path, header()), storage.OutputFile):
                with self.assertRaisesRegex(FileExistsError, f"{name}: expected a regular file, or none"):
                    write(self.path(name))
        self.assertEqual(sorted(one.name for one in self.folder.iterdir()), ["folder", "pipe"])

    def test_a_recording_that_was_cut_is_not_lost(self):
        with self.assertRaises(ZeroDivisionError):
            with RecordingWriter(self.path("x.kva"), header()) as out:
                out.begin()
                raise ZeroDivisionError
        with self.assertRaisesRegex(FileExistsError, "x.kva.part: there is a recording that was cut"):
            RecordingWriter(self.path("x.kva"), header())


if __name__ == "__main__":
    unittest.main()
