"""The figures of traces/samples/SOURCES.md about its files, computed anew: with numpy by the definitions of
simulator/survey/figures.h, those of policies by the command that the page gives. A figure is looked for in the page as
it is written there."""

import contextlib
import importlib.util
import io
import itertools
import json
import shlex
import unittest

import numpy as np

from support import ROOT, kvplan
from kvplan_traces import AttentionReader, Trace

SAMPLES = ROOT / "traces/samples"
PAGE = (SAMPLES / "SOURCES.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
LAYERS, QUERY_HEADS, KV_HEADS, LATE, NEAR, SEVERAL = 6, 8, 4, 64, 16, 512


def ranks(values):
    return np.argsort(np.argsort(values))


def of_rows(rows, keys):
    """{figure: its value} of a head of one sequence, and what each far token got."""
    tokens, m = len(rows), len(rows) // 2
    t, i = np.arange(tokens)[:, None], np.arange(tokens)
    late = rows[LATE:]
    far = (t - i >= NEAR) & (t >= LATE)
    got, times = (of.sum(axis=0)[1 : tokens - NEAR] for of in (np.where(far, rows, 0), far))
    even = np.where(t >= i, 1 / (t + 1), 0)
    first, second = ((rows[half] - even[half]).sum(axis=0)[:m] > 0 for half in (slice(m), slice(m, tokens)))
    lengths = np.linalg.norm(keys, axis=1)[1 : tokens - NEAR]
    out = {"top": np.sort(late, axis=1)[:, -16:].sum(axis=1).mean(), "stay_by_chance": first.mean(),
           "norms": np.corrcoef(ranks(lengths), ranks(got / times))[0, 1]}
    if second.any():
        out["stay"] = (first & second).sum() / second.sum()
    if tokens <= SEVERAL:
        squares = np.linalg.svd(rows, compute_uv=False) ** 2
        out["rank"] = int(np.searchsorted(np.cumsum(squares), 0.99 * squares.sum())) + 1
        out["tail"] = np.sqrt(squares[tokens // 4 :].sum() / squares.sum())
    return out, got


def heavy(got):
    """Among equals the newer one."""
    return set(np.lexsort((np.arange(len(got)), got))[-max(1, len(got) // 10) :].tolist())


def common(a, b):
    return len(a & b) / len(a)


class Recording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.figures = {}  # figure: [layer][head][those of sequences]
        cls.adjacent = {}  # (part, layer): cosines of each KV head and sequence
        of_heads, of_layers = {}, {}
        with AttentionReader(SAMPLES / "tiny_llama.kva") as reader:
            cls.lengths = [one.tokens for one in reader.sequences]
            cls.model = reader.header.model
            for sequence, layer in reader.recorded():
                cls.add_cosines(reader, sequence, layer)
                gots = []
                for head in range(QUERY_HEADS):
                    keys = reader.keys(sequence, layer, head // 2)
                    found, got = of_rows(reader.matrix(sequence, layer, head), keys)
                    gots.append(got)
                    for name, value in found.items():
                        cls.figures.setdefault(name, {}).setdefault((layer, head), []).append(value)
                sets = [heavy(got) for got in gots]
                for a, b in itertools.combinations(range(QUERY_HEADS), 2):
                    of_heads.setdefault((layer, a, b), []).append(common(sets[a], sets[b]))
                of_layers.setdefault(sequence, []).append(heavy(np.sum(gots, axis=0)))
        cls.overlaps = {
            "layers": [np.mean([common(sets[a], sets[b]) for sets in of_layers.values()])
                       for a, b in itertools.combinations(range(LAYERS), 2)],
            "heads": [np.mean([values for (of, *_), values in of_heads.items() if of == layer])
                      for layer in range(LAYERS)],
            "one_kv_head": np.mean([values for (_, a, b), values in of_heads.items() if a // 2 == b // 2]),
            "other_heads": np.mean([values for (_, a, b), values in of_heads.items() if a // 2 != b // 2])}

    @classmethod
    def add_cosines(cls, reader, sequence, layer):
        if layer + 1 < LAYERS:
            for part, head in itertools.product(("keys", "values"), range(KV_HEADS)):
                here, there = (getattr(reader, part)(sequence, one, head).astype(float) for one in (layer, layer + 1))
                lengths = np.linalg.norm(here, axis=1) * np.linalg.norm(there, axis=1)
                cls.adjacent.setdefault((part, layer), []).append((here * there).sum(axis=1) / lengths)

    def of_layers(self, name):
        """The mean of each layer: over sequences, then over heads."""
        return [np.mean([np.mean(self.figures[name][layer, head]) for head in range(QUERY_HEADS)])
                for layer in range(LAYERS)]

    def says(self, text):
        self.assertIn(text, TEXT)

    @staticmethod
    def between(values, scale=100, digits=0, word="to"):
        return f"{scale * min(values):.{digits}f} {word} {scale * max(values):.{digits}f}"

    def test_its_size(self):
        self.says(f"{len(self.lengths)} texts, {sum(self.lengths):,} tokens: queries, keys and values of "
                  f"{self.model.layers} layers, {self.model.query_heads} query heads on {self.model.kv_heads} KV heads "
                  f"of {self.model.key_size} elements")
        self.says(f"{(SAMPLES / 'tiny_llama.kva').stat().st_size / 1e6:.1f} MB")
        few = [tokens for tokens in self.lengths if tokens <= SEVERAL]
        self.assertEqual(len(few), 6)
        self.says(f"the six sequences of {min(few)} to {max(few)} tokens (mean {np.mean(few):.0f})")

    def test_the_table_of_the_recorder_s_script(self):
        path = ROOT / "traces/recorder/sample/measure.py"
        spec = importlib.util.spec_from_file_location("measure", path)
        measure = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(measure)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(measure.main([str(SAMPLES / "tiny_llama.kva")]), 0)
        self.assertEqual(said.getvalue().count("\n"), 2 + LAYERS)
        self.assertIn(said.getvalue(), PAGE)

    def test_sparse(self):
        top = self.of_layers("top")
        self.says(f"the 16 greatest weights of a row hold {100 * top[0]:.0f} % in layer 0, {100 * top[5]:.0f} % in "
                  "layer 5")

    def test_heavy_tokens_stay_heavy(self):
        self.says(f"{self.between(self.of_layers('stay'))} % of them had it in the first half too; by chance it "
                  f"would be {self.between(self.of_layers('stay_by_chance'))} %")

    def test_layers_and_heads(self):
        self.says(f"two layers share {self.between(self.overlaps['layers'])} % of the heavy tokens, and two heads of a "
                  f"layer {self.between(self.overlaps['heads'])} % in the mean; by chance it would be 10 %")
        self.says(f"Two query heads of one KV head share {100 * self.overlaps['one_kv_head']:.0f} %, others "
                  f"{100 * self.overlaps['other_heads']:.0f} %")

    def test_norms_of_keys(self):
        self.says(f"positive in the mean of each layer, {self.between(self.of_layers('norms'), 1, 2)}")

    def test_adjacent_layers(self):
        means = [np.mean([np.mean(one) for one in found]) for found in self.adjacent.values()]
        self.says(f"mean cosines are from {self.between(means, 1, 2)};")
        near = [np.mean([np.mean(one > 0.5) for one in found]) for found in self.adjacent.values()]
        self.says(f"in no layer are more than {100 * max(near):.0f} % of the tokens at less than 60 degrees")

    def test_ranks(self):
        self.says(f"needs {self.between(self.of_layers('rank'), 1)} directions in the mean of a layer. The best "
                  f"quarter of all directions leaves an error of {self.between(self.of_layers('tail'))} %")


class Frontier(unittest.TestCase):
    def test_the_table_is_what_its_command_says(self):
        command = next(one for one in PAGE.split("`") if one.startswith("kvplan frontier "))
        arguments = shlex.split(command)[1:]
        arguments[1] = ROOT / arguments[1]
        code, out, error = kvplan(*arguments, "--json", "-")
        self.assertEqual(code, 0, error)
        masses, bounds = {}, {}
        for point in json.loads(out)["points"]:
            masses[point["policy"], point["budget"]] = point["mass_mean"]
        for point in json.loads(out)["oracle"]:
            bounds[point["entries"]] = point["mass_mean"]
        lines = [line for line in PAGE.splitlines() if line.startswith("| ") and line.split()[1] in ("32", "64", "128")]
        self.assertEqual(len(lines), 3)
        for line in lines:
            budget, h2o, tova, streaming, random, most, snapkv = [one.strip() for one in line.strip("|").split("|")]
            found = [masses[name, int(budget)] for name in ("h2o_real_drop", "tova", "streaming", "random", "snapkv")]
            self.assertEqual([f"{mass:.3f}" for mass in found], [h2o, tova, streaming, random, snapkv], budget)
            self.assertIn(most, [f"{mass:.3f}" for entries, mass in bounds.items()
                                 if int(budget) <= entries <= int(budget) + 1])


class Chat(unittest.TestCase):
    def test_its_figures(self):
        trace = Trace.read(SAMPLES / "chat.kvt")
        minutes = (max(trace.arrival_ns) - min(trace.arrival_ns)) / 60e9
        self.assertIn(f"{len(trace.arrival_ns):,} requests in {minutes:.1f} minutes, three applications, "
                      f"{len(set(trace.session.tolist()))} conversations, prefix ids for blocks of "
                      f"{trace.header.block_tokens} tokens", TEXT)
        prefix = trace.info()["prefix"]
        self.assertIn(f"unlimited cache, {100 * prefix['infinite_hit_blocks']:.0f} % of the blocks would hit", TEXT)
        self.assertIn(f"outputs from {min(trace.output_tokens)} to {max(trace.output_tokens):,} tokens", TEXT)


if __name__ == "__main__":
    unittest.main()
