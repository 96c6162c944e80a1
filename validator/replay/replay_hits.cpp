// Blocks that are found in the prefix cache, and blocks that are inserted into it.
#include <algorithm>
#include <numeric>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

/// With groups of layers: how many leading blocks are hit, and which of them the request takes. In a group with a
/// window these are the last blocks: as many as one token sees besides itself, and at least one.
Status Replay::Impl::begin_found(Request& r, const log::Admit& f, bool goes_on) {
  if (!has_groups())
    return f.found_blocks == 0 ? Status(Done{})
                               : contradict(r.id, "hits blocks of layer groups, but there are no groups");
  if (goes_on)
    return f.found_blocks == r.published ? Status(Done{})
                                         : contradict(r.id, "hits a different number of blocks than before");
  const std::int64_t groups = header_.entries_per_block();
  if (f.found_blocks < 0) return contradict(r.id, "hits a negative number of blocks");
  if (Wide{f.found_blocks} * header_.alloc_unit_tokens >= r.target)
    return contradict(r.id, "hits all its tokens; one token is always computed");
  if (f.found_blocks > next_publication_ / groups)
    return contradict(r.id, "finds " + std::to_string(f.found_blocks) + " blocks of each group; " +
                                std::to_string(next_publication_) + " were ever inserted into the cache");
  found_places_ += f.found_blocks * groups;
  if (found_places_ > options_.most_cells)
    return contradict(r.id, "hits blocks for more than " + std::to_string(options_.most_cells) +
                                " table entries, including running requests");
  r.found_blocks = r.published = f.found_blocks;
  r.written = r.published * header_.alloc_unit_tokens;
  r.table.assign(static_cast<std::size_t>(r.published * groups), kGone);
  r.in_groups.clear();
  for (const log::LayerGroup& group : header_.groups) {
    const std::int64_t shown =
        std::max<std::int64_t>(ceil_div(group.window - 1, header_.alloc_unit_tokens), 1);
    r.in_groups.push_back(
        {r.published, group.window == 0 ? 0 : std::max<std::int64_t>(r.published - shown, 0)});
  }
  r.found_entries.clear();
  r.found_told = 0;
  for (std::int64_t b = 0; b < r.published; ++b)
    for (std::int64_t g = 0; g < groups; ++g)
      if (b >= r.in_groups[static_cast<std::size_t>(g)].empty_to) r.found_entries.push_back(b * groups + g);
  return Done{};
}

/// The entries of the request's table that hold the next hits; empty if the request finds fewer.
Result<std::vector<std::int64_t>> Replay::Impl::entries_of_hits(Request& r, std::int64_t hits) {
  std::vector<std::int64_t> entries(static_cast<std::size_t>(hits));
  if (!has_groups()) {
    std::iota(entries.begin(), entries.end(), std::ssize(r.table));
    r.table.resize(r.table.size() + entries.size(), kGone);
    return entries;
  }
  if (hits > std::ssize(r.found_entries) - static_cast<std::int64_t>(r.found_told)) {
    KVPLAN_TRY_DO(contradict(r.id, "takes more of its hit blocks than its sliding windows need"));
    return std::vector<std::int64_t>{};
  }
  const auto first = r.found_entries.begin() + static_cast<std::ptrdiff_t>(r.found_told);
  std::copy_n(first, hits, entries.begin());
  r.found_told += entries.size();
  return entries;
}

Status Replay::Impl::take_hits(Request& r, const log::Admit& f) {
  KVPLAN_TRY(const std::vector<std::int64_t> entries, entries_of_hits(r, std::ssize(f.hit_keys)));
  taken_hits_.clear();
  std::unordered_set<std::int64_t> taken;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::int64_t publication = f.hit_publications[i];
    KVPLAN_TRY_DO(read_hit(r, publication, f.hit_keys[i], entries[i]));
    if (stopped()) return Done{};
    taken_hits_.push_back(publications_.at(publication));
    if (!taken.insert(taken_hits_.back()).second)
      return contradict(r.id, "hits cache insertion " + std::to_string(publication) + " twice");
  }
  if (stopped()) return Done{};
  if (!has_groups()) {
    r.published = std::ssize(r.table);
    r.written = r.published * header_.alloc_unit_tokens;
  }
  KVPLAN_TRY_DO(arena_.share(r, entries, taken_hits_));
  if (has_groups()) return Done{};
  if (r.written > 0 && header_.prompt_rows > 1 && r.written + header_.prompt_rows > r.target)
    return contradict(r.id, "finds " + std::to_string(r.written) + " of " + std::to_string(r.target) +
                                " tokens, of which the last " + std::to_string(header_.prompt_rows) +
                                " are always computed");
  if (r.written >= r.target) return contradict(r.id, "hits all its tokens; one token is always computed");
  return Done{};
}

