"""The Pareto front of cost against goodput of a sweep's database, with what binds at each of its points.

    python3 front.py DATABASE [DATABASE ...]

Standard library only. README.md beside this file has the commands that make the databases.
"""

import sqlite3
import sys

MAX_SEQS = 256  # of each replica, the engine's default
TTFT_S, TPOT_S = 2, 0.1  # the targets of azure.json

COLUMNS = {
    "load": "workload.rate_scale",
    "device": "deployment.device",
    "tp": "deployment.tp",
    "replicas": "fleet.replicas",
    "allocator": "memory.allocator",
    "prefix_cache": "engine.prefix_cache",
    "cost": "cost_per_hour",
    "goodput": "slo.goodput_per_s",
    "met": "slo.met",
    "saturated": "saturation.saturated",
    "preemptions": "preemptions",
    "stranded": "memory.mean_fraction.stranded",
    "running": "batch.max_running",
    "ttft": "latency_s.ttft.p99",
    "tpot": "latency_s.tpot.p99",
}


def rows_of(database):
    """The cases that ran, in their order."""
    names = ", ".join(f'"{column}"' for column in COLUMNS.values())
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        query = f'SELECT {names} FROM cases WHERE error IS NULL ORDER BY "case"'
        return [dict(zip(COLUMNS, row)) for row in connection.execute(query)]


def front_of(rows):
    """Cheapest first; of equal points the first case alone."""
    front = []
    for row in sorted(rows, key=lambda r: (r["cost"], -r["goodput"])):
        if not front or row["goodput"] > front[-1]["goodput"]:
            front.append(row)
    return front


def binds(row):
    """What keeps this case from a higher goodput."""
    if row["met"] and not row["saturated"]:
        return "the load: all of it is served in time"
    if row["preemptions"] > 0 or row["stranded"] > 0:
        reason = "memory"
    elif row["running"] >= MAX_SEQS * row["replicas"]:
        reason = "running slots"
    else:
        reason = "step time"
    if row["saturated"]:
        return f"{reason}: requests come faster than they are served"
    late = [name for name, value, target in (("TTFT", row["ttft"], TTFT_S), ("TPOT", row["tpot"], TPOT_S))
            if value > target]
    return f"{reason}: late in {' and '.join(late)}" if late else f"{reason}"


def main(databases):
    for database in databases:
        rows = rows_of(database)
        print(f"`{database.rsplit('/', 1)[-1]}`: {len(rows)} cases ran.\n")
        print("| USD/h | good/s | load | device | TP | replicas | memory | prefixes | what binds |")
        print("|---|---|---|---|---|---|---|---|---|")
        for row in front_of(rows):
            print(f"| {row['cost']:.2f} | {row['goodput']:.2f} | {row['load']} | {row['device']} | {row['tp']} "
                  f"| {row['replicas']} | {row['allocator']} | {row['prefix_cache']} | {binds(row)} |")
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
