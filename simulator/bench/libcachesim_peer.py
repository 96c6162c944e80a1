# libCacheSim's own loop over the block references of a Mooncake trace: hits and references a second, for
# replacement_bench to stand beside. Needs the Python packages libcachesim and zstandard.
#   python libcachesim_peer.py TRACE.jsonl[.zst] CAPACITY [ROUNDS]
import io
import json
import struct
import sys
import tempfile
import time

import libcachesim
import zstandard

POLICIES = {
    "lru": libcachesim.LRU,
    "fifo": libcachesim.FIFO,
    "sieve": libcachesim.Sieve,
    "s3fifo": libcachesim.S3FIFO,
    "arc": libcachesim.ARC,
    "lfu": libcachesim.LFU,
    "clock": libcachesim.Clock,
    "belady": libcachesim.Belady,
}


def references(path):
    with open(path, "rb") as file:
        if path.endswith(".zst"):
            file = zstandard.ZstdDecompressor().stream_reader(file)
        return [i for line in io.TextIOWrapper(file) for i in json.loads(line)["hash_ids"]]


def write_oracle_general(ids, file):
    """Records of libCacheSim's oracleGeneral: time, id, size, index of the next access (-1: none)."""
    following, seen = [-1] * len(ids), {}
    for k in range(len(ids) - 1, -1, -1):
        following[k] = seen.get(ids[k], -1)
        seen[ids[k]] = k
    for k, i in enumerate(ids):
        file.write(struct.pack("<IQIq", 1, i + 1, 1, following[k]))
    file.flush()


def main(path, capacity, rounds):
    ids = references(path)
    with tempfile.NamedTemporaryFile(suffix=".oracleGeneral") as file:
        write_oracle_general(ids, file)
        for name, make in POLICIES.items():
            rates = []
            for hash_power in (18, 20, 24):  # the best of these counts
                for _ in range(rounds):
                    cache = make(capacity, hashpower=hash_power)
                    kind = libcachesim.TraceType.ORACLE_GENERAL_TRACE
                    reader = libcachesim.TraceReader(trace=file.name, trace_type=kind)
                    begin = time.thread_time()
                    missed, _ = cache.process_trace(reader)
                    rates.append((len(ids) / (time.thread_time() - begin) / 1e6, hash_power))
            best, median = max(rates), sorted(r for r, p in rates if p == max(rates)[1])[rounds // 2]
            hits = round(len(ids) * (1 - missed))
            print(f"{name:8} {capacity:8} {hits:8} hits  {median:7.1f} M/s (best {best[0]:.1f}, 2^{best[1]} buckets)")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 5)
