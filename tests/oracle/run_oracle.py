#!/usr/bin/env python3
"""A second implementation of serving runs, written from the definitions alone.

It shares no code and no idea of speed with the program: one step at a time, one request at a time, and one
block at a time with a bit per cell where the ledger is concerned. Times are integers (ticks of 2^-10 ns),
sums are integers, means are fractions until they are printed. It reads Mooncake-like JSONL or the Azure CSV.

    run_oracle.py TRACE PARAMETERS.json [--requests FILE.csv] [--walk]      report (JSON) on standard output

PARAMETERS is an object of scenario paths and their values, written as after `--set`, for example
    {"workload.limit": 200, "memory.allocator": "paged:block_tokens=16", "memory.pool_blocks": 1024,
     "engine": "vllm-v1:token_budget=1024,max_seqs=16",
     "latency": "affine:base_ns=5000000,token_ns=20,context_ns=0.01",
     "eviction": "window:window=100,placement=holes", "fleet.replicas": 3}
`--walk` counts every cell of the pool after every event, without it only those of blocks that were touched.

Rows of the JSONL may have `request_id`, `wait_for` (a list of such ids) and `delay` (ms): closed loops. And
`session_id`, which a router may go by: a row that names no other waits for the one before it in its session.

Covered: engine vllm-v1, latency affine, allocators paged (replacement vllm-queue, lru, fifo and lfu) and
contiguous (fit first), eviction none, window and streaming-llm with placement holes; these, h2o, tova, scissorhands
with drop=1 and snapkv with placement compact, where only the numbers of kept tokens count; several replicas with the
routers round-robin, least-loaded, session-affine and vllm-dp (oracle_fleet.py), sessions stated and open, a model
with one kind of layer. The scheduler is that of vLLM v0.15.1 (v1/core/sched/scheduler.py) as far as it decides what
a run shows.
"""

import csv
import datetime
import io
import json
import sys
from collections import deque
from fractions import Fraction

from oracle_pools import CompactPool, ContiguousPool, PagedPool, cdiv
from oracle_fleet import run_fleet
from oracle_results import COLUMNS, TICKS_PER_NS, report, request_row
from oracle_answers import hold_answers
from oracle_turns import set_arrivals

LLAMA_3_8B_TOKEN_BYTES = 131072  # 32 layers x 8 heads x (128 + 128) x 2 bytes, the model of a default run
LLAMA_3_8B_STORED_HEADS = 32 * 8  # of a token, over its layers


# ---------------------------------------------------------------------------------------------- parameters


def component(text):
    """'NAME:key=value,key=value' as (NAME, {key: value}); values stay text."""
    name, _, rest = str(text).partition(":")
    return name, dict(item.split("=", 1) for item in rest.split(",") if item)


def decimal_ticks(text):
    """A decimal count of nanoseconds, rounded to the nearest tick, halves up."""
    exact = Fraction(str(text)) * TICKS_PER_NS
    return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


