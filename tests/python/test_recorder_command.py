"""kvplan-record as a whole: what it refuses and how it says so, what is left of recordings that were cut, and the
commands of its page. Needs PyTorch and Transformers (.ci/setup recorder) and says so where they are absent."""

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

from recorder_support import VOCABULARY, Recording, model_of, prompt_of  # first: it skips
from support import KVPLAN, ROOT, FolderTest

import tokenizers
import torch
import transformers

from kvplan_recorder import Recorder, RecorderError
from kvplan_recorder.__main__ import Progress, main
from kvplan_traces import AttentionReader


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

    def test_names_that_no_file_can_have(self):
        """Found before a model is loaded: this one is none."""
        self.prompts({"ids": [1]})
        for out, message in (("", "--out: expected the name of a file"),
                             ("no/x.kva", "no/x.kva: expected a folder no,"),
                             ("no/", "'no/': expected the name of a file")):
            with redirect_stderr(io.StringIO()) as said:
                code = main(["no model", str(self.path("prompts.jsonl")), "--random", "-o", out])
            self.assertEqual((code, said.getvalue().count("\n")), (2, 1), said.getvalue())
            self.assertTrue(said.getvalue().startswith(f"kvplan-record: {message}"), said.getvalue())

    def test_rows_that_no_prompt_has(self):
        """An error where none has them, a line where some have; a text that ends sooner than it might is known late."""
        self.prompts({"random_tokens": 30}, {"name": "long", "random_tokens": 20, "max_new_tokens": 25})
        rows = "--parts", "rows", "--row-tokens"
        for options in ((*rows, "44:50"), ("--parts", "queries,keys,top_rows", "--row-tokens", "500:600")):
            code, said = self.run_child("--quiet", *options)
            self.assertEqual((code, said), (2, f"kvplan-record: --row-tokens: expected rows that a prompt has, found "
                                               f"{options[-1]}: the longest has 44 tokens with those it generates\n"))
        code, said = self.run_child(*rows, "40:", "--ignore-end")
        self.assertEqual(code, 0, said)
        self.assertIn("kvplan-record: 1 of 2 prompts end before row 40: the file has no rows of them\n", said)
        with AttentionReader(self.path("x.kva")) as reader:
            self.assertEqual([t for t, _ in reader.rows(1, 0, 0)], [40, 41, 42, 43])
        self.path("x.kva").unlink()
        with self.assertRaisesRegex(RecorderError, "^row_tokens: no sequence came to row 40: nothing was recorded$"):
            self.record(model_of("Llama"), prompt_of(), parts=("rows",), row_tokens=(40, 50))
        self.assertEqual(list(self.folder.glob("x.kva*")), [])
        self.record(model_of("Llama"), prompt_of(), parts=("keys", "rows"), row_tokens=(40, 50))  # keys are something

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
                                 (("--row-tokens", "5:2"), "--row-tokens: expected a first row below the last one"),
                                 (("--row-tokens", "5"), "--row-tokens: expected FIRST:LAST"),
                                 (("--row-tokens", "5:9"), "--row-tokens: expected none, or rows or top_rows among"),
                                 (("--row-element", "f16"), "--row-element: expected none, or rows or top_rows"),
                                 (("--top", 3), "--top: expected none, or top_rows among the parts"),
                                 (("--top", 3, "--parts", "rows"), "--top: expected none, or top_rows among the parts"),
                                 (("--element", "f16", "--parts", "rows"), "--element: expected none, or queries or"),
                                 (("--parts", ""), "--parts: expected some of rows, queries, keys"),
                                 (("--parts", "keys,hats"), "--parts: expected some of rows,"),
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

    def test_a_device_that_is_none(self):
        """Refused before a model is looked for."""
        self.prompts({"ids": [1]})
        with redirect_stderr(io.StringIO()) as said:
            code = main(["no model", str(self.path("prompts.jsonl")), "-o", str(self.path("x.kva")), "--device", "no"])
        self.assertEqual((code, said.getvalue().count("\n")), (2, 1), said.getvalue())
        self.assertTrue(said.getvalue().startswith("kvplan-record: device no: "), said.getvalue())

    def test_a_device_without_memory(self):
        """What PyTorch says of a GPU, in a step of decoding."""
        def before():
            steps, run = [], transformers.LlamaForCausalLM.forward

            def forward(*given, **more):
                steps.append(more["input_ids"].shape[1])
                if steps.count(1) == 5:
                    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ...")
                return run(*given, **more)

            transformers.LlamaForCausalLM.forward = forward

        self.prompts({"random_tokens": 8, "max_new_tokens": 9})
        code, said = self.run_child("--quiet", "--ignore-end", before=before)
        self.assertEqual((code, said), (2, f"kvplan-record: CUDA out of memory: --prefill-tokens takes less; "
                                           f"{self.path('x.kva.part')} has 0 whole sequences, and 12 tokens of the "
                                           "next\n"))

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

    def test_asked_to_end(self):
        """Ctrl-C and SIGTERM: what it says is there are all tokens that it had."""
        self.many()
        for asked in (signal.SIGINT, signal.SIGTERM):
            process = self.child("--quiet", "--overwrite", "--no-verify", "--ignore-end", "--max-prompt-tokens", 3,
                                 "--beyond-context", before=self.asked_at_step(asked, 50))
            _, status = os.waitpid(process, 0)
            said = self.path("said").read_text()
            self.assertEqual((os.waitstatus_to_exitcode(status), said.count("\n")), (3, 1), said)
            with AttentionReader(self.path("x.kva.part")) as reader:
                found = [reader.tokens(i) for i in range(len(reader.sequences))]
            self.assertEqual(found, [42, 13])  # 3 of a prompt and 39 steps, then 3 and 10
            self.assertIn("kvplan-record: stopped; ", said)
            self.assertIn("x.kva.part has 1 whole sequence, and 13 tokens of the next", said)

    @staticmethod
    def asked_at_step(asked, step):
        """Sends itself the signal before so many steps of decoding."""
        def before():
            steps, run = [], transformers.LlamaForCausalLM.forward

            def forward(*given, **more):
                steps.append(more["input_ids"].shape[1])
                if steps.count(1) == step:
                    signal.raise_signal(asked)
                return run(*given, **more)

            transformers.LlamaForCausalLM.forward = forward
        return before

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
        self.assertRegex(said, "sequence 1: layer 0: queries of tokens 0 to 2: expected finite numbers that fit f32; "
                               ".*x.kva.part has 1 whole sequence, and 0 tokens of the next")
        with torch.no_grad():
            model.model.layers[1].self_attn.k_proj.weight[3] = float("nan")
        model.save_pretrained(self.model)
        code, said = self.run_child("--quiet", "--overwrite")
        self.assertEqual((code, said), (2, "kvplan-record: layer 1 computes keys that are no finite numbers\n"))

    def test_the_layer_of_the_first_number_that_is_none(self):
        """What comes out of it is no number in any layer behind."""
        for layer, projections, message in (
                (1, ("q_proj",), "layer 1 computes queries that"), (1, ("v_proj",), "layer 1 computes values that"),
                (2, ("q_proj",), "layer 2 computes queries that"),
                (0, ("q_proj", "k_proj"), "layer 0 computes queries and keys that"),
                (0, ("o_proj",), "layer 1 computes queries and keys and values that")):
            model = model_of("Llama")
            with torch.no_grad():
                for name in projections:
                    getattr(model.model.layers[layer].self_attn, name).weight[3, 3] = float("nan")
            with self.assertRaisesRegex(RecorderError, f"^{message} are no finite numbers$"):
                self.record(model, prompt_of())
        self.assertEqual(list(self.folder.glob("x.kva*")), [])

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
        self.assertIn("Planted needles that are kept", done.stdout)
        self.assertIn("<html", self.path("own/frontier.html").read_text())


if __name__ == "__main__":
    unittest.main()
