#!/usr/bin/env python3
"""What PyTorch's caching allocator does on a real device: record.py FOLDER

Needs PyTorch with CUDA, CuPy and a device that no other process uses; one process for each configuration,
because the allocator reads its own at the start. Writes FOLDER/NAME.csv: a line of facts, then a line for each event
with what the allocator says after it.

event     alloc SIZE: a block of so many bytes is asked for. free K: the block of the K-th event goes back.
          empty: torch.cuda.empty_cache()
ok        0: out of memory
address   of the block, less the lowest address that was ever handed out
allocated bytes of blocks in use; reserved: bytes taken from the device
"""
import os
import random
import subprocess
import sys

MIB = 1 << 20
EVENTS = 1500
# name: (PYTORCH_ALLOC_CONF, MiB that the process may take, whether a memory fraction or the device says so)
CONFIGURATIONS = {
    "default": ("", 512, "fraction"),
    "tight": ("", 129, "fraction"),
    "roundup": ("roundup_power2_divisions:4", 512, "fraction"),
    "max-split": ("max_split_size_mb:24", 257, "fraction"),
    "garbage": ("garbage_collection_threshold:0.6", 257, "fraction"),
    "both": ("max_split_size_mb:21,garbage_collection_threshold:0.8,roundup_power2_divisions:8", 257, "fraction"),
    "expandable": ("expandable_segments:True", 512, "fraction"),
    "expandable-tight": ("expandable_segments:True", 129, "fraction"),
    "device-default": ("", 256, "device"),
    "device-expandable": ("expandable_segments:True", 256, "device"),
}


def size(draw):
    kind = draw.random()
    if kind < 0.35:
        return draw.randint(1, 4096)
    if kind < 0.60:
        return draw.randint(4096, MIB)
    if kind < 0.85:
        return draw.randint(MIB + 1, 10 * MIB)
    return draw.randint(10 * MIB, 48 * MIB)


def leave(limit_mib):
    """Takes all of the device's memory for good but about so much. The bytes that are left, as they can be had."""
    import torch
    from cupy.cuda import runtime

    while (more := torch.cuda.mem_get_info()[0] // (2 * MIB) * 2 * MIB - limit_mib * MIB) > 0:
        runtime.malloc(more)
    pieces = []
    try:
        while True:
            pieces.append(runtime.malloc(2 * MIB))
    except runtime.CUDARuntimeError:
        pass
    for piece in pieces:
        runtime.free(piece)
    return len(pieces) * 2 * MIB


def record(name, folder):
    import torch

    settings, limit_mib, limit = CONFIGURATIONS[name]
    draw = random.Random(name)
    torch.empty(1, device="cuda")
    torch.cuda.empty_cache()
    device_bytes = torch.cuda.get_device_properties(0).total_memory
    if limit == "fraction":
        # Half a MiB above, so that no rounding of the share decides: all that is taken is whole MiB.
        capacity = limit_mib * MIB + MIB // 2
        torch.cuda.set_per_process_memory_fraction(capacity / device_bytes)
    else:
        capacity = leave(limit_mib)
    held, rows = {}, []
    for event in range(EVENTS):
        ok, address, roll = 1, "", draw.random()
        aim = limit_mib * MIB * (0.5 + 0.45 * (event // 250 % 2))
        if roll < 0.004:
            torch.cuda.empty_cache()
            what = "empty"
        elif held and (roll < 0.35 or torch.cuda.memory_allocated() > aim):
            gone = draw.choice(sorted(held))
            del held[gone]
            what = f"free {gone}"
        else:
            wanted = size(draw)
            what = f"alloc {wanted}"
            try:
                held[event] = torch.empty(wanted, dtype=torch.uint8, device="cuda")
                address = held[event].data_ptr()
            except torch.OutOfMemoryError:
                ok = 0
        stats = torch.cuda.memory_stats()
        rows.append([what, ok, address, stats["allocated_bytes.all.current"], stats["reserved_bytes.all.current"]])
    lowest = min(row[2] for row in rows if row[2] != "")
    with open(os.path.join(folder, name + ".csv"), "w") as out:
        print(f"# device={torch.cuda.get_device_name(0)}; torch={torch.__version__}; settings={settings}; "
              f"limit={limit}; capacity_bytes={capacity}; device_bytes={device_bytes}", file=out)
        print("event,ok,address,allocated,reserved", file=out)
        for what, ok, address, *counts in rows:
            print(what, ok, "" if address == "" else address - lowest, *counts, sep=",", file=out)


def main():
    if len(sys.argv) == 3:
        record(sys.argv[2], sys.argv[1])
        return
    failed, running = 0, []
    for name, (settings, _, limit) in CONFIGURATIONS.items():  # those that take the whole device come last
        if limit == "device":
            failed |= max((process.wait() for process in running), default=0)
            running = []
        environment = dict(os.environ, PYTORCH_ALLOC_CONF=settings, PYTORCH_CUDA_ALLOC_CONF=settings)
        running.append(subprocess.Popen([sys.executable, __file__, sys.argv[1], name], env=environment))
    sys.exit(failed | max(process.wait() for process in running))


if __name__ == "__main__":
    main()
