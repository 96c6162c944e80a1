"""kvplan called from Python: settings of every form, frames beside the program's own files, and every kind of error."""

import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import numpy as np
import pandas as pd

from support import KVPLAN, ROOT, FolderTest
from kvplan_traces import Trace, program, results, runs
from kvplan_traces.program import ProgramError, ProgramInterrupted, ProgramKilled, ProgramNotFound

SAMPLE = ROOT / "traces/samples/chat.kvt"
RECORDING = ROOT / "simulator/examples/replay/attention.kva"
ROWS = ROOT / "tests/golden/policies/inputs/A.json"


class Runs(FolderTest):
    def told(self, *arguments):
        """What the program writes when it is called by hand."""
        path = self.path("told.json")
        self.run_kvplan(*arguments, "--json", path)
        return json.loads(path.read_text())

    def test_a_run_is_the_programs(self):
        report = runs.run(SAMPLE, {"memory": {"pool_tokens": 40000}, "engine.max_seqs": 64}, timeline_bins=50)
        files = {name: self.path(name) for name in ("requests", "timeline")}
        told = self.told("run", SAMPLE, "--set", "memory.pool_tokens=40000", "--set", "engine.max_seqs=64",
                         "--timeline-bins", 50, "--requests", files["requests"], "--timeline", files["timeline"])
        self.assertEqual(report.json, told)
        self.assertEqual(report["latency_s.ttft.p99"], told["latency_s"]["ttft"]["p99"])
        self.assertGreater(report["preemptions"], 0)
        pd.testing.assert_frame_equal(report.requests, pd.read_csv(files["requests"]).convert_dtypes(
            convert_string=False))
        self.assertEqual((len(report.requests), len(report.timeline)), (1500, 50))
        self.assertEqual(report.figures["makespan_s"].tolist(), [told["makespan_s"]])
        with self.assertRaises(KeyError):
            report["latency_s.nothing"]
        self.assertIn("1,500 requests on llama-3-8b", repr(report))
        page = report._repr_html_()
        self.assertTrue(page.startswith("<iframe srcdoc=\"&lt;!DOCTYPE html"), page[:80])

    def test_what_is_not_asked_for_is_not_made(self):
        report = runs.run(SAMPLE, requests=False, timeline=False)
        self.assertEqual((report.requests, report.timeline), (None, None))

    def test_scenarios_of_every_form_are_the_same(self):
        nested = {"workload": {"trace": SAMPLE}, "memory": {"pool_tokens": 30000, "allocator": {
            "name": "paged", "block_tokens": 32}}, "engine": {"name": "vllm-v1", "prefix_cache": False}}
        dotted = {"workload.trace": str(SAMPLE), "memory.pool_tokens": np.int64(30000),
                  "memory.allocator": "paged:block_tokens=32", "engine.prefix_cache": np.bool_(False),
                  "targets.ttft_s": None}
        first = runs.run(nested).json
        self.assertEqual(first["scenario"]["memory"]["allocator"]["block_tokens"], 32)
        self.assertEqual(first, runs.run(dotted).json)
        file = self.path("scenario.json")
        file.write_text(json.dumps({"memory": {"pool_tokens": 1000}, "model": "llama-3-8b"}))
        of_file = runs.run(file, {**dotted, "model": None}).json
        self.assertEqual(of_file["latency_s"], first["latency_s"])

    def test_paths_are_of_the_working_directory(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(SAMPLE.parent)
        self.assertEqual(runs.run({"workload.trace": "chat.kvt"})["requests"], runs.run("chat.kvt")["requests"])

    def test_a_trace_in_memory(self):
        trace = Trace.read(SAMPLE)
        short = Trace.from_frame(trace.to_frame().head(100), like=trace)
        self.assertEqual(len(runs.run(short).requests), 100)

    def test_values_as_the_program_reads_them(self):
        self.assertEqual(runs.setting_texts({"a": {"b": 1, "c": {"name": "x", "p": 0.5, "q": "1,2", "r": None}}}),
                         ["a.b=1", 'a.c=x:p=0.5,q="1,2"'])
        self.assertEqual(runs.value_text([pathlib.Path("a.kva"), "b.kva"]), "a.kva,b.kva")
        for wrong in ({"p": 1}, {"name": "x", "p": 'a,"b'}):
            with self.assertRaises(ValueError):
                runs.value_text(wrong)
        report = runs.run(ROOT / "simulator/examples/replay/h2o.json", {"eviction": {
            "name": "expr", "score": "max(age, position)", "budget": 32}})
        self.assertEqual(report["scenario"]["eviction"]["score"], "max(age, position)")

    def test_compare(self):
        both = runs.compare(SAMPLE, {"memory": {"pool_tokens": [20000, 40000]}}, {"engine.max_seqs": 64}, threads=2)
        told = self.told("compare", SAMPLE, "--set", "engine.max_seqs=64", "--vary", "memory.pool_tokens=20000;40000")
        self.assertEqual(both.json, told)
        self.assertEqual(both.answer, told["answer"])
        self.assertEqual(both.figures["varied.memory.pool_tokens"].tolist(), ["20000", "40000"])
        self.assertIn("&lt;svg", both._repr_html_())
        kinds = runs.compare(SAMPLE, {"eviction": ["none", {"name": "window", "window": 512}]})
        self.assertEqual(kinds.figures["varied.eviction"].tolist(), ["none", "window:window=512"])
        with self.assertRaisesRegex(ValueError, "expected no ;"):
            runs.compare(SAMPLE, {"eviction": ["none;window"]})

    def test_sweep(self):
        kept = self.path("sweep.db")
        found = runs.sweep(SAMPLE, {"memory.pool_tokens": "20000..40000:10000"}, {"workload.limit": 200}, out=kept)
        self.assertEqual(found.figures["memory.pool_tokens"].tolist(), [20000, 30000, 40000])
        self.assertIn("&lt;html", found._repr_html_().lower())
        with self.assertRaises(ProgramError) as raised:  # it is there
            runs.sweep(SAMPLE, {"memory.pool_tokens": [20000]}, out=kept)
        self.assertEqual(raised.exception.file, str(kept))
        again = runs.sweep(SAMPLE, {"memory.pool_tokens": "20000..40000:10000"}, {"workload.limit": 200}, out=kept,
                           resume=True)
        pd.testing.assert_frame_equal(again.figures, found.figures)
        drawn = runs.sweep(SAMPLE, {"memory.pool_tokens": "8000..64000:log"}, {"workload.limit": 50}, random=4, seed=7)
        self.assertEqual(len(drawn.figures), 4)
        listed = runs.sweep(SAMPLE, cases=pd.DataFrame({"memory.pool_tokens": [9000, 8000], "seed": [1, 2]}),
                            settings={"workload.limit": 50})
        self.assertEqual(listed.figures["memory.pool_tokens"].tolist(), [9000, 8000])

    def test_evict(self):
        found = runs.evict(ROWS, {"name": "h2o", "hh": 4, "recent": 4}, prefill=8)
        told = self.told("evict", ROWS, "--policy", "h2o:hh=4,recent=4", "--prefill", 8)
        self.assertEqual(found.json, told)
        self.assertEqual(found.mass["attended_mass"].tolist(), results.mass_frame(told)["attended_mass"].tolist())
        self.assertEqual(found.summary["mean_attended_mass"].tolist(), [told["summary"]["mean_attended_mass"]])
        self.assertEqual(runs.evict(json.loads(ROWS.read_text()), "h2o:hh=4,recent=4", 8).json["steps"], told["steps"])
        layers = runs.evict(RECORDING, "tova:budget=8", 120, all_layers=True)
        self.assertEqual(sorted(set(layers.retained["layer"])), [0, 1])
        self.assertIn("<table", layers._repr_html_())


class Errors(FolderTest):
    def error_of(self, *arguments, **more):
        with self.assertRaises(ProgramError) as raised:
            runs.run(*arguments, **more)
        self.assertNotIn("\n", str(raised.exception))
        return raised.exception

    def test_unknown_fields_and_wrong_values(self):
        unknown = self.error_of(SAMPLE, {"memory.pool": 3})
        self.assertEqual((unknown.field, unknown.file, unknown.exit_code), ("memory.pool", None, 2))
        self.assertTrue(str(unknown).startswith('unknown scenario path "memory.pool"'), unknown)
        wrong = self.error_of(SAMPLE, {"memory": {"pool_tokens": "many"}})
        self.assertEqual(wrong.field, "memory.pool_tokens")
        self.assertEqual(str(wrong), 'memory.pool_tokens: expected a whole number from 1 to 4611686018427387904, '
                                     'found "many"')
        parameter = self.error_of(SAMPLE, {"memory.allocator": {"name": "paged", "block_tokens": 0}})
        self.assertIn("memory.allocator", parameter.field)
        self.assertIn("block_tokens", str(parameter))
        nothing = self.error_of({"memory.pool_tokens": 3})
        self.assertEqual((nothing.field, nothing.file), ("workload.trace", None))

    def test_files(self):
        missing = self.error_of(self.path("none.kvt"))
        self.assertEqual(missing.file, str(self.path("none.kvt")))
        self.assertEqual(str(missing), f"{missing.file}: cannot open: No such file or directory")
        scenario = self.path("bad: name.json")  # a place that the text alone would leave open
        scenario.write_text('{"model": "llama-3-8b",\n "memory": {"pool_tokens": "x"}}')
        bad = self.error_of(scenario)
        self.assertEqual((bad.file, bad.line, bad.field), (str(scenario), 2, "memory.pool_tokens"))
        self.assertTrue(bad.problem.startswith("expected a whole number"), bad.problem)
        cut = self.path("cut.kvt")
        cut.write_bytes(SAMPLE.read_bytes()[:20000])
        broken = self.error_of(cut)
        self.assertEqual(broken.file, str(cut))
        self.assertIsNotNone(broken.byte)
        options = self.error_of(SAMPLE, timeline_bins=0)
        self.assertEqual(options.exit_code, 2)

    def test_the_program_is_found_in_three_places(self):
        for told, wanted in (("program", {"program": self.path("nothing")}), ("KVPLAN", {}), ("PATH", {})):
            environment = {"KVPLAN": str(self.path("nowhere"))} if told == "KVPLAN" else {}
            with mock.patch.dict(os.environ, {"PATH": str(self.folder), **environment}):
                if told == "PATH":
                    os.environ.pop("KVPLAN", None)
                with self.assertRaises(ProgramNotFound) as raised:
                    runs.run(SAMPLE, **wanted)
                self.assertEqual(raised.exception.field, told)
        os.symlink(os.path.abspath(KVPLAN), self.path("kvplan"))
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            os.environ.pop("KVPLAN", None)
            self.assertEqual(program.find(), str(self.path("kvplan")))
            self.assertEqual(len(runs.run(SAMPLE, {"workload.limit": 3}).requests), 3)
            self.assertEqual(program.find(KVPLAN), KVPLAN)

    def script(self, text):
        path = self.path("program.sh")
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_a_program_that_is_killed_or_is_another(self):
        with self.assertRaises(ProgramKilled) as raised:
            runs.run(SAMPLE, program=self.script("kill -KILL $$\n"))
        self.assertEqual((raised.exception.exit_code, str(raised.exception)), (-9, "kvplan was ended by SIGKILL"))
        other = self.error_of(SAMPLE, program=self.script("echo some words >&2; echo '{\"error\": 3}' >&2; exit 7\n"))
        self.assertEqual((other.exit_code, other.file), (7, None))
        self.assertEqual(str(self.error_of(SAMPLE, program=self.script("exit 7\n"))), "kvplan ended with exit code 7")
        text = self.path("program.txt")
        text.write_bytes(b"\x00no program")
        text.chmod(0o755)
        with self.assertRaisesRegex(ProgramNotFound, "does not start"):
            runs.run(SAMPLE, program=text)

    def test_someone_else_interrupts_the_program(self):
        # The real one, told to stop while it reads: opening a pipe to write blocks until it is read.
        fifo = self.path("waits.kvt")
        os.mkfifo(fifo)
        real = subprocess.Popen

        def stop(process):
            with open(fifo, "wb", buffering=0):
                process.send_signal(signal.SIGTERM)
                time.sleep(0.5)

        def remembering(*arguments, **more):
            process = real(*arguments, **more)
            threading.Thread(target=stop, args=(process,), daemon=True).start()
            return process

        with mock.patch("subprocess.Popen", remembering), self.assertRaises(ProgramInterrupted) as raised:
            runs.run(fifo)
        self.assertEqual((raised.exception.exit_code, raised.exception.problem), (3, "interrupted"))

    def test_an_interrupt_of_ours_stops_the_program_too(self):
        told, said = self.path("pid"), self.path("said")
        slow = self.script(f"trap 'echo asked > {said}; exit 3' INT\necho $$ > {told}.part; mv {told}.part {told}\n"
                           "while :; do sleep 0.1; done\n")
        code = (f"import sys; sys.path.insert(0, {str(ROOT / 'traces/python')!r})\n"
                "from kvplan_traces import runs\n"
                f"try: runs.run('x.kvt', program={str(slow)!r})\n"
                "except KeyboardInterrupt: print('interrupted'); sys.exit(5)\n")
        ours = subprocess.Popen([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        end = time.monotonic() + 60
        while not told.exists() and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(ours.pid, signal.SIGINT)  # of it alone, as a notebook does
        out, _ = ours.communicate(timeout=60)
        self.assertEqual((ours.returncode, out), (5, b"interrupted\n"))
        self.assertEqual(said.read_text(), "asked\n")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(told.read_text()), 0)

    def test_nothing_is_left_behind(self):
        with mock.patch.dict(os.environ, {"TMPDIR": str(self.folder)}), mock.patch("tempfile.tempdir", None):
            runs.run(SAMPLE, {"workload.limit": 3})
            self.error_of(SAMPLE, {"memory.pool": 3})
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
