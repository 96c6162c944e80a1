// What a replacement policy is told of a pool (pool_policy.h has the rules), for pools that are slow obvious models:
// contents by their names in maps of the standard library. What the policies themselves decide has models of its own in
// tests/unit/replacement.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/memory/pool_policy.h"

namespace kvplan::memory {

/// `Name`: of a content; they are ordered.
template <class Name>
class PolicyModel {
 public:
  /// `idle`: can the content be found, and does nobody hold any of its copies?
  PolicyModel(PoolPolicy policy, std::function<bool(const Name&)> idle)
      : policy_(std::move(policy)), idle_(std::move(idle)) {}

  /// A request holds it now, which found it.
  void hit(const Name& name, RequestId request, std::int64_t logical_block) {
    tell_leaf(name);
    policy_->touch(use(name, request, logical_block));
  }
  /// Nobody holds any of its copies any more; this request was the last.
  void unpin(const Name& name, RequestId request, std::int64_t logical_block) {
    policy_->unpin(use(name, request, logical_block));
  }
  /// It can be found from now on; `another`: and could before. `before`: the content that it follows.
  void published(const Name& name, const std::optional<Name>& before, RequestId request,
                 std::int64_t logical_block, bool another) {
    // What was said first of what it follows holds.
    if (before && number_of_.count(name) == 0) {
      before_.emplace(name, *before);
      behind_[*before].push_back(name);
    }
    tell_leaf(name);
    const replacement::Use published = use(name, request, logical_block);
    another ? policy_->touch(published) : policy_->insert(published);
  }
  /// One of its copies is given up.
  void given_up(const Name& name) { tell_leaf(name); }

  /// The only copy of which content is handed out. REQUIRES: something is cached.
  [[nodiscard]] Name victim() {
    return contents_.at(
        policy_->evict({.time_ns = clock_.now_ns()}, [this](replacement::Id id) { return may_go(id); }));
  }
  /// Before a lookup of a request: what goes by time alone. `give_up` is told each, and gives up all its copies. Asked
  /// again in vain, a request finds what it found: `epoch` changes with what is granted, let go or published.
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
  /// With `leaves`, nothing behind it may be idle.
  [[nodiscard]] bool may_go(replacement::Id content) const {
    if (!idle_(contents_[content])) return false;
    if (!policy_.leaves()) return true;
    const auto behind = behind_.find(contents_[content]);
    return behind == behind_.end() || std::none_of(behind->second.begin(), behind->second.end(), idle_);
  }
  /// It is held now, or gone: it keeps the one before it from going no more.
  void tell_leaf(const Name& name) {
    const auto before = before_.find(name);
    if (before != before_.end()) policy_->may_go(number_of_.at(before->second));
  }

  PoolPolicy policy_;
  std::function<bool(const Name&)> idle_;
  PoolClock clock_;
  std::map<Name, replacement::Id> number_of_;  // of contents that were ever published
  std::vector<Name> contents_;                 // by number
  std::map<Name, Name> before_;                // of contents that follow another
  std::map<Name, std::vector<Name>> behind_;
  Asked asked_;
};

}  // namespace kvplan::memory
