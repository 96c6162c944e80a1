#!/usr/bin/env python3
"""What a recording shows, as tables: python3 measure.py FILE.kva     (needs numpy and kvplan_traces)

Over the rows from token FROM on, a line per layer, means over its query heads and all sequences:

    first         share of a row on token 0 (an attention sink, where it is high)
    near          share on the last NEAR tokens; even: what it would be if all tokens got the same
    half, most    how many tokens make up 50 % and 90 % of a row, as a share of its tokens (sparsity)
    heavy         share of all attention to tokens that goes to the tenth that gets the most of it (heavy hitters),
                  token 0 and the last NEAR left out
    head          the largest share of a head on token 0, on the last NEAR
    needle        where there is one: share that the last rows of the prompt put on it, of the head that does so most,
                  and in brackets what it would be if all tokens got the same
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import numpy as np  # noqa: E402

from kvplan_traces import AttentionReader  # noqa: E402

FROM, NEAR, ASKING = 64, 16, 4


def figures_of(matrix):
    """Of one head of one sequence: the figures of its rows from FROM on, and what each token got."""
    tokens = len(matrix)
    t = np.arange(FROM, tokens)
    rows = matrix[FROM:]
    ordered = -np.sort(-rows, axis=1).cumsum(axis=1)
    behind = t[:, None] - np.arange(tokens)  # how far back a token is
    far = np.where(behind >= NEAR, rows, 0)
    near = (rows - far).sum(axis=1)
    got = far[:, 1:].sum(axis=0)[: tokens - NEAR - 1]
    some = max(1, len(got) // 10)
    return {"first": rows[:, 0].mean(), "near": near.mean(), "even": (NEAR / (t + 1)).mean(),
            "half": (((ordered < 0.5).sum(axis=1) + 1) / (t + 1)).mean(),
            "most": (((ordered < 0.9).sum(axis=1) + 1) / (t + 1)).mean(),
            "heavy": np.sort(got)[-some:].sum() / got.sum()}


def needle_of(reader, sequence, matrix):
    """(share of the asking rows on the needle, the even share), None without one."""
    names = list(getattr(reader.header, "token_classes", ()))
    if "needle" not in names:
        return None
    places = np.flatnonzero(reader.token_classes(sequence) == names.index("needle"))
    if not len(places):
        return None
    last = reader.sequences[sequence].prompt_tokens
    asking = matrix[last - ASKING : last]
    return asking[:, places].sum(axis=1).mean(), len(places) / last


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    with AttentionReader(arguments[0]) as reader:
        print("| layer | first | near (even) | half | most | heavy | head: first, near | needle |")
        print("|---:|---:|---:|---:|---:|---:|---:|---:|")
        for layer in sorted({layer for _, layer in reader.recorded()}):
            found, needles = [], {}
            for sequence in range(len(reader.sequences)):
                for head in reader.layer(layer).heads("queries"):
                    matrix = reader.matrix(sequence, layer, head)
                    found.append((head, figures_of(matrix)))
                    asked = needle_of(reader, sequence, matrix)
                    if asked:
                        needles.setdefault(head, []).append(asked)
            mean = {name: np.mean([one[name] for _, one in found]) for name in found[0][1]}
            of_heads = {name: max(np.mean([one[name] for other, one in found if other == head])
                                  for head in {head for head, _ in found}) for name in ("first", "near")}
            best = max(needles.values(), key=lambda shares: np.mean([share for share, _ in shares]), default=None)
            needle = f"{np.mean([s for s, _ in best]):.0%} ({np.mean([e for _, e in best]):.0%})" if best else ""
            shown = [f"{mean['first']:.0%}", f"{mean['near']:.0%} ({mean['even']:.0%})", f"{mean['half']:.1%}",
                     f"{mean['most']:.0%}", f"{mean['heavy']:.0%}", f"{of_heads['first']:.0%}, {of_heads['near']:.0%}"]
            print(f"| {layer} | {' | '.join(shown)} | {needle} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
