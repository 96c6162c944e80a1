"""traces/recorder on Transformers' own classes with small random weights: what it writes is what the model attended to.

Needs PyTorch and Transformers (.ci/setup recorder) and says so where they are absent. Rows are recomputed here from the
recorded file by a formula of the test's own, and by the program; both must be within ROW_ERROR of the weights that the
library returns for its eager attention.
"""

import json
import os
import resource
import unittest

import numpy as np

from recorder_support import (DEVICE, LAYERS, MODELS, QUERY_HEADS, TOKENS, VOCABULARY, Recording, eager, model_of,
                              on_cpu, prompt_of)  # before PyTorch: it may be absent

import torch
import transformers
from transformers.models.llama import modeling_llama

from kvplan_recorder import Recorder, RecorderError, facts, hook
from kvplan_recorder.limits import context_of
from kvplan_traces import AttentionReader

# Layout, first element and number of rotated elements of layer 0.
ROTATED = {"GPTNeoX": ("halves", 0, 2), "Cohere": ("interleaved", 0, 8), "DeepseekV3": ("halves", 8, 4)}
WINDOWS = {"Mistral": [8, 8, 8], "Gemma2": [8, 0, 8], "Gemma3Text": [8, 0, 8], "GptOss": [8, 0, 8]}


class Models(Recording):
    """Every kind of attention that the format has facts for."""

    def test_logits_are_those_of_eager(self):
        for kind in MODELS:
            with self.subTest(kind):
                model, heard = model_of(kind), []
                expected, _ = eager(model, prompt_of())
                with torch.no_grad(), hook.listening(model, lambda module, *_: heard.append(module.layer_idx)):
                    found = model(input_ids=torch.tensor([prompt_of()], device=DEVICE), use_cache=False).logits
                self.assertEqual(heard, list(range(LAYERS)))
                self.assertTrue(np.array_equal(found[0].cpu().numpy(), expected))
                self.assertEqual(model.config._attn_implementation, "eager")

    def test_recorded_rows_are_those_of_the_library(self):
        for kind in MODELS:
            with self.subTest(kind):
                model = model_of(kind)
                _, weights = eager(model, prompt_of())
                self.record(model, prompt_of())
                self.expect_rows(weights)
                with AttentionReader(self.path("x.kva")) as reader:
                    self.assertEqual([reader.layer(i).window for i in range(LAYERS)], WINDOWS.get(kind, [0] * 3))
                    facts = reader.layer(0)
                    self.assertEqual(facts.soft_cap, 2.0 if kind == "Gemma2" else 0.0)
                    self.assertEqual(len(facts.sink_logits), QUERY_HEADS if kind == "GptOss" else 0)
                    self.assertEqual((facts.rotary.layout, facts.rotary.first, facts.rotary.dims),
                                     ROTATED.get(kind, ("halves", 0, 8)))
                    self.assertEqual(reader.layer(2).rotary.dims == 0, kind == "SmolLM3")

    def test_the_program_computes_the_same_rows(self):
        for kind in MODELS:
            with self.subTest(kind):
                model = model_of(kind)
                _, weights = eager(model, prompt_of())
                self.record(model, prompt_of())
                self.expect_program_agrees(dict(enumerate(weights)))

    def test_rotation_can_be_undone(self):
        """Keys of one token at two positions are the same once they are turned back by what the file says."""
        for kind in ("Llama", "GPTNeoX", "Gemma3Text", "GptOss", "Cohere", "DeepseekV3"):
            with self.subTest(kind):
                self.record(model_of(kind), [7] * 9)
                with AttentionReader(self.path("x.kva")) as reader:
                    rotary, keys = reader.layer(0).rotary, reader.keys(0, 0, 1).astype(float)
                given = np.array(rotary.inverse_frequencies)
                half = rotary.dims // 2
                angles = np.arange(9)[:, None] * (
                    given if given.size else rotary.base ** (-2 * np.arange(half) / rotary.dims))
                turned = rotary.first + np.arange(rotary.dims)
                first, second = ((turned[:half], turned[half:]) if rotary.layout == "halves" else
                                 (turned[::2], turned[1::2]))
                a, b, back = keys[:, first], keys[:, second], keys.copy()
                back[:, first] = a * np.cos(angles) + b * np.sin(angles)
                back[:, second] = b * np.cos(angles) - a * np.sin(angles)
                np.testing.assert_allclose(back, np.broadcast_to(back[:1], back.shape), atol=1e-5)

    def test_rotation_that_changes_with_the_length(self):
        rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}
        with self.assertRaisesRegex(RecorderError, "frequencies of dynamic rotation change with the length"):
            self.record(model_of("Llama", rope_parameters=rope), prompt_of())
        self.record(model_of("Llama", rope_parameters=rope), prompt_of(), rotary="unstated")
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertIsNone(reader.layer(0).rotary)
            self.assertEqual(reader.header.positions, "rotation not stated")

    def test_contexts(self):
        """What a model says; YaRN laid over a model makes it longer, and some say nothing."""
        yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 1e4}
        for kind, shape, tokens in (("Llama", {"max_position_embeddings": 64}, 64), ("GPT2", {"n_positions": 96}, 96),
                                    ("Qwen2", {"max_position_embeddings": 64, "rope_parameters": yarn}, 256),
                                    ("GptOss", {"max_position_embeddings": 512, "rope_parameters": yarn}, 512),
                                    ("Gemma3", {"text_config": {"max_position_embeddings": 80}}, 80),
                                    ("Bloom", {}, 0), ("Llama", {"max_position_embeddings": 0}, 0)):
            self.assertEqual(context_of(getattr(transformers, f"{kind}Config")(**shape)), tokens, kind)
        model = model_of("Llama", max_position_embeddings=TOKENS)
        self.record(model, prompt_of(), new=1)
        with self.assertRaisesRegex(RecorderError, "^prompt: 40 tokens and 2 new ones, expected at most the 40 of"):
            self.record(model, prompt_of(), new=2)
        self.record(model, prompt_of(), new=2, beyond_context=True)
        self.record(model_of("Llama", max_position_embeddings=0), prompt_of(), new=2)

    def test_rotation_where_the_two_passes_have_come_apart(self):
        """Rounding in a deep model moves values as far as keys; what moves keys alone is another rotation."""
        draw = torch.Generator().manual_seed(1)
        keys, values, noise, more = (torch.randn(2, 6, 16, dtype=torch.double, generator=draw) for _ in range(4))
        table = 100.0 ** (-np.arange(8) / 8)
        layer = type("Any", (), {"number": 3, "key_size": 16})
        turned = facts._turn(keys, torch.from_numpy(table) * facts.SHIFT, "interleaved", 0)
        rotation = lambda moved, beside: facts._rotation(  # noqa: E731
            layer, [(table, 1.0, 100.0)], (keys, values), (moved, beside))
        found = rotation(turned + 0.06 * noise, values + 0.05 * more)
        self.assertEqual((found.layout, found.first, found.dims, found.base), ("interleaved", 0, 16, 100.0))
        for moved, beside in ((turned + 0.06 * noise, values), (turned + 0.1 * noise, values + 0.05 * more),
                              (turned + 0.5 * noise, values + 0.4 * more)):
            with self.assertRaisesRegex(RecorderError, "^layer 3 rotates keys in a way"):
                rotation(moved, beside)

    @on_cpu
    def test_positions_that_are_learnt(self):
        learnt = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=4)
        with self.assertRaisesRegex(RecorderError, "^prompt: the model cannot take tokens 0 to 39: "):
            self.record(transformers.AutoModelForCausalLM.from_config(learnt), prompt_of(), beyond_context=True)


