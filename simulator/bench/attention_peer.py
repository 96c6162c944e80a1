# H2O as vectorised NumPy replays it from recorded rows, all heads at once, for attention_bench to stand beside: CPU
# time per (step, head), and the ratio to the program's where that is given, which runs first. A small case is checked
# against the obvious way. Behind it the rate of BLAS, which computes no softmax and keeps no order of additions, for
# the rows from queries and keys. Needs numpy.
#   python attention_peer.py [build/bench/attention_bench]
import os
import re
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read by numpy when it is imported

import numpy as np  # noqa: E402


def rows_of(heads, steps, seed=1):
    """[step] float32 [heads, step + 1]: some tokens heavy, each row summing to about one."""
    random = np.random.default_rng(seed)
    heavy = np.where(random.random((heads, steps), dtype=np.float32) < 1 / 16, 16, 1).astype(np.float32)
    return [
        heavy[:, : t + 1] * random.random((heads, t + 1), dtype=np.float32) / np.float32(2 * (t + 1))
        for t in range(steps)
    ]


def replay(rows, budget):
    """Tokens that H2O drops, [step][head], half of the budget being recent. Heavy tokens are kept in any order, the
    recent ones are the window's; the token that leaves it takes the place of the least of the heavy, or goes itself."""
    heads, steps = len(rows[0]), len(rows)
    heavy_most, recent = budget // 2, budget - budget // 2
    score = np.zeros((heads, steps))
    at = np.zeros((heads, heavy_most), dtype=np.intp)  # positions of heavy tokens
    heavy = np.zeros((heads, heavy_most))  # their scores
    every = np.arange(heads)
    dropped = []
    for t, row in enumerate(rows):
        count = max(0, min(heavy_most, t - recent))
        begin = max(0, t - recent)  # one more than the recent ones: it leaves after this step
        window = row[:, begin:].astype(np.float64)
        if count:
            gathered = np.take_along_axis(row, at[:, :count], axis=1).astype(np.float64)
            total = window.sum(axis=1) + gathered.sum(axis=1)
            heavy[:, :count] += gathered / total[:, None]
        else:
            total = window.sum(axis=1)
        score[:, begin : t + 1] += window / total[:, None]
        leaving = t - recent
        if leaving < 0:
            continue
        if count < heavy_most:
            at[:, count], heavy[:, count] = leaving, score[:, leaving]
            continue
        least = heavy.argmin(axis=1)
        goes = heavy[every, least] <= score[:, leaving]  # among equals the older one
        dropped.append(np.where(goes, at[every, least], leaving))
        chosen, where = every[goes], least[goes]
        at[chosen, where], heavy[chosen, where] = leaving, score[chosen, leaving]
    return dropped


def replay_obviously(rows, budget):
    """One head after the other, all tokens in a list."""
    out = []
    for head in range(len(rows[0])):
        kept, dropped = {}, []
        for t, row in enumerate(rows):
            kept[t] = 0.0
            total = sum(float(row[head, p]) for p in kept)
            for p in kept:
                kept[p] += float(row[head, p]) / total
            if len(kept) > budget:
                gone = min(sorted(kept)[: budget // 2 + 1], key=lambda p: (kept[p], p))
                dropped.append(gone)
                del kept[gone]
        out.append(dropped)
    return out


HEADS, STEPS, ROUNDS = 32, 4096, 5


def main(program):
    ours = {}
    if program:
        said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        print(said, end="")
        ours = {int(b): int(ns) for b, ns in re.findall(r"budget +(\d+) .*?replay (\d+) ns", said)}
    small = rows_of(2, 200)
    if np.array(replay(small, 32)).T.tolist() != replay_obviously(small, 32):
        sys.exit("the vectorised replay drops other tokens than the obvious one")
    rows = rows_of(HEADS, STEPS)
    print(f"numpy {np.__version__}, {HEADS} heads x {STEPS} steps, {ROUNDS} repetitions")
    for budget in (512, 1024):
        times = []
        for _ in range(ROUNDS):
            begin = time.thread_time()
            replay(rows, budget)
            times.append(1e9 * (time.thread_time() - begin) / (HEADS * STEPS))
        times.sort()
        median = times[ROUNDS // 2]
        ratio = f"   numpy / replay {median / ours[budget]:.1f}" if budget in ours else ""
        print(f"budget {budget:5}  per (step, head): {median:.0f} ns ({times[0]:.0f}-{times[-1]:.0f}){ratio}")
    for kind in (np.float32, np.float64):
        queries, keys = (np.random.default_rng(i).random((STEPS, 128)).astype(kind) for i in (1, 2))
        times = []
        for _ in range(ROUNDS):
            begin = time.thread_time()
            queries @ keys.T
            times.append(time.thread_time() - begin)
        rate = 2e-9 * STEPS**2 * 128 / sorted(times)[ROUNDS // 2]
        print(f"{kind.__name__} products of {STEPS} queries and keys: {rate:.0f} GFLOP/s")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
