"""python3 -m kvplan_traces COMMAND
  info FILE                        figures of a .kvt (those of kvplan trace info), or what a .kva holds, as JSON
  convert IN.json OUT.kva [ELEMENT]    the JSON of kvplan evict as .kva; f64, f32 or f16
  dump FILE.kva [LAYER]            the same JSON, of one layer
  synth OUT.kva [TOKENS [LAYERS [QUERY_HEADS [KV_HEADS [SEED]]]]]    made-up attention, of no model"""

import dataclasses
import json
import sys

from . import (AttentionHeader, AttentionModel, AttentionReader, AttentionSequence, AttentionWriter, FormatError,
               TraceReader, kva_format, kvt, storage, synthetic)
from .errors import located
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
    with open(source, encoding="utf-8") as file:
        data = json.load(file)
    model = AttentionModel(query_heads=data["query_heads"], kv_heads=data.get("kv_heads", data["query_heads"]))
    header = AttentionHeader(model, [AttentionSequence(tokens=data["T"])], element=element)
    with AttentionWriter(target, header) as out:
        for head, rows in enumerate(data["rows"]):
            out.rows(0, 0, head, rows)


def dump(path, layer="0"):
    with AttentionReader(path) as reader:
        facts = reader.layer(int(layer))
        rows = [[row.tolist() for _, row in reader.rows(0, int(layer), head)] for head in range(facts.query_heads)]
        json.dump({"query_heads": facts.query_heads, "kv_heads": facts.kv_heads, "T": reader.tokens(0, int(layer)),
                   "rows": rows}, sys.stdout)


def synth(target, *numbers):
    synthetic.write(target, *map(int, numbers))


def main(arguments):
    commands = {"info": info, "convert": convert, "dump": dump, "synth": synth}
    if not arguments or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        commands[arguments[0]](*arguments[1:])
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:  # FormatError is a ValueError
        print(f"kvplan_traces: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
