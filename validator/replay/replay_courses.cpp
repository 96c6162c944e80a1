// Requests that follow courses: what their facts may say, and which blocks they must free.
#include <algorithm>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {
namespace {

/// Each cell takes some 30 bytes of the validator's own memory.
constexpr std::int64_t kMostCourseCells = std::int64_t{1} << 26;

}  // namespace

Status Replay::Impl::on(const log::Course& f) {
  Request* const r = running(f.request);
  KVPLAN_TRY_DO(told_in_turn(r, f.request));
  if (stopped()) return Done{};
  if (header_.counted)
    return contradict(
        f.request, "gets a retention schedule with tokens, but the log has only numbers of evicted tokens");
  KVPLAN_TRY_DO(begin_course(*r));
  if (stopped()) return Done{};
  const std::string wrong = r->course ? r->course->add(f.drops) : r->gathered->told().add(f.drops);
  return wrong.empty() ? Status(Done{}) : contradict(f.request, wrong);
}

Status Replay::Impl::on(const log::Counts& f) {
  Request* const r = running(f.request);
  KVPLAN_TRY_DO(told_in_turn(r, f.request));
  if (stopped()) return Done{};
  if (!header_.counted)
    return contradict(f.request, "gets numbers of evicted tokens, but the log lists the evicted tokens");
  KVPLAN_TRY_DO(begin_course(*r));
  if (stopped()) return Done{};
  for (const log::AlikeTracks& alike : f.alike) {
    const std::string wrong = r->gathered->told().add_counts(alike.tracks, alike.runs);
    if (!wrong.empty()) return contradict(f.request, wrong);
  }
  return Done{};
}

/// Checks that a request's dropped tokens are stated when it is admitted.
Status Replay::Impl::told_in_turn(const Request* r, RequestId id) {
  if (phase_ != Phase::kPass || r == nullptr || !follows_courses())
    return contradict(
        id, "gets a retention schedule, but the request is not running or the log has no schedules");
  if (r->stage != kAdmitted && r->stage != kCoursed)
    return contradict(
        id,
        "gets a retention schedule after its admission, but schedules must follow the admission directly");
  if (!in_order(requests_.at(id), kCoursed)) return contradict(id, "has an event out of order");
  return Done{};
}

Status Replay::Impl::begin_course(Request& r) {
  if (r.course != nullptr || r.gathered != nullptr) return Done{};
  const auto tracks = static_cast<std::int64_t>(header_.track_units.size());
  if (r.final_tokens() > arena_.places()) return contradict(r.id, "needs more tokens than memory can hold");
  if (r.final_tokens() > kMostCourseCells / tracks)
    return contradict(r.id, "follows a retention schedule of more than 2^26 slots");
  if (header_.compacts) {
    r.gathered = std::make_unique<Gathered>(
        Gathered::Shape{r.target, r.final_tokens(), header_.alloc_unit_tokens, tracks, header_.tables,
                        header_.counted, static_cast<std::uint64_t>(r.id)});
    return Done{};
  }
  r.course =
      std::make_unique<Course>(Course::Shape{r.target, r.final_tokens(), header_.alloc_unit_tokens, tracks,
                                             header_.tables, header_.returns_alloc_units, header_.reuse});
  return Done{};
}

/// Called before the request is granted or computes anything. A course that drops nothing, because the request ends
/// with its first token, has nothing to report.
Status Replay::Impl::check_course(Request& r) {
  if (!follows_courses()) return Done{};
  if (r.target == r.final_tokens()) KVPLAN_TRY_DO(begin_course(r));
  if (stopped()) return Done{};
  if (r.course != nullptr && r.course->complete()) return Done{};
  if (r.gathered != nullptr && r.gathered->told().complete()) return Done{};
  return contradict(r.id, "follows an incomplete retention schedule");
}

std::int64_t Replay::Impl::findable_to(const Request& r) const {
  return follows_courses() ? std::min(r.written, r.course->first_drop()) : r.written;
}

/// Checks that every track has slots for its next tokens.
Status Replay::Impl::check_course_room(const Request& r, std::int64_t tokens) {
  if (header_.compacts) return check_gathered_room(r, tokens);
  if (r.written + tokens > r.final_tokens()) return contradict(r.id, "writes more tokens than it will have");
  const std::int64_t q = header_.alloc_unit_tokens;
  for (std::int64_t token = r.written; token < r.written + tokens; ++token) {
    for (std::int64_t track = 0; track < r.course->shape().tracks; ++track) {
      const std::int64_t slot = r.course->slot(track, token);
      const std::int64_t entry = slot / q * header_.tables + track / header_.tracks_of_table();
      const bool there = header_.returns_alloc_units ? entry < static_cast<std::int64_t>(r.table.size()) &&
                                                           r.table[static_cast<std::size_t>(entry)] != kGone
                                                     : slot < r.range_cells;
      if (there && header_.prefix_cache &&
          arena_.alloc_unit(r.table[static_cast<std::size_t>(entry)]).owner != r.id)
        return contradict(r.id, "writes into a block that it does not own");
      if (!there)
        return contradict(r.id, "writes token " + std::to_string(token) + " to slot " + std::to_string(slot) +
                                    ", which it does not hold");
    }
  }
  return Done{};
}

/// Checks that nothing had to be freed before the last of these tokens is written.
Status Replay::Impl::check_let_go_between(const Request& r, std::int64_t tokens) {
  for (std::int64_t n = r.written + 1; r.gathered != nullptr && n < r.written + tokens; ++n)
    if (r.gathered->any_due(n))
      return contradict(r.id, "does not compact when " + std::to_string(n) + " tokens are written");
  if (r.gathered != nullptr) return Done{};
  for (std::int64_t n = r.written + 1; r.whole && n < r.written + tokens; ++n)
    if (!r.course->freed_entries(n).empty())
      return contradict(
          r.id, "keeps blocks without any kept token when " + std::to_string(n) + " tokens are written");
  return Done{};
}

bool Replay::Impl::owes_blocks(const Request& r) const {
  if (r.gathered != nullptr) return r.wrote && r.whole && !r.ends && r.gathered->any_due(r.written);
  return r.course != nullptr && r.wrote && r.whole && !r.ends &&
         r.freed_reported < r.course->freed_entries(r.written).size();
}

Status Replay::Impl::on(const log::LetGo& f) {
  if (has_groups()) return leave_windows(f);
  Request* const r = running(f.request);
  if (r == nullptr || r->course == nullptr || !in_ending_order(*r) || r->ends || r->owes_first_token)
    return contradict(f.request, "frees blocks out of order");
  const auto& due = r->course->freed_entries(r->written);
  if (f.logical_blocks.empty()) return contradict(f.request, "frees no block");
  for (const std::int32_t block : f.logical_blocks) {
    if (r->freed_reported == due.size() || due[r->freed_reported] != block)
      return contradict(f.request, "frees block " + std::to_string(block) +
                                       (r->freed_reported == due.size()
                                            ? ", but no block must be freed"
                                            : ", expected block " + std::to_string(due[r->freed_reported])));
    ++r->freed_reported;
    KVPLAN_TRY_DO(arena_.free_entries(*r, block, 1));
  }
  return Done{};
}

}  // namespace kvplan::validator
