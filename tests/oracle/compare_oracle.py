#!/usr/bin/env python3
"""Runs the program and the oracle on the same cases and compares every number of both outputs.

    compare_oracle.py PROGRAM                        fixed cases and 60 random ones, on traces made here
    compare_oracle.py PROGRAM --random N [--seed S]  N random cases
    compare_oracle.py PROGRAM --cases FILE --traces FOLDER   cases [{"trace": name, "set": {path: value}}]
    compare_oracle.py --golden FOLDER [--requests N] the oracle's schedules against those of vLLM v0.15.1

Integers and the rows of `--requests` must be equal, other numbers within 1e-12 of their size. Exit codes: 0
equal, 1 something differs.
"""

import argparse
import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

import run_oracle

HERE = os.path.dirname(os.path.abspath(__file__))


def program_run(program, trace, paths):
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "requests.csv")
        command = [program, "run", trace, "--json", "-", "--requests", table]
        for path, value in paths.items():
            command += ["--set", f"{path}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\nexit {done.returncode}: {done.stderr}")
        with open(table, encoding="utf-8", newline="") as file:
            return json.loads(done.stdout), list(csv.DictReader(file))


def differences(mine, theirs, place=""):
    """Lines 'place: oracle, program' for all that the oracle says and the program does not."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        lines = []
        for key, value in mine.items():
            here = f"{place}.{key}" if place else key
            if key in theirs:
                lines += differences(value, theirs[key], here)
            else:
                lines.append(f"{here}: the program lacks it")
        return lines
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        pairs = enumerate(zip(mine, theirs))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{place}[{i}]")]
    same = mine == theirs
    if not same and isinstance(mine, float) and isinstance(theirs, (int, float)):
        same = abs(mine - theirs) <= 1e-12 * max(abs(mine), abs(theirs))
    return [] if same else [f"{place}: oracle {mine!r}, program {theirs!r}"]


def compare(program, trace, paths, walk):
    """Prints one case; False where it differs."""
    mine, my_rows = run_oracle.simulate(trace, paths, walk)
    theirs, their_rows = program_run(program, trace, paths)
    lines = differences(mine, theirs)
    if len(my_rows) != len(their_rows):
        lines.append(f"rows: oracle {len(my_rows)}, program {len(their_rows)}")
    for a, b in zip(my_rows, their_rows):
        lines += differences(a, b, f"request {a['request']}")
    what = f"{mine['iterations']} steps, {mine['preemptions']} preemptions"
    what += f", {mine['evictions']['tokens']} dropped"
    print(f"{'DIFFERS' if lines else 'equal'}  {os.path.basename(trace)} {json.dumps(paths)}  ({what})")
    for line in lines[:40]:
        print("    " + line)
    if len(lines) > 40:
        print(f"    and {len(lines) - 40} more")
    sys.stdout.flush()
    return not lines


# ------------------------------------------------------------------------------------------- traces and cases


def write_trace(folder, name, rows, hashed, waits=None):
    """Rows of (ms, input, output, hash ids) as Mooncake JSONL, with `waits` beside, or as the Azure table."""
    path = os.path.join(folder, name + (".jsonl" if hashed else ".csv"))
    with open(path, "w", encoding="utf-8", newline="") as file:
        if not hashed:
            file.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        for i, (ms, length, output, hashes) in enumerate(rows):
            if hashed:
                row = {"timestamp": ms, "input_length": length, "output_length": output, "hash_ids": hashes}
                row |= waits[i] if waits else {}
                file.write(json.dumps(row) + "\n")
            else:
                second, part = divmod(ms, 1000)
                clock = f"18:{second // 60:02d}:{second % 60:02d}.{part:03d}{length % 1000:03d}0"
                file.write(f"2023-11-16 {clock},{length},{output}\n")
    return path


class Chains:
    """Hash ids that share prefixes: each id has one predecessor, one position and one length."""

    def __init__(self, draw):
        self.draw, self.ids = draw, {}

    def of(self, length):
        path, ids = (), []
        for begin in range(0, length, 512):
            branch = self.draw.randrange(2) if self.draw.random() < 0.8 else self.draw.randrange(1000)
            path += ((branch, min(512, length - begin)),)
            ids.append(self.ids.setdefault(path, len(self.ids)))
        return ids


def random_rows(draw, hashed, count, gaps, longest):
    chains, now, rows = Chains(draw), 0, []
    for _ in range(count):
        now += draw.choice(gaps)
        late = max(0, now - 100) if draw.random() < 0.03 else now  # now and then out of order
        few = 0 if draw.random() < 0.1 else 2  # runs reject a request without output
        if hashed:
            length = draw.choice([1, 100, 511, 512, 513, 1024, 1536, draw.randint(1, 3000)])
            output = draw.choice([1, 2, 20, few, draw.randint(1, 200), draw.randint(100, 500)])
            rows.append((late, length, output, chains.of(length)))
        else:
            length = draw.choice([1, 2, 16, 17, 32, draw.randint(1, longest)])
            output = draw.choice([1, few, draw.randint(1, longest), draw.randint(longest // 2, 3 * longest)])
            rows.append((late, length, output, None))
    return rows


def random_waits(draw, count):
    """Waits between requests, as fields of the rows: chains, joins, sometimes a pause."""
    waits = []
    for i in range(count):
        row = {"request_id": f"r{i}", "wait_for": []}
        if i > 0 and draw.random() < 0.6:
            row["wait_for"] = [f"r{draw.randrange(max(0, i - 8), i)}" for _ in range(draw.choice([1, 1, 1, 2, 3]))]
        if row["wait_for"] and draw.random() < 0.6:
            row["delay"] = draw.choice([0, 0, 1, 7, 300])
        waits.append(row)
    return waits


def continue_turns(draw, rows, waits):
    """Some prompts of sessions begin with the prompt before them, most are longer than that and its answer."""
    fresh = 10**6
    for i, (ms, length, _, hashes) in enumerate(rows):
        session = waits[i].get("session_id")
        same = [j for j in range(i) if session and waits[j].get("session_id") == session]
        if not same or draw.random() < 0.3:
            continue
        _, before, answer, ids = rows[draw.choice(same[-2:])]
        more = draw.choice([0, 1, 100, 512, draw.randint(0, 700)])
        length = before + answer + more if draw.random() < 0.8 else draw.randint(before, before + answer + more)
        if length > 5000:
            continue
        hashes = ids[: before // 512]
        while len(hashes) < run_oracle.cdiv(length, 512):
            hashes, fresh = hashes + [fresh], fresh + 1
        rows[i] = (ms, length, draw.choice([1, 20, draw.randint(1, 700)]), hashes)


def take_compact(draw, paths, longest):
    """In some cases with a paged pool another eviction: survivors are gathered."""
    if not paths["memory.allocator"].startswith("paged") or draw.random() < 0.4:
        return
    budget = draw.choice([1, 2, 7, 15, 16, 17, 33, 64, draw.randint(1, longest), draw.randint(1, longest)])
    heavy = draw.randint(0, budget)
    votes = draw.randint(1, min(budget, 32))
    paths["eviction"] = draw.choice(
        [
            f"h2o:hh={heavy},recent={budget - heavy}",
            f"tova:budget={budget}",
            f"scissorhands:budget={budget},drop=1,recent={votes}",
            f"window:window={budget}",
            f"streaming-llm:sink={heavy},recent={budget - heavy}",
            f"snapkv:window={votes},capacity={budget}",
        ]
    )
    paths["eviction"] += ",placement=compact"


def random_case(seed, folder):
    """A small trace under pressure: pools of one to a few of its longest requests."""
    draw = random.Random(seed)
    hashed, count = draw.random() < 0.5, draw.choice([1, 5, 20, 40])
    gaps = draw.choice([[0], [0, 0, 1, 5], [0, 0, 1, 5, 50, 400]])
    rows = random_rows(draw, hashed, count, gaps, draw.choice([20, 60, 150]))
    loops = random.Random(f"waits {seed}")  # of its own, so that the rest of a case is what it was without
    waits = random_waits(loops, count) if hashed and loops.random() < 0.5 else None
    people = random.Random(f"sessions {seed}")
    if waits and people.random() < 0.5:
        for row in waits:
            if people.random() < 0.7:
                row["session_id"] = f"s{people.randrange(5)}"
                if people.random() < 0.5:
                    del row["wait_for"]
        continue_turns(random.Random(f"turns {seed}"), rows, waits)
    trace = write_trace(folder, f"random{seed}", rows, hashed, waits)
    longest = max(length + output for _, length, output, _ in rows)
    paths = {}
    if waits and people.random() < 0.6:
        paths["workload.answers"] = people.choice(["auto", "session", "unknown"])
    if waits and loops.random() < 0.6:
        scale = f"think_scale={loops.choice(['0', '0.5', '3', '1'])}"
        paths["workload.sessions"] = loops.choice(["open", "stated", "stated:" + scale])
    if draw.random() < 0.3:
        paths["workload.limit"] = draw.randint(1, count)
    if draw.random() < 0.5:
        paths["workload.rate_scale"] = draw.choice(["2", "0.3", "7/3", "10", "1000", "1/9"])

    engine = [f"token_budget={draw.choice([97, 512, 2048, 8192] if hashed else [1, 7, 100, 512, 8192])}"]
    if draw.random() < 0.3:
        engine.append(f"max_seqs={draw.choice([1, 2, 3, 8, 20])}")
    if draw.random() < 0.4:
        threshold = draw.choice([64, 300, 1000] if hashed else [1, 5, 30, 100])
        engine.append(f"long_prefill_threshold={threshold}")
    if draw.random() < 0.25:
        engine.append("prefix_cache=false")
    reserve = draw.choice(["oracle", "max", "pow2", "output-pow2"])
    if reserve == "max" or draw.random() < 0.2:
        engine.append(f"max_model_len={max(2, int(longest * draw.choice([0.5, 0.9, 1, 1.3])))}")
    paths["engine"] = "vllm-v1:" + ",".join(engine)

    block = draw.choice([16, 32, 64, 128, 512] if hashed else [1, 2, 3, 4, 8, 16, 50])
    tokens = int(longest * draw.choice([0.6, 1, 1, 1.2, 1.5, 2, 4]))
    if draw.random() < 0.75:
        paths["memory.allocator"] = f"paged:block_tokens={block}"
        blocks = max(2, run_oracle.cdiv(tokens, block) + 1)
    else:
        paths["memory.allocator"] = f"contiguous:fit=first,reserve={reserve}"
        blocks, block = 2 * tokens, 1
    unit = draw.choice(["pool_tokens", "pool_bytes"] + ["pool_blocks"] * (block > 1))
    token_bytes = run_oracle.LLAMA_3_8B_TOKEN_BYTES
    size = {"pool_blocks": 1, "pool_tokens": block, "pool_bytes": block * token_bytes}[unit]
    paths["memory." + unit] = blocks * size + draw.randrange(size)

    base = draw.choice([0, "1000000", "5000000", "12345.6789"])
    paths["latency"] = f"affine:base_ns={base},token_ns={draw.choice([0, 100, 33.33333])}"
    paths["latency"] += f",context_ns={draw.choice([0, 10, 0.00123, 0.5])}"
    kept, kind = draw.choice([1, 2, 5, 16, 30, 100, 500]), draw.random()
    if kind < 0.3:
        paths["eviction"] = f"window:window={kept},placement=holes"
    elif kind < 0.6:
        sink = draw.choice([0, 1, 4, 5, 16, 33])
        paths["eviction"] = f"streaming-llm:sink={sink},recent={kept},placement=holes"
    take_compact(random.Random(f"compact {seed}"), paths, longest)
    choose = random.Random(f"replacement {seed}")
    if paths["memory.allocator"].startswith("paged") and choose.random() < 0.4:
        paths["memory.replacement"] = choose.choice(["lru", "fifo", "lfu", "vllm-queue"])
    if draw.random() < 0.15:
        paths["fleet.replicas"] = draw.randint(2, 4)
    fleet = random.Random(f"fleet {seed}")
    if fleet.random() < 0.5:
        paths["fleet.replicas"] = fleet.choice([1, 2, 2, 3, 5])
        names = ["least-loaded", "least-loaded:by=tokens", "least-loaded:by=blocks", "vllm-dp", "round-robin"]
        names += ["session-affine", "session-affine:by=tokens", "session-affine:by=blocks"]
        paths["fleet.router"] = fleet.choice(names)
    return trace, paths


def fixed_traces(folder):
    draw = random.Random(1)
    write_trace(folder, "shared", random_rows(draw, True, 120, [0, 0, 20, 50, 300], 0), True)
    write_trace(folder, "lengths", random_rows(draw, False, 200, [0, 1, 5, 20, 100], 400), False)


# ----------------------------------------------------------------------------------------------------- golden


def golden_table(folder, name):
    with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as file:
        return [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]


def golden(folder, count):
    """Unit steps on the `micro` trace; of its first `count` requests, what ends before the next arrives."""
    variants = {
        "b128_n256": "token_budget=1024,max_seqs=16",
        "b16_n1024": "token_budget=2048,max_seqs=64,long_prefill_threshold=300",
        "b16_n1024_nocache": "token_budget=2048,max_seqs=64,prefix_cache=false",
    }
    failed = 0
    for name, engine in variants.items():
        block, blocks = (int(part[1:]) for part in name.split("_")[:2])
        parameters = run_oracle.Parameters(
            {
                "engine": "vllm-v1:" + engine,
                "latency": "affine:base_ns=0.0009765625",
                "memory.allocator": f"paged:block_tokens={block}",
                "memory.pool_blocks": blocks,
            }
        )
        requests = run_oracle.read_trace(os.path.join(folder, "micro_trace.jsonl"))
        for request in requests:
            request.arrival = request.arrival_ns // 10**6 // 50
        end = requests[count].arrival if count < len(requests) else 10**9
        replica = run_oracle.Replica(parameters)
        replica.note = lambda *_: None  # the schedule alone
        run_oracle.run_fleet(parameters, [replica], requests[:count])
        steps = [row for row in golden_table(folder, f"sched_micro_{name}_step.csv.gz") if row[0] < end]
        table = golden_table(folder, f"sched_micro_{name}_req.csv.gz")[:count]
        rows = [
            (r.index, r.length, r.output, r.arrival, r.first_scheduled, r.first_token - 1, r.finish - 1)
            + (r.prefix_hit, r.prefix_hit + r.rehit, r.admissions, r.preemptions, r.computed_tokens)
            for r in replica.requests
        ]
        pairs = [(a, b) for a, b in zip(table, rows) if a[6] < end]
        wrong = [(a, b) for a, b in pairs if a != b]
        wrong += [(a, b) for a, b in zip(steps, replica.steps) if a != b]
        short = len(replica.steps) < len(steps) or not pairs
        bad = bool(wrong) or short
        failed += bad
        verdict = "DIFFERS" if bad else "equal"
        print(f"{verdict}  sched_micro_{name}: {len(steps)} steps, {len(pairs)} requests")
        for a, b in wrong[:10]:
            print(f"    golden {a}\n    oracle {b}")
    return 1 if failed else 0


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--random", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases")
    parser.add_argument("--traces")
    parser.add_argument("--walk", action="store_true")
    parser.add_argument("--golden")
    parser.add_argument("--requests", type=int, default=10**9)
    options = parser.parse_args()
    if options.golden:
        return golden(options.golden, options.requests)
    if not options.program:
        parser.error("which program?")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        if options.random is None:
            fixed_traces(folder)
            with open(options.cases or os.path.join(HERE, "cases.json"), encoding="utf-8") as file:
                for case in json.load(file):
                    trace = os.path.join(options.traces or folder, case["trace"])
                    results.append(compare(options.program, trace, case["set"], options.walk))
        count = options.random if options.random is not None else 0 if options.cases else 60
        for seed in range(options.seed, options.seed + count):
            trace, paths = random_case(seed, folder)
            results.append(compare(options.program, trace, paths, options.walk))
    print(f"{len(results)} cases, {results.count(False)} differ")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
