"""Reads a .kvt with nothing but traces/FORMAT.md: standard library and the zstd program, no Protobuf.

Prints the columns, one line each, for comparison with what kvplan reads. Checks every checksum and the digest.
"""
import subprocess
import sys
import zlib

PACKED_ZIGZAG = {1, 5, 6, 9, 12, 13, 14, 15, 16, 17}
MASK = (1 << 64) - 1


def unpack(stored, raw_bytes):
    raw = subprocess.run(["zstd", "-d", "-c"], input=stored, stdout=subprocess.PIPE, check=True).stdout
    assert len(raw) == raw_bytes, (len(raw), raw_bytes)
    return raw


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(message):
    """(number, value) pairs: an int for a varint field, bytes for a length-delimited one."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        else:
            assert key & 7 == 2, key
            size, at = varint(message, at)
            value = message[at:at + size]
            at += size
        yield key >> 3, value


def numbers(data, zigzag):
    out = []
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        out.append((value >> 1) ^ -(value & 1) if zigzag else value)
    return out


def sums(steps):
    """Running sums, as signed 64-bit numbers that wrap."""
    total = 0
    out = []
    for step in steps:
        total = (total + step) & MASK
        out.append(total - (1 << 64) if total >> 63 else total)
    return out


class Digest:
    LANES = ("arrival", "input", "output", "count", "id0", "id1", "id2", "id3",
             "session", "tenant", "max", "ttft", "e2e", "names", "tenants")
    LATER = ("think", "waits")

    def __init__(self):
        self.state = {lane: 0 for lane in self.LANES}
        self.later = {lane: 0 for lane in self.LATER}

    @staticmethod
    def mix(state, value):
        state = ((state ^ (value & MASK)) * 0x9E3779B97F4A7C15) & MASK
        return state ^ (state >> 32)

    def values(self, lane, column):
        states = self.state if lane in self.state else self.later
        for value in column:
            states[lane] = self.mix(states[lane], value)

    def stated(self, lane, column, first_row):
        for i, value in enumerate(column):
            if value != -1:
                self.values(lane, (first_row + i, value))

    def names(self, lane, names):
        for name in names:
            self.values(lane, (len(name), *name))

    def finish(self, requests, block, partial, shares_clock):
        state = 0
        for value in (requests, block, int(block > 0 and partial), int(shares_clock), *self.state.values()):
            state = self.mix(state, value)
        for number, value in enumerate(self.later.values(), len(self.LANES) + 1):
            if value != 0:
                state = self.mix(self.mix(state, number), value)
        return "%016x" % state


def split(lengths, text):
    out = []
    at = 0
    for length in lengths:
        out.append(text[at:at + length])
        at += length
    return out


def main(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x89KVT\r\n\x1a\n" and data[-8:] == b"KVT-END\n"
    index_offset = int.from_bytes(data[-16:-8], "little")
    at = 8
    header, index, digest = {}, {}, Digest()
    offsets = []
    chunk_offsets = []
    columns = {n: [] for n in range(1, 18)}
    names, waits = [], []
    while at < len(data) - 16:
        kind = data[at:at + 4]
        raw_bytes, stored_bytes, crc = (int.from_bytes(data[at + k:at + k + 4], "little") for k in (4, 8, 12))
        stored = data[at + 16:at + 16 + stored_bytes]
        assert zlib.crc32(data[at:at + 12] + stored) == crc
        message = unpack(stored, raw_bytes)
        if kind == b"HEAD":
            header = dict(fields(message))
            assert header[1] == 1
        elif kind == b"CHNK":
            chunk_offsets.append(at)
            chunk = {number: (value if number in (8, 11) else numbers(value, number in PACKED_ZIGZAG))
                     for number, value in fields(message)}
            chunk = {**{n: b"" if n in (8, 11) else [] for n in range(1, 18)}, **chunk}
            first_row = len(columns[1])
            chunk[1], chunk[5] = sums(chunk[1]), sums(chunk[5])
            for number in columns:
                if number not in (7, 8, 10, 11):
                    columns[number] += chunk[number]
            for lane, number in (("arrival", 1), ("input", 2), ("output", 3), ("count", 4)):
                digest.values(lane, chunk[number])
            first_id = len(columns[5]) - len(chunk[5])
            for k, value in enumerate(chunk[5]):
                digest.values("id%d" % ((first_id + k) % 4), (value,))
            for lane, number in (("session", 6), ("tenant", 9), ("max", 12), ("ttft", 13), ("e2e", 14),
                                 ("think", 15)):
                digest.stated(lane, chunk[number], first_row)
            request = first_row
            for step, back in zip(chunk[16], chunk[17], strict=True):
                request += step
                waits += (request, request - back)
                digest.values("waits", waits[-2:])
            new = split(chunk[7], chunk[8])
            names += new
            digest.names("names", new)
            digest.names("tenants", split(chunk[10], chunk[11]))
            if header.get(3, 0):
                offsets = offsets or [0]
                for count in chunk[4]:
                    offsets.append(offsets[-1] + count)
        elif kind == b"INDX":
            assert at == index_offset
            index = dict(fields(message))
        else:
            assert kind[:1].islower(), kind
        at += 16 + stored_bytes
    assert at == len(data) - 16
    assert numbers(index[1], False) == chunk_offsets
    assert index[3] == len(columns[1])
    found = digest.finish(len(columns[1]), header.get(3, 0), index.get(6, 0), not header.get(4, 0))
    assert index[7].decode() == found, (index[7], found)
    lines = [columns[1], columns[2], columns[3], offsets, *(columns[n] for n in (5, 6, 12, 13, 15)), waits]
    out = "".join("".join("%d " % value for value in line) + "\n" for line in lines)
    sys.stdout.buffer.write(out.encode() + b"".join(name + b" " for name in names) + b"\n")


main(sys.argv[1])
