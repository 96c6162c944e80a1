"""Reads a .kva file with the Python package and writes it anew: rewrite_kva.py IN OUT"""

import sys
from collections import Counter

from kvplan_attention import Reader, Writer


def listed(row):
    """(positions, weights, rest): what many tokens share is their share of the rest."""
    share, times = Counter(row).most_common(1)[0]
    if times < 2:
        share = None
    kept = [i for i, weight in enumerate(row) if weight != share]
    return kept, [row[i] for i in kept], sum(row) - sum(row[i] for i in kept) if share is not None else 0.0


def main(source, target):
    with Reader(source) as got:
        with Writer(target, got.model, got.sequences, got.form, got.element, got.logit_scale or None, got.has_values,
                    got.positions, got.source, got.recorded_by) as out:
            for layer in range(got.model.layers):
                for head in reversed(range(got.model.query_heads)):
                    if got.form == "rows":
                        out.rows(0, layer, head, (row for _, row in got.rows(0, layer, head)))
                    elif got.form == "top":
                        out.top(0, layer, head, (listed(row) for _, row in got.rows(0, layer, head)))
                    else:
                        out.queries(0, layer, head, got.tensor("queries", 0, layer, head))
                for head in range(got.model.kv_heads if got.form == "tensors" else 0):
                    out.keys(0, layer, head, got.tensor("keys", 0, layer, head))
                    out.values(0, layer, head, got.tensor("values", 0, layer, head))


main(*sys.argv[1:])
