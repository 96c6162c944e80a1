"""Turns traces into pandas frames and back. Unlike the other modules for trace files it needs pandas.

A frame has the columns `arrival_ns`, `input_tokens` and `output_tokens`, and these further ones if the trace has them:
`session` and `tenant` (categories, missing where not stated), `max_tokens`, `ttft_ns`, `e2e_ns`, `think_ns` and
`priority` (Int64, missing where not stated), `hashes` (an array of prefix ids per request), `after` (an array of the
numbers of the requests that it waits for). The index numbers the requests from 0.
"""

import dataclasses

import numpy as np
import pandas as pd

from .columns import NAMED, OPTIONAL, REQUIRED, whole_numbers
from .errors import expect

_NAMES = {kind.column: kind.names for kind in NAMED}
_STATED = tuple(name for name in OPTIONAL if name not in _NAMES)
_KNOWN = (*REQUIRED, *OPTIONAL, "hashes", "after")


def to_frame(trace, hashes=True):
    """One row per request. `hashes=False` omits that column, which takes most of the time and memory."""
    out = {name: getattr(trace, name) for name in REQUIRED}
    for name, names in _NAMES.items():
        numbers, texts = getattr(trace, name), getattr(trace, names)
        if numbers is not None:
            # Two sessions may have the same name, two categories may not: a second one gets its number as well.
            out[name] = pd.Categorical.from_codes(numbers, _distinct(texts))
    for name in _STATED:
        numbers = getattr(trace, name)
        if numbers is not None:
            out[name] = pd.arrays.IntegerArray(numbers.copy(), numbers == -1)
    if hashes and trace.hash_ids is not None:
        out["hashes"] = _arrays(trace.hash_ids, trace.hash_count)
    if len(trace.wait_request):
        order = np.lexsort((trace.wait_before, trace.wait_request))
        out["after"] = _arrays(trace.wait_before[order], np.bincount(trace.wait_request, minlength=len(trace)))
    return pd.DataFrame(out)


def hash_frame(trace):
    """One row per prefix id, in the order of the file: `request`, `position` in its prompt, `hash`."""
    expect(trace.hash_ids is not None, "expected a trace with prefix ids", "hash_ids")
    requests = np.repeat(np.arange(len(trace)), trace.hash_count)
    starts = np.cumsum(trace.hash_count) - trace.hash_count
    positions = np.arange(len(requests)) - starts[requests]
    return pd.DataFrame({"request": requests, "position": positions, "hash": trace.hash_ids})


def columns_of(frame, header):
    """The fields of a `Trace`. Sessions, tenants and hashes may be of any type that compares: they are numbered again
    by first appearance. `after` has labels of the frame's index, so a selection of rows works too; a wait for a request
    that the frame does not have is dropped. Sets `header.block_tokens` to 0 where the frame has no hashes."""
    missing = [name for name in REQUIRED if name not in frame.columns]
    expect(not missing, "expected the columns " + ", ".join(missing), "frame")
    unknown = [str(name) for name in frame.columns if name not in _KNOWN]
    expect(not unknown, f"expected the columns {', '.join(_KNOWN)}; found {', '.join(unknown)} too", "frame")
    out = {name: _numbers(frame[name], name) for name in REQUIRED}
    for name, names in _NAMES.items():
        if name in frame.columns:
            out[name], out[names] = _named(frame[name], name)
    for name in _STATED:
        if name in frame.columns:
            out[name] = _numbers(frame[name].fillna(-1), name)
    if "after" in frame.columns:
        out["wait_request"], out["wait_before"] = _waits(frame["after"])
    if "hashes" in frame.columns:
        expect(header.block_tokens > 0, "expected the tokens of one prefix id, from 1 on", "block_tokens")
        out["hash_count"], out["hash_ids"] = _hashes(frame["hashes"].tolist())
    else:
        header.block_tokens, header.last_may_be_partial = 0, False
    return out


def header_of(like, changes, plain):
    """The header of the trace `like`, or `plain` if there is none, with the given changes."""
    return dataclasses.replace(plain if like is None else like.header, **changes)


def _distinct(texts):
    seen = set()
    out = []
    for number, text in enumerate(texts):
        while text in seen:
            text += f" ({number})"
        seen.add(text)
        out.append(text)
    return out


def _numbers(series, name):
    expect(not series.isna().any(), "expected a number in every row", name)
    if pd.api.types.is_float_dtype(series.dtype):  # pandas turns whole numbers with gaps into floats
        values = series.to_numpy(np.float64)
        expect(np.all((values == np.floor(values)) & (np.abs(values) <= 2.0**53)), "expected whole numbers", name)
        return values.astype(np.int64)
    if pd.api.types.is_extension_array_dtype(series.dtype) and pd.api.types.is_integer_dtype(series.dtype):
        return whole_numbers(name, series.to_numpy(series.dtype.numpy_dtype))
    return whole_numbers(name, series.to_numpy())


def _named(series, field):
    numbers, values = pd.factorize(series)
    names = [str(value) for value in values]
    expect(len(set(names)) == len(names), "expected names that differ as text", field)
    return numbers, names


def _arrays(flat, counts):
    column = np.empty(len(counts), object)
    column[:] = np.split(flat, np.cumsum(counts)[:-1])
    return column


def _lists(values):
    """A missing list is an empty one."""
    return [() if part is None or part is pd.NA or isinstance(part, float) else part for part in values]


def _waits(after):
    lists = _lists(after.tolist())
    counts = [len(part) for part in lists]
    labels = np.concatenate([np.empty(0, np.int64), *(whole_numbers("after", part) for part in lists if len(part))])
    if labels.size:
        expect(pd.api.types.is_integer_dtype(after.index.dtype) and after.index.is_unique,
               "expected an index that numbers the requests, each once", "after")
    places = after.index.get_indexer(labels) if labels.size else labels
    return np.repeat(np.arange(len(after)), counts)[places >= 0], places[places >= 0]


def _hashes(lists):
    parts = _lists(lists)
    counts = np.array([len(part) for part in parts], np.int64)
    kinds = {part.dtype if isinstance(part, np.ndarray) else None for part in parts if len(part)}
    if len(kinds) == 1 and None not in kinds:
        flat = np.concatenate([part for part in parts if len(part)])
    else:  # 64-bit numbers and texts in one list are kept as they are, since numpy would round the numbers
        flat = np.empty(int(counts.sum()), object)
        flat[:] = [value.item() if isinstance(value, np.generic) else value for part in parts for value in part]
    return counts, pd.factorize(flat)[0]
