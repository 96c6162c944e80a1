"""traces/recorder on Transformers' own classes with small random weights: what it writes is what the model attended to.

Needs PyTorch and Transformers (.ci/setup recorder) and says so where they are absent. Rows are recomputed here from the
recorded file by a formula of the test's own, and by the program; both must be within ROW_ERROR of the weights that the
library returns for its eager attention.
"""

import importlib.util
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
import unittest
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

from support import KVPLAN, ROOT, FolderTest, kvplan
from kvplan_traces import AttentionReader

if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
    print("skipped: no PyTorch and Transformers in this Python: .ci/setup recorder installs them")
    sys.exit(0)

sys.path.insert(0, str(ROOT / "traces/recorder"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers.models.llama import modeling_llama  # noqa: E402

from kvplan_recorder import Recorder, RecorderError, hook  # noqa: E402
from kvplan_recorder.__main__ import Progress, main  # noqa: E402
from kvplan_recorder.limits import context_of  # noqa: E402

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

VOCABULARY, LAYERS, QUERY_HEADS, TOKENS = 97, 3, 4, 40
ROW_ERROR = 2e-6  # of a weight, in float32
MODELS = {
    "Llama": {}, "Qwen2": {}, "Qwen3": {"head_dim": 8}, "Mistral": {"sliding_window": 8},
    "Gemma2": {"head_dim": 8, "sliding_window": 8, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 8},
    "Gemma3Text": {"head_dim": 8, "sliding_window": 8, "query_pre_attn_scalar": 8,
                   "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    "GPTNeoX": {}, "GptOss": {"head_dim": 8, "sliding_window": 8, "num_local_experts": 4, "num_experts_per_tok": 2},
    "Cohere": {}, "SmolLM3": {"no_rope_layers": [1, 1, 0], "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1},
    "DeepseekV3": {"num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 4,
                   "qk_nope_head_dim": 8, "v_head_dim": 6, "n_routed_experts": 4, "n_group": 2, "topk_group": 1,
                   "num_experts_per_tok": 2, "moe_intermediate_size": 16, "first_k_dense_replace": 1},
}
# Layout, first element and number of rotated elements of layer 0.
ROTATED = {"GPTNeoX": ("halves", 0, 2), "Cohere": ("interleaved", 0, 8), "DeepseekV3": ("halves", 8, 4)}
WINDOWS = {"Mistral": [8, 8, 8], "Gemma2": [8, 0, 8], "Gemma3Text": [8, 0, 8], "GptOss": [8, 0, 8]}


def model_of(kind, seed=1, **more):
    """Weights are large enough for rows that are far from even; norms, biases and sinks are not at their defaults."""
    shape = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": LAYERS,
             "num_attention_heads": QUERY_HEADS, "max_position_embeddings": 256, **MODELS.get(kind, {}), **more}
    if kind != "GPTNeoX":
        shape.setdefault("num_key_value_heads", 2)
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, f"{kind}Config")(**shape)).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(torch.randn_like(weights) * 0.3)
    return model


def prompt_of(seed=2, tokens=TOKENS):
    return np.random.default_rng(seed).integers(0, VOCABULARY, tokens).tolist()


def eager(model, ids):
    """(logits, weights of each layer [heads, tokens, tokens]) of the library's own implementation."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), output_attentions=True, use_cache=False)
    return out.logits[0].numpy(), [layer[0].numpy() for layer in out.attentions]


def row_of(facts, head, queries, keys, t):
    """Row t by the formula of the page of the format."""
    first = max(0, t + 1 - facts.window) if facts.window else 0
    logits = facts.logit_scale * (keys[first : t + 1].astype(float) @ queries[t].astype(float))
    if facts.soft_cap:
        logits = facts.soft_cap * np.tanh(logits / facts.soft_cap)
    if facts.bias_slopes:
        logits = logits + facts.bias_slopes[head] * (np.arange(first, t + 1) - t)
    weights = np.exp(logits)
    sink = np.exp(facts.sink_logits[head]) if facts.sink_logits else 0
    return np.concatenate((np.zeros(first), weights / (weights.sum() + sink)))


class Recording(FolderTest):
    def record(self, model, ids, file="x.kva", new=0, **options):
        with Recorder(model, self.path(file), overwrite=True, **options) as recorder:
            return recorder.record(ids, max_new_tokens=new)

    def expect_rows(self, weights, layers=range(LAYERS), file="x.kva"):
        """The file's rows, computed here, are the library's."""
        worst = 0.0
        with AttentionReader(self.path(file)) as reader:
            reader.check()
            for layer in layers:
                facts = reader.layer(layer)
                for head in facts.heads("queries"):
                    queries, keys = reader.queries(0, layer, head), reader.keys(0, layer, head // facts.group)
                    for t in range(len(weights[layer][head])):
                        row = row_of(facts, head, queries, keys, t)
                        worst = max(worst, np.abs(row - weights[layer][head, t, : t + 1]).max())
        self.assertLess(worst, ROW_ERROR)

    def expect_program_agrees(self, weights, layer, file="x.kva"):
        """What `kvplan evict` calls the three largest weights of each row are the library's."""
        code, out, error = kvplan("evict", self.path(file), "--policy", "oracle-topk:k=3,group=1", "--prefill", 1,
                                  "--layer", layer, "--json", "-")
        if code and "version" in error:
            self.skipTest("this kvplan reads version 1 of .kva alone")
        self.assertEqual(code, 0, error)
        for step in json.loads(out)["steps"]:
            for head, mass in enumerate(step["attended_mass"]):
                row = weights[layer][head, step["t"]]
                self.assertAlmostEqual(mass, np.sort(row)[-3:].sum(), delta=3 * ROW_ERROR)


class Models(Recording):
    """Every kind of attention that the format has facts for."""

    def test_logits_are_those_of_eager(self):
        for kind in MODELS:
            with self.subTest(kind):
                model, heard = model_of(kind), []
                expected, _ = eager(model, prompt_of())
                with torch.no_grad(), hook.listening(model, lambda module, *_: heard.append(module.layer_idx)):
                    found = model(input_ids=torch.tensor([prompt_of()]), use_cache=False).logits[0].numpy()
                self.assertEqual(heard, list(range(LAYERS)))
                self.assertTrue(np.array_equal(found, expected))
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
                for layer in (0, 1):
                    self.expect_program_agrees(weights, layer)

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
        learnt = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=4)
        with self.assertRaisesRegex(RecorderError, "^prompt: the model cannot take tokens 0 to 39: "):
            self.record(transformers.AutoModelForCausalLM.from_config(learnt), prompt_of(), beyond_context=True)

    def test_half_precision(self):
        model = model_of("Llama").to(torch.bfloat16)
        self.record(model, prompt_of())
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertEqual(reader.header.parts, {"queries": "bf16", "keys": "bf16", "values": "bf16"})
            self.assertEqual(reader.header.model.cache_element_bytes, 2)


