#include "simulator/observe/block_history.h"

#include <algorithm>

namespace kvplan::observe {
namespace {
constexpr std::size_t kChangesBetweenPictures = 65'536;
}

BlockHistory::BlockHistory(std::int64_t blocks)
    : blocks_(blocks), every_(std::max(kChangesBetweenPictures, 4 * static_cast<std::size_t>(blocks))) {
  last_.blocks.resize(static_cast<std::size_t>(blocks));
  pictures_.push_back(last_);
}

void BlockHistory::apply(Picture& picture, const BlockChange& change, std::int64_t tick) {
  BlockState& state = picture.blocks[static_cast<std::size_t>(change.block)];
  ++picture.place;
  if (change.kind == Kind::kInsert || change.kind == Kind::kEvict) {
    state.findable = change.kind == Kind::kInsert;
    return;
  }
  state.since = tick;
  if (takes(change.kind)) {
    if (state.holders == 1) picture.shared[change.block] = {state.owner};
    if (state.holders >= 1) picture.shared[change.block].push_back(change.request);
    ++state.holders;
    state.owner = change.request;
    return;
  }
  --state.holders;
  if (state.holders <= 0) {
    state.owner = -1;
    return;
  }
  auto& holders = picture.shared[change.block];
  holders.erase(std::find(holders.begin(), holders.end(), change.request));
  state.owner = holders.back();
  if (state.holders == 1) picture.shared.erase(change.block);
}

void BlockHistory::add(Kind kind, std::int32_t block, RequestId request) {
  const std::int64_t tick = now_.since_start.count;
  if (moments_.empty() || moments_.back().tick != tick) moments_.push_back({tick, changes_.size()});
  changes_.push_back({block, number(request), kind});
  apply(last_, changes_.back(), tick);
  if (changes_.size() % every_ == 0) pictures_.push_back(last_);
}

void BlockHistory::on_admit(const core::Admission& admission) {
  auto& table = tables_[admission.request];
  for (const BlockId block : admission.hits) {
    table.push_back(number(block));
    if (block != kNoBlock) add(Kind::kHit, number(block), admission.request);
  }
}

void BlockHistory::on_grant(const core::Grant& grant) {
  auto& table = tables_[grant.request];
  for (const BlockId block : grant.blocks) {
    table.push_back(number(block));
    add(Kind::kGrant, number(block), grant.request);
  }
}

void BlockHistory::on_decode_grants(std::span<const core::DecodeGrant> grants) {
  for (const core::DecodeGrant& grant : grants) {
    tables_[grant.request].push_back(number(grant.block));
    add(Kind::kGrant, number(grant.block), grant.request);
  }
}

void BlockHistory::on_free_blocks(const core::FreedBlocks& gone) {
  auto& table = tables_[gone.request];
  for (const std::int32_t entry : gone.entries) {
    std::int32_t& block = table[static_cast<std::size_t>(entry)];
    if (block >= 0) add(Kind::kFree, block, gone.request);
    block = -1;
  }
}

void BlockHistory::on_compact(const core::Compacted& compacted) {
  auto& table = tables_[compacted.request];
  while (std::ssize(table) > compacted.moved.alloc_units) {
    if (table.back() >= 0) add(Kind::kFree, table.back(), compacted.request);
    table.pop_back();
  }
}

void BlockHistory::let_go(RequestId request, Kind kind) {
  const auto at = tables_.find(request);
  if (at == tables_.end()) return;
  for (auto block = at->second.rbegin(); block != at->second.rend(); ++block)
    if (*block >= 0) add(kind, *block, request);
  tables_.erase(at);
}

void BlockHistory::on_preempt(const core::Release& release) {
  let_go(release.request, Kind::kPreempt);
}

void BlockHistory::on_finish(SimTime time, const core::Release& release) {
  now_ = time;
  let_go(release.request, Kind::kFinish);
}

void BlockHistory::on_insert(RequestId request, std::int64_t /*logical_block*/, BlockId block) {
  add(Kind::kInsert, number(block), request);
}

void BlockHistory::on_evict_block(BlockId block) {
  add(Kind::kEvict, number(block), kNoRequest);
}

std::size_t BlockHistory::until(std::int64_t tick) const {
  const auto after = std::upper_bound(moments_.begin(), moments_.end(), tick,
                                      [](std::int64_t t, const Moment& moment) { return t < moment.tick; });
  return after == moments_.end() ? changes_.size() : after->first;
}

std::int64_t BlockHistory::next_moment(std::int64_t tick) const {
  const auto after = std::upper_bound(moments_.begin(), moments_.end(), tick,
                                      [](std::int64_t t, const Moment& moment) { return t < moment.tick; });
  return after == moments_.end() ? tick : after->tick;
}

std::int64_t BlockHistory::last_moment(std::int64_t tick) const {
  const auto at = std::lower_bound(moments_.begin(), moments_.end(), tick,
                                   [](const Moment& moment, std::int64_t t) { return moment.tick < t; });
  return at == moments_.begin() ? tick : std::prev(at)->tick;
}

std::vector<BlockHistory::Dated> BlockHistory::of_block(std::int32_t block) const {
  std::vector<Dated> out;
  for (std::size_t m = 0; m < moments_.size(); ++m) {
    const std::size_t end = m + 1 < moments_.size() ? moments_[m + 1].first : changes_.size();
    for (std::size_t i = moments_[m].first; i < end; ++i)
      if (changes_[i].block == block) out.push_back({moments_[m].tick, changes_[i]});
  }
  return out;
}

BlockMoment::BlockMoment(const BlockHistory& history) : history_(history), now_(history.pictures_.front()) {}

void BlockMoment::seek(std::int64_t tick) {
  const std::size_t wanted = history_.until(tick);
  const auto& pictures = history_.pictures_;
  const auto after =
      std::upper_bound(pictures.begin(), pictures.end(), wanted,
                       [](std::size_t place, const auto& picture) { return place < picture.place; });
  const auto& nearest = *std::prev(after);
  if (now_.place > wanted || now_.place < nearest.place) now_ = nearest;
  if (now_.place == wanted) return;
  auto moment = std::upper_bound(
      history_.moments_.begin(), history_.moments_.end(), now_.place,
      [](std::size_t place, const BlockHistory::Moment& each) { return place < each.first; });
  while (now_.place < wanted) {
    const std::size_t end = moment == history_.moments_.end() ? history_.size() : moment->first;
    const std::int64_t at = std::prev(moment)->tick;
    while (now_.place < std::min(end, wanted)) BlockHistory::apply(now_, history_.change(now_.place), at);
    if (moment != history_.moments_.end()) ++moment;
  }
}

std::vector<std::int32_t> BlockMoment::holders(std::int32_t block) const {
  const BlockState& state = now_.blocks[static_cast<std::size_t>(block)];
  if (state.holders == 0) return {};
  const auto shared = now_.shared.find(block);
  return shared == now_.shared.end() ? std::vector<std::int32_t>{state.owner} : shared->second;
}

}  // namespace kvplan::observe