class AlibiAttention(modeling_llama.LlamaAttention):
    """Adds a linear bias to the mask, as models with ALiBi do; `curve` makes it another one."""

    slopes, curve = torch.tensor([0.5, 0.25, 0.125, 0.0625], device=DEVICE), 1.0

    def forward(self, hidden_states, position_embeddings=None, attention_mask=None, **kwargs):
        count = attention_mask.shape[-1]
        places = torch.arange(count, device=DEVICE)
        distance = places[None, :] - places[:, None]
        bias = self.slopes[:, None, None] * -(distance.abs().float() ** self.curve)
        return super().forward(hidden_states, position_embeddings=position_embeddings,
                               attention_mask=attention_mask + bias, **kwargs)


class Facts(Recording):
    def test_a_linear_bias(self):
        model = model_of("Llama")
        for layer in model.model.layers:
            layer.self_attn.__class__ = AlibiAttention
        _, weights = eager(model, prompt_of())
        self.record(model, prompt_of())
        self.expect_rows(weights)
        with AttentionReader(self.path("x.kva")) as reader:
            np.testing.assert_allclose(reader.layer(2).bias_slopes, AlibiAttention.slopes.tolist(), rtol=1e-6)
        AlibiAttention.curve = 0.5
        self.addCleanup(setattr, AlibiAttention, "curve", 1.0)
        with self.assertRaisesRegex(RecorderError, "layer 0 adds a bias that is not linear"):
            self.record(model, prompt_of())
        _, weights = eager(model, prompt_of())
        self.record(model, prompt_of(), parts=("rows",), verify=False)  # as the message says
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertEqual(reader.layer(0).bias_slopes, ())
            self.assertTrue(np.array_equal(reader.matrix(0, 1, 2), weights[1][2]))

    def test_attention_that_the_facts_do_not_explain(self):
        """A prefix that sees itself both ways: only rows can say it."""
        class Prefix(modeling_llama.LlamaAttention):
            def forward(self, hidden_states, position_embeddings=None, attention_mask=None, **kwargs):
                attention_mask = attention_mask.clone()
                attention_mask[..., 20:30, :8] = torch.finfo(torch.float32).min
                return super().forward(hidden_states, position_embeddings=position_embeddings,
                                       attention_mask=attention_mask, **kwargs)

        Prefix.__module__ = modeling_llama.__name__
        model = model_of("Llama")
        model.model.layers[1].self_attn.__class__ = Prefix
        with self.assertRaisesRegex(RecorderError, "layer 1 attends otherwise"):
            self.record(model, prompt_of(tokens=30))

    def test_other_models(self):
        for kind, shape, message in (
                ("Bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY}, "Bloom.* registry"),
                ("Mamba", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": VOCABULARY}, "Mamba")):
            config = getattr(transformers, f"{kind}Config")(**shape)
            with self.assertRaisesRegex(RecorderError, message):
                self.record(transformers.AutoModelForCausalLM.from_config(config).eval(), prompt_of())
        self.assertEqual(list(self.folder.iterdir()), [])
        with self.assertRaisesRegex(RecorderError, "expected token ids 0 to 96"):
            self.record(model_of("Llama"), [5, 97])


class Parts(Recording):
    def test_all_parts_fit_together(self):
        """Values are projections of layer inputs, norms theirs, and rows, values and output weights make the output."""
        model, seen = model_of("Llama"), {}
        for number, layer in enumerate(model.model.layers):
            layer.self_attn.register_forward_hook(lambda _, __, out, number=number: seen.update({number: out[0][0]}))
        parts = ("rows", "queries", "keys", "values", "value_norms", "layer_inputs", "output_weights")
        self.record(model, prompt_of(), parts=parts, elements={"rows": "f64"})
        _, weights = eager(model, prompt_of())
        with AttentionReader(self.path("x.kva")) as reader:
            reader.check()
            for layer in range(LAYERS):
                inputs = reader.layer_inputs(0, layer)
                projected = inputs @ model.model.layers[layer].self_attn.v_proj.weight.detach().cpu().numpy().T
                total = np.zeros((TOKENS, 32))
                for head in range(QUERY_HEADS):
                    values = reader.values(0, layer, head // 2)
                    np.testing.assert_allclose(projected[:, head // 2 * 8 :][:, :8], values, atol=1e-5)
                    np.testing.assert_allclose(reader.value_norms(0, layer, head // 2),
                                               np.sqrt((values**2).sum(axis=1)), rtol=1e-5)
                    self.assertTrue(np.array_equal(reader.matrix(0, layer, head), weights[layer][head]))
                    total += reader.matrix(0, layer, head) @ values @ reader.output_weights(layer, head)
                np.testing.assert_allclose(total, seen[layer].cpu().numpy(), atol=1e-4)

    def test_top_rows(self):
        model = model_of("Mistral")
        _, weights = eager(model, prompt_of())
        self.record(model, prompt_of(), parts=("top_rows",), top=4)
        with AttentionReader(self.path("x.kva")) as reader:
            for t, row in reader.rows(0, 1, 2):
                own = weights[1][2, t, : t + 1]
                largest = np.argsort(-own)[:4]
                np.testing.assert_allclose(row[largest], own[largest], rtol=1e-7)
                self.assertAlmostEqual(row.sum(), own.sum(), places=6)
                self.assertFalse(np.any(row[: max(0, t - 7)]))

    def test_what_is_chosen(self):
        model = model_of("Llama")
        _, weights = eager(model, prompt_of())
        self.record(model, prompt_of(), layers=[0, 2], kv_heads=[1])
        self.expect_rows(weights, layers=(0, 2))
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertEqual(reader.recorded(), [(0, 0), (0, 2)])
            self.assertEqual(reader.layer(2).heads("queries"), (2, 3))
        self.record(model, prompt_of(), parts=("rows",), row_tokens=(10, 25))
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertEqual([t for t, _ in reader.rows(0, 1, 0)], list(range(10, 25)))
        with self.assertRaisesRegex(RecorderError, r"layers: expected some of 0 to 2, found \[7\]"):
            self.record(model, prompt_of(), layers=[7])
        with self.assertRaisesRegex(RecorderError, "parts: expected some of .* found hats"):
            self.record(model, prompt_of(), parts=("hats",))

    def test_decoding_step_by_step_and_prompts_in_parts(self):
        """However tokens are fed, the file has the tensors of one pass over all of them."""
        for kind in ("Llama", "Gemma2", "GptOss"):
            model = model_of(kind)
            new = self.record(model, prompt_of(), new=12)
            whole = prompt_of() + new[:-1]
            self.record(model, whole, "whole.kva")
            self.record(model, prompt_of(), "parts.kva", new=12, prefill_tokens=7, flush_tokens=5)
            logits, weights = eager(model, whole)
            self.assertEqual(new, logits[TOKENS - 1 :].argmax(axis=1).tolist())  # greedy, as eager decides
            with AttentionReader(self.path("whole.kva")) as expected:
                for file in ("x.kva", "parts.kva"):
                    with self.subTest(kind=kind, file=file), AttentionReader(self.path(file)) as reader:
                        self.assertEqual((reader.tokens(), reader.sequences[0].prompt_tokens), (TOKENS + 11, TOKENS))
                        for layer in range(LAYERS):
                            for ask in ("queries", "keys", "values"):
                                found = getattr(reader, ask)(0, layer, 1)
                                np.testing.assert_allclose(found, getattr(expected, ask)(0, layer, 1), atol=2e-4)

    def test_drawn_tokens_come_from_the_seed(self):
        model, drawn = model_of("Llama"), []
        for seed in (1, 1, 2):
            with Recorder(model, self.path("x.kva")) as recorder:
                drawn.append(recorder.record(prompt_of(), max_new_tokens=20, temperature=2.0, seed=seed))
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])


    @on_cpu
    def test_memory_does_not_grow_with_the_recording(self):
        """For a forked child, with a peak that begins with what is there: 40 sequences take what the first one took."""
        model = model_of("Llama", hidden_size=256)
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10  # noqa: E731
        process = os.fork()
        if process:
            _, status = os.waitpid(process, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            first, last, written = json.loads(self.path("peaks").read_text())
            self.assertGreater(written, 50)
            self.assertLess(last - first, written // 3, "MiB")
            return
        try:
            with Recorder(model, self.path("x.kva"), codec="stored", prefill_tokens=64) as recorder:
                peaks = []
                for i in range(40):
                    recorder.record(prompt_of(i, 250))
                    peaks.append(peak())
            written = self.path("x.kva").stat().st_size >> 20
            self.path("peaks").write_text(json.dumps([peaks[0], peaks[-1], written]))
            os._exit(0)
        finally:
            os._exit(99)


class Arguments(Recording):
    """Of the library: what it cannot do it says at once, and leaves neither a file nor a changed model."""

    def test_of_a_recording(self):
        model = model_of("Llama")
        rows = {"parts": ("rows",)}
        for message, options in (
                (r"row_tokens: expected a first row below the last one.*, found \(9, 5\)",
                 {**rows, "row_tokens": (9, 5)}),
                ("row_tokens: expected a first row", {**rows, "row_tokens": (5,)}),
                ("row_tokens: expected a first row", {**rows, "row_tokens": (0.5, 3)}),
                ("row_tokens: expected none, or rows or top_rows among", {"row_tokens": (5, 9)}),
                ("top: expected none, or top_rows among", {**rows, "top": 3}),
                ("top: expected a whole number from 1 to 1048576, found -1", {"parts": ("top_rows",), "top": -1}),
                ("elements: expected those of queries, keys, values, found foo", {"elements": {"foo": "f16"}}),
                ("elements: expected those of rows, found keys", {**rows, "elements": {"keys": "f16"}}),
                ("rotary: expected measured or unstated, found 'foo'", {"rotary": "foo"}),
                ("prefill_tokens: expected a whole number from 0 to 1048576, found -1", {"prefill_tokens": -1}),
                ("flush_tokens: expected a whole number from 1 to 1048576, found 0", {"flush_tokens": 0}),
                ("parts: expected some of .*, found none", {"parts": ()})):
            with self.assertRaisesRegex(RecorderError, f"^{message}"):
                self.record(model, prompt_of(), **options)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_of_a_sequence(self):
        with Recorder(model_of("Llama"), self.path("x.kva"), token_classes=("text", "needle")) as recorder:
            for message, options in (
                    ("max_new_tokens: expected a whole number", {"max_new_tokens": -1}),
                    ("max_new_tokens: expected a whole number", {"max_new_tokens": 1.5}),
                    ("temperature: expected 0, or a number from", {"temperature": -1.0}),
                    ("temperature: expected 0, or a number from", {"temperature": float("nan")}),
                    ("top_k: expected a whole number", {"top_k": -1}), ("seed: expected a whole number", {"seed": -1}),
                    ("ids: expected a list of token ids$", {"ids": [1.5, 2.5]}),
                    ("ids: expected a list of token ids: ", {"ids": ["a"]}),
                    ("ids: expected a list of token ids$", {"ids": [[1, 2]]}),
                    ("classes: expected a class for each of the 2", {"classes": [0]}),
                    ("classes: expected 0 to 1, found 7", {"classes": [0, 7]}),
                    ("new_class: expected 0 to 1, found 2", {"new_class": 2})):
                with self.assertRaisesRegex(RecorderError, f"^{message}"):
                    recorder.record(**{"ids": [1, 2], "classes": [0, 1], "max_new_tokens": 2, **options})
            recorder.record(np.array([1, 2]), classes=[0, 1])
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertEqual(len(reader.sequences), 1)
        with Recorder(model_of("Llama"), self.path("y.kva")) as recorder:
            with self.assertRaisesRegex(RecorderError, "^classes: expected none: the recording has no token_classes"):
                recorder.record([1, 2], classes=[0, 1])
            recorder.record([1, 2])

    def test_the_model_stays_as_it_was(self):
        """Also the parts of it that were in another mode, and where it is refused."""
        model = model_of("Llama", attention_dropout=0.5).train()
        model.model.layers[1].eval()
        before = {name: module.training for name, module in model.named_modules()}
        self.record(model, prompt_of())
        with torch.no_grad():
            model.model.layers[0].self_attn.k_proj.weight[3] = float("nan")
        with self.assertRaises(RecorderError):
            self.record(model, prompt_of())
        self.assertEqual({name: module.training for name, module in model.named_modules()}, before)
        _, weights = eager(model_of("Llama").eval(), prompt_of())  # nothing was dropped
        self.expect_rows(weights)


if __name__ == "__main__":
    unittest.main()
