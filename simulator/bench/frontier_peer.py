# What `kvplan frontier` computes, by NumPy and by PyTorch: many policies, budgets and formats in one pass over the
# decode steps of each layer. Makes a recording, has the program and both peers work on it in turn, prints times, peak
# memory and ratios, and fails where a figure of a peer is not the program's: a second opinion.
#   python frontier_peer.py [--small] [--rounds N] [build/bin/kvplan]
# Needs numpy and zstandard; PyTorch where it is there. All peers have one thread and begin with tensors in memory,
# where the program starts as a process and reads the file.
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "traces/python"))

try:
    from frontier_libraries import Numpy, Torch, np

    from kvplan_traces import AttentionHeader, AttentionModel, AttentionSequence, AttentionWriter
except ImportError as missing:
    sys.exit(f"frontier_peer.py: {missing.name} is missing (pip install numpy zstandard)")

POLICIES = ("window", "streaming-llm", "tova", "h2o")
FORMATS = {"full": None, "int-token:bits=8": 8, "int-token:bits=4": 4}  # and the bits of a code; the first is exact
FIGURES = ("bytes_per_token", "mass_mean", "mass_min", "output_error_mean", "output_error_p95", "oracle_mass_mean",
           "overlap_mean")
SINK = 4  # of streaming-llm, as the program has it


class Case:
    """What is recorded and asked."""

    def __init__(self, layers, query_heads, kv_heads, size, tokens, prompt, budgets):
        self.layers, self.query_heads, self.kv_heads, self.size = layers, query_heads, kv_heads, size
        self.tokens, self.prompt, self.budgets = tokens, prompt, budgets

    def tensors(self, layer):
        """float16 queries, keys and values, [head, token, channel], of no model. Keys drift, so that near tokens are
        alike; the first tokens and one in 16 of the others are heavy; some channels of keys are larger than others."""
        random = np.random.default_rng(1000 + layer)
        group = self.query_heads // self.kv_heads
        drift = random.normal(size=(self.kv_heads, self.tokens, self.size))
        for t in range(1, self.tokens):
            drift[:, t] = 0.9 * drift[:, t - 1] + 0.19**0.5 * drift[:, t]
        common = random.normal(size=(self.kv_heads, 1, self.size))
        heavy = np.where(random.random((self.kv_heads, self.tokens, 1)) < 1 / 16, 0.6, 0.0)
        heavy[:, :SINK] = 1.0
        large = np.where(random.random((self.kv_heads, 1, self.size)) < 1 / 16, 3.0, 1.0)
        keys = large * (drift + heavy * common + 0.3 * random.normal(size=drift.shape))
        values = random.normal(size=drift.shape) * np.where(heavy == 1.0, 0.3, 1.0)
        queries = np.repeat((0.6 * drift + 0.6 * common) / large, group, axis=0)
        queries = queries + 0.8 * random.normal(size=queries.shape)
        return [tensor.astype(np.float16) for tensor in (queries, keys, values)]

    def write(self, path, layers):
        """A recording with the first layers repeated."""
        model = AttentionModel("made up", layers=layers, query_heads=self.query_heads, kv_heads=self.kv_heads,
                               key_size=self.size, value_size=self.size, cache_element_bytes=2)
        header = AttentionHeader(model, [AttentionSequence("made up", tokens=self.tokens, prompt_tokens=self.prompt)],
                                 form="tensors", element="f16", has_values=True, source="random numbers",
                                 recorded_by="simulator/bench/frontier_peer.py")
        with AttentionWriter(str(path), header, codec="stored") as out:
            for layer in range(layers):
                for write, tensor in zip((out.queries, out.keys, out.values), self.tensors(layer % self.layers)):
                    for head, numbers in enumerate(tensor):
                        write(0, layer, head, numbers)


# The peers. Both libraries run the same pass.


def as_stored(lib, numbers, bits):
    """What comes back of numbers stored with a scale and a zero point of two bytes for each token and head."""
    if bits is None:
        return numbers
    xp, most = lib.xp, 2**bits - 1
    least, greatest = xp.amin(numbers, axis=-1, keepdims=True), xp.amax(numbers, axis=-1, keepdims=True)
    zero, scale = (lib.cast(lib.cast(x, lib.half), numbers.dtype) for x in (least, (greatest - least) / most))
    code = xp.clip(xp.round((numbers - zero) / xp.where(scale == 0, 1, scale)), 0, most)
    return code * scale + zero


