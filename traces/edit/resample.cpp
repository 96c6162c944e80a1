// Traffic that resembles a trace: intervals of time, or whole sessions, drawn with replacement.
#include <algorithm>
#include <unordered_map>

#include "simulator/base/random.h"
#include "traces/edit/edits.h"
#include "traces/edit/groups.h"
#include "traces/record/digest.h"
#include "traces/record/memory_stream.h"
#include "traces/record/turns.h"

namespace kvplan::traces {
namespace {

constexpr std::int64_t kMostBlocks = 48;
constexpr std::int64_t kLeastBlocks = 8;
constexpr std::int64_t kGroupsOfBlock = 8;

/// A request of the new trace.
struct Entry {
  std::int64_t row{0};
  std::int64_t arrival_ns{0};
  std::int64_t copy{0};  ///< requests of one copy were together in the original trace
};

struct Drawn {
  std::vector<Entry> entries;
  std::vector<std::int64_t> part;  ///< of each row: the interval or session that is drawn as a whole
};

std::uint64_t key_of(std::int64_t copy, std::int64_t number) {
  return (static_cast<std::uint64_t>(copy) << 32) | static_cast<std::uint64_t>(number);
}

class Drawing {
 public:
  Drawing(const Trace& trace, const std::vector<std::vector<std::int64_t>>& groups, std::uint64_t seed)
      : trace_(trace), groups_(groups), random_(seed, "traces.resample") {
    for (const auto& group : groups_) {
      std::int64_t start = arrival(group.front());
      for (const std::int64_t row : group) start = std::min(start, arrival(row));
      starts_.push_back(start);
    }
    out_.part.resize(trace.arrival_ns.size());
  }

  Drawn take() {
    const std::int64_t blocks = std::min(kMostBlocks, std::ssize(groups_) / kGroupsOfBlock);
    if (!trace_.shares_clock || blocks < kLeastBlocks) {
      draw_groups();
    } else {
      draw_blocks(blocks);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::int64_t arrival(std::int64_t row) const {
    return trace_.arrival_ns[static_cast<std::size_t>(row)];
  }
  void add(std::size_t group, std::int64_t shift_ns, std::int64_t copy) {
    for (const std::int64_t row : groups_[group])
      out_.entries.push_back({row, arrival(row) + shift_ns, copy});
  }

  /// Replaces each group by a group drawn from all.
  void draw_groups() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const std::int64_t row : groups_[g])
        out_.part[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(g);
      const auto from = static_cast<std::size_t>(random_.below(groups_.size()));
      add(from, starts_[g] - starts_[from], static_cast<std::int64_t>(g));
    }
  }

  /// Replaces each interval of time by one nearby, so that a busy hour stays busy.
  void draw_blocks(std::int64_t blocks) {
    const auto [first, last] = std::minmax_element(starts_.begin(), starts_.end());
    const std::int64_t length = (*last - *first) / blocks + 1;
    std::vector<std::vector<std::size_t>> of_block(static_cast<std::size_t>(blocks));
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::int64_t block = (starts_[g] - *first) / length;
      of_block[static_cast<std::size_t>(block)].push_back(g);
      for (const std::int64_t row : groups_[g]) out_.part[static_cast<std::size_t>(row)] = block;
    }
    const std::int64_t reach = blocks / kGroupsOfBlock;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t low = std::clamp<std::int64_t>(block - reach, 0, blocks - 1 - 2 * reach);
      const std::int64_t from = random_.between(low, low + 2 * reach);
      for (const std::size_t group : of_block[static_cast<std::size_t>(from)])
        add(group, (block - from) * length, block);
    }
    std::stable_sort(out_.entries.begin(), out_.entries.end(),
                     [](const Entry& a, const Entry& b) { return a.arrival_ns < b.arrival_ns; });
  }

  const Trace& trace_;
  const std::vector<std::vector<std::int64_t>>& groups_;
  Random random_;
  std::vector<std::int64_t> starts_;
  Drawn out_;
};

template <class T>
void pick(const std::vector<T>& from, const std::vector<Entry>& entries, std::vector<T>& to) {
  if (from.empty()) return;
  to.reserve(entries.size());
  for (const Entry& entry : entries) to.push_back(from[static_cast<std::size_t>(entry.row)]);
}

