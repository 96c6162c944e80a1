"""Writes measured kernel times, one row a time, as the tables of this folder.

    python3 from_rows.py ROWS.csv FOLDER

ROWS.csv has the columns gpu, engine, engine_version, kernel, batch, kv_len, q_heads, kv_heads, head_dim, window,
kv_elem_bytes, latency_us. Times keep the digits that they have there. README.md says what a table looks like.
"""
import csv
import os
import sys

SAME = ("gpu", "engine", "engine_version", "kernel", "head_dim", "window", "kv_elem_bytes")


def tables(rows):
    """Times by what a table has in common, as {heads and batch: {length: time}}."""
    out = {}
    for row in rows:
        table = out.setdefault(tuple(row[name] for name in SAME), {})
        line = table.setdefault(tuple(int(row[name]) for name in ("kv_heads", "q_heads", "batch")), {})
        if int(row["kv_len"]) in line:
            sys.exit("two rows of one call: %s" % row)
        line[int(row["kv_len"])] = row["latency_us"]
    return out


def text_of(same, table):
    lengths = sorted({length for line in table.values() for length in line})
    lines = ["%s,%s" % pair for pair in zip(SAME, same)]
    lines.append(",".join(["q_heads", "kv_heads", "batch"] + [str(length) for length in lengths]))
    for (kv_heads, q_heads, batch), line in sorted(table.items()):
        cells = [str(q_heads), str(kv_heads), str(batch)] + [line.get(length, "") for length in lengths]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def main(rows, folder):
    with open(rows, newline="") as file:
        made = tables(csv.DictReader(file))
    for same, table in made.items():
        gpu, engine, version, _, head_dim, window, bytes_ = same
        name = "%s-%s-%s-d%s-w%s-e%s.csv" % (gpu.lower(), engine, version, head_dim, window, bytes_)
        with open(os.path.join(folder, name), "w") as file:
            file.write(text_of(same, table))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
