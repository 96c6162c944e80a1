"""Pools of the oracle: the holders of each block or run of slots, and the state of every cell of the pool.

The paged pool follows vLLM's (v1/core/block_pool.py, v0.15.1): free blocks in one queue, hashes published
when a block is allocated to be filled, blocks released tail first to the back; or, with memory.replacement lru,
fifo or lfu, empty blocks first, then further copies, then by rank. Beside it one bit per cell
says what has been written and, per holder, what has been dropped; the states are read off these bits.
"""

from collections import OrderedDict

CELL_STATES = ("live", "reserved", "hole", "tail", "internal", "cached", "stranded", "free")


def cdiv(a, b):
    return -(-a // b)


class Block:
    def __init__(self, number):
        self.number = number
        self.written = 0  # a bit per cell
        self.holders = {}  # request -> entry of its table
        self.key = None  # hash, where published


class PagedPool:
    """vLLM's block pool and, beside it, one bit per cell and state."""

    def __init__(self, parameters, walk):
        self.p, self.size, self.walk = parameters, parameters.block, walk
        self.blocks = [Block(i) for i in range(1, parameters.quanta + 1)]
        self.queue = OrderedDict((block, None) for block in self.blocks)  # free blocks, front first
        self.found = {}  # key -> blocks in order of publication
        self.chain = {}  # (key before, content) -> key
        self.evicted = 0
        self.turn = 0  # of what happens to contents
        self.came, self.used, self.uses, self.last_counted = {}, {}, {}, {}  # by key
        self.touched = set(self.blocks)
        self.shares = dict.fromkeys(self.blocks, ())
        self.sums = dict.fromkeys(("live", "reserved", "hole", "tail", "internal", "cached", "unhashed"), 0)

    def keys(self, request, count):
        key = None
        for number in range(count):
            key = self.chain.setdefault((key, request.content(number, self.size)), len(self.chain))
            yield key

    def fits_ever(self, request):
        return cdiv(request.final, self.size) <= self.p.quanta

    def held(self):
        """Blocks that requests hold."""
        return self.p.quanta - len(self.queue)

    def lookup(self, request):
        if not self.p.prefix_cache:
            return []
        hits = []
        for key in self.keys(request, (request.tokens - 1) // self.size):
            if key not in self.found:
                break
            hits.append(next(iter(self.found[key])))
        return hits

    def allocate(self, request, new, hits=()):
        """Cells for `new` tokens beyond those computed and hit; False, without effect, where they lack."""
        begin = request.computed + len(hits) * self.size
        need = cdiv(begin + new, self.size) - len(request.table) - len(hits)
        if need + sum(not block.holders for block in hits) > len(self.queue):
            return False
        for block in hits:
            self.queue.pop(block, None)
            self.hold(request, block)
            self.use(block.key)
        request.hashed += len(hits)
        for _ in range(need):
            block = self.next_block()
            del self.queue[block]
            if block.key is not None:
                self.forget(block)
            block.written = 0
            self.hold(request, block)
        full = min(begin + new, request.tokens) // self.size
        if self.p.prefix_cache and request.drop_end is None and full > request.hashed:
            for number, key in enumerate(self.keys(request, full)):
                if number >= request.hashed:
                    block = request.table[number]
                    assert block.key is None
                    block.key = key
                    self.use(key)
                    self.found.setdefault(key, OrderedDict())[block] = None
            request.hashed = full
        return True

    def next_block(self):
        """The block to hand out next, of those that no request holds."""
        if self.p.replacement == "vllm-queue":
            return next(iter(self.queue))
        for block in self.queue:
            if block.key is None:
                return block
        for block in self.queue:
            if len(self.found[block.key]) > 1:
                return block
        ranks = {
            "lru": lambda key: self.used[key],
            "fifo": lambda key: self.came[key],
            "lfu": lambda key: (self.uses[key], self.last_counted[key]),
        }
        return min(self.queue, key=lambda block: ranks[self.p.replacement](block.key))

    def use(self, key):
        """It is hit, or published: for the first time, again after it was gone, or once more."""
        self.turn += 1
        if key not in self.found:
            self.came[key] = self.turn
            self.uses[key] = 0
        self.uses[key] += 1
        self.used[key] = self.last_counted[key] = self.turn

    def hold(self, request, block):
        block.holders[request] = len(request.table)
        request.table.append(block)
        request.dropped.append(0)
        self.touched.add(block)

    def forget(self, block):
        same = self.found[block.key]
        del same[block]
        if not same:
            del self.found[block.key]
        block.key = None
        self.evicted += 1

    def release(self, request, number):
        block = request.table[number]
        del block.holders[request]
        request.table[number] = None
        self.touched.add(block)
        if not block.holders:
            self.queue[block] = None
            if block.key is not None and all(not copy.holders for copy in self.found[block.key]):
                self.turn += 1
                self.used[block.key] = self.turn  # until now

    def free(self, request):
        for number in reversed(range(len(request.table))):
            if request.table[number] is not None:
                self.release(request, number)

    def write(self, request, begin, end):
        for position in range(begin, end):
            block = request.table[position // self.size]
            block.written |= 1 << (position % self.size)
            self.touched.add(block)

    def drop(self, request, begin, end):
        """Drops the cells of [begin, end), then lets go what holds no kept and no unwritten cell."""
        for position in range(begin, end):
            request.dropped[position // self.size] |= 1 << (position % self.size)
            self.touched.add(request.table[position // self.size])
        let_go = 0
        everything = (1 << self.size) - 1
        for number in reversed(range(begin // self.size, cdiv(end, self.size))):
            if request.dropped[number] == everything:
                let_go += 1
                self.release(request, number)
        return let_go

    def share(self, block):
        """Cells of one block by state, in the order of the definition: the first that matches."""
        everything = (1 << self.size) - 1
        if not block.holders:
            return (("cached" if block.key is not None else "unhashed", self.size),)
        live = will = 0
        for request, number in block.holders.items():
            live |= block.written & ~request.dropped[number]
            ahead = min(max(request.final - number * self.size, 0), self.size)
            will |= ((1 << ahead) - 1) & ~block.written
        hole = block.written & ~live
        rest = everything & ~(live | will | hole)
        return (
            ("live", live.bit_count()),
            ("reserved", will.bit_count()),
            ("hole", hole.bit_count()),
            ("tail" if live | will | hole else "internal", rest.bit_count()),
        )

    def states(self, refused):
        for block in self.touched:
            for state, count in self.shares[block]:
                self.sums[state] -= count
            self.shares[block] = self.share(block)
            for state, count in self.shares[block]:
                self.sums[state] += count
        self.touched.clear()
        if self.walk:  # every block again, whatever was thought to have changed
            sums = dict.fromkeys(self.sums, 0)
            for block in self.blocks:
                assert (block in self.queue) == (not block.holders)
                for state, count in self.share(block):
                    sums[state] += count
            assert sums == self.sums, (sums, self.sums)
        result = dict(self.sums)
        result["stranded" if refused else "free"] = result.pop("unhashed")
        return result


class CompactPool:
    """Blocks of requests with survivors that move together: every cell of a table by itself, kept or dropped.

    A table is a list with True for a kept cell and False for a dropped one; its blocks are the first
    ceil(len / size) ones, and those that are granted behind it for tokens still to write.
    """

    def __init__(self, parameters, walk):
        self.p, self.size = parameters, parameters.block
        self.evicted, self.found = 0, {}
        self.tables = {}  # request -> [cells, blocks]
        self.idle = parameters.quanta
        self.compactions = self.compacted_cells = 0

    def fits_ever(self, request):
        return cdiv(request.final, self.size) <= self.p.quanta

    def held(self):
        return self.p.quanta - self.idle

    def lookup(self, request):
        return []

    def allocate(self, request, new, hits=()):
        cells, blocks = self.tables.get(request, ([], 0))
        need = cdiv(len(cells) + new, self.size) - blocks
        if need > self.idle:
            return False
        self.idle -= need
        self.tables[request] = [cells, blocks + need]
        return True

    def free(self, request):
        self.idle += self.tables.pop(request)[1]

    def write(self, request, begin, end):
        self.tables[request][0].extend([True] * (end - begin))

    def keep(self, request, kept):
        """Drops the oldest kept cells (which they are changes nothing) and compacts. Drops, blocks given back."""
        cells, blocks = self.tables[request]
        dropped = sum(cells) - kept
        assert dropped >= 0
        at = 0
        for _ in range(dropped):
            at = cells.index(True, at)
            cells[at] = False
        if len(cells) - kept < self.size:
            return dropped, 0
        left = cdiv(kept, self.size)
        self.tables[request] = [[True] * kept, left]
        self.idle += blocks - left
        self.compactions += 1
        self.compacted_cells += kept
        return dropped, blocks - left

    def states(self, refused):
        sums = dict.fromkeys(CELL_STATES, 0)
        for request, (cells, blocks) in self.tables.items():
            kept, behind = sum(cells), blocks * self.size - len(cells)
            awaited = min(behind, request.final - min(request.computed, request.final))
            sums["live"] += kept
            sums["hole"] += len(cells) - kept
            sums["reserved"] += awaited
            sums["tail"] += behind - awaited
        sums["stranded" if refused else "free"] = self.idle * self.size
        return sums


class ContiguousPool:
    """One run of slots per request, reserved whole at the lowest address that fits."""

    def __init__(self, parameters, walk):
        self.p = parameters
        self.evicted = 0
        self.members = []

    def fits_ever(self, request):
        return self.p.reservation(request.length, request.final) <= self.p.quanta

    def held(self):
        return sum(member.slots[1] for member in self.members)

    def lookup(self, request):
        return []

    def allocate(self, request, new, hits=()):
        if request.slots is not None:
            return True
        size, address = self.p.reservation(request.length, request.final), 0
        for member in sorted(self.members, key=lambda r: r.slots):
            if member.slots[0] - address >= size:
                break
            address = sum(member.slots)
        if address + size > self.p.quanta:
            return False
        request.slots = (address, size)
        self.members.append(request)
        return True

    def free(self, request):
        self.members.remove(request)

    def write(self, request, begin, end):
        pass

    def drop(self, request, begin, end):
        return 0

    def states(self, refused):
        sums = dict.fromkeys(CELL_STATES, 0)
        for request in self.members:
            written = min(request.computed, request.final)
            sums["live"] += request.kept
            sums["hole"] += written - request.kept
            sums["reserved"] += request.final - written
            sums["internal"] += request.slots[1] - request.final
        sums["stranded" if refused else "free"] = self.p.quanta - sum(r.slots[1] for r in self.members)
        return sums