# A lane, a policy with a budget, is asked for each stretch of steps [begin, end): which positions any of its queries
# attends, [set, place] or a slice, and which of these each step attends, [set, place, 1, step]. A set of tokens is
# that of all KV heads, or there is one for each.


class Interval:
    """window, streaming-llm: positions say it all."""

    state_bytes = 0

    def __init__(self, lib, budget, sink):
        self.xp, self.budget, self.sink, self.recent = lib.xp, budget, sink, budget - sink

    def end_prompt(self, sums, last):
        pass

    def places(self, begin, end):
        first = begin - self.recent
        if self.sink == 0:
            self.at = self.xp.arange(first, end)
            return slice(first, end)
        self.at = self.xp.concatenate([self.xp.arange(self.sink), self.xp.arange(max(self.sink, first), end)])
        return self.at[None]

    def attended(self, weights, begin, end):
        at, step = self.at[:, None], self.xp.arange(begin, end)[None]
        return ((at <= step) & ((at >= step - self.recent) | (at < self.sink)))[None, :, None]


class Scored:
    """tova, h2o: after each step the token with the least score goes; of equals the older one."""

    def __init__(self, lib, budget):
        self.lib, self.xp, self.budget = lib, lib.xp, budget

    def places(self, begin, end):
        """What is kept, `kept` [set, budget] in ascending order, and what comes."""
        new = self.xp.broadcast_to(self.xp.arange(begin, end)[None], (len(self.kept), end - begin))
        self.at = self.xp.concatenate([self.kept, new], axis=1)
        return self.at

    def attended(self, weights, begin, end):
        """`weights` [KV head, place, query head, step], of all positions that places() gave."""
        rows = self.lib.packed(self.xp.moveaxis(weights, (3, 2), (0, 2)))  # [step, KV head, query head, place]
        sets = self.xp.arange(len(self.at))
        alive = self.xp.zeros(self.at.shape, dtype=bool)
        alive[:, : self.budget] = True
        seen = self.xp.zeros((end - begin, *alive.shape), dtype=alive.dtype)
        self.open(end - begin)
        for i, row in enumerate(rows):
            alive[:, self.budget + i] = True
            seen[i] = alive
            row = row * alive[:, None]
            score = self.scores(row / row.sum(axis=-1, keepdims=True), alive, begin + i)
            alive[sets, score.argmin(axis=1)] = False
        self.close(alive)
        return self.xp.moveaxis(seen, 0, 2)[:, :, None]

    def open(self, steps):
        pass

    def close(self, alive):
        self.kept = self.at[alive].reshape(self.kept.shape)


class Tova(Scored):
    """One set; a score is the weight in the newest row, over all query heads."""

    state_bytes = 0

    def end_prompt(self, sums, last):
        order = self.lib.ascending(last.sum(axis=0, keepdims=True))
        self.kept = self.lib.sorted(order[:, -self.budget:])

    def scores(self, shares, alive, step):
        return self.xp.where(alive, shares.sum(axis=(0, 1))[None], float("inf"))


