#include "simulator/memory/idle_blocks.h"

#include "simulator/base/check.h"

namespace kvplan::memory {

using replacement::Use;

BlocksByPolicy::BlocksByPolicy(PoolPolicy policy, std::int64_t shared_names, std::int64_t groups)
    : policy_(std::move(policy)),
      groups_(groups),
      may_go_([this](Id content) {
        return held_copies_[content] == 0 && (!policy_.leaves() || leaves_.is_leaf(content));
      }),
      numbered_below_(0),
      shared_contents_(static_cast<std::size_t>(shared_names)) {}

BlocksByPolicy::Id& BlocksByPolicy::content_of(BlockId b) {
  const std::size_t i = index(b);
  if (i >= content_of_.size()) {
    content_of_.resize(i + 1, kUnnumbered);
    turn_of_.resize(i + 1, 0);
  }
  return content_of_[i];
}

void BlocksByPolicy::add_cached(BlockId b, bool only_copy, RequestId request, std::int64_t entry) {
  const Id content = content_of(b);
  turn_of_[index(b)] = ++turn_;
  if (!only_copy) join_spares(b);
  if (--held_copies_[content] > 0) return;
  enter_idle(content);
  policy_->unpin(use(content, request, entry));
}

void BlocksByPolicy::leave_idle(Id content) {
  if (!policy_.leaves()) return;
  if (const Id before = leaves_.leave(content); before != replacement::kNoId) policy_->may_go(before);
}

void BlocksByPolicy::remove(BlockId b, std::uint32_t /*place*/) {
  leave_spares(b);
  const Id content = content_of(b);
  if (held_copies_[content]++ == 0) leave_idle(content);
}

void BlocksByPolicy::hit(BlockId b, RequestId request, std::int64_t entry) {
  policy_->touch(use(content_of(b), request, entry));
}

BlockId BlocksByPolicy::take() {
  if (!empty_.empty()) {
    const BlockId b = empty_.front();
    empty_.pop_front();
    return b;
  }
  if (!spare_.empty()) {
    const BlockId b = spare_.begin()->second;
    spare_.erase(spare_.begin());
    return b;
  }
  const Use unknown{.time_ns = clock_.now_ns()};
  const Id victim = policy_->evict(unknown, may_go_);
  KVPLAN_CHECK(victim != replacement::kNoId, policy_->size());
  return oldest_copy_[victim];
}

BlocksByPolicy::Id BlocksByPolicy::number_next() {
  const auto content = static_cast<Id>(held_copies_.size());
  held_copies_.push_back(0);
  oldest_copy_.push_back(kNoBlock);
  if (content >= numbered_below_) {  // rare, because the size of all arrays by number is doubled
    numbered_below_ = static_cast<Id>(std::min<std::uint64_t>(
        std::max<std::uint64_t>(2 * std::uint64_t{content}, 1024), replacement::kMostIds));
    policy_->grow(numbered_below_);
  }
  return content;
}

void BlocksByPolicy::insert_shared(BlockId b, std::int64_t name, BlockId before, RequestId request,
                                   std::int64_t entry) {
  Id& number = shared_contents_[static_cast<std::size_t>(name)];
  if (number == 0) number = number_next() + 1;
  insert(b, number - 1, before, request, entry);
}

void BlocksByPolicy::insert_own(BlockId b, BlockId before, RequestId request, std::int64_t entry) {
  auto& own = own_contents_[request];
  const auto place = static_cast<std::size_t>(entry);
  if (own.size() <= place) own.resize(place + 1, kUnnumbered);
  if (own[place] == kUnnumbered) own[place] = number_next();
  insert(b, own[place], before, request, entry);
}

void BlocksByPolicy::insert(BlockId b, Id content, BlockId before, RequestId request, std::int64_t entry) {
  content_of(b) = content;
  if (policy_.leaves())
    leaves_.follows(content, before == kNoBlock ? replacement::kNoId : content_of(before));
  if (held_copies_[content]++ == 0 && oldest_copy_[content] != kNoBlock) leave_idle(content);
  const Use published = use(content, request, entry);
  if (oldest_copy_[content] == kNoBlock) {
    oldest_copy_[content] = b;
    policy_->insert(published);
  } else {
    policy_->touch(published);
  }
}

void BlocksByPolicy::lose_copy(BlockId b, BlockId next) {
  const Id content = content_of(b);
  BlockId& oldest = oldest_copy_[content];
  if (oldest == b) oldest = next;
  if (next == kNoBlock) leave_idle(content);
}

void BlocksByPolicy::expire(const std::function<void(BlockId)>& give_up) {
  do {
    expired_.clear();
    policy_->expire(clock_.now_ns(), may_go_, [this](Id content) { expired_.push_back(content); });
    for (const Id content : expired_) give_up(oldest_copy_[content]);
  } while (policy_.leaves() && !expired_.empty());  // the blocks before them are leaves now
}

}  // namespace kvplan::memory
