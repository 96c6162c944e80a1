// The pool's counts of its cache and of sharing, counted a second time from a run's events: every block's holders and
// content are stored, and every count walks all of them. For layer groups, the results of lookups are found by trying
// every length of every prompt.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "simulator/core/observer.h"
#include "simulator/core/workload.h"

namespace kvplan::test {

class CacheWalker : public core::Observer {
 public:
  CacheWalker(const core::Workload& workload, const core::MemoryLayout& layout)
      : workload_(workload),
        layout_(layout),
        groups_(std::max<std::int64_t>(std::ssize(layout.groups), 1)),
        names_(workload, layout.alloc_unit_tokens) {}
  [[nodiscard]] bool wants_insertions() const override { return true; }

  void on_admit(const core::Admission& a) override {
    tables_[a.request].assign(a.hits.begin(), a.hits.end());
    for (const BlockId b : a.hits)
      if (b != kNoBlock) holders_[b].insert(a.request);
  }
  void on_grant(const core::Grant& g) override {
    for (const BlockId b : g.blocks) {
      holders_[b].insert(g.request);
      tables_[g.request].push_back(b);
    }
  }
  void on_free_blocks(const core::FreedBlocks& gone) override {
    for (const std::int32_t entry : gone.entries)
      holders_.at(tables_.at(gone.request).at(static_cast<std::size_t>(entry))).erase(gone.request);
  }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override {
    for (const auto& g : grants) {
      holders_[g.block].insert(g.request);
      tables_[g.request].push_back(g.block);
    }
  }
  void on_preempt(const core::Release& r) override { give_back(r); }
  void on_finish(SimTime /*time*/, const core::Release& r) override { give_back(r); }
  void on_insert(RequestId r, std::int64_t logical, BlockId b) override {
    auto& copies = blocks_of_[name(r, logical)];
    copies.push_back(b);
    content_[b] = {r, logical};
  }
  void on_evict_block(BlockId b) override {
    const auto [r, logical] = content_.at(b);
    auto& copies = blocks_of_.at(name(r, logical));
    copies.erase(std::find(copies.begin(), copies.end(), b));
    content_.erase(b);
  }

  /// Counts the pool; `free` and `held` are left out.
  [[nodiscard]] core::PoolCounts count() const {
    core::PoolCounts counts;
    std::map<Name, bool> known;
    if (!layout_.groups.empty()) try_every_prompt(known);
    for (const auto& [b, holders] : holders_) {
      if (!holders.empty()) counts.sharers += static_cast<std::int64_t>(holders.size()) - 1;
      const auto content = content_.find(b);
      if (!holders.empty() || content == content_.end()) continue;
      const auto [r, logical] = content->second;
      ++counts.cached;
      counts.duplicates += blocks_of_.at(name(r, logical)).front() == b ? 0 : 1;
      counts.unreachable += reached(r, logical, known) ? 0 : 1;
    }
    return counts;
  }

 private:
  using Name = std::pair<RequestId, std::int64_t>;  // kNoRequest: a shared name
  /// True if some group lacks a block that it needs for a hit of `blocks` blocks.
  [[nodiscard]] bool can_be_found(RequestId r, std::int64_t blocks) const {
    for (std::int64_t g = 0; g < groups_; ++g)
      for (std::int64_t b = first_taken(g, blocks); b < blocks; ++b) {
        const auto copies = blocks_of_.find(name(r, b * groups_ + g));
        if (copies == blocks_of_.end() || copies->second.empty()) return false;
      }
    return true;
  }
  [[nodiscard]] std::int64_t first_taken(std::int64_t group, std::int64_t blocks) const {
    const std::int64_t window = layout_.groups[static_cast<std::size_t>(group)].window;
    if (window == 0) return 0;
    std::int64_t first = blocks - 1;  // at least one block
    while (first > 0 && first * layout_.alloc_unit_tokens > blocks * layout_.alloc_unit_tokens - window + 1)
      --first;
    return std::max<std::int64_t>(first, 0);
  }
  /// A prompt is the beginning of all that a request has written at its end.
  void try_every_prompt(std::map<Name, bool>& known) const {
    for (const RequestId r : ids_below<RequestId>(workload_.size())) {
      for (std::int64_t n = 1; n <= workload_.final_tokens(r) / layout_.alloc_unit_tokens; ++n) {
        if (!can_be_found(r, n)) continue;
        for (std::int64_t g = 0; g < groups_; ++g)
          for (std::int64_t b = first_taken(g, n); b < n; ++b) known[name(r, b * groups_ + g)] = true;
      }
    }
  }
  /// True if a lookup of the request's content reaches this block. Searches back to the last known block.
  [[nodiscard]] bool reached(RequestId r, std::int64_t logical, std::map<Name, bool>& known) const {
    if (!layout_.groups.empty()) return known.count(name(r, logical)) != 0;
    std::int64_t at = logical;
    bool answer = true;
    for (; at >= 0; --at) {
      if (const auto found = known.find(name(r, at)); found != known.end()) {
        answer = found->second;
        break;
      }
      const auto copies = blocks_of_.find(name(r, at));
      answer = copies != blocks_of_.end() && !copies->second.empty();
      if (!answer) break;
    }
    for (std::int64_t b = std::max<std::int64_t>(at, 0); b <= logical; ++b) known[name(r, b)] = answer;
    return answer;
  }
  [[nodiscard]] Name name(RequestId r, std::int64_t logical) const {
    const std::int64_t block = logical / groups_;
    if (block < names_.shared_blocks(r))
      return {kNoRequest, names_.shared_name(r, block) * groups_ + logical % groups_};
    return {r, logical};
  }
  void give_back(const core::Release& release) {
    for (const BlockId b : release.table)
      if (b != kNoBlock) holders_.at(b).erase(release.request);
  }

  const core::Workload& workload_;
  core::MemoryLayout layout_;
  std::int64_t groups_;
  core::ContentNames names_;
  std::map<RequestId, std::vector<BlockId>> tables_;
  std::map<BlockId, std::set<RequestId>> holders_;
  std::map<BlockId, Name> content_;                 // the request and table entry by which it was filled
  std::map<Name, std::vector<BlockId>> blocks_of_;  // oldest first
};

}  // namespace kvplan::test
