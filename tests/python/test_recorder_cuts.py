"""What is in the file of a recording that ends before its time: all that was whole, and that it was cut. And how what
comes step by step is put together in chunks. Needs PyTorch and Transformers (.ci/setup recorder) and says so where they
are absent."""

import signal
import unittest
from unittest import mock

import numpy as np

from recorder_support import LAYERS, TOKENS, Recording, model_of, on_cpu, prompt_of  # first: it skips

import torch

from kvplan_recorder import Recorder, RecorderError, sequence
from kvplan_traces import AttentionReader, FormatError, RecordingWriter

NEW, AT = 30, 17  # decoded tokens; the step at which something happens
EVERYTHING = {"parts": ("rows", "queries", "keys", "values", "value_norms", "layer_inputs"),
              "token_classes": ("text", "new")}
CLASSES = {"classes": [0] * TOKENS, "new_class": 1}


class Kept(Recording):
    """Steps of one token."""

    def record_all(self, file="x.kva", progress=None, model=None, overwrite=True, **options):
        with Recorder(model or model_of("Llama"), self.path(file), overwrite=overwrite,
                      **{**EVERYTHING, **options}) as recorder:
            return recorder.record(prompt_of(), max_new_tokens=NEW, progress=progress, **CLASSES)

    def chunks(self, file="x.kva"):
        """{part number: chunks of its first head}."""
        with AttentionReader(self.path(file)) as reader:
            reader.check()
            streams = reader._contents.streams
            return {part: len(entries) for (_, layer, part, head), entries in streams.items() if layer == head == 0}

    def test_come_into_the_file_together(self):
        self.record_all()
        counts = self.chunks()
        self.assertEqual(set(counts.values()), {1}, counts)
        self.record_all("steps.kva", flush_tokens=1)
        counts = self.chunks("steps.kva")
        self.assertEqual(set(counts.values()), {NEW}, counts)  # the prompt, and all but the last of the new tokens
        self.expect_same_begin("x.kva", "steps.kva", TOKENS + NEW - 1)

    def test_are_written_sooner_where_rows_are_long(self):
        with mock.patch.object(sequence, "MOST_BYTES", 5_000):  # a row of 4 heads has 640 bytes and more
            self.record_all(parts=("rows",))
        rows = self.chunks()[1]
        self.assertGreater(rows, NEW // 8)
        self.assertLess(rows, NEW // 3)

    def test_of_rows_in_a_range(self):
        """Rows are of some tokens, what they are computed from is of all."""
        for first, last in ((0, 5), (TOKENS - 3, TOKENS + 4), (TOKENS + 7, TOKENS + 9)):
            self.record_all(parts=("rows", "keys", "values"), row_tokens=(first, last))
            with AttentionReader(self.path("x.kva")) as reader:
                reader.check()
                self.assertEqual([t for t, _ in reader.rows(0, 1, 2)], list(range(first, last)))
                self.assertEqual(len(reader.keys(0, 1, 1)), TOKENS + NEW - 1)

    def expect_same_begin(self, cut, whole, tokens):
        with AttentionReader(self.path(cut)) as some, AttentionReader(self.path(whole)) as full:
            some.check()
            self.assertEqual(some.tokens(0), tokens)
            self.assertTrue(np.array_equal(some.token_classes(), full.token_classes()[:tokens]))
            for layer in range(LAYERS):
                places = [(ask, head) for ask in ("queries", "keys", "values", "value_norms", "matrix")
                          for head in range(2)]
                for ask, *head in [*places, ("layer_inputs",)]:
                    found, expected = (getattr(one, ask)(0, layer, *head)[:tokens] for one in (some, full))
                    if ask == "matrix":  # a layer may have a token more
                        found, expected = found[:, :tokens], expected[:, :tokens]
                    self.assertTrue(np.array_equal(found, expected), (layer, ask, head))

    def expect_cut_at_step(self, error, message, tokens=TOKENS + AT, **options):
        """Recording ends in this error, and what was before is there."""
        with self.assertRaisesRegex(error, message):
            self.record_all("cut.kva", **options)
        self.assertFalse(self.path("cut.kva").exists())
        with AttentionReader(self.path("cut.kva.part")) as reader:
            self.assertEqual(reader.cut_at, self.path("cut.kva.part").stat().st_size)
            self.assertEqual([one.complete for one in reader.sequences], [False])
        self.expect_same_begin("cut.kva.part", "whole.kva", tokens)

    def test_before_a_number_that_is_none(self):
        self.record_all("whole.kva")
        for name, part in (("q_proj", "queries"), ("k_proj", "keys"), ("v_proj", "values")):
            with self.subTest(part):
                self.expect_cut_at_step(
                    FormatError, f"cut.kva.part: sequence 0: layer 1: {part} of token {TOKENS + AT}: expected finite "
                    "numbers that fit f32$", model=self.broken(name))
        # For a model with only rows recorded.
        with self.assertRaisesRegex(FormatError, f"sequence 0: layer 1: rows of head 0: row {TOKENS + AT}: expected"):
            self.record_all("rows.kva", model=self.broken("q_proj"), parts=("rows",))
        with AttentionReader(self.path("rows.kva.part")) as reader:
            self.assertEqual((reader.tokens(0), len(list(reader.rows(0, 1, 0)))), (TOKENS + AT, TOKENS + AT))

    @staticmethod
    def broken(name):
        """A model with a layer 1 that computes no number at step AT."""
        model, steps = model_of("Llama"), []

        def spoil(_, given, out):
            steps.append(out.shape[1])
            return out * float("nan") if steps.count(1) > AT else out

        getattr(model.model.layers[1].self_attn, name).register_forward_hook(spoil)
        return model

    def test_before_ctrl_c(self):
        self.record_all("whole.kva")

        def stop(tokens, _):
            if tokens == TOKENS + AT:
                raise KeyboardInterrupt

        self.expect_cut_at_step(KeyboardInterrupt, "", progress=stop)

    def test_before_ctrl_c_inside_a_step(self):
        """Layers in front have a token more, which does not count; behind the last layer it does."""
        self.record_all("whole.kva")
        for layer in range(LAYERS):
            model, steps = model_of("Llama"), []

            def stop(*_):
                steps.append(0)
                if len(steps) == AT + 4:  # two of the facts, one of the prompt
                    raise KeyboardInterrupt

            model.model.layers[layer].mlp.register_forward_pre_hook(stop)
            self.expect_cut_at_step(KeyboardInterrupt, "", TOKENS + AT + (layer == LAYERS - 1), model=model)

    def test_ctrl_c_while_something_is_written(self):
        """It waits: nothing is half-written."""
        self.record_all("whole.kva", flush_tokens=8)
        written, write = [], RecordingWriter._write

        def hit(writer, data):
            written.append(len(data))
            write(writer, data[: len(data) // 2])
            if len(written) == 200:
                signal.raise_signal(signal.SIGINT)
            write(writer, data[len(data) // 2 :])

        with mock.patch.object(RecordingWriter, "_write", hit):
            with self.assertRaises(KeyboardInterrupt):
                self.record_all("cut.kva", flush_tokens=8)
        with AttentionReader(self.path("cut.kva.part")) as reader:
            tokens = reader.tokens(0)
            self.assertEqual(reader.cut_at, self.path("cut.kva.part").stat().st_size)
        self.assertGreater(tokens, TOKENS)
        self.expect_same_begin("cut.kva.part", "whole.kva", tokens)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    @on_cpu
    def test_before_the_end_of_learnt_positions(self):
        import transformers
        config = transformers.GPT2Config(vocab_size=97, n_positions=TOKENS + 5, n_embd=32, n_layer=2, n_head=4)
        torch.manual_seed(1)
        with self.assertRaisesRegex(RecorderError, f"^prompt: the model cannot take tokens {TOKENS + 5} to"):
            self.record(transformers.AutoModelForCausalLM.from_config(config), prompt_of(), new=9, beyond_context=True)
        with AttentionReader(self.path("x.kva.part")) as reader:
            self.assertEqual(reader.tokens(0), TOKENS + 5)

    def test_before_their_end_on_a_gpu(self):
        """An index beyond a table is another error there; all that is behind it fails."""
        model, steps = model_of("Llama"), []

        def stop(*_):
            steps.append(0)
            if len(steps) == AT + 4:  # two of the facts, one of the prompt
                raise RuntimeError("CUDA error: device-side assert triggered\nSearch for ...")

        model.model.layers[0].register_forward_pre_hook(stop)
        self.record_all("whole.kva")
        self.expect_cut_at_step(RecorderError, f"^prompt: the model cannot take tokens {TOKENS + AT} to {TOKENS + AT}: "
                                               "CUDA error: device-side assert triggered$", model=model)


if __name__ == "__main__":
    unittest.main()
