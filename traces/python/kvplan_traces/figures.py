"""The figures of `kvplan trace info`, computed piece by piece. traces/README.md defines them."""

import math

import numpy as np

from .wire import text_bytes

_PERCENTILES = (("p50", 50), ("p95", 95), ("p99", 99))
_NO_WAITS = np.empty(0, np.int32)


class _Sharing:
    """Prefix references that hit in a cache that never forgets."""

    def __init__(self):
        self.distinct = self.references = self.hit_blocks = self.hit_tokens = self.tokens = 0

    def add(self, columns, block_tokens):
        ids, counts = columns.hash_ids, columns.hash_count
        rows = np.repeat(np.arange(len(columns)), counts)
        # Ids are numbered by first appearance, so those of earlier pieces are the small ones.
        new, first = np.unique(ids, return_index=True)
        first_row = rows[first[new >= self.distinct]]
        seen = ids < self.distinct
        seen[~seen] = first_row[ids[~seen] - self.distinct] < rows[~seen]
        ends = np.cumsum(counts)
        # A run of hits ends at the first reference that misses.
        misses = np.concatenate((np.flatnonzero(~seen), [len(ids)]))
        run_ends = np.minimum(misses[np.searchsorted(misses, ends - counts)], ends)
        hits = run_ends - (ends - counts)
        self.distinct += len(first_row)
        self.references += len(ids)
        self.hit_blocks += int(hits.sum())
        self.hit_tokens += int(np.minimum(hits * block_tokens, columns.input_tokens).sum())
        self.tokens += int(columns.input_tokens.sum())


def _lengths(counts):
    """Figures of lengths. `counts` is {length: number of requests}."""
    values = np.array(sorted(counts), np.int64)
    times = np.array([counts[value] for value in values.tolist()], np.int64)
    total, ends = int(times.sum()), np.cumsum(times)
    out = {"mean": _ratio(sum(value * n for value, n in counts.items()), total)}
    for name, percent in _PERCENTILES:
        out[name] = int(values[np.searchsorted(ends, -(-percent * total // 100))])  # nearest rank
    return {**out, "max": int(values[-1])}


def _count(counts, column):
    for value, n in zip(*(part.tolist() for part in np.unique(column, return_counts=True))):
        counts[value] = counts.get(value, 0) + n


def _ratio(part, whole):
    return float(part) / float(whole) if whole else None


def _times(arrivals):
    """Span, rate and variation of the gaps, computed in kvplan's order of operations: equal to the last bit."""
    arrivals = np.sort(arrivals)
    span = (int(arrivals[-1]) - int(arrivals[0])) / 1e9
    out = {"span_s": span, "rate_per_s": None, "interarrival_cv": None}
    if span > 0:
        gaps = len(arrivals) - 1
        # The difference of two 64-bit times fits 64 bits without a sign.
        off = np.diff(arrivals).view(np.uint64).astype(np.float64) / 1e9 - span / gaps
        squares = float(np.cumsum(off * off)[-1])
        out.update(rate_per_s=gaps / span, interarrival_cv=math.sqrt(squares / gaps) / (span / gaps))
    return out


def _longest_chain(request, before):
    """The most requests of which each waits for the previous one; None where waits form a cycle."""
    numbers, places = np.unique(np.concatenate((request, before)), return_inverse=True)
    waiting, first = places[: len(request)], places[len(request) :]
    order = np.argsort(first, kind="stable")
    followers = waiting[order].tolist()
    ends = np.cumsum(np.bincount(first, minlength=len(numbers)))
    starts, ends = (ends - np.diff(ends, prepend=0)).tolist(), ends.tolist()
    open_waits = np.bincount(waiting, minlength=len(numbers))
    free = np.flatnonzero(open_waits == 0).tolist()
    open_waits, length, done = open_waits.tolist(), [1] * len(numbers), 0
    while free:
        at = free.pop()
        done += 1
        for follower in followers[starts[at] : ends[at]]:
            length[follower] = max(length[follower], length[at] + 1)
            open_waits[follower] -= 1
            if not open_waits[follower]:
                free.append(follower)
    return max(length) if done == len(numbers) else None


def _turns(waits):
    """Figures of waits. `waits` is a list of pairs of columns."""
    request, before = (np.concatenate(columns) for columns in zip((_NO_WAITS, _NO_WAITS), *waits))
    if not request.size:
        return None
    return {"waiting": len(np.unique(request)), "waits": len(request), "longest_chain": _longest_chain(request, before)}


def _readable(texts):
    """Texts for people; bytes that are not UTF-8 become U+FFFD."""
    return [text_bytes(text).decode("utf-8", "replace") for text in texts]


def describe(header, pieces, digest):
    """`pieces`: columns in the order of the file. Of all requests, only arrivals and waits are kept in memory.
    """
    requests = sessions = 0
    arrivals, waits, inputs, outputs, sharing = [], [], {}, {}, _Sharing()
    for columns in pieces:
        requests += len(columns)
        sessions += len(columns.session_names)
        arrivals.append(columns.arrival_ns)
        waits.append((columns.wait_request, columns.wait_before))
        _count(inputs, columns.input_tokens)
        _count(outputs, columns.output_tokens)
        if columns.hash_ids is not None:
            sharing.add(columns, header.block_tokens)
    unknown = {"span_s": None, "rate_per_s": None, "interarrival_cv": None}
    prefix = None
    if header.block_tokens:
        prefix = {"block_tokens": header.block_tokens, "references": sharing.references, "distinct": sharing.distinct,
                  "infinite_hit_blocks": _ratio(sharing.hit_blocks, sharing.references),
                  "infinite_hit_tokens": _ratio(sharing.hit_tokens, sharing.tokens)}
    return {"requests": requests, "sessions": sessions,
            **(unknown if header.times_per_session else _times(np.concatenate(arrivals))),
            "input_tokens": _lengths(inputs), "output_tokens": _lengths(outputs), "prefix": prefix,
            "turns": _turns(waits), "warnings": _readable(header.warnings), "digest": digest,
            "format": _readable([header.format])[0], "sources": _readable(header.sources),
            "options": _readable(header.options)}
