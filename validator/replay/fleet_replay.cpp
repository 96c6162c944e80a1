#include "validator/replay/fleet_replay.h"

#include <algorithm>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

struct FleetReplay::Member {
  std::size_t index{0};
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Replay::Impl> replay;
  Sum latest;  ///< the replica's own sum, when it was last read
  std::int64_t step_end{INT64_MAX};
  bool changed{false};

  [[nodiscard]] std::string name() const { return "replica " + std::to_string(index); }
};

Result<std::unique_ptr<FleetReplay>> FleetReplay::create(const log::Header& header,
                                                         const BackendMaker& make_backend,
                                                         const ReplayOptions& options) {
  ReplayOptions each = options;
  each.most_cells = options.most_cells / header.replicas;
  std::unique_ptr<FleetReplay> fleet(new FleetReplay(header.replicas));
  const auto arrived = std::make_shared<ArrivedRequests>();
  for (std::int32_t i = 0; i < header.replicas; ++i) {
    auto member = std::make_unique<Member>();
    member->index = static_cast<std::size_t>(i);
    KVPLAN_TRY(member->backend, make_backend());
    KVPLAN_TRY(member->replay, Replay::Impl::create(header, *member->backend, each, arrived));
    fleet->members_.push_back(std::move(member));
    fleet->add_up(*fleet->members_.back());
  }
  fleet->report_.full_scan_every = fleet->members_.front()->replay->report().full_scan_every;
  return fleet;
}

FleetReplay::FleetReplay(std::int64_t replicas) : order_(replicas) {}
FleetReplay::~FleetReplay() = default;

std::string FleetReplay::device() const {
  return members_.front()->backend->device() + ", one memory for each of " + std::to_string(members_.size()) +
         " replicas";
}

void FleetReplay::note(const std::string& what) {
  if (report_.first_problem.empty()) report_.first_problem = what;
}

void FleetReplay::contradict(const std::string& what) {
  report_.contradiction = true;
  note("event " + std::to_string(report_.events) + ": " + what);
}

Status FleetReplay::apply(const log::Record& record) {
  if (stopped()) return Done{};
  const std::int64_t tick_before = order_.tick();
  const std::string misplaced = order_.place(record);
  if (!misplaced.empty()) {
    contradict(misplaced);
    return Done{};
  }
  if (order_.tick() != tick_before) {
    // Holes exist until the next fact that closes some; they grow only with steps.
    KVPLAN_TRY_DO(step_all_to(order_.tick() - 1));
    peak_.hole_bytes = std::max(peak_.hole_bytes, now_.totals[3]);
  }
  if (stopped()) return Done{};
  if (std::holds_alternative<log::TickEnd>(record.fact)) {
    KVPLAN_TRY_DO(end_tick(record));
  } else if (std::holds_alternative<log::FleetEnd>(record.fact)) {
    end_all(record);
  } else {
    KVPLAN_TRY_DO(apply_to(*members_[static_cast<std::size_t>(record.replica)], record));
  }
  ++report_.events;
  return Done{};
}

Status FleetReplay::apply_to(Member& member, const log::Record& record) {
  KVPLAN_TRY_DO(member.replay->apply(record, report_.events));
  if (record.claims.has_joint_peak) {
    ++joint_count_mismatches_;
    note(member.name() + ": a peak over all replicas is predicted at an event that must not have one");
  }
  if (std::holds_alternative<log::PassEnd>(record.fact))
    pass_left_running_ = pass_left_running_ || member.replay->running_requests() > 0;
  look_at(member);
  return Done{};
}

/// Called after a replica got a fact, or its steps continued.
void FleetReplay::look_at(Member& member) {
  const Report& own = member.replay->report();
  if (!own.first_problem.empty()) note(member.name() + ": " + own.first_problem);
  report_.contradiction = report_.contradiction || own.contradiction;
  const std::int64_t step_end = member.replay->next_step_end();
  if (step_end != member.step_end) {
    step_ends_.erase({member.step_end, member.index});
    member.step_end = step_end;
    if (step_end != INT64_MAX) step_ends_.insert({step_end, member.index});
  }
  if (!member.changed) changed_.push_back(member.index);
  member.changed = true;
}

void FleetReplay::add_up(Member& member) {
  const Sum before = member.latest;
  member.latest = {member.replay->totals(), member.replay->running_requests()};
  for (std::size_t s = 0; s < log::kStates; ++s) now_.totals[s] += member.latest.totals[s] - before.totals[s];
  now_.running += member.latest.running - before.running;
  member.changed = false;
}

/// Carries out all steps that have ended by `time`, on all replicas, so that the sums are those of that time.
Status FleetReplay::step_all_to(std::int64_t time) {
  while (!stopped() && !step_ends_.empty() && step_ends_.begin()->first <= time) {
    Member& member = *members_[step_ends_.begin()->second];
    KVPLAN_TRY_DO(member.replay->step_to(time, report_.events));
    look_at(member);
  }
  for (const std::size_t i : changed_) add_up(*members_[i]);
  changed_.clear();
  return Done{};
}