/// Reads a found block: it must have the content that was looked for, or that content must be on its way.
Status Replay::Impl::read_hit(const Request& r, std::int64_t publication, log::ContentKey key,
                              std::int64_t entry) {
  const std::int64_t group = entry % header_.entries_per_block();
  const std::string name = "cache insertion " + std::to_string(publication);
  const auto found = publications_.find(publication);
  if (found == publications_.end()) return contradict(r.id, "hits " + name + ", which does not exist");
  const std::int64_t q = found->second;
  const AllocUnit& alloc_unit = arena_.alloc_unit(q);
  if (std::any_of(alloc_unit.holders.begin(), alloc_unit.holders.end(),
                  [&](const Holder& holder) { return holder.request == &r; }))
    return contradict(r.id, "hits " + name + " twice");
  if (alloc_unit.group != group) return contradict(r.id, "hits " + name + ", which belongs to other layers");
  if (follows_courses() && alloc_unit.entry != entry)
    return contradict(r.id, "hits " + name + " at another position of its table than where it was filled");
  KVPLAN_TRY(const CellCounts cells, arena_.read(q, key));
  if (cells.wrong > 0 || alloc_unit.key != key)
    return contradict(r.id, "hits a different content in " + name + " than it looked up");
  if (publication >= first_of_pass_) {
    unfinished_hits_.emplace_back(q, key);
  } else if (cells.cached < arena_.alloc_unit_cells()) {
    return contradict(r.id, "hits " + name + " not written");
  } else {
    hit_cells_read_ += arena_.alloc_unit_cells();
    hit_cells_right_ += cells.cached;
  }
  return Done{};
}

/// At the end of a scheduler step: all hit blocks of all groups were taken, except those that windows do not show.
Status Replay::Impl::check_found() {
  if (!has_groups() || !header_.prefix_cache) return Done{};
  for (auto id = running_.rbegin(); id != running_.rend(); ++id) {
    Request& r = requests_.at(*id);
    if (r.rank < first_admitted_) break;  // so are those before it
    if (r.found_told == r.found_entries.size()) {
      r.found_entries = {};
      r.found_told = 0;
      continue;
    }
    return contradict(r.id, "finds " + std::to_string(r.published) + " blocks, of which it takes " +
                                std::to_string(r.found_told) + " and not " +
                                std::to_string(r.found_entries.size()));
  }
  return Done{};
}

/// Blocks are inserted in the order of the table; with groups of layers, group by group.
Status Replay::Impl::on(const log::Publish& f) {
  Request* const r = running(f.request);
  if (phase_ != Phase::kPass || r == nullptr || !header_.prefix_cache)
    return contradict(f.request, "inserts into the cache, but does not run, or there is no cache");
  if (r->stage != kPublished) r->publishing_group = 0;
  if (!in_order(*r, kPublished)) return contradict(f.request, "has an event out of order");
  const bool dropped = r->sliding || (r->course != nullptr && r->course->first_drop() <= r->written);
  if (dropped) return contradict(f.request, "inserts into the cache after it evicted tokens");
  const std::int64_t groups = header_.entries_per_block();
  const std::int64_t group = f.logical_block % groups;
  const auto in_group = [&](std::int64_t g) -> std::int64_t& {
    return has_groups() ? r->in_groups[static_cast<std::size_t>(g)].published : r->published;
  };
  std::int64_t& published = in_group(group);
  const std::int64_t expected = published * groups + group;
  if (f.logical_block != expected || expected >= std::ssize(r->table))
    return contradict(f.request, "inserts block " + std::to_string(f.logical_block) + ", expected block " +
                                     std::to_string(expected) + " of its " + std::to_string(r->table.size()));
  if (group < r->publishing_group || (group > 0 && published >= in_group(group - 1)))
    return contradict(f.request, "does not insert into the cache group by group");
  r->publishing_group = group;
  const std::int64_t q = r->table[static_cast<std::size_t>(f.logical_block)];
  if (q == kGone || arena_.alloc_unit(q).owner != r->id || arena_.alloc_unit(q).publication >= 0)
    return contradict(f.request, "inserts a block that it did not fill, or that is already in the cache");
  AllocUnit& alloc_unit = arena_.alloc_unit(q);
  if (alloc_unit.key != f.key)
    return contradict(f.request, "inserts a different content than the block was allocated for");
  alloc_unit.publication = next_publication_++;
  publications_.emplace(alloc_unit.publication, q);
  publishing_.emplace_back(r->id, published);
  ++published;
  if (has_groups()) r->published = r->in_groups.back().published;
  return Done{};
}

}  // namespace kvplan::validator
