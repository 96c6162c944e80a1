#!/usr/bin/env python3
"""Digests of what `kvplan` writes for programs: runs of all families of components, as runs.txt lists them.

digests.py PROGRAM          runs everything and compares with digests.txt; exit 1 where an output differs
digests.py PROGRAM --write  writes digests.txt anew: for a commit that changes an output on purpose, and says why

Options: --only NAME[,NAME...]: these runs and what they read; --keep FOLDER: what was digested stays there, for diff.
A digest is SHA-256 of an output less its prose: see `plain` below. Event logs and traces count byte by byte.
"""
import argparse
import csv
import hashlib
import io
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROSE = {"warnings", "assumptions", "notes", "sentences", "error", "errors", "definition", "definitions", "help",
         "source", "sources", "divergences", "title", "cause"}


def without_prose(value):
    if isinstance(value, dict):
        return {key: without_prose(each) for key, each in value.items() if key not in PROSE}
    if isinstance(value, list):
        return [without_prose(each) for each in value]
    return value


def plain(data, suffix):
    """What counts of an output: JSON without its prose, in its order and with its numbers as they are written; CSV
    without columns of prose; everything else as it is."""
    if suffix == ".json":
        text = data.decode()
        numbers = {"parse_float": lambda digits: "number " + digits, "parse_int": lambda digits: "number " + digits}
        return json.dumps(without_prose(json.loads(text, **numbers)), indent=1).encode()
    if suffix == ".csv":
        rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
        if rows and PROSE & set(rows[0]):
            keep = [i for i, name in enumerate(rows[0]) if name not in PROSE]
            out = io.StringIO(newline="")
            csv.writer(out, lineterminator="\n").writerows([row[i] for i in keep] for row in rows)
            return out.getvalue().encode()
    return data


def read_runs():
    """name -> words of a command. `@FILE` is a file in the scratch folder; a run may read what one before it wrote."""
    runs, text = {}, (HERE / "runs.txt").read_text()
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            name, command = line.split(":", 1)
            assert name not in runs, name
            runs[name] = shlex.split(command)
    return runs


def outputs_of(words):
    """Files that a run writes: what follows an option of output."""
    written = {"--json", "--csv", "--events", "--requests", "--timeline", "--step-csv", "--curve", "--out", "-o",
               "--report", "--heat-csv", "--pareto-csv", "--effects-csv", "--holders"}
    return [words[i + 1][1:] for i in range(len(words) - 1) if words[i] in written and words[i + 1].startswith("@")]


def needed(runs, wanted):
    """The wanted runs, and those that write the files which they read."""
    out, missing = set(), list(wanted)
    writer = {name: run for run, words in runs.items() for name in outputs_of(words)}
    while missing:
        run = missing.pop()
        if run in out:
            continue
        out.add(run)
        for word in runs[run]:
            missing += [writer[name] for name in writer if "@" + name in word and writer[name] != run]
    return [run for run in runs if run in out]


def digests_of(program, name, words, scratch):
    command = [program] + [word.replace("@", str(scratch) + "/") for word in words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0 and (done.returncode, words[0]) != (1, "compare"):  # 1: some variants cannot run
        print(f"digests: {name}: exit {done.returncode}: {done.stderr.decode().strip()}")
        return
    for file in outputs_of(words):
        path = scratch / file
        if path.suffix in (".db", ".kvr"):  # read through `report` and `convert`
            continue
        # Where the scratch folder lies is not a result.
        data = plain(path.read_bytes().replace(str(scratch).encode() + b"/", b"@"), path.suffix)
        if path.suffix in (".json", ".csv"):
            path.with_suffix(path.suffix + ".plain").write_bytes(data)
        yield file, hashlib.sha256(data).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--keep")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    runs = read_runs()
    wanted = needed(runs, options.only.split(",")) if options.only else list(runs)
    table = HERE / "digests.txt"
    expected = {}
    if table.exists():
        for line in table.read_text().splitlines():
            if line and not line.startswith("#"):
                digest, run, file = line.split()
                expected[run, file] = digest
    with tempfile.TemporaryDirectory() as made:
        scratch = pathlib.Path(options.keep or made).resolve()
        scratch.mkdir(exist_ok=True)
        found = {(run, file): digest for run in wanted for file, digest in digests_of(program, run, runs[run], scratch)}
    if options.write:
        kept = {key: expected[key] for key in expected if key[0] in runs and key[0] not in wanted} | found
        lines = [f"{kept[key]} {key[0]} {key[1]}\n" for key in sorted(kept, key=lambda key: list(runs).index(key[0]))]
        head = "# Made by digests.py --write. SHA-256 without prose, run of runs.txt, output.\n"
        table.write_text(head + "".join(lines))
        return 0
    wrong = [key for key in found if found[key] != expected.get(key)]
    wrong += [key for key in expected if key[0] in wanted and key not in found]
    wrong += [key for key in expected if key[0] not in runs]
    for run, file in wrong:
        print(f"digests: {file} of {run} differs:\n  kvplan {shlex.join(runs.get(run, ['(not in runs.txt)']))}")
    print(f"digests: {len(found)} outputs of {len(wanted)} runs, {len(wrong)} differ")
    if wrong:
        print("Meant? Write the table anew with --write, and say why in the commit. Else compare with --keep FOLDER "
              "what this program and one from before write.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
