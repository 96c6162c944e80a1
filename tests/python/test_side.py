"""Side files: what is written kvplan reads, and it is what the numbers say, by ways other than those of the writer."""

import json
import struct
import unittest

import numpy as np

from support import ROOT, FolderTest, kvplan
from kvplan_traces import (AttentionHeader, AttentionLayer, AttentionModel, AttentionReader, AttentionRotary,
                           AttentionSequence, AttentionWriter, FormatError, RecordingHeader, RecordingWriter, side)

SAMPLE = ROOT / "traces/samples/tiny_llama.kva"


def span_of(basis):
    """The projection onto what the rows span."""
    return basis.T @ basis


class Side(FolderTest):
    def error_of(self, format_name, recording=SAMPLE, layer=3):
        code, out, error = kvplan("format", recording, "--prefill", 20, "--layer", layer, "--json", "-", "--format",
                                  format_name)
        self.assertEqual(code, 0, error)
        return json.loads(out)["summary"]["mean_output_error"]

    def recording(self, rotary, digest="", tokens=40):
        """Two layers of 2 KV heads of 6 channels, of no model."""
        random = np.random.default_rng(5)
        model = AttentionModel("tiny", layers=2, query_heads=4, kv_heads=2, key_size=6, value_size=6,
                               cache_element_bytes=2)
        header = RecordingHeader(model, {"queries": "f32", "keys": "f32", "values": "f32"}, logit_scale=6**-0.5,
                                 rotary=rotary, model_digest=digest, layers=[AttentionLayer(0), AttentionLayer(1)])
        path = self.path("run.kva")
        with RecordingWriter(path, header) as out:
            for length in (tokens, 7):
                sequence = out.begin("some", prompt_tokens=4)
                for layer in range(2):
                    for part, heads in (("queries", 4), ("keys", 2), ("values", 2)):
                        for head in range(heads):
                            out.append(sequence, layer, part, head, random.normal(size=(length, 6)))
                out.end(sequence)
        return path

    def first_version(self):
        model = AttentionModel("tiny", query_heads=1, kv_heads=1, key_size=2, value_size=2, cache_element_bytes=2)
        header = AttentionHeader(model, [AttentionSequence("x", tokens=3)], form="tensors", has_values=True)
        with AttentionWriter(self.path("old.kva"), header) as out:
            for put in (out.queries, out.keys, out.values):
                put(0, 0, 0, np.ones((3, 2)))
        return self.path("old.kva")

    def test_bases_of_a_weight_are_its_singular_vectors(self):
        random = np.random.default_rng(2)
        for heads, group, rank in ((4, 2, 5), (4, 0, 9), (2, 8, 1), (6, 3, 12)):
            weight = random.normal(size=(heads * 4, 30))
            bases = side.bases_of_weight(weight, heads, group, rank)
            together = min(group or heads, heads)
            self.assertEqual(bases.shape, (heads // together, rank, together * 4))
            for g, basis in enumerate(bases):
                part = weight[g * together * 4:(g + 1) * together * 4]
                left = np.linalg.svd(part)[0][:, :rank]
                np.testing.assert_allclose(span_of(basis), left @ left.T, atol=1e-9)

    def test_a_moment_whitens(self):
        """The best weight of a rank for given inputs, found by another way: least squares on the inputs."""
        random = np.random.default_rng(3)
        inputs = random.normal(size=(400, 12)) * np.geomspace(1, 30, 12)
        weight = random.normal(size=(8, 12))
        (basis,) = side.bases_of_weight(weight, 2, 2, 3, moment=inputs.T @ inputs)
        keys = inputs @ weight.T
        left, values, right = np.linalg.svd(keys, full_matrices=False)
        best = np.linalg.norm(keys - left[:, :3] * values[:3] @ right[:3])
        self.assertAlmostEqual(np.linalg.norm(keys - keys @ span_of(basis)), best, places=6)
        (plain,) = side.bases_of_weight(weight, 2, 2, 3)
        self.assertGreater(np.linalg.norm(keys - keys @ span_of(plain)), 1.01 * best)

    def test_keys_turn_back(self):
        for layout in ("halves", "interleaved"):
            rotary = AttentionRotary(layout, dims=4, base=100.0, first=1, amplitude=2.0)
            key = np.arange(1.0, 7.0)
            turned = np.tile(key, (3, 1))
            for t in range(3):
                for pair, angle in enumerate((t, t / 10)):
                    low = 1 + (pair if layout == "halves" else 2 * pair)
                    high = low + (2 if layout == "halves" else 1)
                    turn = np.exp(1j * angle) * (key[low] + 1j * key[high]) * 2
                    turned[t, low], turned[t, high] = turn.real, turn.imag
            np.testing.assert_allclose(side.unrotated(turned, range(3), rotary), np.tile(key, (3, 1)), atol=1e-12)

    def test_kvplan_reads_bases_of_a_recording(self):
        for rotary in (None, AttentionRotary(dims=0), AttentionRotary(dims=6, base=50.0),
                       AttentionRotary("interleaved", dims=4, inverse_frequencies=(1.0, 0.25), amplitude=1.5)):
            path = self.recording(rotary)
            errors = []
            for rank in (2, 6, 12):
                tensors, _ = side.bases_of_recording(path, rank, rank, 0)
                side.write_side(self.path("x.side"), tensors, "a test")
                errors.append(self.error_of(f"lorc:file={self.path('x.side')}", path, 1))
            self.assertEqual(errors, sorted(errors, reverse=True))
            self.assertLess(errors[-1], 1e-5)
            self.assertGreater(errors[0], 0.1)

    def test_kvplan_reads_bases_of_a_model(self):
        random = np.random.default_rng(9)
        header, data = {}, b""
        weights = {}
        for letter in "kv":
            name = f"model.layers.0.self_attn.{letter}_proj.weight"
            weights[letter] = random.normal(size=(4 * 32, 50)).astype("<f4")
            header[name] = {"dtype": "F32", "shape": [128, 50], "data_offsets": [len(data), len(data) + 25600]}
            data += weights[letter].tobytes()
        said = json.dumps(header).encode()
        self.path("model.safetensors").write_bytes(struct.pack("<Q", len(said)) + said + data)
        self.path("config.json").write_text(json.dumps({"num_key_value_heads": 4}))
        tensors = side.bases_of_model(self.folder, 16, 20, 2)
        self.assertEqual(tensors["layers.0.keys.basis"].shape, (2, 16, 64))
        left = np.linalg.svd(weights["v"][64:].astype(float))[0][:, :20]
        np.testing.assert_allclose(span_of(tensors["layers.0.values.basis"][1]), left @ left.T, atol=1e-6)
        side.write_side(self.path("x.side"), tensors, "a test")
        code, out, error = kvplan("format", SAMPLE, "--prefill", 64, "--json", "-", "--format",
                                  f"palu:group=2,file={self.path('x.side')}")
        self.assertEqual(code, 0, error)
        self.assertEqual((json.loads(out)["params"]["rank"], json.loads(out)["params"]["rank_v"]), (16, 20))
        self.path("config.json").write_text("{}")
        with self.assertRaisesRegex(FormatError, "num_key_value_heads"):
            side.bases_of_model(self.folder, 16, 20, 2)

    def test_tables_are_fair(self):
        numbers = np.concatenate([np.full(50, -0.75), np.full(50, 0.25), np.full(10, 0.75), np.full(10, 1.0)])
        table = side.table_of(numbers, 2)
        nearest = np.argmin(np.abs(numbers[:, None] - table), axis=1)
        for code in np.unique(nearest):
            self.assertAlmostEqual(table[code], numbers[nearest == code].mean())
        random = np.random.default_rng(1)
        for bits in (2, 3, 5):
            table = side.table_of(random.uniform(-1, 1, 5000) ** 3, bits)
            self.assertEqual(table.size, 1 << bits)
            self.assertTrue(np.all(np.diff(table) > 0))

    def test_kvplan_reads_tables_of_a_recording(self):
        errors = []
        for bits in (2, 4, 8):
            tensors, digest = side.tables_of_recording(SAMPLE, bits, 0.01)
            side.write_side(self.path("x.side"), tensors, "a test", digest)
            errors.append(self.error_of(f"kvquant:file={self.path('x.side')}"))
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertLess(errors[-1], 0.05)
        with AttentionReader(SAMPLE) as recording:
            keys = np.concatenate([side.unrotated(recording.keys(s, 3, 1), recording.positions(s),
                                                  recording.layer(3).rotary) for s in range(len(recording.sequences))])
        low, high = tensors["layers.3.keys.low"][1], tensors["layers.3.keys.high"][1]
        outside = np.mean((keys < low) | (keys > high), axis=0)
        self.assertTrue(np.all(np.abs(outside - 0.01) < 0.002), outside)

    def test_refusals(self):
        with self.assertRaisesRegex(FormatError, "expected a recording of version 2"):
            side.bases_of_recording(self.first_version(), 2, 2, 0)
        path = self.recording(AttentionRotary(dims=0), digest="one")
        for message, arguments in (("from 1 to 12, found 13", (13, 2, 0)), ("divisor of 3|rank", (13, 2, 1))):
            with self.assertRaisesRegex(FormatError, message):
                side.bases_of_recording(path, *arguments)
        with self.assertRaisesRegex(FormatError, "finite"):
            side.write_side(self.path("x.side"), {"layers.0.keys.table": [0, np.nan, 1, 2]}, "a test")
        self.assertFalse(self.path("x.side").exists())
        tensors, digest = side.bases_of_recording(path, 4, 4, 0)
        self.assertEqual(digest, "one")
        side.write_side(self.path("x.side"), tensors, "a test", "two")
        code, _, error = kvplan("format", path, "--prefill", 20, "--format", f"lorc:file={self.path('x.side')}")
        self.assertEqual(code, 2)
        self.assertIn("which has digest one, found two", error)

    def test_safetensors(self):
        side.write_side(self.path("x.side"), {"layers.0.keys.table": [-1, 0, 0.5, 1]}, "here", "abc")
        metadata, tensors = side.read_safetensors(self.path("x.side"))
        self.assertEqual(metadata, {"format": "kvplan side 1", "source": "here", "model_digest": "abc"})
        np.testing.assert_array_equal(tensors["layers.0.keys.table"](), [-1, 0, 0.5, 1])
        header = json.dumps({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
        self.path("b").write_bytes(struct.pack("<Q", len(header)) + header + b"\x80\x3f\x00\xc0")
        np.testing.assert_array_equal(side.read_safetensors(self.path("b"))[1]["a"](), [1, -2])
        self.path("c").write_bytes(b"\xff" * 20)
        with self.assertRaisesRegex(FormatError, "c: expected a header of at most"):
            side.read_safetensors(self.path("c"))


if __name__ == "__main__":
    unittest.main()
