"""Reports and request rows of finished replicas, for run_oracle.py."""

from fractions import Fraction

from oracle_pools import cdiv

TICKS_PER_NS = 1024
TICKS_PER_S = TICKS_PER_NS * 10**9
STATES = ("metadata", "live", "reserved", "hole", "tail", "padding", "internal", "cached", "stranded", "free")
COLUMNS = (
    "request,arrival_ns,input_tokens,output_tokens,status,first_scheduled_ns,first_token_ns,finish_ns,"
    "preemptions,computed_tokens,prefix_hit_tokens,replica"
).split(",")


def number(value):
    return None if value is None else float(value)


def over(value, by):
    return None if by == 0 else float(Fraction(value) / by)


def distribution(values):
    """Mean and nearest-rank percentiles of exact values."""
    keys = ("mean", "p50", "p90", "p95", "p99", "max")
    if not values:
        return dict.fromkeys(keys)
    values = sorted(values)
    ranks = (values[cdiv(len(values) * q, 100) - 1] for q in (50, 90, 95, 99, 100))
    return dict(zip(keys, map(float, (Fraction(sum(values)) / len(values), *ranks))))


def memory_and_batch(p, replicas, span):
    """The joined life of some replicas: mean and peak states, mean and greatest running."""
    quantum = p.token_bytes
    cuts = sorted({moment[0] for replica in replicas for moment in replica.moments} | {0})
    zero = (0, False, {"free": p.quanta * p.block}, 0)
    at = [0] * len(replicas)  # moments that have been passed
    areas = dict.fromkeys(STATES, 0)
    running_area = max_running = hole_peak = 0
    peak = None
    for cut, after in zip(cuts, cuts[1:] + [max(span, cuts[-1])]):
        # Steps may last no time: each of the moments of one tick is seen, those of the lower replica first.
        looks = []
        for i, replica in enumerate(replicas):
            while at[i] < len(replica.moments) and replica.moments[at[i]][0] == cut:
                at[i] += 1
                looks.append((replica.moments[at[i] - 1][1], list(at)))
        if len(replicas) > 1:  # several replicas: the states of one instant are those when all have acted
            looks = [(any(is_pass for is_pass, _ in looks), list(at))]
        for is_pass, place in looks or [(False, list(at))]:
            nows = [r.moments[k - 1] if k else zero for r, k in zip(replicas, place)]
            cells = {s: sum(now[2].get(s, 0) for now in nows) for s in STATES}
            running = sum(now[3] for now in nows)
            states = {s: c * quantum for s, c in cells.items()}
            states["metadata"] = cells["live"] * p.metadata_bytes
            states["live"] -= states["metadata"]
            states["padding"] = p.padding_bytes * len(replicas)
            assert sum(states.values()) == p.capacity_bytes * len(replicas), (states, p.capacity_bytes)
            available = states["cached"] + states["stranded"] + states["free"]
            hole_peak = max(hole_peak, states["hole"])
            if is_pass:
                max_running = max(max_running, running)
                if peak is None or available < peak[0]:
                    peak = (available, cut, states)
        lasts = min(after, span) - cut
        if lasts > 0:
            running_area += running * lasts
            for state in STATES:
                areas[state] += states[state] * lasts
    capacity = p.capacity_bytes * len(replicas)
    memory = {
        "capacity_bytes": capacity,
        "mean_bytes": {s: over(a, span) for s, a in areas.items()},
        "mean_fraction": {s: over(a, span * capacity) for s, a in areas.items()},
        "peak": {
            "time_s": number(Fraction(peak[1], TICKS_PER_S)) if peak else None,
            "bytes": peak[2] if peak else dict.fromkeys(STATES),
        },
    }
    return memory, {"mean_running": over(running_area, span), "max_running": max_running}, hole_peak


def report(p, requests, replicas):
    done = [request for request in requests if request.status == "completed"]
    span = max((request.finish for request in done), default=0)
    seconds = Fraction(span, TICKS_PER_S)
    memory, batch, hole_peak = memory_and_batch(p, replicas, span)
    input_tokens, output_tokens = sum(r.length for r in done), sum(r.output for r in done)
    times = {
        "ttft": [Fraction(r.first_token - r.arrival, TICKS_PER_S) for r in done],
        "tpot": [
            Fraction(r.finish - r.first_token, TICKS_PER_S * (r.output - 1)) for r in done if r.output > 1
        ],
        "e2e": [Fraction(r.finish - r.arrival, TICKS_PER_S) for r in done],
        "queue": [Fraction(r.first_scheduled - r.arrival, TICKS_PER_S) for r in done],
    }
    return {
        "requests": {
            "arrived": len(requests),
            "completed": len(done),
            "rejected": sum(r.status == "rejected" for r in requests),
            "unfinished": sum(r.status == "unfinished" for r in requests),
            "preempted": sum(r.preemptions > 0 for r in requests),
        },
        "preemptions": sum(replica.preemptions for replica in replicas),
        "iterations": sum(replica.iterations for replica in replicas),
        "makespan_s": float(seconds),
        "tokens": {
            "input": input_tokens,
            "output": output_tokens,
            "computed": sum(r.computed_tokens for r in requests),
            "recomputed": sum(r.computed_tokens - (r.final - r.prefix_hit) for r in done),
            "prefix_hit": sum(r.prefix_hit for r in requests),
            "rehit": sum(r.rehit for r in requests),
        },
        "batch": batch,
        "latency_s": {name: distribution(values) for name, values in times.items()},
        "throughput": {
            "requests_per_s": over(len(done), seconds),
            "output_tokens_per_s": over(output_tokens, seconds),
        },
        "memory": memory,
        "evictions": {
            "tokens": sum(replica.dropped for replica in replicas),
            "blocks_freed": sum(replica.let_go for replica in replicas),
            "hole_bytes_peak": hole_peak,
            "compactions": sum(getattr(replica.pool, "compactions", 0) for replica in replicas),
            "compaction_bytes": sum(getattr(replica.pool, "compacted_cells", 0) for replica in replicas)
            * p.token_bytes,
        },
        "replicas": [replica_report(p, replica, span) for replica in replicas],
    }


def replica_report(p, replica, span):
    memory, batch, _ = memory_and_batch(p, [replica], span)
    del memory["peak"]  # the program gives the replica's share of the joined peak
    return {
        "requests": len(replica.requests),
        "completed": sum(r.status == "completed" for r in replica.requests),
        "preemptions": replica.preemptions,
        "iterations": replica.iterations,
        "batch": batch,
        "memory": memory,
    }


def request_row(request):
    ns = lambda ticks: "" if ticks is None else str(ticks // TICKS_PER_NS)
    values = (request.index, ns(request.arrival), request.length, request.output, request.status)
    values += (ns(request.first_scheduled), ns(request.first_token), ns(request.finish))
    values += (request.preemptions, request.computed_tokens, request.prefix_hit, request.replica)
    return dict(zip(COLUMNS, map(str, values)))
