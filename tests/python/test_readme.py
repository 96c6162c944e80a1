"""What the README of traces/python shows works as it stands there."""

import contextlib
import io
import json
import os
import re
import unittest

from support import ROOT, FolderTest, info, kvplan
from kvplan_traces import AttentionReader, __main__

README = (ROOT / "traces/python/README.md").read_text(encoding="utf-8")


class Readme(FolderTest):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        (self.folder / "traces").symlink_to(ROOT / "traces")

    def run_command(self, *arguments):
        """(exit code, standard output, standard error) of python3 -m kvplan_traces."""
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
            code = __main__.main(list(arguments))
        return code, out.getvalue(), error.getvalue()

    def test_examples(self):
        blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
        self.assertEqual(len(blocks), 5)
        names = {}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            for block in blocks:
                alone = {}
                exec(block, alone)
                names.update(alone, rows=alone.get("rows", names.get("rows")))
        self.assertIn(info("traces/samples/chat.kvt")["digest"], out.getvalue())
        self.assertEqual(info("short.kvt")["output_tokens"]["max"], 100)
        self.assertEqual(names["rows"].shape, (128, 128))
        self.assertIn("memory.pool_tokens | expected a whole number", out.getvalue())
        self.assertEqual((len(names["two"]), len(names["many"]), names["kept"]["entries"].max()), (2, 6, 16))
        code, _, error = kvplan("evict", "run.kva", "--policy", "window:window=8", "--prefill", 32, "--layer", 1)
        self.assertEqual(code, 0, error)

    def test_commands(self):
        os.symlink(ROOT / "traces/samples/chat.kvt", "chat.kvt")
        os.symlink(ROOT / "tests/golden/policies/inputs/A.json", "rows.json")
        lines = re.findall(r"^    python3 -m kvplan_traces (.*?)  +\(", README, re.MULTILINE)
        self.assertEqual([line.split()[0] for line in lines],
                         ["info", "convert", "dump", "synth", "side-bases", "side-tables"])
        told = {}
        for line in lines:
            code, told[line.split()[0]], error = self.run_command(*line.split())
            self.assertEqual((code, error), (0, ""))
        self.assertEqual(json.loads(told["info"]), info("chat.kvt"))
        source = json.loads((self.folder / "rows.json").read_text())
        for key in ("T", "query_heads", "rows"):
            self.assertEqual(json.loads(told["dump"])[key], source[key])
        # The recording of the examples was made by that last command.
        with AttentionReader("made_up.kva") as ours, \
                AttentionReader(ROOT / "simulator/examples/replay/attention.kva") as kept:
            self.assertEqual(ours.header, kept.header)
            for layer in range(2):
                for head in range(4):
                    self.assertTrue((ours.matrix(0, layer, head) == kept.matrix(0, layer, head)).all())
        for file, format_name in (("x.side", "palu"), ("y.side", "kvquant")):
            code, _, error = kvplan("format", "traces/samples/tiny_llama.kva", "--prefill", 64, "--format",
                                    f"{format_name}:file={file}")
            self.assertEqual(code, 0, error)
        code, out, error = self.run_command("info", "made_up.kva")
        self.assertEqual(json.loads(out)["recorded"], [[0, 0], [0, 1]])

    def test_errors_are_one_line_and_exit_2(self):
        (self.folder / "bad.kvt").write_bytes(b"\x89KVT\r\n\x1a\n" + bytes(100))
        for arguments, message in ((["info", "bad.kvt"], "kvplan_traces: bad.kvt: expected KVT-END"),
                                   (["info", "rows.json"], "kvplan_traces: rows.json: No such file"),
                                   (["info", str(ROOT / "LICENSE")], "expected the first bytes of a .kvt or .kva"),
                                   ([], "COMMAND")):
            code, out, error = self.run_command(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(message, error)
            if arguments:
                self.assertEqual(error.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
