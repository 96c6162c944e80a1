// What the pool says of its cache and of sharing, counted a second time from what is told of a run: every block's
// holders and content are kept apart, and every count walks all of them.
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
      : names_(workload, layout.quantum_tokens) {}
  [[nodiscard]] bool wants_publications() const override { return true; }

  void on_admit(const core::Admission& a) override {
    for (const BlockId b : a.hits) holders_[b].insert(a.request);
  }
  void on_grant(const core::Grant& g) override {
    for (const BlockId b : g.blocks) holders_[b].insert(g.request);
  }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override {
    for (const auto& g : grants) holders_[g.block].insert(g.request);
  }
  void on_preempt(const core::Release& r) override { give_back(r); }
  void on_finish(SimTime /*time*/, const core::Release& r) override { give_back(r); }
  void on_drop(const core::Drop& d) override {
    for (const BlockId b : d.released) holders_.at(b).erase(d.request);
  }
  void on_publish(RequestId r, std::int64_t logical, BlockId b) override {
    auto& copies = blocks_of_[name(r, logical)];
    copies.push_back(b);
    content_[b] = {r, logical};
  }
  void on_reclaim(BlockId b) override {
    const auto [r, logical] = content_.at(b);
    auto& copies = blocks_of_.at(name(r, logical));
    copies.erase(std::find(copies.begin(), copies.end(), b));
    content_.erase(b);
  }

  /// `free` and `held` are not counted.
  [[nodiscard]] core::PoolCounts count() const {
    core::PoolCounts counts;
    std::map<Name, bool> known;
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
  using Name = std::pair<RequestId, std::int64_t>;  // request -1: a shared name
  /// Does a lookup of the request's content come to this block? Back to what is known.
  [[nodiscard]] bool reached(RequestId r, std::int64_t logical, std::map<Name, bool>& known) const {
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
    if (logical < names_.shared_blocks(r)) return {-1, names_.shared_name(r, logical)};
    return {r, logical};
  }
  void give_back(const core::Release& release) {
    for (const BlockId b : release.table)
      if (b != kNoBlock) holders_.at(b).erase(release.request);
  }

  core::ContentNames names_;
  std::map<BlockId, std::set<RequestId>> holders_;
  std::map<BlockId, Name> content_;                 // by which request and logical block it was filled
  std::map<Name, std::vector<BlockId>> blocks_of_;  // the oldest first
};

}  // namespace kvplan::test
