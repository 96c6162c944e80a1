"""python3 -m kvplan_traces COMMAND
  info FILE    figures of a .kvt (those of kvplan trace info), or what a .kva holds, as JSON
  convert IN.json OUT.kva [ELEMENT]    the JSON of kvplan evict as .kva; f64, f32 or f16
  dump FILE.kva [LAYER]    the same JSON, of the heads of one layer that were recorded
  synth OUT.kva [TOKENS [LAYERS [QUERY_HEADS [KV_HEADS [SEED]]]]]    made-up attention, of no model
  side-bases FROM OUT RANK RANK_V [GROUP]    side file for palu (4 heads together, or GROUP) and lorc (0: all heads),
                                             from a .kva or a model's folder
  side-tables IN.kva OUT [BITS [OUTLIERS]]    side file for kvquant"""

import dataclasses
import json
import os
import sys

import numpy as np

from . import (AttentionHeader, AttentionModel, AttentionReader, AttentionSequence, AttentionWriter, FormatError,
               TraceReader, kva_format, kvt, side, storage, synthetic)
from .errors import expect, located
from .figures import describe


def info(path):
    with located(path), storage.unpacked(open(path, "rb")) as file:
        magic = file.read(8)
    if magic not in (kva_format.MAGIC, kvt.MAGIC):
        raise FormatError("expected the first bytes of a .kvt or .kva", path=path)
    if magic == kvt.MAGIC:
        with TraceReader(path) as reader:
            figures = describe(reader.header, reader, reader.digest)
    else:
        with AttentionReader(path) as reader:
            reader.check()
            figures = {**dataclasses.asdict(reader.header), "recorded": reader.recorded(), "cut_at": reader.cut_at,
                       "sequences": [dataclasses.asdict(one) for one in reader.sequences]}
    print(json.dumps(figures, indent=2))


def convert(source, target, element="f64"):
    data = storage.read_json(source)
    with located(source):
        rows = rows_of(data)
    model = AttentionModel(query_heads=data["query_heads"], kv_heads=data.get("kv_heads", data["query_heads"]))
    header = AttentionHeader(model, [AttentionSequence(tokens=data["T"])], element=element)
    with AttentionWriter(target, header) as out:
        for head, one in enumerate(rows):
            out.rows(0, 0, head, one)


def rows_of(data):
    """The rows of each head, of JSON that kvplan would take; FormatError of any other."""
    for key in ("query_heads", "T", "rows"):
        expect(key in data, "is missing", key)
    kva_format.check_heads("", data["query_heads"], data.get("kv_heads", data["query_heads"]))
    kva_format.within("T", data["T"], 1, 1 << 20)
    _expect_list(data["rows"], data["query_heads"], "heads as query_heads says", "rows")
    return [list(_head_rows(rows, data["T"], f"rows[{head}]")) for head, rows in enumerate(data["rows"])]


def _head_rows(rows, tokens, field):
    _expect_list(rows, tokens, "rows as T says", field)
    for t, row in enumerate(rows):
        name = f"{field}[{t}]"
        _expect_list(row, t + 1, "weights", name)
        expect(all(type(weight) in (int, float) for weight in row), "expected numbers", name)
        weights = kva_format.array_of(row, name).astype(np.float64)
        try:
            kva_format.check_rows(weights, np.array([0, t + 1]), t)
        except FormatError as error:
            raise FormatError(error.problem, field=name) from None
        yield weights


def _expect_list(value, count, of_what, field):
    expect(isinstance(value, list), f"expected a list of {of_what}", field)
    expect(len(value) == count, f"expected {count} {of_what}, found {len(value)}", field)


def dump(path, layer="0"):
    number = whole("LAYER", layer)
    with AttentionReader(path) as reader:
        facts, tokens = reader.layer(number), reader.tokens(0, number)
        heads = next((facts.heads(part) for part in ("rows", "top_rows", "queries") if part in facts.parts), ())
        with located(path, field=f"layer {number}"):
            expect(heads, "expected rows, or queries and keys")
            expect(tokens, "expected a token that is whole")
            rows = [[row.tolist() for row in _all_rows(reader, number, head, tokens)] for head in heads]
    json.dump({"query_heads": len(heads), "kv_heads": len(facts.recorded_kv_heads), "T": tokens, "rows": rows},
              sys.stdout)


def _all_rows(reader, layer, head, tokens):
    expected = 0
    for t, row in reader.rows(0, layer, head):
        expect(t == expected, f"expected all rows, found none of token {expected}", f"layer {layer}: head {head}")
        expected += 1
        yield row
    expect(expected == tokens, f"expected all {tokens} rows, found {expected}", f"layer {layer}: head {head}")


def synth(target, *numbers):
    names = ("TOKENS", "LAYERS", "QUERY_HEADS", "KV_HEADS", "SEED")
    synthetic.write(target, *map(whole, names, numbers))


def side_bases(source, target, rank, rank_v, group="4"):
    ranks = whole("RANK", rank), whole("RANK_V", rank_v)
    heads = whole("GROUP", group)
    expect(heads >= 0, f"expected at least 0, found {heads}", "GROUP")
    if os.path.isdir(source):
        tensors, digest = side.bases_of_model(source, *ranks, heads), ""
    else:
        tensors, digest = side.bases_of_recording(source, *ranks, heads)
    side.write_side(target, tensors, f"bases of {source}", digest)


def side_tables(source, target, bits="3", outliers="0.01"):
    try:
        share = float(outliers)
    except ValueError:
        raise FormatError(f"expected a number, found {outliers!r}", field="OUTLIERS") from None
    tensors, digest = side.tables_of_recording(source, whole("BITS", bits), share)
    side.write_side(target, tensors, f"thresholds and tables of {source}", digest)


def whole(name, text):
    try:
        return int(text)
    except ValueError:
        raise FormatError(f"expected a whole number, found {text!r}", field=name) from None


# What each command takes: at least, at most.
COMMANDS = {"info": (info, 1, 1), "convert": (convert, 2, 3), "dump": (dump, 1, 2), "synth": (synth, 1, 6),
            "side-bases": (side_bases, 4, 5), "side-tables": (side_tables, 2, 4)}


def main(arguments):
    name, *given = arguments or [""]
    if name not in COMMANDS:
        asked = name in ("-h", "--help")
        print(__doc__, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    run, least, most = COMMANDS[name]
    try:
        wanted = next(line.strip() for line in __doc__.splitlines() if line.startswith(f"  {name} "))
        expect(least <= len(given) <= most, f"expected {wanted.split('    ')[0]}, found {len(given)} arguments", name)
        run(*given)
    except OSError as error:
        problem = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
    except (FormatError, ImportError) as error:
        problem = error
    else:
        return 0
    print(f"kvplan_traces: {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