class Parameters:
    def __init__(self, paths):
        paths = dict(paths)
        self.limit = paths.pop("workload.limit", None)
        self.rate_scale = Fraction(str(paths.pop("workload.rate_scale", "1")))
        self.metadata_bytes = 0  # of a token, beside its keys and values
        self.sessions, loops = component(paths.pop("workload.sessions", "stated"))
        self.answers = paths.pop("workload.answers", "auto")
        assert self.sessions in ("stated", "open"), self.sessions
        self.think_scale = Fraction(loops.pop("think_scale", "1"))
        self.max_think_ns = int(loops.pop("max_think_s", 4000000)) * 10**9

        name, engine = component(paths.pop("engine", "vllm-v1"))
        assert name == "vllm-v1", name
        self.token_budget = int(engine.pop("token_budget", 8192))
        self.max_seqs = int(engine.pop("max_seqs", 256))
        self.threshold = int(engine.pop("long_prefill_threshold", 0))
        self.max_model_len = int(engine.pop("max_model_len", 262144))
        self.prefix_cache = engine.pop("prefix_cache", "true") == "true"

        name, latency = component(paths.pop("latency"))
        assert name == "affine", name
        self.base, self.per_token, self.per_context = (
            decimal_ticks(latency.pop(key, 0)) for key in ("base_ns", "token_ns", "context_ns")
        )

        self.allocator, allocator = component(paths.pop("memory.allocator"))
        assert self.allocator in ("paged", "contiguous"), self.allocator
        self.block = int(allocator.pop("block_tokens", 16)) if self.allocator == "paged" else 1
        self.replacement = paths.pop("memory.replacement", "vllm-queue")
        assert self.replacement in ("vllm-queue", "lru", "fifo", "lfu"), self.replacement
        self.reserve = allocator.pop("reserve", "oracle")
        assert allocator.pop("fit", "first") == "first"

        self.sink, self.recent = 0, None  # None: nothing is ever dropped
        self.compact = None  # else (budget, is the prompt alone cut to it?)
        name, eviction = component(paths.pop("eviction", "none"))
        placement = eviction.pop("placement", "holes")
        if placement == "compact":
            self.counts(name, eviction)
        elif name == "window":
            self.recent = int(eviction.pop("window"))
        elif name == "streaming-llm":
            self.sink, self.recent = int(eviction.pop("sink")), int(eviction.pop("recent"))
        else:
            assert name in ("none", "full"), name
        assert placement in ("holes", "compact"), placement
        self.token_bytes = LLAMA_3_8B_TOKEN_BYTES + self.metadata_bytes
        self.pool(paths)

        self.replicas = int(paths.pop("fleet.replicas", 1))
        self.router, router = component(paths.pop("fleet.router", "round-robin"))
        assert self.router in ("round-robin", "least-loaded", "session-affine", "vllm-dp"), self.router
        self.by = router.pop("by", "requests")
        left = {**paths, **loops, **engine, **latency, **allocator, **eviction, **router}
        assert not left, f"parameters that this implementation lacks: {left}"

    def counts(self, name, eviction):
        """Placement compact: how many tokens stay."""
        assert self.allocator == "paged"
        self.prefix_cache = False
        number = lambda key: int(eviction.pop(key))
        if name == "h2o":
            self.compact = (number("hh") + number("recent"), False)
            self.metadata_bytes = 4 * LLAMA_3_8B_STORED_HEADS
        elif name == "tova":
            self.compact = (number("budget"), False)
        elif name == "scissorhands":
            assert number("drop") == 1
            self.compact = (number("budget"), False)
            eviction.pop("recent", None)
            rows = int(eviction.pop("history", 400))
            self.metadata_bytes = cdiv(rows, 8) * LLAMA_3_8B_STORED_HEADS  # a bit for each row
        elif name == "window":
            self.compact = (number("window"), False)
        elif name == "streaming-llm":
            self.compact = (number("sink") + number("recent"), False)
        else:
            assert name == "snapkv", name
            self.compact = (number("capacity"), True)
            for key in ("window", "kernel", "pooling"):
                eviction.pop(key, None)

    def pool(self, paths):
        """Capacity in bytes, quanta that requests can use, and bytes that no cell ever maps to."""
        quantum_bytes = self.block * self.token_bytes
        if "memory.pool_blocks" in paths:
            assert self.allocator == "paged"
            quanta = int(paths.pop("memory.pool_blocks"))
            self.capacity_bytes = quanta * quantum_bytes
        elif "memory.pool_tokens" in paths:
            tokens = int(paths.pop("memory.pool_tokens"))
            quanta = tokens // self.block
            self.capacity_bytes = tokens * self.token_bytes
        else:
            self.capacity_bytes = int(paths.pop("memory.pool_bytes"))
            quanta = self.capacity_bytes // quantum_bytes
        if self.allocator == "paged":
            quanta -= 1  # the null block
        self.quanta = max(quanta, 0)
        self.padding_bytes = self.capacity_bytes - self.quanta * quantum_bytes

    def reservation(self, prompt, final):
        if self.reserve == "max":
            return self.max_model_len
        if self.reserve == "pow2":
            size = 1
            while size < final:
                size *= 2
            return min(size, self.max_model_len)
        if self.reserve == "output-pow2":
            output = final + 1 - prompt
            return min(prompt + 2 ** (output - 1).bit_length() - 1, self.max_model_len)
        return final


# --------------------------------------------------------------------------------------------------- trace


