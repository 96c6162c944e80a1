#include "validator/replay/replay.h"

#include <algorithm>
#include <new>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

Result<std::unique_ptr<Replay>> Replay::create(const log::Header& header, Backend& backend,
                                               const ReplayOptions& options) {
  KVPLAN_TRY(auto impl, Impl::create(header, backend, options, std::make_shared<ArrivedRequests>()));
  return std::unique_ptr<Replay>(new Replay(std::move(impl)));
}

Replay::Replay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Replay::~Replay() = default;

Status Replay::apply(const log::Record& record) {
  return impl_->apply(record, impl_->report().events);
}
bool Replay::stopped() const {
  return impl_->stopped();
}
Result<Report> Replay::finish() {
  return impl_->finish(true);
}

// ---- Impl ----

Result<std::unique_ptr<Replay::Impl>> Replay::Impl::create(const log::Header& header, Backend& backend,
                                                           const ReplayOptions& options,
                                                           std::shared_ptr<ArrivedRequests> arrived) {
  if (header.table_form != log::TableForm::kTokens && ByteArena::cells_of(header) > options.most_cells)
    return bad_input("expected a memory of at most " + std::to_string(options.most_cells) + " slots, found " +
                     std::to_string(ByteArena::cells_of(header)) +
                     " parts, which divide rows and pages evenly")
        .at_field("quanta");
  const std::int64_t tracks = std::max<std::int64_t>(header.tracks_of_table(), 1);
  const std::int64_t room = options.most_cells / header.alloc_unit_tokens / tracks;
  if (header.table_form == log::TableForm::kTokens && header.alloc_units > room)
    return bad_input("expected a memory of at most " + std::to_string(options.most_cells) + " slots, found " +
                     std::to_string(header.alloc_units) + " quanta of " +
                     std::to_string(header.alloc_unit_tokens) +
                     (tracks == 1 ? "" : " tokens in " + std::to_string(tracks) + " tracks"))
        .at_field("quanta");
  try {
    auto impl = std::make_unique<Impl>(header, backend, options, std::move(arrived));
    KVPLAN_TRY_DO(impl->begin());
    return impl;
  } catch (const std::bad_alloc&) {
    return bad_input("no memory to keep account of " + std::to_string(header.alloc_units) + " quanta")
        .at_field("quanta");
  }
}

Replay::Impl::Impl(const log::Header& header, Backend& backend, const ReplayOptions& options,
                   std::shared_ptr<ArrivedRequests> arrived)
    : header_(header),
      backend_(backend),
      options_(options),
      arena_(header_, backend, requests_),
      arrived_(std::move(arrived)) {
  if (header.table_form != log::TableForm::kTokens) bytes_.emplace(header_, backend, requests_);
  arena_.on_free = [this](AllocUnit& alloc_unit) {
    if (alloc_unit.place >= 0) taken_ids_.erase(alloc_unit.place);
    alloc_unit.place = -1;
  };
}

Status Replay::Impl::begin() {
  constexpr std::int64_t kCellsPerMoment = 16384;
  report_.full_scan_every =
      options_.full_scan_every > 0 ? options_.full_scan_every : ceil_div(cells(), kCellsPerMoment);
  return bytes_ ? bytes_->reserve() : arena_.reserve();
}

Status Replay::Impl::apply(const log::Record& record, std::int64_t event) {
  if (stopped()) return Done{};
  event_ = event;
  fact_name_ = log::kFactNames[record.fact.index()];
  claim_kept(record);
  KVPLAN_TRY_DO(std::visit([this](const auto& fact) { return on(fact); }, record.fact));
  if (stopped()) return Done{};
  KVPLAN_TRY_DO(claim_places(record));
  const bool moment = std::holds_alternative<log::PassEnd>(record.fact) ||
                      std::holds_alternative<log::StepEnd>(record.fact) ||
                      std::holds_alternative<log::Settled>(record.fact);
  if (moment != record.claims.has_totals) {
    note(moment ? "no totals are predicted" : "totals are predicted at an event that must not have them");
    ++report_.byte_mismatches;
  } else if (moment) {
    KVPLAN_TRY_DO(claim_totals(record.claims, std::holds_alternative<log::PassEnd>(record.fact)));
  }
  ++report_.events;
  return Done{};
}

void Replay::Impl::note(const std::string& what) {
  if (!report_.first_problem.empty()) return;
  report_.first_problem = "event " + std::to_string(event_) + " (" + fact_name_ + "): " + what;
}

Status Replay::Impl::contradict(const std::string& what) {
  report_.contradiction = true;
  note(what);
  return Done{};
}

Status Replay::Impl::contradict(RequestId request, const std::string& what) {
  return contradict("request " + std::to_string(number(request)) + " " + what);
}

Quantity peak_quantity(std::size_t state, std::int64_t predicted, std::int64_t measured) {
  return {std::string("peak_") + kStateNames[state] + "_bytes", predicted, measured, "bytes"};
}

Request* Replay::Impl::running(RequestId id) {
  const auto found = requests_.find(id);
  return found != requests_.end() && found->second.running ? &found->second : nullptr;
}

Result<Report> Replay::Impl::finish(bool whole) {
  fact_name_ = "end of the log";
  event_ = report_.events;
  if (whole && !stopped() && phase_ != Phase::kOver) KVPLAN_TRY_DO(contradict("the log has no end"));
  if (whole && !stopped()) KVPLAN_TRY_DO(scan());
  for (std::size_t s = 0; s < log::kStates; ++s)
    report_.quantities.push_back(peak_quantity(s, peak_claimed_[s], peak_found_[s]));
  report_.quantities.push_back({"hit_cells", hit_cells_read_, hit_cells_right_, "cells"});
  report_.quantities.push_back({"arena_bytes", cells() * static_cast<std::int64_t>(sizeof(Stamp)),
                                backend_.reserved_bytes(), "bytes"});
  return report_;
}

}  // namespace kvplan::validator
