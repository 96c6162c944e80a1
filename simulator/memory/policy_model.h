// The reports of a pool to its replacement policy (pool_policy.h has the rules), for the slow, obvious pools: contents
// by name in maps of the standard library. The policies themselves have models in tests/unit/replacement.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/memory/pool_policy.h"

namespace kvplan::memory {

/// `Name`: name of a content; names are ordered.
template <class Name>
class PolicyModel {
 public:
  /// `idle(name)`: true if the content can be found and no request holds a copy.
  PolicyModel(PoolPolicy policy, std::function<bool(const Name&)> idle)
      : policy_(std::move(policy)), idle_(std::move(idle)) {}

  /// A request now holds the content, after a hit.
  void hit(const Name& name, RequestId request, std::int64_t logical_block) {
    tell_leaf(name);
    policy_->touch(use(name, request, logical_block));
  }
  /// No request holds a copy of the content any more; `request` was the last holder.
  void unpin(const Name& name, RequestId request, std::int64_t logical_block) {
    policy_->unpin(use(name, request, logical_block));
  }
  /// Lookups can find the content from now on; `another`: they could find another copy before, too. `before`: the
  /// content that precedes it in the prompt.
  void published(const Name& name, const std::optional<Name>& before, RequestId request,
                 std::int64_t logical_block, bool another) {
    // Only the predecessor that is reported first counts.
    if (before && number_of_.count(name) == 0) {
      before_.emplace(name, *before);
      behind_[*before].push_back(name);
    }
    tell_leaf(name);
    const replacement::Use published = use(name, request, logical_block);
    another ? policy_->touch(published) : policy_->insert(published);
  }
  /// A copy of the content is evicted.
  void given_up(const Name& name) { tell_leaf(name); }

  /// The content to evict, which has one copy; its block is handed out. REQUIRES: something is cached.
  [[nodiscard]] Name victim() {
    return contents_.at(
        policy_->evict({.time_ns = clock_.now_ns()}, [this](replacement::Id id) { return may_go(id); }));
  }
  /// Called before a lookup: evicts contents that expire by time alone. `give_up` gets each such content and evicts all
  /// its copies. If the lookup is repeated and nothing else has changed, the request gets the same hit: `epoch` changes
  /// with every grant, free and insertion.
  void expire(RequestId request, std::int64_t num_tokens, std::uint64_t epoch,
              const std::function<void(const Name&)>& give_up) {
    const Asked asked{request, num_tokens, epoch};
    if (asked == asked_) return;
    asked_ = asked;
    std::vector<replacement::Id> gone;
    do {
      gone.clear();
      policy_->expire(
          clock_.now_ns(), [this](replacement::Id id) { return may_go(id); },
          [&](replacement::Id id) { gone.push_back(id); });
      for (const replacement::Id id : gone) give_up(contents_.at(id));
    } while (policy_.leaves() && !gone.empty());
  }

  core::Observer* clock() { return &clock_; }

 private:
  struct Asked {
    RequestId request{-1};
    std::int64_t num_tokens{0};
    std::uint64_t epoch{0};
    bool operator==(const Asked&) const = default;
  };

  replacement::Use use(const Name& name, RequestId request, std::int64_t logical_block) {
    const auto [place, first] = number_of_.try_emplace(name, static_cast<replacement::Id>(number_of_.size()));
    if (first) {
      contents_.push_back(name);
      policy_->grow(place->second + 1);
    }
    return policy_.use(place->second, request, logical_block, clock_.now_ns());
  }
  /// True: the content may be evicted. With `leaves`, no idle content may follow it.
  [[nodiscard]] bool may_go(replacement::Id content) const {
    if (!idle_(contents_[content])) return false;
    if (!policy_.leaves()) return true;
    const auto behind = behind_.find(contents_[content]);
    return behind == behind_.end() || std::none_of(behind->second.begin(), behind->second.end(), idle_);
  }
  /// Reports that the content is held now, or gone, so that it no longer protects its predecessor from eviction.
  void tell_leaf(const Name& name) {
    const auto before = before_.find(name);
    if (before != before_.end()) policy_->may_go(number_of_.at(before->second));
  }

  PoolPolicy policy_;
  std::function<bool(const Name&)> idle_;
  PoolClock clock_;
  std::map<Name, replacement::Id> number_of_;  // all contents that were ever inserted
  std::vector<Name> contents_;                 // by number
  std::map<Name, Name> before_;                // by content: its predecessor, if it has one
  std::map<Name, std::vector<Name>> behind_;
  Asked asked_;
};

}  // namespace kvplan::memory