class Request:
    """One request: what the trace says, what happened to it, and what it holds."""

    def __init__(self, index, arrival_ns, length, output, hashes=None, hash_block=512):
        self.index, self.arrival_ns, self.length, self.output = index, arrival_ns, length, output
        self.hashes, self.hash_block = hashes, hash_block
        self.named, self.names = length, hashes  # leading tokens with names; see oracle_answers.py
        self.final = length + output - 1  # cells written in the end: the last token is never written
        self.after, self.think_ns = [], None  # indexes of those it waits for; the recorded pause
        self.awaited, self.followers, self.pause = set(), [], 0  # ticks; see oracle_turns.py
        self.arrival = None  # ticks since the first arrival
        self.session, self.replica = None, None
        self.status = "unfinished"
        self.first_scheduled = self.first_token = self.finish = None
        self.admissions = self.preemptions = self.computed_tokens = self.prefix_hit = self.rehit = 0
        self.generated = 0
        self.let_go()

    def let_go(self):
        self.computed = 0  # cells that are written, or hit
        self.table = []  # block per B positions, None where the block was let go
        self.dropped = []  # a bit per dropped cell, per entry of the table
        self.kept = 0  # computed cells not dropped
        self.cut = False  # placement compact: its prompt, or what is recomputed, has been whole
        self.drop_end = None  # cells from the sink up to here are dropped; None before the first real drop
        self.hashed = 0  # table entries with a published hash
        self.slots = None  # contiguous: (address, size)

    @property
    def tokens(self):
        return self.length + self.generated

    def content(self, number, size):
        """What block `number` of `size` tokens holds, apart from the blocks before it."""
        begin = number * size
        last = begin + size - 1  # equal names of a last token: equal contents, and equal ones before
        if self.hashes is not None and last < self.named and last // self.hash_block < len(self.names):
            return (self.names[last // self.hash_block], last % self.hash_block)
        return ("own", self.index, number)


def read_trace(path):
    with open(path, "rb") as file:
        text = file.read().decode()
    if text.lstrip().startswith("{"):
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        places = {row["request_id"]: i for i, row in enumerate(rows) if "request_id" in row}
        requests = []
        for i, row in enumerate(rows):
            request = Request(
                i, row["timestamp"] * 10**6, row["input_length"], row["output_length"], row["hash_ids"]
            )
            request.session = row.get("session_id")
            same = [r.index for r in requests if r.session is not None and r.session == request.session]
            named = row.get("wait_for")  # an empty list: it waits for no other
            request.after = same[-1:] if named is None else [places[name] for name in named]
            request.think_ns = row["delay"] * 10**6 if "delay" in row else None
            requests.append(request)
        return requests
    requests = []
    for i, row in enumerate(csv.DictReader(io.StringIO(text))):
        whole, _, part = row["TIMESTAMP"].partition(".")
        since = datetime.datetime.fromisoformat(whole) - datetime.datetime(1970, 1, 1)
        ns = since // datetime.timedelta(seconds=1) * 10**9 + int(part.ljust(9, "0"))
        requests.append(Request(i, ns, int(row["ContextTokens"]), int(row["GeneratedTokens"])))
    return requests


# ------------------------------------------------------------------------------------------------- a replica


class Replica:
    def __init__(self, parameters, walk=False):
        self.p = parameters
        pools = {"paged": PagedPool, "contiguous": ContiguousPool}
        self.pool = (CompactPool if parameters.compact else pools[parameters.allocator])(parameters, walk)
        self.running, self.waiting = [], deque()
        self.scheduled, self.step_end = None, None  # of the step in progress
        self.requests = []  # sent here
        self.preemptions = self.iterations = self.dropped = self.let_go = 0
        self.moments = []  # (tick, is a scheduling pass, states in cells, members of the running list)
        self.steps = []  # rows of the golden step table

    def arrive(self, request, now):
        """False: it is rejected."""
        self.requests.append(request)
        too_long = request.length + request.output > self.p.max_model_len
        empty = request.length == 0 or request.output == 0
        if empty or too_long or not self.pool.fits_ever(request):
            request.status = "rejected"
            return False
        self.waiting.append(request)
        return True

    def begin_step(self, now):
        evicted_before = self.pool.evicted
        scheduled, preempted, refused = self.schedule(now)
        assert scheduled
        self.note(now, True, refused)
        context = sum(request.kept for request in scheduled)
        tokens = sum(scheduled.values())
        self.scheduled = scheduled
        self.step_end = now + self.p.base + self.p.per_token * tokens + self.p.per_context * context
        sampled = sum(r.computed + new == r.tokens for r, new in scheduled.items())
        if isinstance(self.pool, PagedPool):
            hashes = len(self.pool.found)
            row = (now, len(self.running), len(self.waiting), tokens, len(scheduled), sampled, preempted)
            self.steps.append(row + (self.pool.held(), self.pool.evicted - evicted_before, hashes))
        self.iterations += 1

    def end_step(self):
        """Requests that finish."""
        scheduled, end = self.scheduled, self.step_end
        self.scheduled = self.step_end = None
        return self.finish_step(scheduled, end)

    def load(self, by):
        """What a router may go by."""
        if by == "blocks":
            return self.pool.held()
        known = self.running + list(self.waiting)
        return sum(request.tokens for request in known) if by == "tokens" else len(known)

    def schedule(self, now):
        p, budget, refused = self.p, self.p.token_budget, False
        scheduled, preempted = {}, 0
        turn = 0
        while turn < len(self.running) and budget > 0:
            request = self.running[turn]
            new = self.chunk(request.tokens - request.computed, budget)
            new = min(new, p.max_model_len - 1 - request.computed)
            assert new > 0
            fits = self.pool.allocate(request, new)
            while not fits:
                refused = True
                victim = self.running.pop()
                self.pool.free(victim)
                victim.let_go()
                victim.preemptions += 1
                self.waiting.appendleft(victim)
                preempted += 1
                if victim is request:
                    break
                fits = self.pool.allocate(request, new)
            if not fits:
                break
            scheduled[request] = new
            budget -= new
            turn += 1
        self.preemptions += preempted
        while not preempted and self.waiting and budget > 0 and len(self.running) < p.max_seqs:
            request = self.waiting[0]
            hits = self.pool.lookup(request)
            cached = len(hits) * p.block
            new = self.chunk(request.tokens - cached, budget)
            if not self.pool.allocate(request, new, hits):
                refused = True
                break
            self.waiting.popleft()
            self.running.append(request)
            request.computed = request.kept = cached
            if request.admissions == 0:
                request.first_scheduled, request.prefix_hit = now, cached
            else:
                request.rehit += cached
            request.admissions += 1
            scheduled[request] = new
            budget -= new
        return scheduled, preempted, refused

    def chunk(self, new, budget):
        if 0 < self.p.threshold < new:
            new = self.p.threshold
        return min(new, budget)

    def finish_step(self, scheduled, end):
        finished = []
        for request, new in scheduled.items():
            self.pool.write(request, request.computed, request.computed + new)
            request.computed += new
            request.kept += new
            request.computed_tokens += new
        for request in scheduled:
            if request.computed < request.tokens:
                continue
            request.generated += 1
            if request.generated == 1:
                request.first_token = end
            if request.generated == request.output:
                request.finish, request.status = end, "completed"
                self.running.remove(request)
                self.pool.free(request)
                request.let_go()
                finished.append(request)
            elif self.p.compact:
                self.keep(request)
            elif self.p.recent is not None:
                self.drop(request)
        return finished

    def keep(self, request):
        budget, once = self.p.compact
        if not once:
            request.kept = min(request.computed, budget)
        elif not request.cut:  # the first token since its admission
            request.kept = min(request.computed, budget)
        request.cut = True
        dropped, blocks = self.pool.keep(request, request.kept)
        self.dropped += dropped
        self.let_go += blocks

    def drop(self, request):
        begin = self.p.sink if request.drop_end is None else request.drop_end
        end = request.computed - self.p.recent
        if end <= begin:
            return
        request.drop_end = end
        request.kept -= end - begin
        self.dropped += end - begin
        self.let_go += self.pool.drop(request, begin, end)

    def note(self, now, is_pass, refused):
        self.moments.append((now, is_pass, self.pool.states(refused), len(self.running)))


def simulate(path, paths, walk=False):
    """Report and request rows of one run."""
    p = Parameters(paths)
    requests = read_trace(path)[: p.limit]
    hold_answers(requests, p.answers)
    set_arrivals(requests, p)
    replicas = [Replica(p, walk) for _ in range(p.replicas)]
    run_fleet(p, replicas, requests)
    return report(p, requests, replicas), [request_row(request) for request in requests]


def main(arguments):
    walk = "--walk" in arguments
    arguments = [argument for argument in arguments if argument != "--walk"]
    table = None
    if "--requests" in arguments:
        at = arguments.index("--requests")
        table = arguments[at + 1]
        del arguments[at : at + 2]
    trace, parameters = arguments
    with open(parameters, encoding="utf-8") as file:
        result, rows = simulate(trace, json.load(file), walk)
    if table:
        with open(table, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    json.dump(result, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
