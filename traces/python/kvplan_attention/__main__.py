"""python3 -m kvplan_attention info FILE | convert IN.json OUT.kva [ELEMENT] | dump FILE [LAYER]
       | synth OUT.kva [TOKENS [LAYERS [QUERY_HEADS [KV_HEADS [SEED]]]]]"""

import json
import sys

from . import FormatError, Model, Reader, Sequence, Writer, synthetic


def info(path):
    with Reader(path) as recording:
        print(f"{recording.model}\n{recording.form}, {recording.element}")
        for sequence in recording.sequences:
            print(sequence)


def convert(source, target, element="f64"):
    with open(source, encoding="utf-8") as file:
        data = json.load(file)
    model = Model(query_heads=data["query_heads"], kv_heads=data.get("kv_heads", data["query_heads"]))
    with Writer(target, model, [Sequence(tokens=data["T"])], element=element) as out:
        for head, rows in enumerate(data["rows"]):
            out.rows(0, 0, head, rows)


def dump(path, layer="0"):
    with Reader(path) as recording:
        rows = [[row for _, row in recording.rows(0, int(layer), head)]
                for head in range(recording.model.query_heads)]
        json.dump({"query_heads": recording.model.query_heads, "kv_heads": recording.model.kv_heads,
                   "T": recording.sequences[0].tokens, "rows": rows}, sys.stdout)


def synth(target, *numbers):
    synthetic.write(target, *(int(number) for number in numbers))


def main(arguments):
    commands = {"info": info, "convert": convert, "dump": dump, "synth": synth}
    if not arguments or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        commands[arguments[0]](*arguments[1:])
    except (FormatError, OSError, ValueError, KeyError, TypeError) as error:
        print(f"kvplan_attention: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