class AlibiAttention(modeling_llama.LlamaAttention):
    """Adds a linear bias to the mask, as models with ALiBi do; `curve` makes it another one."""

    slopes, curve = torch.tensor([0.5, 0.25, 0.125, 0.0625]), 1.0

    def forward(self, hidden_states, position_embeddings=None, attention_mask=None, **kwargs):
        count = attention_mask.shape[-1]
        distance = torch.arange(count)[None, :] - torch.arange(count)[:, None]
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
                projected = inputs @ model.model.layers[layer].self_attn.v_proj.weight.detach().numpy().T
                total = np.zeros((TOKENS, 32))
                for head in range(QUERY_HEADS):
                    values = reader.values(0, layer, head // 2)
                    np.testing.assert_allclose(projected[:, head // 2 * 8 :][:, :8], values, atol=1e-5)
                    np.testing.assert_allclose(reader.value_norms(0, layer, head // 2),
                                               np.sqrt((values**2).sum(axis=1)), rtol=1e-5)
                    self.assertTrue(np.array_equal(reader.matrix(0, layer, head), weights[layer][head]))
                    total += reader.matrix(0, layer, head) @ values @ reader.output_weights(layer, head)
                np.testing.assert_allclose(total, seen[layer].numpy(), atol=1e-4)

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


    def test_memory_does_not_grow_with_the_recording(self):
        """Of a forked child, whose peak begins with what is there: 40 sequences take what the first one took."""
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


class Command(Recording):
    """kvplan-record as a whole. It runs in a forked child: PyTorch takes seconds to import."""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        model_of("Llama").save_pretrained(self.model)
        words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, "w0"))
        words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(self.model)

    def prompts(self, *lines):
        self.path("prompts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return self.path("prompts.jsonl")

    def child(self, *arguments, out="x.kva", before=lambda: None):
        """Process id of kvplan-record on the prompts; what it says goes to a file."""
        process = os.fork()
        if process:
            return process
        try:
            said = os.open(self.path("said"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            before()
            os._exit(main([str(self.model), str(self.path("prompts.jsonl")), "-o", str(self.path(out)),
                           "--threads", "1", *map(str, arguments)]))
        finally:
            os._exit(99)

    def run_child(self, *arguments, **more):
        """(exit code, what it said)."""
        _, status = os.waitpid(self.child(*arguments, **more), 0)
        return os.waitstatus_to_exitcode(status), self.path("said").read_text()

    def test_a_file_of_prompts(self):
        self.prompts({"name": "a", "text": "w1 w2 w3 w4", "spans": [["needle", 3, 8]], "max_new_tokens": 3},
                     {"name": "b", "text": [["system", "w9 w8 "], ["user", "w7"]], "prompt_tokens": 2},
                     {"ids": [5, 6]}, {"random_tokens": 30, "seed": 4})
        code, said = self.run_child("--element", "f16", "--source", "made up", "--name", "small")
        self.assertEqual(code, 0, said)
        self.assertIn("sequence 4 of 4 (3): 30 of 30 tokens", said)
        with AttentionReader(self.path("x.kva")) as reader:
            reader.check()
            names = reader.header.token_classes
            self.assertEqual([[names[i] for i in reader.token_classes(sequence)] for sequence in range(3)],
                             [["text", "needle", "needle", "text", "assistant", "assistant"],
                              ["system", "system", "user"], ["text", "text"]])
            self.assertEqual([(one.name, one.tokens, one.prompt_tokens) for one in reader.sequences],
                             [("a", 6, 4), ("b", 3, 2), ("2", 2, 2), ("3", 30, 30)])
            header = reader.header
            self.assertEqual((header.source, header.model.name, header.recorder), ("made up", "small", "kvplan-record"))
            self.assertRegex(header.model_digest, "^sha256:[0-9a-f]{64}$")

    def test_prompts_that_are_none(self):
        for line, message in (('{"text": 5}', "text: expected a text"), ("{", "line 2: Expecting"), ("[]", "an object"),
                              ('{"ids": [1], "text": "w1"}', "expected one of text, ids, random_tokens"),
                              ('{"ids": [1], "colour": 1}', "found colour"), ('{"ids": ["a"]}', "whole numbers"),
                              ('{"text": "w1", "spans": [["x", 0, 9]]}', "a range inside 2 characters"),
                              ('{"ids": [1], "prompt_tokens": 3}', "prompt_tokens: expected at most 1"),
                              ('{"ids": [1], "temperature": -1}', "temperature: expected 0, or a number"),
                              ('{"ids": [1], "temperature": 1e-320}', "temperature: expected 0, or a number"),
                              ('{"ids": [1], "temperature": NaN}', "temperature: expected 0, or a number"),
                              ('{"ids": [1%s]}' % ("0" * 30), "ids: expected a whole number"),
                              ('{"random_tokens": 1000000000000}', "random_tokens: expected a whole number from 1 to"),
                              ('{"ids": [1], "max_new_tokens": 1048577}', "max_new_tokens: expected a whole number"),
                              ('{"ids": [1], "seed": 1%s}' % ("0" * 30), "seed: expected a whole number"),
                              ('{"ids": [1], "name": "\\ud800"}', "name: expected a text in UTF-8"),
                              ("[" * 100000, "line 2: expected less deep lists")):
            self.path("prompts.jsonl").write_text('{"ids": [1]}\n' + line)
            code, said = self.run_child("--quiet", "--overwrite")
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            self.assertIn(message, said)

    def test_prompts_that_are_no_text(self):
        self.path("prompts.jsonl").write_bytes(b"\xff\xfe\x00")
        code, said = self.run_child("--quiet")
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertIn("prompts.jsonl: line 1: 'utf-8' codec", said)

    def test_only_recordings_are_replaced(self):
        text = self.prompts({"ids": [1]}).read_text()
        self.path("folder").mkdir()
        os.mkfifo(self.path("pipe"))
        for out, message in (("prompts.jsonl", "is there and no recording"), ("folder", "is a folder"),
                             ("model/config.json", "is there and no recording"), ("pipe", "is there and no recording")):
            code, said = self.run_child("--quiet", out=out)
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            self.assertIn(message, said)
        self.assertEqual(self.path("prompts.jsonl").read_text(), text)
        self.assertEqual(list(self.folder.glob("*.part")), [])
        for _ in range(2):
            self.assertEqual(self.run_child("--quiet"), (0, ""))
        with self.assertRaisesRegex(FileExistsError, "expected a regular file, or none"):
            Recorder(model_of("Llama"), self.path("pipe"))

    def test_options_out_of_range(self):
        self.prompts({"ids": [1]})
        for options, message in ((("--layers", "0-9999999999"), "--layers: expected numbers below 4096"),
                                 (("--layers", "0-"), "--layers: expected numbers as 0,2-5"),
                                 (("--kv-heads", "5000"), "--kv-heads: expected numbers below 4096"),
                                 (("--top", 0), "--top: expected a whole number from 1 to"),
                                 (("--flush-tokens", -5), "--flush-tokens: expected"),
                                 (("--prefill-tokens", -1), "--prefill-tokens: expected"),
                                 (("--max-new-tokens", -3), "--max-new-tokens: expected"),
                                 (("--seed", -5), "--seed: expected"), (("--top-k", -1), "--top-k: expected"),
                                 (("--temperature", "nan"), "--temperature: expected 0, or a number"),
                                 (("--row-tokens", "5:2"), "--row-tokens: expected FIRST:LAST"),
                                 (("--row-tokens", "5"), "--row-tokens: expected FIRST:LAST"),
                                 (("--kv-heads", "0,2"), "kv_heads: expected some of 0 to 1, found [2]")):
            code, said = self.run_child("--quiet", *options)
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            self.assertIn(message, said)
        self.assertEqual(list(self.folder.glob("*.kva*")), [])

    def test_prompts_longer_than_the_context(self):
        """The model's context is 256 tokens; the last new token is never fed, so it takes no place."""
        self.prompts({"random_tokens": 250, "max_new_tokens": 7}, {"name": "long", "random_tokens": 250})
        code, said = self.run_child("--max-new-tokens", 8)
        self.assertEqual((code, said), (
            2, "kvplan-record: prompt 2 (long): 250 tokens and 8 new ones, expected at most the 256 of the model's "
               "context; --max-prompt-tokens cuts it, --beyond-context records all of it\n"))
        self.assertEqual(list(self.folder.glob("*.kva*")), [])
        for options, tokens, noted in ((("--max-prompt-tokens", 249), 249 + 7, ""),
                                       (("--beyond-context",), 250 + 7, ", beyond the context of 256 tokens")):
            code, said = self.run_child("--quiet", "--max-new-tokens", 8, *options)
            self.assertEqual((code, said), (0, ""))
            with AttentionReader(self.path("x.kva")) as reader:
                self.assertEqual(reader.sequences[1].tokens, tokens)
                self.assertEqual(reader.header.recorded_by, f"temperature 0.0, top_k 0, seed 0{noted}")
        self.prompts({"random_tokens": 257})
        code, said = self.run_child()
        self.assertEqual(code, 2)
        self.assertIn("prompt 1 (0): 257 tokens, expected at most the 256 of", said)

    def test_of_nothing_nothing_is_left(self):
        self.prompts({"ids": [1, 2, 97]})
        code, said = self.run_child("--quiet")
        self.assertEqual((code, said), (2, "kvplan-record: prompt 1 (0): expected token ids 0 to 96: it is of "
                                           "another tokenizer\n"))
        self.assertEqual(list(self.folder.glob("*.kva*")), [])
        self.prompts({"ids": [1]}, {"name": "blank", "text": " \n"})  # found before the first prompt is recorded
        code, said = self.run_child("--quiet")
        self.assertEqual((code, said), (2, "kvplan-record: prompt 2 (blank): expected at least one token\n"))
        self.assertEqual(list(self.folder.glob("*.kva*")), [])

    def test_progress(self):
        """On a terminal a line is written over, and closed when the sequence ends or something else is to be said."""
        class Writer:
            part_path = self.prompts({})

        class Screen(io.StringIO):
            def isatty(self):
                return True

        for screen, expected in ((Screen, ["", "x): 5 of 9", "x): 9 of 9", "y): 5 of 9"]),
                                 (io.StringIO, ["x): 9 of 9"])):
            with redirect_stderr(screen()) as said:
                progress = Progress(False, Writer, 2)
                for number, name, steps in ((0, "x", (5, 9)), (1, "y", (5,))):
                    tell = progress.of(number, name)
                    for tokens in steps:
                        progress._last -= 1
                        tell(tokens, 9)
                progress.end()
            lines = said.getvalue().replace("\n", "\r").split("\r")
            self.assertEqual(said.getvalue()[-1], "\n")
            found = [line for line in lines if line]
            self.assertEqual(len(found), len([one for one in expected if one]), said.getvalue())
            for line, part in zip(found, [one for one in expected if one]):
                self.assertIn(part, line)

    def test_a_model_that_is_none(self):
        self.prompts({"ids": [1]})
        with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()):
            code = main([str(self.folder / "nothing"), str(self.path("prompts.jsonl")), "-o", str(self.path("x.kva"))])
        self.assertEqual((code, said.getvalue().count("\n")), (2, 1), said.getvalue())
        self.assertIn("kvplan-record: ", said.getvalue())

    def many(self):
        self.prompts(*({"random_tokens": 20 + 7 * i, "seed": i, "max_new_tokens": 40} for i in range(5)))
        return "--flush-tokens", 8, "--no-verify"

    def expect_begin_of(self, part, whole):
        """Whatever is in the cut file is in the whole one; how much is there."""
        found = 0
        with AttentionReader(part) as cut, AttentionReader(whole) as full:
            cut.check()
            for sequence, layer in cut.recorded():
                tokens = cut.tokens(sequence, layer)
                found += tokens
                for ask in ("queries", "keys", "values"):
                    some, all_of_it = (getattr(one, ask)(sequence, layer, 1) for one in (cut, full))
                    self.assertTrue(np.array_equal(some, all_of_it[:tokens]))
            return found, sum(one.complete for one in cut.sequences)

    def test_killed_at_any_moment(self):
        arguments = self.many()
        begin = time.monotonic()
        code, said = self.run_child(*arguments, "--quiet", out="whole.kva")
        lasts = time.monotonic() - begin
        self.assertEqual(code, 0, said)
        part, found = self.path("x.kva.part"), []
        for share in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
            process = self.child(*arguments, "--quiet", "--overwrite")
            time.sleep(lasts * share)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            if part.exists() and part.stat().st_size > 2000:
                found.append(self.expect_begin_of(part, self.path("whole.kva")))
            self.path("x.kva").unlink(missing_ok=True)  # the child may have been quick
        self.assertTrue(found, "no kill hit the recording")
        print(f"killed: {found} tokens of layers, and whole sequences, were there")

    def test_a_full_disk(self):
        arguments = self.many()
        code, said = self.run_child(*arguments, "--quiet", out="whole.kva")
        self.assertEqual(code, 0, said)
        size = self.path("whole.kva").stat().st_size
        for limit in (size // 3, size * 2 // 3, size - 30):
            code, said = self.run_child(*arguments, "--quiet", "--overwrite",
                                        before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual((code, said.count("\n")), (2, 1), said)
            self.assertRegex(said, "^kvplan-record: .*x.kva.part: File too large; .*x.kva.part has [0-9] whole")
            tokens, complete = self.expect_begin_of(self.path("x.kva.part"), self.path("whole.kva"))
            self.assertGreater(tokens, 0)
            self.assertIn(f"has {complete} whole", said)
            self.assertFalse(self.path("x.kva").exists())
        self.path("x.kva.part").unlink()
        code, said = self.run_child(*arguments, "--quiet",
                                    before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)))
        self.assertEqual((code, said.count("\n")), (2, 1), said)  # no room for the header: nothing is left of it
        self.assertEqual([path.name for path in self.folder.glob("x.kva*")], [])

    def test_weights_that_are_no_numbers(self):
        model = model_of("Llama")
        with torch.no_grad():
            model.model.embed_tokens.weight[50] = float("nan")
        model.save_pretrained(self.model)
        self.prompts({"ids": [9, 8, 7, 6]}, {"ids": [1, 2, 50]}, {"ids": [1, 2]})
        code, said = self.run_child("--quiet")
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertRegex(said, "sequence 1: layer 0: queries of head 0: expected finite numbers that fit f32; "
                               ".*x.kva.part has 1 whole sequence, and 0 tokens of the next")
        with torch.no_grad():
            model.model.layers[1].self_attn.k_proj.weight[3] = float("nan")
        model.save_pretrained(self.model)
        code, said = self.run_child("--quiet", "--overwrite")
        self.assertEqual((code, said), (2, "kvplan-record: layer 1 computes keys that are no finite numbers\n"))

    def test_a_recording_that_was_cut_is_not_overwritten_unasked(self):
        self.prompts({"ids": [1, 2]})
        self.path("x.kva.part").write_bytes(b"dear")
        code, said = self.run_child("--quiet")
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertIn("x.kva.part: there is a recording that was cut", said)
        self.assertEqual(self.path("x.kva.part").read_bytes(), b"dear")

    def test_what_another_writes_is_left_alone(self):
        """A second recording of the same name is refused while the first, without a token yet, is being written."""
        self.prompts({"ids": [1, 2]})
        with Recorder(model_of("Llama"), self.path("x.kva")) as first:
            begin = self.path("x.kva.part").read_bytes()
            for options in ((), ("--row-tokens", "5"), ("--max-prompt-tokens", 1, "--parts", "hats")):
                os.utime(self.path("x.kva.part"))
                code, said = self.run_child("--quiet", *options)
                self.assertEqual((code, said.count("\n")), (2, 1), said)
                self.assertEqual(self.path("x.kva.part").read_bytes(), begin)
            first.record(prompt_of())
        with AttentionReader(self.path("x.kva")) as reader:
            reader.check()


class Page(FolderTest):
    """The commands of traces/recorder/README.md, from the training on: in a folder of the test's, on made-up texts, of
    this environment, and with one step of training in place of minutes."""

    def test_commands_end_in_a_frontier(self):
        page = (ROOT / "traces/recorder/README.md").read_text()
        block = page.split("## From nothing to a frontier")[1].split("```")[1].strip()
        commands = [command for line in block.splitlines() for command in line.split(" && ")]
        self.assertEqual([command.split()[0].split("/")[-1] for command in commands],
                         ["python3", "pip", "python", "python", "python", "kvplan-record", "kvplan"])
        texts = self.path("own/texts")
        texts.mkdir(parents=True)
        draw = np.random.default_rng(3)
        words = ["".join(draw.choice(list("abcdefgh"), draw.integers(3, 7))) for _ in range(900)]
        (texts / "made_up.txt").write_text(" ".join(draw.choice(words, 40_000)))
        recorder = f"env PYTHONPATH={ROOT}/traces/python:{ROOT}/traces/recorder {sys.executable} -B -m kvplan_recorder"
        for command in commands[3:]:
            for said, meant in (("own/env/bin/kvplan-record", recorder), ("own/env/bin/python", sys.executable),
                                (" traces/", f" {ROOT}/traces/"), ("build/bin/kvplan", KVPLAN),
                                ("--minutes 10", "--minutes 0 --steps 1 --threads 1")):
                command = command.replace(said, meant)
            done = subprocess.run(command, shell=True, cwd=self.folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
            self.assertNotIn("indexing errors", done.stderr)
        self.assertIn("Planted needles that are retained", done.stdout)
        self.assertIn("<html", self.path("own/frontier.html").read_text())


if __name__ == "__main__":
    unittest.main()
