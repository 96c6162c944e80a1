"""Times of decode attention, a second time: from the tables' text and the definitions in simulator/kernels/*.h alone.

    python3 decode_oracle.py KVPLAN TABLES CALLS [SEED]

asks KVPLAN for CALLS random calls of each GPU and engine in the folder TABLES and compares every time and source.
Slow and plain: dictionaries of calls, one function for each definition, nothing kept but what was asked before.
"""
import csv
import functools
import glob
import io
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

SOURCES = ("table", "interpolated", "extrapolated")  # the surest first
TABLE, BETWEEN, BEYOND = range(3)
COLUMNS = ("gpu", "engine", "engine_version", "kernel", "batch", "kv_len", "q_heads", "kv_heads", "head_dim", "window",
           "kv_elem_bytes")


class Grid:
    """One table. A call is (batch, length, kv_heads, group); a time is (us, source) or None."""

    def __init__(self, path):
        lines = open(path).read().splitlines()
        self.names = dict(line.split(",") for line in lines[:7])
        self.window = int(self.names["window"])
        lengths = [int(cell) for cell in lines[7].split(",")[3:]]
        self.us = {}
        for line in lines[8:]:
            cells = line.split(",")
            q_heads, kv_heads, batch = map(int, cells[:3])
            for length, cell in zip(lengths, cells[3:]):
                if cell:
                    self.us[batch, length, kv_heads, q_heads // kv_heads] = float(cell)
        self.axes = [sorted({call[i] for call in self.us}) for i in range(4)]
        self.batches, self.lengths, self.heads, self.groups = self.axes
        rises = []
        for batch, heads, group in {(b, h, g) for b, _, h, g in self.us}:
            curve = [l for l in self.lengths if (batch, l, heads, group) in self.us][-2:]
            if len(curve) == 2:
                a, b = (self.us[batch, l, heads, group] for l in curve)
                rises.append(max(0.0, b - a) / ((curve[1] - curve[0]) * batch * heads))
        self.us_per_token = statistics.median_low(rises)
        self.at = functools.lru_cache(None)(self.at)

    # --- grid_estimate.h ---

    def neighbour(self, call, axis, value, traded):
        """The time with another value on an axis, and the batch that keeps their product where traded."""
        if axis == 3 and (value == 1) != (call[3] == 1):
            return None
        if axis == 1 and traded and self.window and max(value, call[1]) > self.window:
            return None
        other = list(call)
        other[axis] = value
        if traded:
            if call[0] * call[axis] % value:
                return None
            other[0] = call[0] * call[axis] // value
        return self.us.get(tuple(other))

    def estimate(self, call):
        evidence = []  # (us, doubt)

        def traded_pair(axis):
            for low in reversed([v for v in self.axes[axis] if v < call[axis]]):
                if call[axis] ** 2 % low == 0:
                    high = call[axis] ** 2 // low
                    if high in self.axes[axis]:
                        a, b = self.neighbour(call, axis, low, True), self.neighbour(call, axis, high, True)
                        if a and b:
                            evidence.append((math.sqrt(a * b), doubt(a, b)))
                            return True
            return False

        def beside(axis, start, step, traded):
            values = [v for v in self.axes[axis] if (v - start) * step > 0][::step]
            found = ((v, self.neighbour(call, axis, v, traded)) for v in values)
            return next(((v, us) for v, us in found if us), None)

        def line_pair(axis):
            low, high = beside(axis, call[axis], -1, False), beside(axis, call[axis], 1, False)
            if not low or not high:
                return False
            share = (call[axis] - low[0]) / (high[0] - low[0])
            evidence.append((low[1] + (high[1] - low[1]) * share, doubt(low[1], high[1])))
            return True

        def sides(axis, traded):
            for step in (-1, 1):
                near = beside(axis, call[axis], step, traded)
                if near:
                    behind = beside(axis, near[0], step, traded)
                    evidence.append((near[1], 2 * doubt(near[1], behind[1]) if behind else 0.15))

        def goes_on(axis):
            near = beside(axis, call[axis], -1, False)
            behind = near and beside(axis, near[0], -1, False)
            if behind:
                hidden = axis == 1 and self.window and near[0] >= self.window
                rise = 0 if hidden else max(0.0, (near[1] - behind[1]) / (near[0] - behind[0]))
                us = near[1] + rise * (call[axis] - near[0])
                evidence.append((us, 2 * doubt(us, near[1])))

        heads_pair = traded_pair(2)
        traded_pair(1)
        group_pair = line_pair(3)
        traded_pair(3)
        line_pair(1)
        line_pair(0)
        pairs = bool(evidence)
        if not heads_pair:
            sides(2, True)
        if not group_pair:
            sides(3, False)
        if not pairs:
            sides(1, True)
            goes_on(1)
            goes_on(0)
        return evidence and (mean_of(evidence), BETWEEN if pairs else BEYOND) or None

    # --- filled_grid.h ---

    def at(self, batch, length, heads, group):
        call = (batch, length, heads, group)
        if call in self.us:
            return self.us[call], TABLE
        said = self.estimate(call)
        place = self.lengths.index(length)
        if said or place < 2:
            return said
        a, b = (self.at(batch, self.lengths[place - i], heads, group) for i in (2, 1))
        if not a or not b:
            return None
        last, before = self.lengths[place - 1], self.lengths[place - 2]
        rise = 0 if self.window and last >= self.window else max(0.0, b[0] - a[0]) / (last - before)
        return b[0] + rise * (length - last), BEYOND

    # --- grid_reader.h ---

    def same_batch(self, batch, length, heads, group):
        """`length` between two of the axis."""
        if not self.lengths[0] <= length <= self.lengths[-1] or (self.window and length > self.window):
            return None
        return on_axis(self.lengths, length, lambda l: self.at(batch, l, heads, group))

    def of_batch(self, batch, length, heads, group):
        axis = self.batches
        if batch in axis or batch > axis[-1]:
            return on_axis(axis, batch, lambda b: self.at(b, length, heads, group), True)

        def tokens(b):
            return self.same_batch(b, length * batch / b, heads, group)

        if batch < axis[0]:
            return beyond(tokens(axis[0]) or self.at(axis[0], length, heads, group))
        low, high = max(b for b in axis if b < batch), min(b for b in axis if b > batch)
        share = (batch - low) / (high - low)
        pairs = [(self.at(low, length, heads, group), self.at(high, length, heads, group)), (tokens(low), tokens(high))]
        pairs = [pair for pair in pairs if all(pair)]
        lines = [between(share, 0, a, 1, b) for a, b in pairs]
        if not lines:
            return None
        if len(lines) == 1:
            return lines[0]
        return (mean_of([(line[0], doubt(a[0], b[0])) for line, (a, b) in zip(lines, pairs)]),
                max(line[1] for line in lines))

    def of_heads(self, batch, length, heads, group):
        def equal_work(h):
            return self.of_batch(batch * heads / h, length, h, group)

        time = on_axis(self.heads, heads, equal_work)
        if time:
            return time
        nearest = [h for h in reversed(self.heads) if h < heads] + [h for h in self.heads if h > heads]
        return next((beyond(equal_work(h)) for h in nearest if equal_work(h)), None)

    def of_group(self, batch, length, heads, group):
        axis = self.groups
        shared = [g for g in axis if g > 1]
        if group == 1 or not shared:
            time = self.of_heads(batch, length, heads, axis[0])
            return time if group == axis[0] else beyond(time)
        return on_axis(shared, group, lambda g: self.of_heads(batch, length, heads, g), True)

    def time(self, batch, length, heads, group):
        knots = []
        for l in self.lengths:
            time = self.of_group(batch, l, heads, group)
            if not time:
                break
            knots.append((l, *time))
        if not knots:
            return None
        whole = len(knots) == len(self.lengths)
        hidden = self.window and knots[-1][0] >= self.window
        rise = 0.0
        if not hidden:
            factor = 2
            while whole and batch * factor <= self.batches[-1]:
                time = self.of_group(batch * factor, self.lengths[-1], heads, group)
                if not time:
                    break
                knots.append((self.lengths[-1] * factor, max(time[0], knots[-1][1]), BEYOND))
                factor *= 2
            if len(knots) > 1:
                rise = max(0.0, (knots[-1][1] - knots[-2][1]) / (knots[-1][0] - knots[-2][0]))
        knots = self.below(batch, heads, group, knots[0][1]) + knots
        for knot in knots:
            if knot[0] == length:
                return knot[1], knot[2]
        if length > knots[-1][0]:
            return knots[-1][1] + rise * (length - knots[-1][0]), BEYOND
        low, high = max(k for k in knots if k[0] < length), min(k for k in knots if k[0] > length)
        return between(length, low[0], low[1:], high[0], high[1:])

    def below(self, batch, heads, group, whole):
        """Knots for fewer tokens than the first length."""
        first = self.lengths[0]
        least = self.of_group(self.batches[0], first, heads, group)
        if self.window or len(self.lengths) == 1 or not least:
            return [(0, whole, BEYOND)]

        def rise(b):
            x, y = (self.of_group(b, l, heads, group) for l in self.lengths[:2])
            return max(0.0, (y[0] - x[0]) / (self.lengths[1] - first)) if x and y else 0.0

        s = min(rise(batch), 2 * rise(batch / 2), self.us_per_token * batch * heads)
        tiles = max(0.0, whole - s * first - least[0])
        knots = [[0, least[0] + tiles]]
        for b in self.batches:
            same = self.of_group(b, first, heads, group) if b < batch else None
            if same:
                knots.append([first * b / batch, same[0] + (1 - b / batch) * tiles])
        most = whole
        for knot in reversed(knots):
            most = knot[1] = min(knot[1], most)
        return [(*knot, BEYOND) for knot in knots]


def doubt(a, b):
    return 0.015 + 0.3 * 2 * abs(a - b) / (a + b)


def mean_of(evidence):
    return sum(us / d**2 for us, d in evidence) / sum(1 / d**2 for _, d in evidence)


def beyond(time):
    return time and (time[0], BEYOND)


def between(here, low, a, high, b):
    if not a or not b:
        return None
    return a[0] + (b[0] - a[0]) * (here - low) / (high - low), max(a[1], b[1], BETWEEN)


def on_axis(axis, here, read, goes_on=False):
    if here in axis:
        return read(here)
    if here < axis[0]:
        return beyond(read(axis[0]))
    if here < axis[-1]:
        low, high = max(v for v in axis if v < here), min(v for v in axis if v > here)
        return between(here, low, read(low), high, read(high))
    last = axis[-1]
    if not goes_on or len(axis) == 1:
        return beyond(read(last))
    before = max([v for v in axis if 2 * v <= last], default=axis[0])
    a, b = read(before), read(last)
    if not a or not b:
        return beyond(b)
    return b[0] + max(0.0, (b[0] - a[0]) / (last - before)) * (here - last), BEYOND


class Tables:
    """decode_times.h, for one GPU and engine with one version."""

    def __init__(self, grids):
        self.grids = grids

    def own(self, head_dim, window, element):
        return next((g for g in self.grids if (int(g.names["head_dim"]), g.window, float(g.names["kv_elem_bytes"])) ==
                     (head_dim, window, element)), None)

    def time(self, batch, length, heads, group, head_dim, window, element):
        own = self.own(head_dim, window, element)
        if own:
            first, whole = own.lengths[0], self.own(head_dim, 0, element)
            if not window or length >= first or first > window or not whole:
                return own.time(batch, length, heads, group)
            full = own.time(batch, first, heads, group)
            part, of = (whole.time(batch, l, heads, group) for l in (length, first))
            return full[0] * part[0] / of[0], BEYOND

        def far(grid):
            def ratio(a, b):
                return max(a, b) / min(a, b)
            return ratio(float(grid.names["kv_elem_bytes"]), element), ratio(int(grid.names["head_dim"]), head_dim)

        near = min((g for g in self.grids if not g.window), key=far)
        seen = min(length, window) if window else length
        tokens = seen * head_dim * element / (int(near.names["head_dim"]) * float(near.names["kv_elem_bytes"]))
        return beyond(near.time(batch, tokens, heads, group))


def random_call(rng):
    """Half of them within the tables, on their axes and between; the others anywhere."""
    if rng.random() < 0.5:
        return (rng.choice([2 ** rng.randrange(12), rng.randrange(1, 300)]),
                rng.choice([2 ** rng.randrange(7, 18), int(2 ** rng.uniform(7, 15))]), rng.choice([1, 2, 4, 8, 3, 6]),
                rng.choice([1, 2, 4, 5, 8, 3, 7]), 128, rng.choice([0, 0, 0, 128]), rng.choice([1.0, 2.0]))
    batch = rng.choice([2 ** rng.randrange(12), rng.randrange(1, 40), rng.randrange(1, 5000)])
    length = rng.choice([2 ** rng.randrange(1, 18), rng.randrange(2, 130), int(2 ** rng.uniform(1, 20))])
    heads = rng.choice([1, 2, 4, 8, 32, 3, 6, 10, 16, 64])
    group = rng.choice([1, 2, 4, 5, 8, 16, 1, 3, 6, 7, 12, 32])
    head_dim = rng.choice([128] * 6 + [64, 80, 256])
    window = rng.choice([0] * 4 + [128] * 3 + [1, 100, 1024, 4096])
    return batch, length, heads, group, head_dim, window, rng.choice([2.0, 2.0, 1.0, 1.0, 4.0, 0.5])


def compare(kvplan, gpu, engine, tables, calls, rng):
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    names = tables.grids[0].names
    asked = [random_call(rng) for _ in range(calls)]
    for batch, length, heads, group, head_dim, window, element in asked:
        rows.writerow([gpu, engine, names["engine_version"], names["kernel"], batch, length, heads * group, heads,
                       head_dim, window, "%g" % element])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "in.csv")
        with open(path, "w") as file:
            file.write(text.getvalue())
        command = [kvplan, "latency", "--kernel", "decode-attention", "--gpu", gpu, "--engine", engine]
        out = subprocess.run(command + ["--csv", path, "--out", "-"], stdout=subprocess.PIPE, text=True, check=True)
    wrong = 0
    counts = dict.fromkeys(SOURCES, 0)
    found = list(csv.DictReader(io.StringIO(out.stdout)))
    assert len(found) == calls
    for call, row in zip(asked, found):
        us, source = tables.time(*call)
        counts[SOURCES[source]] += 1
        if abs(float(row["predicted_us"]) - us) > 1e-4 + 1e-9 * us or row["source"] != SOURCES[source]:
            wrong += 1
            if wrong <= 5:
                print("%s %s %s: %s %s, expected %.4f %s" % (gpu, engine, call, row["predicted_us"], row["source"], us,
                                                            SOURCES[source]))
    print("%s %s: %d calls, %s, %d differ" % (gpu, engine, calls, counts, wrong))
    return wrong


def main(kvplan, folder, calls, seed=1):
    grids = [Grid(path) for path in sorted(glob.glob(os.path.join(folder, "*.csv")))]
    pairs = sorted({(g.names["gpu"], g.names["engine"]) for g in grids})
    assert pairs, "no tables"
    wrong = 0
    for gpu, engine in pairs:
        tables = Tables([g for g in grids if (g.names["gpu"], g.names["engine"]) == (gpu, engine)])
        wrong += compare(kvplan, gpu, engine, tables, int(calls), random.Random("%s %s %s" % (seed, gpu, engine)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
