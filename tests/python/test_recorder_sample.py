"""The training of traces/recorder/sample, with a model of a few thousand weights: killed, it goes on as if it had not
been. Needs PyTorch and Transformers (.ci/setup recorder) and says so where they are absent."""

import contextlib
import io
import json
import sys
import unittest
from unittest import mock

import numpy as np

from recorder_support import FolderTest  # first: it skips
from support import ROOT

import torch
import transformers

sys.path.insert(0, str(ROOT / "traces/recorder/sample"))
import train  # noqa: E402

SMALL = {"vocab_size": 300, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
         "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 64}
STEPS = 23


class Killed(Exception):
    pass


class Shape(unittest.TestCase):
    def test_is_what_the_page_says(self):
        shape = train.SHAPE
        with torch.device("meta"):
            model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape))
        page = " ".join((ROOT / "traces/samples/SOURCES.md").read_text().split())
        self.assertIn(f"({sum(one.numel() for one in model.parameters()) / 1e6:.2f} M parameters, hidden size "
                      f"{shape['hidden_size']}, context {shape['max_position_embeddings']:,}, vocabulary "
                      f"{shape['vocab_size']:,})", page)


class Training(FolderTest):
    def setUp(self):
        super().setUp()
        draw = np.random.default_rng(3)
        words = ["".join(draw.choice(list("abcdefgh"), draw.integers(3, 7))) for _ in range(300)]
        self.path("texts").mkdir()
        self.path("texts/made_up.txt").write_text(" ".join(draw.choice(words, 30_000)))
        self.addCleanup(torch.use_deterministic_algorithms, False)
        for whole, small in ((train.SHAPE, SMALL), (train.TRAINING, {"tokens_per_step": 128, "short_length": 32})):
            change = mock.patch.dict(whole, small)
            change.start()
            self.addCleanup(change.stop)

    def train(self, out, *options, killed_at=None):
        """Runs it; the step of that number never ends. The steps that were begun."""
        learn, calls = train.Run.learn, []

        def killing(run, *given):
            calls.append(run.step)
            if run.step == killed_at:
                raise Killed
            return learn(run, *given)

        with mock.patch.object(train.Run, "learn", killing), contextlib.redirect_stdout(io.StringIO()):
            arguments = [self.path("texts"), self.path(out), "--minutes", 0, "--steps", STEPS, "--threads", 1, *options]
            self.assertEqual(train.main([str(one) for one in arguments]), 0)
        return calls

    def result(self, out):
        """(weights, log without what the clock says)."""
        log = [json.loads(line) for line in self.path(f"{out}/log.jsonl").read_text().splitlines()]
        for line in log:
            del line["minutes"]
        return self.path(f"{out}/model/model.safetensors").read_bytes(), log

    def test_goes_on_from_its_last_checkpoint(self):
        self.train("whole")
        weights, log = self.result("whole")
        self.assertEqual([line["step"] for line in log], [10, 20, STEPS])
        with self.assertRaises(Killed):
            self.train("cut", "--checkpoint-minutes", 0, killed_at=17)
        with self.path("cut/log.jsonl").open("a") as file:
            file.write('{"step": 2')  # a line that was cut
        self.assertEqual(self.train("cut", "--checkpoint-minutes", 1e6)[0], 17)
        self.assertEqual(self.result("cut"), (weights, log))

    def test_goes_on_where_the_log_is_ahead(self):
        """Between two checkpoints: what was logged behind the first comes again, once."""
        self.train("whole")
        with self.assertRaises(Killed):
            self.train("cut", "--checkpoint-minutes", 0, killed_at=8)
        with self.assertRaises(Killed):
            self.train("cut", "--checkpoint-minutes", 1e6, killed_at=15)
        self.assertEqual(self.train("cut")[0], 8)
        self.assertEqual(self.result("cut"), self.result("whole"))

    def test_a_checkpoint_that_is_not_whole_counts_for_nothing(self):
        with self.assertRaises(Killed):
            self.train("cut", "--checkpoint-minutes", 0, killed_at=8)
        with mock.patch.object(train.torch, "save", side_effect=lambda _, file: file.write(b"some") and 1 / 0):
            with self.assertRaises(ZeroDivisionError):
                self.train("cut", "--checkpoint-minutes", 0)
        self.assertEqual(self.train("cut")[0], 8)


if __name__ == "__main__":
    unittest.main()
