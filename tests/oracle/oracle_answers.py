"""Answers in the prompts of later turns: the rule of workload.answers, for run_oracle.py.

The turn before a prompt is, of the earlier requests in its session and those that it waits for, the one with the most
whole ids that the prompt begins with; of several, the latest. `auto`: the prompt holds the answer if it is at least as
long as both, and no request up to that turn has its id at the begin of the answer. `session`: it holds as much of both
as fits.
"""


def turn_before(requests, request):
    best, whole_of_best = None, -1
    for other in requests[: request.index]:
        related = other.session is not None and other.session == request.session
        if not (related or other.index in request.after) or other.length == 0 or other.output == 0:
            continue
        whole = min(other.length // other.hash_block, len(other.hashes))
        own = min(request.length // request.hash_block, len(request.hashes))
        # An id stands for all before it, so that the last one alone decides.
        begins = whole == 0 or (whole <= own and other.hashes[whole - 1] == request.hashes[whole - 1])
        if begins and whole >= whole_of_best:
            best, whole_of_best = other, whole
    return best


def tokens_held(requests, before, request, rule):
    both = before.length + before.output
    if rule == "session":
        return min(both, request.length) if request.length > before.length else 0
    if request.length < both:
        return 0
    place = before.length // before.hash_block
    if place < len(request.hashes):
        known = {name for r in requests[: before.index + 1] for name in r.hashes}
        if request.hashes[place] in known:
            return 0
    return both


def hold_answers(requests, rule):
    """Sets `names` (by id of the trace's size) and `named` of the requests."""
    if rule == "unknown" or not requests or requests[0].hashes is None:
        return
    holder, order = {}, {}  # the first prompt with the answer, by index; the order in which ids appear
    for request in requests:
        for name in request.hashes:
            order.setdefault(name, len(order))
    for request in requests:
        before = turn_before(requests, request)
        tokens = tokens_held(requests, before, request, rule) if before else 0
        if tokens and before.index not in holder:
            holder[before.index] = request
            before.named = tokens

    def name_at(request, place):
        if request.index in holder and place >= min(request.length // request.hash_block, len(request.hashes)):
            return name_at(holder[request.index], place)
        return request.hashes[place] if place < len(request.hashes) else ("made", request.index, place)

    filled = {}  # part-filled ids at the end of prompts
    for request in requests:
        whole = min(request.length // request.hash_block, len(request.hashes))
        if request.index in holder and whole < len(request.hashes):
            name = name_at(request, whole)
            if isinstance(name, tuple) or order[name] > order[request.hashes[whole]]:
                filled.setdefault(request.hashes[whole], name)

    def final(name):
        while name in filled:
            name = filled[name]
        return name

    for request in requests:
        places = -(-max(request.named, request.length) // request.hash_block)
        request.names = [final(name_at(request, place)) for place in range(places)]
