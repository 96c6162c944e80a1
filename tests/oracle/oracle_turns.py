"""When requests arrive that wait for others: the rules of sessions, for run_oracle.py.

A request that waits arrives when all of those before it have ended and its pause has passed. The pause is the
recorded one; where the trace says none (this program reads no recorded ends) it is 0, and the request comes no
earlier than its recorded distance to the start of its group, which is all that waits join.
"""

from fractions import Fraction

TICKS_PER_NS = 1024


def floor(value):
    return value.numerator // value.denominator


def groups_of(requests):
    """Lists of requests that waits join, each by index."""
    neighbours = {request.index: set() for request in requests}
    for request in requests:
        for before in request.after:
            neighbours[request.index].add(before)
            neighbours[before].add(request.index)
    groups, seen = [], set()
    for request in requests:
        if request.index in seen:
            continue
        group, reached = [], [request.index]
        seen.add(request.index)
        while reached:
            index = reached.pop()
            group.append(index)
            fresh = neighbours[index] - seen
            seen |= fresh
            reached += fresh
        groups.append([requests[index] for index in sorted(group)])
    return groups


def set_arrivals(requests, p):
    """Sets `arrival` (ticks; the earliest if it waits), `pause`, `awaited` and `followers` of each request."""
    for request in requests:
        within = [index for index in request.after if index < len(requests)] if p.sessions == "stated" else []
        request.after = sorted(set(within))
        request.followers = []
        request.pause = 0
    for request in requests:
        request.awaited = {requests[index] for index in request.after}
        for before in request.awaited:
            before.followers.append(request)
    first = min(request.arrival_ns for request in requests)
    for group in groups_of(requests):
        start = min(request.arrival_ns for request in group)
        start_ticks = floor(Fraction((start - first) * TICKS_PER_NS) / p.rate_scale)
        for request in group:
            request.arrival = start_ticks + (request.arrival_ns - start) * TICKS_PER_NS
            if request.awaited and request.think_ns is not None:
                request.arrival = 0
                think = min(Fraction(request.think_ns) * p.think_scale, Fraction(p.max_think_ns))
                request.pause = floor(think * TICKS_PER_NS)
