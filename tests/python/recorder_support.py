"""What the tests of traces/recorder share: small models of Transformers' own classes with random weights, and rows
recomputed from a recorded file by a formula of the tests' own. Importing it ends the program, with a line that says so,
where PyTorch and Transformers are absent.

KVPLAN_RECORDER_DEVICE=cuda puts the models on a GPU; what forks or breaks the device on purpose is left out there.
"""

import importlib.util
import json
import os
import sys
import unittest

import numpy as np

from support import ROOT, FolderTest, kvplan
from kvplan_traces import AttentionReader

if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
    print("skipped: no PyTorch and Transformers in this Python: .ci/setup recorder installs them")
    sys.exit(0)

sys.path.insert(0, str(ROOT / "traces/recorder"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
import transformers  # noqa: E402

from kvplan_recorder import Recorder  # noqa: E402

DEVICE = os.environ.get("KVPLAN_RECORDER_DEVICE", "cpu")
on_cpu = unittest.skipIf(DEVICE != "cpu", f"not on {DEVICE}")

torch.set_num_threads(1)
torch.backends.cudnn.allow_tf32 = False  # of convolutions; that of products is off as PyTorch comes
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
    return model.to(DEVICE)


def prompt_of(seed=2, tokens=TOKENS):
    return np.random.default_rng(seed).integers(0, VOCABULARY, tokens).tolist()


def eager(model, ids):
    """(logits, weights of each layer [heads, tokens, tokens]) of the library's own implementation, as float32."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids], device=DEVICE), output_attentions=True, use_cache=False)
    return out.logits[0].float().cpu().numpy(), [layer[0].float().cpu().numpy() for layer in out.attentions]


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

    def expect_program_agrees(self, weights, file="x.kva"):
        """What `kvplan evict` computes as rows are the library's, `weights` of each layer. With the w newest tokens
        kept a query sees these and itself: w = 1, 2, ... tell all weights of a row but the last two apart. And the
        largest of each row."""
        seen = lambda w: lambda row: row[max(0, len(row) - w - 1) :].sum()  # noqa: E731
        for policy, sum_of in [("oracle-topk:k=1,group=1", np.max),
                               *((f"window:window={w}", seen(w)) for w in range(1, TOKENS))]:
            code, out, error = kvplan("evict", self.path(file), "--policy", policy, "--prefill", 1, "--all-layers",
                                      "--json", "-")
            self.assertEqual(code, 0, error)
            layers = json.loads(out)["layers"]
            self.assertEqual([one["layer"] for one in layers], sorted(weights))
            for one in layers:
                self.assertEqual([step["t"] for step in one["steps"]], list(range(1, TOKENS)))
                for step in one["steps"]:
                    expected = [sum_of(rows[step["t"], : step["t"] + 1]) for rows in weights[one["layer"]]]
                    np.testing.assert_allclose(step["attended_mass"], expected, rtol=0, atol=2 * ROW_ERROR,
                                               err_msg=f"layer {one['layer']}, {policy}, step {step['t']}")
