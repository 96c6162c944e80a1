"""Reads a .kva file with the Python package and writes it anew: rewrite_kva.py IN OUT"""

import sys

import numpy as np

from kvplan_traces import AttentionReader, AttentionWriter


def listed(row):
    """(positions, weights, rest): what many tokens share is their share of the rest."""
    values, times = np.unique(row, return_counts=True)
    spread = row == values[times.argmax()] if times.max() > 1 else np.zeros(len(row), bool)
    positions = np.flatnonzero(~spread)
    return positions, row[positions], row[spread].sum()


def main(source, target):
    with AttentionReader(source) as got, AttentionWriter(target, got.header) as out:
        header = got.header
        for layer in range(header.model.layers):
            for head in reversed(range(header.model.query_heads)):
                if header.form == "rows":
                    out.rows(0, layer, head, (row for _, row in got.rows(0, layer, head)))
                elif header.form == "top":
                    out.top(0, layer, head, (listed(row) for _, row in got.rows(0, layer, head)))
                else:
                    out.queries(0, layer, head, got.queries(0, layer, head))
            for head in range(header.model.kv_heads if header.form == "tensors" else 0):
                out.keys(0, layer, head, got.keys(0, layer, head))
                out.values(0, layer, head, got.values(0, layer, head))


main(*sys.argv[1:])