class H2o(Scored):
    """A set for each KV head; a score is the weight in all rows, and half of the budget is for recent tokens."""

    state_bytes = 4

    def end_prompt(self, sums, last):
        xp, tokens = self.xp, sums.shape[1]
        self.recent = self.budget - self.budget // 2
        heavy = self.lib.ascending(sums[:, : tokens - self.recent])[:, -(self.budget // 2):]
        recent = xp.broadcast_to(xp.arange(tokens - self.recent, tokens)[None], (len(heavy), self.recent))
        self.kept = self.lib.sorted(xp.concatenate([heavy, recent], axis=1))
        self.sums = sums[xp.arange(len(sums))[:, None], self.kept]

    def open(self, steps):
        new = self.xp.zeros((len(self.sums), steps), dtype=self.sums.dtype)
        self.sums = self.xp.concatenate([self.sums, new], axis=1)

    def scores(self, shares, alive, step):
        self.sums += shares.sum(axis=1)
        return self.xp.where(alive & (self.at <= step - self.recent), self.sums, float("inf"))

    def close(self, alive):
        self.sums = self.sums[alive].reshape(self.kept.shape)
        super().close(alive)


def lanes_of(lib, case):
    make = {"window": lambda n: Interval(lib, n, 0), "streaming-llm": lambda n: Interval(lib, n, SINK),
            "tova": lambda n: Tova(lib, n), "h2o": lambda n: H2o(lib, n)}
    return [make[policy](budget) for policy in POLICIES for budget in case.budgets]


class LayerPass:
    """One layer. Weights are [KV head, position, query head of its group, step]: what a lane attends is taken from
    them in whole lines."""

    stretch = 50  # steps computed at once; the tokens that a lane keeps change by no more

    def __init__(self, lib, tensors, prompt):
        self.lib, self.xp, self.prompt = lib, lib.xp, prompt
        queries, self.keys, self.values = tensors
        self.kv_heads, self.tokens, self.size = self.keys.shape
        self.queries = queries.reshape(self.kv_heads, -1, self.tokens, self.size) * self.size**-0.5
        step = self.xp.arange(self.stretch)
        self.hidden = (step[:, None] > step[None])[None, :, None]  # by the diagonal: [1, position, 1, step]

    def weights(self, keys, begin, end):
        """Of steps [begin, end) over positions [0, end): e^(logit - greatest logit of the row)."""
        queries = self.queries[:, :, begin:end].reshape(self.kv_heads, -1, self.size)
        logits = keys[:, :end] @ self.xp.swapaxes(queries, 1, 2)
        logits = logits.reshape(self.kv_heads, end, -1, end - begin)
        logits[:, begin:] = self.xp.where(self.hidden[:, : end - begin, :, : end - begin], -float("inf"),
                                          logits[:, begin:])
        logits -= self.xp.amax(logits, axis=1, keepdims=True)
        return self.xp.exp(logits)

    def stretches(self, begin, end):
        return [(at, min(at + self.stretch, end)) for at in range(begin, end, self.stretch)]

    def end_prompt(self, lanes):
        sums = self.xp.zeros((self.kv_heads, self.prompt), dtype=self.keys.dtype)
        for begin, end in self.stretches(0, self.prompt):
            shares = self.weights(self.keys, begin, end)
            shares /= shares.sum(axis=1, keepdims=True)
            sums[:, :end] += shares.sum(axis=(2, 3))
        for lane in lanes:
            lane.end_prompt(sums, shares[..., -1].sum(axis=2))

    def outputs(self, weights, values):
        """Sums of weights, [KV head, 1, query head and step], and outputs, [KV head, channel, query head and step]."""
        weights = weights.reshape(*weights.shape[:2], -1)
        total = weights.sum(axis=1, keepdims=True)
        return total, self.xp.swapaxes(values, 1, 2) @ weights / total

    def taken(self, numbers, places):
        """Of [KV head, position, ...] those at places, [set, place] or a slice."""
        if isinstance(places, slice):
            return numbers[:, places]
        if len(places) == 1:
            return numbers[:, places[0]]
        return numbers[self.xp.arange(self.kv_heads)[:, None], places]

    def run(self, lanes, found):
        """Adds to found[lane] per decode step and query head: errors by format, masses, the bound and overlap."""
        xp = self.xp
        stored = [[as_stored(self.lib, side, bits) for side in (self.keys, self.values)] for bits in FORMATS.values()]
        self.end_prompt(lanes)
        most = max(lane.budget + 1 for lane in lanes)
        for begin, end in self.stretches(self.prompt, self.tokens):
            weights = [self.weights(keys, begin, end) for keys, _ in stored]
            total, output = self.outputs(weights[0], self.values[:, :end])
            length = xp.sqrt((output * output).sum(axis=1))
            flat = weights[0].reshape(self.kv_heads, end, -1)
            greatest = self.lib.greatest(self.lib.packed(xp.swapaxes(flat, 1, 2)), most)
            best = xp.cumsum(greatest, axis=-1)
            for lane, to in zip(lanes, found):
                entries = lane.budget + 1
                places = lane.places(begin, end)
                exact = self.taken(weights[0], places)
                attended = lane.attended(exact, begin, end)
                for number, (_, values) in enumerate(stored):
                    part = attended * (self.taken(weights[number], places) if number else exact)
                    seen, other = self.outputs(part, self.taken(values[:, :end], places))
                    other -= output
                    to.errors[number].append(xp.sqrt((other * other).sum(axis=1)) / length)
                    if number == 0:
                        to.masses.append(seen / total)
                        least = greatest[..., entries - 1].reshape(self.kv_heads, 1, -1)
                        among = part.reshape(self.kv_heads, part.shape[1], -1) >= least
                        to.overlaps.append(among.sum(axis=1) / entries)
                        to.bounds.append(best[..., entries - 1] / total[:, 0])


class Samples:
    def __init__(self):
        self.errors = [[] for _ in FORMATS]
        self.masses, self.overlaps, self.bounds = [], [], []


def frontier(lib, case, layers):
    """What the program's points say, in the order of its points. `layers`: their queries, keys and values."""
    found = None
    for tensors in layers:
        lanes = lanes_of(lib, case)
        found = found or [Samples() for _ in lanes]
        LayerPass(lib, tensors, case.prompt).run(lanes, found)

    def pooled(parts):
        return lib.xp.concatenate([part.reshape(-1) for part in parts])

    points = []
    for lane, samples in zip(lanes, found):
        masses = pooled(samples.masses)
        for errors, bits in zip(samples.errors, FORMATS.values()):
            errors = lib.sorted(pooled(errors))
            side = 2 * case.size if bits is None else case.size * bits // 8 + 4
            kept = case.layers * case.kv_heads * lane.budget
            points.append({
                "bytes_per_token": kept * (2 * side + lane.state_bytes) / case.tokens,
                "mass_mean": float(masses.mean()),
                "mass_min": float(masses.min()),
                "output_error_mean": float(errors.mean()),
                "output_error_p95": float(errors[-(-95 * len(errors) // 100) - 1]),
                "oracle_mass_mean": float(pooled(samples.bounds).mean()),
                "overlap_mean": float(pooled(samples.overlaps).mean())})
    return points


# The program.

# A separate process that starts the program and prints its CPU and elapsed seconds and its peak memory: the peak that
# the system reports for a process begins with that of its parent.
WATCH = """
import os, sys, time
begin = time.monotonic()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(process, 0)
print(usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss)
sys.exit(1 if status else 0)
"""


class Program:
    def __init__(self, path, folder):
        self.path, self.json = path, str(pathlib.Path(folder) / "points.json")

    def run(self, recording, policies, budgets, formats, threads):
        """CPU and elapsed seconds, MiB, and points."""
        command = [self.path, "frontier", str(recording), "--policies", ";".join(policies), "--budgets",
                   ",".join(map(str, budgets)), "--formats", ";".join(formats), "--threads", str(threads), "--json",
                   self.json]
        said = subprocess.run([sys.executable, "-S", "-c", WATCH, *command], check=True, stdout=subprocess.PIPE)
        cpu, elapsed, memory = map(float, said.stdout.split()[-3:])
        return cpu, elapsed, memory / 1024, json.loads(pathlib.Path(self.json).read_text())["points"]


def difference(found, expected):
    """The greatest relative one, and where."""
    worst, where = 0.0, ""
    if len(found) != len(expected):
        sys.exit(f"expected {len(expected)} points, found {len(found)}")
    for point, other in zip(found, expected):
        for name in FIGURES:
            off = abs(point[name] - other[name]) / max(abs(other[name]), 1e-300)
            if not off <= worst:
                worst, where = off, f"{name} of {other['policy']}, {other['budget']}, {other['format_as_given']}"
    return worst, where


def main():
    parser = argparse.ArgumentParser(description="kvplan frontier beside NumPy and PyTorch")
    parser.add_argument("--small", action="store_true", help="a small case, once: for a test")
    parser.add_argument("--rounds", type=int, default=3, help="of all in one pass and of the peers, in turn")
    parser.add_argument("program", nargs="?", default=os.environ.get("KVPLAN", str(ROOT / "build/bin/kvplan")))
    asked = parser.parse_args()
    case = Case(4, 8, 2, 64, 1200, 1000, (64, 128, 256))
    if asked.small:
        case, asked.rounds = Case(2, 4, 2, 32, 220, 130, (16, 48)), 1
    with tempfile.TemporaryDirectory() as folder:
        if not Measurement(case, asked.program, pathlib.Path(folder)).all(asked.rounds):
            sys.exit(1)


class Measurement:
    def __init__(self, case, program, folder):
        self.case, self.folder, self.formats, self.good = case, folder, list(FORMATS), True
        self.program, self.recording = Program(program, folder), folder / "layers.kva"
        self.points = len(POLICIES) * len(case.budgets) * len(FORMATS)
        case.write(self.recording, case.layers)

    def all(self, rounds):
        case = self.case
        say(f"{case.layers} layers x {case.query_heads} query heads on {case.kv_heads} KV heads x {case.size} channels "
            f"x {case.tokens} tokens, {case.prompt} of them prompt")
        say(f"{len(POLICIES)} policies x {len(case.budgets)} budgets x {len(FORMATS)} formats = {self.points} points; "
            f"median of {rounds}; / is over kvplan with one thread; difference: the greatest of any figure, relative")
        self.side_by_side(rounds)
        self.one_by_one()
        self.memory()
        return self.good

    def side_by_side(self, rounds):
        sides, within = {}, {}
        for threads in (1, 2):
            name = f"kvplan, {threads} thread{'s' * (threads > 1)}"
            sides[name] = lambda n=threads: self.program.run(self.recording, POLICIES, self.case.budgets,
                                                             self.formats, n)
            within[name] = 0.0
        tensors = [self.case.tensors(layer) for layer in range(self.case.layers)]
        # PyTorch makes float16 of float64 by way of float32, so some scales differ in their last bit.
        for lib, closest in ((Numpy, 1e-9), (Torch, 1e-5)):
            if lib.xp is None:
                say("torch is not there: NumPy alone is beside the program")
                continue
            for kind, bits, most in ((lib.double, 64, closest), (lib.single, 32, 1e-3)):
                name = f"{lib.name}, float{bits}"
                sides[name] = lambda lib=lib, kind=kind: peer(lib, self.case, tensors, kind)
                within[name] = most
        times, points = {name: [] for name in sides}, {}
        for _ in range(rounds):
            for name, run in sides.items():
                *time_and_memory, points[name] = run()
                times[name].append(time_and_memory)
        self.expected = points["kvplan, 1 thread"]
        self.base = medians(times["kvplan, 1 thread"])
        say(f"{'':33}{'CPU s':>8}{'/':>7}{'elapsed s':>11}{'/':>7}{'MiB':>7}   difference")
        for name, rows in times.items():
            self.row(name, medians(rows), *difference(points[name], self.expected), within[name])

    def one_by_one(self):
        alone = [self.program.run(self.recording, [policy], [budget], [form], 1)
                 for policy in POLICIES for budget in self.case.budgets for form in self.formats]
        cpu, elapsed, memory = ([one[i] for one in alone] for i in range(3))
        self.row(f"kvplan, {self.points} runs of one point", (sum(cpu), sum(elapsed), max(memory)),
                 *difference([one[3][0] for one in alone], self.expected), 0.0)

    def row(self, name, numbers, off, where, within):
        cpu, elapsed, memory = numbers
        said = f"{name:33}{cpu:8.2f}{cpu / self.base[0]:7.2f}{elapsed:11.2f}{elapsed / self.base[1]:7.2f}"
        said += (f"{memory:7.1f}" if memory else " " * 7) + f"   {off:.1g}"
        if not off <= within:
            self.good = False
            said += f", more than {within:g}: {where}"
        say(said)

    def memory(self):
        """Of the greatest budget alone, since sixteen layers take their time."""
        say(f"\npeak MiB, budget {self.case.budgets[-1]}  layers   file   1 thread   2 threads")
        for layers in sorted({1, 2, self.case.layers, 4 * self.case.layers}):
            path = self.folder / "more.kva"
            self.case.write(path, layers)
            one, two = (self.program.run(path, POLICIES, self.case.budgets[-1:], self.formats, n)[2] for n in (1, 2))
            say(f"{layers:27}{path.stat().st_size / 2**20:7.1f}{one:11.1f}{two:12.1f}")


def say(text):
    print(text, flush=True)


def medians(rows):
    return [statistics.median(column) for column in zip(*rows)]


def peer(lib, case, tensors, kind):
    """CPU and elapsed seconds, nothing for memory, and points."""
    layers = [[lib.tensor(part, kind) for part in layer] for layer in tensors]
    cpu, elapsed = time.process_time(), time.monotonic()
    points = frontier(lib, case, layers)
    return time.process_time() - cpu, time.monotonic() - elapsed, 0.0, points


if __name__ == "__main__":
    main()