void FleetReplay::compare(std::int64_t claimed, std::int64_t found, const std::string& what,
                          std::int64_t& mismatches) {
  if (claimed == found) return;
  ++mismatches;
  note("event " + std::to_string(report_.events) + ": all replicas: " + what + " is predicted to be " +
       std::to_string(claimed) + ", but is " + std::to_string(found));
}

Status FleetReplay::end_tick(const log::Record& record) {
  KVPLAN_TRY_DO(step_all_to(order_.tick()));
  if (stopped()) return Done{};
  const log::Claims& claims = record.claims;
  ++report_.moments;
  if (!claims.has_totals || claims.has_joint_peak) {
    ++joint_byte_mismatches_;
    note("event " + std::to_string(report_.events) +
         ": the end of a tick predicts no totals, or predicts a peak");
  }
  for (std::size_t s = 0; claims.has_totals && s < log::kStates; ++s) {
    compare(claims.totals[s], now_.totals[s], std::string("the sum of ") + kStateNames[s] + " bytes",
            joint_byte_mismatches_);
    most_claimed_[s] = std::max(most_claimed_[s], claims.totals[s]);
    most_found_[s] = std::max(most_found_[s], now_.totals[s]);
  }
  compare(claims.running, now_.running, "the number of running requests", joint_count_mismatches_);

  const std::int64_t available = now_.totals[7] + now_.totals[8] + now_.totals[9];
  if (std::exchange(pass_left_running_, false) && available < least_available_) {
    least_available_ = available;
    peak_.time = order_.tick();
    peak_.totals = now_.totals;
  }
  peak_.running = std::max(peak_.running, now_.running);
  peak_.hole_bytes = std::max(peak_.hole_bytes, now_.totals[3]);
  return Done{};
}

void FleetReplay::end_all(const log::Record& record) {
  claimed_peak_ = record.claims.joint_peak;
  const bool due = least_available_ != INT64_MAX;
  if (due != record.claims.has_joint_peak || record.claims.has_totals) {
    ++joint_byte_mismatches_;
    note("event " + std::to_string(report_.events) +
         ": expected a predicted peak over all replicas, if they ran, and no totals");
    return;
  }
  compare(claimed_peak_.time, peak_.time, "the tick of the peak", joint_count_mismatches_);
  for (std::size_t s = 0; s < log::kStates; ++s)
    compare(claimed_peak_.totals[s], peak_.totals[s],
            std::string("at the peak, ") + kStateNames[s] + " bytes", joint_byte_mismatches_);
  compare(claimed_peak_.running, peak_.running, "the largest batch", joint_count_mismatches_);
  compare(claimed_peak_.hole_bytes, peak_.hole_bytes, "the largest hole bytes", joint_byte_mismatches_);
}

Result<Report> FleetReplay::finish() {
  const bool whole = !stopped();
  for (const auto& member : members_) {
    KVPLAN_TRY(Report own, member->replay->finish(whole));
    look_at(*member);
    report_.moments += own.moments;
    report_.byte_mismatches += own.byte_mismatches;
    report_.place_mismatches += own.place_mismatches;
    report_.count_mismatches += own.count_mismatches;
    report_.full_scans += own.full_scans;
    report_.replicas.push_back(std::move(own));
  }
  if (whole && !stopped() && !order_.over()) contradict("the log has no end of all replicas");
  report_.byte_mismatches += joint_byte_mismatches_;
  report_.count_mismatches += joint_count_mismatches_;
  add_quantities();
  return report_;
}

void FleetReplay::add_quantities() {
  std::vector<Quantity>& all = report_.quantities;
  for (std::size_t s = 0; s < log::kStates; ++s)
    all.push_back(peak_quantity(s, most_claimed_[s], most_found_[s]));
  for (std::size_t q = log::kStates; q < report_.replicas.front().quantities.size(); ++q) {
    all.push_back(report_.replicas.front().quantities[q]);
    for (std::size_t i = 1; i < report_.replicas.size(); ++i) {
      all.back().predicted += report_.replicas[i].quantities[q].predicted;
      all.back().measured += report_.replicas[i].quantities[q].measured;
    }
  }
  all.push_back({"peak_tick", claimed_peak_.time, peak_.time, "ticks"});
  all.push_back({"peak_running", claimed_peak_.running, peak_.running, "requests"});
  all.push_back({"most_hole_bytes", claimed_peak_.hole_bytes, peak_.hole_bytes, "bytes"});
  for (std::size_t i = 0; i < report_.replicas.size(); ++i)
    for (const Quantity& own : report_.replicas[i].quantities)
      all.push_back(
          {"replicas[" + std::to_string(i) + "]." + own.name, own.predicted, own.measured, own.unit});
}

}  // namespace kvplan::validator
