"""Replicas on one clock, and the routers that send requests to them, for run_oracle.py.

Everything is looked at at every moment at which anything happens: no queue of ends, no load that is remembered.
"""


def ended(request, now, coming):
    """A request that waits for no other arrives when its pause has passed."""
    for follower in request.followers:
        follower.awaited.remove(request)
        if not follower.awaited:
            coming.append((max(follower.arrival, now + follower.pause), follower.index, follower))


def run_fleet(p, replicas, requests):
    """Serves all requests; each gets its replica."""
    coming = [(r.arrival, r.index, r) for r in requests if not r.awaited]  # those that are known
    sent = []  # in order of arrival
    while coming or any(replica.step_end is not None for replica in replicas):
        moments = [time for time, _, _ in coming]
        moments += [replica.step_end for replica in replicas if replica.step_end is not None]
        now = min(moments)
        stopped = [replica for replica in replicas if replica.step_end == now]
        finished = [request for replica in stopped for request in replica.end_step()]
        take_arrivals(p, replicas, coming, sent, now)
        for request in finished:
            ended(request, now, coming)
        take_arrivals(p, replicas, coming, sent, now)
        for replica in replicas:
            if replica.step_end is None and (replica.running or replica.waiting):
                replica.begin_step(now)
            elif replica in stopped:
                replica.note(now, False, False)


def take_arrivals(p, replicas, coming, sent, now):
    while True:
        due = sorted((time, index) for time, index, _ in coming if time <= now)
        if not due:
            return
        entry = next(entry for entry in coming if entry[:2] == due[0])
        coming.remove(entry)
        request = entry[2]
        request.arrival = entry[0]
        request.replica = choose(p, replicas, sent, request)
        sent.append(request)
        if not replicas[request.replica].arrive(request, now):
            ended(request, now, coming)


def choose(p, replicas, sent, request):
    if p.router == "round-robin":
        return len(sent) % len(replicas)
    if p.router == "session-affine" and request.session is not None:
        for other in sent:
            if other.session == request.session:
                return other.replica
    if p.router == "vllm-dp":
        scores = [4 * len(replica.waiting) + len(replica.running) for replica in replicas]
    else:
        scores = [replica.load(p.by) for replica in replicas]
    return scores.index(min(scores))
