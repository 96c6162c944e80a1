"""Results of kvplan as pandas frames; and files with a policy's own sets, for `recorded:file=`. Needs pandas.

    evict = read("evict.json")                   # of kvplan evict --json
    retained_frame(evict), mass_frame(evict)     # what was kept, and how much attention each query head still saw
    report_frame("run.json")                     # of run, compare, cache, frontier --json: a row per run or point
    report_frame("sweep.csv")                    # any table that kvplan writes
    write_sets("sets.json", prefill_len=64, after_prefill=[[0, 1, 63]], steps={64: [[0, 1, 64]]})
    write_sets("sets.json", prefill_len=64, layers={0: ([[0, 1, 63]], {64: [[0, 1, 64]]}),
                                                    1: ([[62, 63]], {64: [[63, 64]]})})

The name of a figure is its keys joined by dots (`latency_s.ttft.p99`), like the columns of a sweep.
"""

import json
import os

import pandas as pd

from . import storage
from .errors import expect, located
from .kva_format import places_of, within

# The keys under which results have their rows: compare, frontier and cache have lists.
_LISTS = ("variants", "points", "results")


def read(source):
    """The JSON object in a file; a result that was read before is returned as it is."""
    if isinstance(source, dict):
        return source
    return storage.read_json(source)


def report_frame(source):
    """A row per run, variant or point, and a column per figure (numbers, texts, booleans; lists are left out). For a
    .csv its table."""
    if not isinstance(source, dict) and os.fspath(source).endswith((".csv", ".csv.gz", ".csv.zst")):
        return pd.read_csv(source, float_precision="round_trip").convert_dtypes(convert_string=False)
    result = read(source)
    rows = next((result[name] for name in _LISTS if isinstance(result.get(name), list)), [result])
    return pd.DataFrame([dict(_figures("", row)) for row in rows])


def retained_frame(source):
    """A row per layer, step and stored set of `kvplan evict`: `layer`, `t`, `head`, `retained` (positions), `entries`.
    The row for the prompt's end has the prompt's last token as t."""
    rows = []
    for layer, part, prompt in _layers(source, "retained"):
        steps = [{"t": prompt - 1, "retained": part["after_prefill"]}, *part["steps"]]
        rows += [(layer, step["t"], head, places_of(kept, "retained"), len(kept))
                 for step in steps for head, kept in enumerate(step["retained"])]
    return pd.DataFrame(rows, columns=["layer", "t", "head", "retained", "entries"])


def mass_frame(source):
    """A row per layer, step and query head: `layer`, `t`, `head`, `attended_mass`."""
    rows = [(layer, step["t"], head, mass) for layer, part, _ in _layers(source, "attended_mass")
            for step in part["steps"] for head, mass in enumerate(step["attended_mass"])]
    return pd.DataFrame(rows, columns=["layer", "t", "head", "attended_mass"])


def write_sets(path, prefill_len, after_prefill=None, steps=None, *, layers=None):
    """Writes sets for `kvplan evict --policy recorded:file=PATH`: one list of positions per stored set at the end of
    the prompt, and {t: the same after step t}. They serve every layer. If layers keep different tokens, give `layers`
    instead: {number: (after_prefill, steps)}."""
    given = [each is not None for each in (after_prefill, steps, layers)]
    expect(given in ([True, True, False], [False, False, True]), "expected after_prefill and steps, or layers", "sets")
    own = _sets(after_prefill, steps) if layers is None else {
        "layers": [{"layer": int(number), **_sets(*layers[number])} for number in sorted(layers)]}
    data = {"prefill_len": int(prefill_len), **own}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)


def _sets(after_prefill, steps):
    as_lists = lambda sets: [[int(position) for position in one] for one in sets]  # noqa: E731
    return {"after_prefill": as_lists(after_prefill),
            "steps": [{"t": int(t), "retained": as_lists(steps[t])} for t in sorted(steps)]}


def _layers(source, of_step):
    """(layer, its results, tokens of the prompt) for the one layer of the file, or for each; every step must have a
    list `of_step`."""
    result = read(source)
    said = "expected what kvplan evict --json prints"

    def member(holder, name, kind):
        expect(isinstance(holder, dict) and isinstance(holder.get(name), kind), said, name)
        return holder[name]

    with located(None if isinstance(source, dict) else os.fspath(source)):
        expect("steps" in result or "layers" in result, said, "steps")
        prompt, out = member(result, "prefill_len", int), []
        for part in member(result, "layers", list) if "layers" in result else [result]:
            out.append((member(part, "layer", int), part, prompt))
            member(part, "after_prefill", list)
            for step in member(part, "steps", list):
                within("t", member(step, "t", int), 0, 1 << 20)
                member(step, of_step, list)
        return out


def _figures(name, value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _figures(f"{name}.{key}" if name else key, inner)
    elif not isinstance(value, list):
        yield name, value
