"""traces/recorder on models with layers of several kinds: some attend and some go on from a state, some do both,
some read the keys of others; what no format is for; and how a model is given its cache. Needs PyTorch and Transformers
(.ci/setup recorder) and says so where they are absent."""

import inspect
import unittest
import warnings
from unittest import mock

import numpy as np

from recorder_support import DEVICE, Recording, eager, model_of, prompt_of  # first: it skips

import transformers

from kvplan_recorder import RecorderError
from kvplan_traces import AttentionReader

_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
_STATES = {"layer_types": ["linear_attention", "full_attention", "full_attention"], "linear_num_value_heads": 4,
           "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "head_dim": 8}
# Shape, and the layers that attend.
KINDS = {
    "Qwen3Next": ({**_EXPERTS, **_STATES, "shared_expert_intermediate_size": 16}, [1, 2]),
    "Qwen3_5Text": (_STATES, [1, 2]),
    "FalconH1": ({"mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_state": 8, "head_dim": 8,
                  "pad_token_id": 0}, [0, 1, 2]),
    # Two layers read the keys of others, one of them behind a window.
    "Gemma4Text": ({"sliding_window": 8, "head_dim": 8, "global_head_dim": 8, "hidden_size_per_layer_input": 8,
                    "vocab_size_per_layer_input": 97, "num_kv_shared_layers": 2, "num_hidden_layers": 6,
                    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2}, list(range(6))),
    # Gives the mask by its name.
    "Afmoe": ({"head_dim": 8, "sliding_window": 8, "num_experts": 4, "num_experts_per_tok": 2,
               "moe_intermediate_size": 16}, [0, 1, 2]),
}


class Layers(Recording):
    def test_the_program_computes_the_same_rows(self):
        for kind, (shape, layers) in KINDS.items():
            with self.subTest(kind):
                model = model_of(kind, **shape)
                _, weights = eager(model, prompt_of())
                self.record(model, prompt_of())
                self.expect_program_agrees(dict(zip(layers, weights)))

    def tensors(self, file):
        with AttentionReader(self.path(file)) as reader:
            reader.check()
            return {(layer, part): getattr(reader, part)(0, layer, 0) for _, layer in reader.recorded()
                    for part in ("queries", "keys", "values")}

    def test_rows_are_those_of_the_library(self):
        for kind, (shape, layers) in KINDS.items():
            with self.subTest(kind):
                model = model_of(kind, **shape)
                _, weights = eager(model, prompt_of())
                self.record(model, prompt_of())
                with AttentionReader(self.path("x.kva")) as reader:
                    self.assertEqual(reader.recorded(), [(0, layer) for layer in layers])
                self.expect_rows(dict(zip(layers, weights)), layers=layers)

    def test_however_tokens_are_fed(self):
        for kind, (shape, _) in KINDS.items():
            with self.subTest(kind):
                model = model_of(kind, **shape)
                new = self.record(model, prompt_of(), new=12)
                self.assertEqual(self.record(model, prompt_of(), "parts.kva", new=12, prefill_tokens=7), new)
                self.record(model, prompt_of() + new[:-1], "whole.kva")
                expected = self.tensors("whole.kva")
                for file in ("x.kva", "parts.kva"):
                    found = self.tensors(file)
                    self.assertEqual(list(found), list(expected))
                    for place in expected:
                        np.testing.assert_allclose(found[place], expected[place],
                                                   atol=2e-4 if DEVICE == "cpu" else 1e-3)

    def test_a_layer_that_attends_twice(self):
        with self.assertRaisesRegex(RecorderError, "^layer 0 computes attention more than once for a token"):
            self.record(model_of("DiffLlama"), prompt_of())
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_keys_that_a_cache_has_dropped(self):
        """Where a model looked at other keys than those of all tokens, rows would be of other tokens than they say."""
        dropping = mock.patch("kvplan_recorder.recorder.cache_of",
                              lambda model: transformers.DynamicCache(config=model.config))
        for parts in (("queries", "keys"), ("rows",)):
            refused = self.assertRaisesRegex(RecorderError, "^layer 0 attends to 8 keys, expected those of all 41")
            with dropping, refused:
                self.record(model_of("Mistral"), prompt_of(), new=3, parts=parts)
            self.record(model_of("Mistral"), prompt_of(), new=3, parts=parts)

    def test_either_name_of_the_cache(self):
        """Transformers 5.24 calls it `cache`, and warns of `past_key_values`, its name before."""
        kind = transformers.LlamaForCausalLM
        takes = inspect.signature(kind.forward).parameters
        known = "cache" if "cache" in takes else "past_key_values"

        class Earlier(kind):
            def forward(self, input_ids=None, past_key_values=None, **more):
                return super().forward(input_ids, **{known: past_key_values}, **more)

        class Later(kind):
            def forward(self, input_ids=None, cache=None, **more):
                return super().forward(input_ids, **{known: cache}, **more)

        said = []
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            for one in (kind, Earlier, Later):
                model = model_of("Llama")
                model.__class__ = one
                said.append(self.record(model, prompt_of(), new=6))
        self.assertEqual(said, [said[0]] * 3)


if __name__ == "__main__":
    unittest.main()