/// Ids that occur in one part only are new in each copy, so copies do not hit each other. All share other ids.
void pick_ids(const Trace& trace, const Drawn& drawn, PrefixHashes& to) {
  const PrefixHashes& from = trace.prefix;
  to.block_tokens = from.block_tokens;
  to.last_may_be_partial = from.last_may_be_partial;
  if (!from.present()) return;
  constexpr std::int64_t kUnseen = -1, kShared = -2;
  std::vector<std::int64_t> owner(static_cast<std::size_t>(from.distinct), kUnseen);
  for (std::size_t row = 0; row < drawn.part.size(); ++row) {
    for (std::uint64_t i = from.offsets[row]; i < from.offsets[row + 1]; ++i) {
      std::int64_t& at = owner[from.ids[i]];
      at = at == kUnseen || at == drawn.part[row] ? drawn.part[row] : kShared;
    }
  }
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  to.offsets.push_back(0);
  for (const Entry& entry : drawn.entries) {
    const auto row = static_cast<std::size_t>(entry.row);
    for (std::uint64_t i = from.offsets[row]; i < from.offsets[row + 1]; ++i) {
      const std::int64_t copy = owner[from.ids[i]] == kShared ? 0 : entry.copy + 1;
      const auto [at, is_new] =
          numbers.try_emplace(key_of(copy, from.ids[i]), static_cast<std::uint32_t>(to.distinct));
      if (is_new) ++to.distinct;
      to.ids.push_back(at->second);
    }
    to.offsets.push_back(to.ids.size());
  }
}

/// Numbers names by first appearance. `by_copy`: names in two copies get different numbers.
void pick_names(const std::vector<std::int32_t>& from, const Drawn& drawn, bool by_copy,
                std::vector<std::int32_t>& to, std::vector<std::int64_t>& old) {
  if (from.empty()) return;
  std::unordered_map<std::uint64_t, std::int32_t> numbers;
  for (const Entry& entry : drawn.entries) {
    const std::int32_t name = from[static_cast<std::size_t>(entry.row)];
    if (name < 0) {
      to.push_back(name);
      continue;
    }
    const auto [at, is_new] =
        numbers.try_emplace(key_of(by_copy ? entry.copy : 0, name), static_cast<std::int32_t>(old.size()));
    if (is_new) old.push_back(name);
    to.push_back(at->second);
  }
}

void pick_waits(const Trace& trace, const Drawn& drawn, Waits& to) {
  if (trace.waits.empty()) return;
  std::unordered_map<std::uint64_t, std::int32_t> places;
  std::unordered_multimap<std::int64_t, std::int32_t> waits_of;
  for (std::size_t i = 0; i < drawn.entries.size(); ++i)
    places.emplace(key_of(drawn.entries[i].copy, drawn.entries[i].row), static_cast<std::int32_t>(i));
  for (std::size_t k = 0; k < trace.waits.size(); ++k)
    waits_of.emplace(trace.waits.request[k], trace.waits.before[k]);
  for (std::size_t i = 0; i < drawn.entries.size(); ++i) {
    const auto [begin, end] = waits_of.equal_range(drawn.entries[i].row);
    for (auto at = begin; at != end; ++at) {
      const auto before = places.find(key_of(drawn.entries[i].copy, at->second));
      if (before == places.end()) continue;
      to.request.push_back(static_cast<std::int32_t>(i));
      to.before.push_back(before->second);
    }
  }
  sort_waits(to);
}

}  // namespace

Result<Trace> resampled(const Trace& trace, std::uint64_t seed) {
  KVPLAN_TRY(const auto groups, groups_of(trace));
  if (groups.empty()) return bad_input("expected requests, found none");
  const Drawn drawn = Drawing(trace, groups, seed).take();
  if (drawn.entries.empty()) return bad_input("the stretches that were drawn have no requests");
  Trace out;
  for (const Entry& entry : drawn.entries) out.arrival_ns.push_back(entry.arrival_ns);
  pick(trace.input_tokens, drawn.entries, out.input_tokens);
  pick(trace.output_tokens, drawn.entries, out.output_tokens);
  pick(trace.max_tokens, drawn.entries, out.max_tokens);
  pick(trace.priority, drawn.entries, out.priority);
  pick(trace.think_ns, drawn.entries, out.think_ns);
  pick_ids(trace, drawn, out.prefix);
  std::vector<std::int64_t> sessions, tenants;
  pick_names(trace.session, drawn, true, out.session, sessions);
  for (std::size_t i = 0; i < sessions.size(); ++i) out.session_names.push_back(std::to_string(i));
  pick_names(trace.tenant, drawn, false, out.tenant, tenants);
  for (const std::int64_t name : tenants)
    out.tenant_names.push_back(trace.tenant_names[static_cast<std::size_t>(name)]);
  pick_waits(trace, drawn, out.waits);
  out.shares_clock = trace.shares_clock;
  out.provenance = trace.provenance;
  out.provenance.options.push_back("resampled=" + std::to_string(seed));
  TraceDigest digest;
  digest.add(out);
  out.digest = digest.finish(MemoryStream(out).summary());
  return out;
}

}  // namespace kvplan::traces
