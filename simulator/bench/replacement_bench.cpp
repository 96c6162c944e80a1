// Replaying block references through replacement policies: references a second, beside a list and a hash table as
// general simulators have them, which must find the same. Prints CPU times and hits; libcachesim_peer.py gives the
// hits and the rates of libCacheSim's own loop.
//   replacement_bench [TRACE] [--small]      TRACE: a .kvt or any importable file with prefix hashes
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <list>
#include <string>
#include <unordered_map>

#include "simulator/base/check.h"
#include "simulator/base/random.h"
#include "simulator/bench/measure.h"
#include "simulator/replacement/flow_bound.h"
#include "simulator/replacement/lru_curve.h"
#include "simulator/replacement/replacements.h"
#include "traces/import/open_trace.h"

namespace kvplan::replacement {
namespace {

/// LRU, FIFO or SIEVE as one would write it down: a list and a table of places in it.
std::int64_t plain_hits(const References& refs, std::int64_t capacity, std::string_view name) {
  struct Entry {
    Id id;
    bool used;
  };
  std::list<Entry> list;  // the oldest first
  std::unordered_map<Id, std::list<Entry>::iterator> places;
  auto hand = list.end();
  std::int64_t hits = 0;
  for (const Id id : refs.ids) {
    if (const auto at = places.find(id); at != places.end()) {
      ++hits;
      at->second->used = true;
      if (name == "lru") list.splice(list.end(), list, at->second);
      continue;
    }
    if (static_cast<std::int64_t>(list.size()) == capacity) {
      auto victim = list.begin();
      if (name == "sieve") {
        for (victim = hand == list.end() ? list.begin() : hand; victim->used;) {
          victim->used = false;
          if (++victim == list.end()) victim = list.begin();
        }
        hand = std::next(victim);
      }
      places.erase(victim->id);
      list.erase(victim);
    }
    list.push_back({id, false});
    places[id] = std::prev(list.end());
    // The hand stays where it is: at its end it means the oldest, not what has just come.
  }
  return hits;
}

/// Prompts that share beginnings, some more often than others.
traces::Trace made_up() {
  traces::Trace trace;
  trace.prefix.block_tokens = 512;
  trace.prefix.offsets.push_back(0);
  Random random(1, "replacement");
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  for (int r = 0; r < 2000; ++r) {
    const std::uint64_t family = random.below(1 + random.below(200));
    const std::uint64_t shared = 4 + family % 16, all = shared + random.below(24);
    for (std::uint64_t k = 0; k < all; ++k) {
      const std::uint64_t name = k < shared
                                     ? family << 32 | k
                                     : (std::uint64_t{1} << 62) + (static_cast<std::uint64_t>(r) << 32) + k;
      trace.prefix.ids.push_back(ids.emplace(name, static_cast<std::uint32_t>(ids.size())).first->second);
    }
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
    trace.arrival_ns.push_back(std::int64_t{r} * 1'000'000'000);
  }
  trace.prefix.distinct = static_cast<std::int64_t>(ids.size());
  return trace;
}

double rate(const References& refs, double seconds) {
  return 1e-6 * static_cast<double>(refs.count()) / seconds;
}

void print(const References& refs, const char* name, std::int64_t capacity, std::int64_t hits,
           const bench::Spread& time) {
  std::printf("%-14s %8" PRId64 " blocks %8" PRId64 " hits  %7.1f M/s (%.1f-%.1f)", name, capacity, hits,
              rate(refs, time.median), rate(refs, time.slowest), rate(refs, time.fastest));
}

bool policy_row(const References& refs, const ReplacementEntry& entry, std::int64_t capacity, int rounds) {
  const auto choice = parse_component(entry.descriptor.name, "replacement", replacement_descriptors());
  const std::string_view name = entry.descriptor.name;
  std::int64_t hits = 0, plain = 0;
  const bool has_plain = name == "lru" || name == "fifo" || name == "sieve";
  std::vector<bench::Side> sides{
      {[&] { hits = entry.replay(choice.value(), refs, capacity, nullptr).value().object; }}};
  if (has_plain) sides.push_back({[&] { plain = plain_hits(refs, capacity, name); }});
  const auto times = bench::measure(sides, rounds);
  print(refs, std::string(name).c_str(), capacity, hits, times[0]);
  if (has_plain)
    std::printf("  list and table %.1f M/s  %.1fx", rate(refs, times[1].median),
                times[1].median / times[0].median);
  std::printf("\n");
  if (!has_plain || hits == plain) return true;
  std::fprintf(stderr, "replacement_bench: %s: %" PRId64 " hits, expected %" PRId64 "\n",
               std::string(name).c_str(), hits, plain);
  return false;
}

/// All sizes at once beside one size.
bool curve_row(const References& refs, std::int64_t capacity, int rounds) {
  const auto choice = parse_component("lru", "replacement", replacement_descriptors());
  const auto replay = replacement_entry(choice.value()).replay;
  std::int64_t one = 0, all = 0;
  const auto times =
      bench::measure({{[&] { one = replay(choice.value(), refs, capacity, nullptr).value().object; }},
                      {[&] { all = lru_curve(refs, nullptr).value().at(capacity).object; }}},
                     rounds);
  print(refs, "lru, all sizes", capacity, all, times[1]);
  std::printf("  as long as %.1f runs of one size\n", times[1].median / times[0].median);
  return one == all;
}

/// The flow on the first references, and the other way to its number.
bool flow_row(const References& refs, std::int64_t capacity, int rounds) {
  FlowBound flow, greedy;
  const auto times = bench::measure({{[&] { flow = flow_bound(refs, capacity, nullptr, INT64_MAX).value(); }},
                                     {[&] { greedy = flow_bound(refs, capacity, nullptr, -1).value(); }}},
                                    rounds);
  std::printf("flow of %" PRId64 " references, %" PRId64 " intervals, %" PRId64 " blocks: %" PRId64
              " hits, %.0f ms; greedy %.2f ms\n",
              refs.count(), flow.intervals, capacity, flow.hits, 1e3 * times[0].median,
              1e3 * times[1].median);
  return flow.hits == greedy.hits;
}

int run(const traces::Trace& trace, bool small) {
  auto made = references_of(trace);
  if (!made.ok()) {
    std::fprintf(stderr, "replacement_bench: %s\n", made.error().to_string().c_str());
    return 2;
  }
  const References& refs = made.value();
  std::printf("%" PRId64 " references, %" PRId64 " distinct\n", refs.count(),
              static_cast<std::int64_t>(refs.distinct));
  const int rounds = small ? 1 : 15;
  bool good = true;
  for (const std::int64_t share : {100, 10}) {
    const std::int64_t capacity = std::max<std::int64_t>(1, refs.distinct / share);
    for (const ReplacementEntry* entry : replacements())
      if (entry->replay != nullptr) good = policy_row(refs, *entry, capacity, rounds) && good;
    good = curve_row(refs, capacity, rounds) && good;
  }
  References first = refs;
  std::size_t prompts = 0;
  while (prompts < refs.prompts() && refs.offsets[prompts + 1] <= (small ? 1'000U : 10'000U)) ++prompts;
  first.offsets = refs.offsets.first(prompts + 1);
  first.ids = refs.ids.first(first.offsets.back());
  good = flow_row(first, 256, small ? 1 : 3) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace kvplan::replacement

int main(int argc, char** argv) {
  bool small = false;
  std::string path;
  for (int i = 1; i < argc; ++i)
    std::strcmp(argv[i], "--small") == 0 ? void(small = true) : void(path = argv[i]);
  if (path.empty()) return kvplan::replacement::run(kvplan::replacement::made_up(), small);
  const auto trace = kvplan::traces::open_trace(path);
  if (!trace.ok()) {
    std::fprintf(stderr, "replacement_bench: %s\n", trace.error().to_string().c_str());
    return 2;
  }
  return kvplan::replacement::run(trace.value(), small);
}
