"""Results of the program as frames, and sets of one's own that it takes."""

import json
import unittest

import numpy as np

from support import ROOT, FolderTest
from kvplan_traces import FormatError, results

ROWS = ROOT / "tests/golden/policies/inputs/A.json"
SAMPLE = ROOT / "traces/samples/chat.kvt"


class Results(FolderTest):
    def json_of(self, *arguments):
        path = self.path("result.json")
        self.run_kvplan(*arguments, "--json", path)
        return path

    def test_retained_sets_and_masses(self):
        path = self.json_of("evict", ROWS, "--policy", "h2o:hh=4,recent=4", "--prefill", 8)
        told = json.loads(path.read_text())
        kept, mass = results.retained_frame(path), results.mass_frame(told)
        self.assertEqual(kept["t"].tolist(), [7, *(step["t"] for step in told["steps"])])
        self.assertEqual(kept["retained"].iloc[-1].tolist(), told["steps"][-1]["retained"][0])
        self.assertEqual(kept["entries"].max(), told["summary"]["entries"])
        self.assertAlmostEqual(mass["attended_mass"].mean(), told["summary"]["mean_attended_mass"], places=12)

    def test_all_layers(self):
        path = self.json_of("evict", ROOT / "simulator/examples/replay/attention.kva", "--policy", "tova:budget=8",
                            "--prefill", 120, "--all-layers")
        self.assertEqual(sorted(set(results.retained_frame(path)["layer"])), [0, 1])
        self.assertEqual(len(results.mass_frame(path)), 2 * 8 * 4)

    def test_reports(self):
        told = json.loads(self.json_of("run", SAMPLE).read_text())
        frame = results.report_frame(told)
        self.assertEqual(frame["latency_s.ttft.p99"].tolist(), [told["latency_s"]["ttft"]["p99"]])
        both = results.report_frame(self.json_of("compare", SAMPLE, "--vary", "memory.pool_tokens=20000;40000"))
        self.assertEqual(both["varied.memory.pool_tokens"].tolist(), ["20000", "40000"])
        self.assertGreater(both["preemptions"][0], both["preemptions"][1])
        tensors = ROOT / "tests/golden/formats/inputs/A.json"
        points = results.report_frame(self.json_of("frontier", tensors, "--policies", "h2o;tova", "--budgets", "16,32"))
        self.assertEqual(points["budget"].tolist(), [16, 32, 16, 32])

    def test_tables(self):
        table = self.path("requests.csv")
        self.run_kvplan("run", SAMPLE, "--set", "memory.pool_tokens=3000", "--requests", table)
        frame = results.report_frame(table)
        self.assertEqual(frame["request"].tolist(), list(range(1500)))
        self.assertEqual(str(frame["first_token_ns"].dtype), "Int64")  # empty where a request never came to that
        self.assertTrue(frame["first_token_ns"].isna().any())

    def test_what_attention_looks_like(self):
        table, told = self.path("plot.csv"), self.path("plot.json")
        recording = ROOT / "simulator/examples/replay/attention.kva"
        self.run_kvplan("attention", "plot", recording, "-o", table, "--json", told)
        frame = results.report_frame(table)
        entropy = frame[(frame["figure"] == "entropy") & (frame["layer"] == 1) & frame["head"].notna()]
        said = json.loads(told.read_text())["layers"][1]["query_head_figures"]["entropy"]
        self.assertEqual(entropy["head"].tolist(), [0, 1, 2, 3])
        self.assertEqual(entropy["value"].tolist(), said)

    def test_sets_of_ones_own(self):
        prompt, tokens = 8, json.loads(ROWS.read_text())["T"]
        sets = self.path("sets.json")
        kept = lambda t: [np.unique(np.concatenate((np.arange(2), np.arange(t - 3, t + 1))))]  # noqa: E731
        results.write_sets(sets, prompt, kept(prompt - 1), {t: kept(t) for t in range(prompt, tokens)})
        own, same = (results.read(self.json_of("evict", ROWS, "--policy", policy, "--prefill", prompt))
                     for policy in (f"recorded:file={sets}", "streaming-llm:sink=2,recent=4"))
        self.assertEqual([step["retained"] for step in own["steps"]], [step["retained"] for step in same["steps"]])
        np.testing.assert_allclose(results.mass_frame(own)["attended_mass"], results.mass_frame(same)["attended_mass"])

    def test_sets_of_layers(self):
        recording, prompt = ROOT / "simulator/examples/replay/attention.kva", 120
        layers, policies = {}, {0: "window:window=5", 1: "streaming-llm:sink=3,recent=20"}
        for number, policy in policies.items():
            told = results.read(self.json_of("evict", recording, "--policy", policy, "--prefill", prompt,
                                             "--layer", number))
            layers[number] = (told["after_prefill"], {step["t"]: step["retained"] for step in told["steps"]})
        sets = self.path("sets.json")
        results.write_sets(sets, prompt, layers=layers)
        all_layers = results.read(self.json_of("evict", recording, "--policy", f"recorded:file={sets}", "--prefill",
                                               prompt, "--all-layers"))
        self.assertEqual([part["layer"] for part in all_layers["layers"]], [0, 1])
        for part in all_layers["layers"]:
            after, steps = layers[part["layer"]]
            self.assertEqual(part["after_prefill"], after)
            self.assertEqual({step["t"]: step["retained"] for step in part["steps"]}, steps)
        for wrong in ({}, {"after_prefill": [[0]]}, {"steps": {}},
                      {"after_prefill": [[0]], "steps": {}, "layers": layers}):
            with self.assertRaisesRegex(FormatError, "sets: expected after_prefill and steps"):
                results.write_sets(sets, prompt, **wrong)

    def test_other_files(self):
        self.path("x.json").write_text("[1")
        with self.assertRaisesRegex(FormatError, "x.json: expected JSON"):
            results.read(self.path("x.json"))
        with self.assertRaisesRegex(FormatError, "steps: expected what kvplan evict"):
            results.retained_frame({"policy": "h2o"})
        results.write_sets(self.path("sets.json"), 2, [[0, 1]], {2: [[0, 2]]})  # of no layer
        good = {"prefill_len": 2, "layer": 0, "after_prefill": [[0]], "steps": []}
        for told, field in ((self.path("sets.json"), "layer"), ({**good, "prefill_len": "x"}, "prefill_len"),
                            ({**good, "steps": [{"retained": [[0]], "attended_mass": [1.0]}]}, "t"),
                            ({**good, "layers": [5]}, "layer"), ({**good, "after_prefill": None}, "after_prefill")):
            for frame in (results.retained_frame, results.mass_frame):
                with self.assertRaisesRegex(FormatError, f"{field}: expected what kvplan evict --json prints"):
                    frame(told)
        self.path("x.json").write_bytes(b"\x89PNG")
        with self.assertRaisesRegex(FormatError, "x.json: byte 0: expected JSON in UTF-8"):
            results.read(self.path("x.json"))


if __name__ == "__main__":
    unittest.main()
