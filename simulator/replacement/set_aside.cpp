#include "simulator/replacement/set_aside.h"

namespace kvplan::replacement {

SetAside::Ticket SetAside::add(std::uint32_t list, Id id) {
  const Rank rank{list, ++turn_};
  all_.emplace(rank, id);
  if (unused_.empty()) {
    ranks_.push_back(rank);
    return static_cast<Ticket>(ranks_.size() - 1);
  }
  const Ticket ticket = unused_.back();
  unused_.pop_back();
  ranks_[ticket] = rank;
  return ticket;
}

void SetAside::remove(Ticket ticket) {
  all_.erase(ranks_[ticket]);
  back_.erase(ranks_[ticket]);
  unused_.push_back(ticket);
}

void SetAside::may_go(Ticket ticket) {
  back_.emplace(ranks_[ticket], all_.at(ranks_[ticket]));
}

Id SetAside::oldest(std::uint32_t list) const {
  const auto at = all_.lower_bound({list, 0});
  return at == all_.end() || at->first.list != list ? kNoId : at->second;
}

}  // namespace kvplan::replacement
