"""Prints the table of README.md: what policies and formats keep, what that costs in error, and what it buys in memory.

    python3 simulator/examples/formats/table.py build/bin/kvplan [NAME...]

NAME: these lines alone. Each line is two runs of kvplan on one recording: `frontier` measures attended mass and output
error, `run` serves requests of the recording's lengths in a small pool.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, "..", "..", "..", "traces", "samples", "tiny_llama.kva")
BUDGET = 128

# (name, policy as the frontier takes it, eviction of the run, codec of the frontier, format of the run)
LINES = [
    ("everything", "full", "full", "bf16", "native"),
    ("window", "window", "window:window=128", "bf16", "native"),
    ("StreamingLLM", "streaming-llm", "streaming-llm:sink=4,recent=124", "bf16", "native"),
    ("H2O", "h2o", "h2o:hh=64,recent=64,placement=compact", "bf16", "native"),
    ("SnapKV", "snapkv", "snapkv:capacity=128,placement=compact", "bf16", "native"),
    ("PyramidKV", "pyramidkv:capacity=128", "pyramidkv:capacity=128,placement=compact", "bf16", "native"),
    ("INT8", "full", "full", "int-token:bits=8", "int-token:bits=8"),
    ("layered: 64 exact, rank 8", "full", "full", "layered:window=64,keep_recent=32,rank=8",
     "layered:window=64,keep_recent=32,rank=8"),
    ("layered: 64 exact, INT8", "full", "full", "mixed:recent=64,middle=0,bits=8", "mixed:recent=64,middle=0,bits=8"),
    ("SVD, compression 60 %", "full", "full", "svd:compression_ratio=0.6", "svd:compression_ratio=0.6"),
    ("SVD, compression 75 %", "full", "full", "svd:compression_ratio=0.75", "svd:compression_ratio=0.75"),
    ("KIVI, 2 bits", "full", "full", "kivi:group=32,residual=32", "kivi:group=32,residual=32"),
    ("H2O + INT8", "h2o", "h2o:hh=64,recent=64,placement=compact", "int-token:bits=8", "int-token:bits=8"),
    ("SnapKV + KIVI", "snapkv", "snapkv:capacity=128,placement=compact", "kivi:group=32,residual=32",
     "kivi:group=32,residual=32"),
    ("PyramidKV + INT8", "pyramidkv:capacity=128", "pyramidkv:capacity=128,placement=compact", "int-token:bits=8",
     "int-token:bits=8"),
]


def kvplan(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"table.py: {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measured(program, policy, codec):
    """The frontier's point."""
    return kvplan(program, "frontier", RECORDING, "--policies", policy, "--budgets", str(BUDGET), "--formats", codec,
                  "--json", "-")["points"][0]


def served(program, eviction, stored):
    return kvplan(program, "run", os.path.join(HERE, "scenario.json"), "--set", f"eviction={eviction}", "--set",
                  f"format={stored}", "--json", "-")


def line(program, name, policy, eviction, codec, stored):
    point, run = measured(program, policy, codec), served(program, eviction, stored)
    memory = run["memory"]
    in_use = sum(memory["mean_bytes"][s] for s in ("metadata", "live", "reserved", "hole", "tail", "internal"))
    block_bytes = run["replicas"][0]["token_bytes"] * run["replicas"][0]["quantum_tokens"]
    blocks = in_use / block_bytes / run["batch"]["mean_running"]
    return (f"| {name} | {point['bytes_per_token']:,.0f} | {point['mass_mean']:.3f} | {point['output_error_mean']:.4f} "
            f"| {blocks * block_bytes / 1024:.0f} | {blocks:.1f} | {run['batch']['mean_running']:.1f} "
            f"| {run['batch']['max_running']} | {run['preemptions']} "
            f"| {run['throughput']['output_tokens_per_s']:,.0f} |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    names = sys.argv[2:]
    if unknown := set(names) - {each[0] for each in LINES}:
        sys.exit(f"table.py: no line is called {', '.join(sorted(unknown))}")
    print("| kept and stored as | bytes a token | mass | error | KiB a request | blocks a request | running | most "
          "| preemptions | tokens/s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for each in LINES:
        if not names or each[0] in names:
            print(line(sys.argv[1], *each))


if __name__ == "__main__":
    main()
