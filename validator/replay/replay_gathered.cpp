// Requests whose survivors move together: when they have to, and what is said of it.
#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

/// Are the places of its next tokens there, behind those that it has?
Status Replay::Impl::check_gathered_room(const Request& r, std::int64_t tokens) {
  if (r.written + tokens > r.final_tokens()) return contradict(r.id, "writes more tokens than it will have");
  const std::int64_t room = static_cast<std::int64_t>(r.table.size()) * header_.quantum_tokens;
  if (r.gathered->slots() + tokens <= room) return Done{};
  return contradict(r.id, "writes to slot " + std::to_string(r.gathered->slots() + tokens - 1) + " but has " +
                              std::to_string(r.table.size()) + " blocks");
}

std::int64_t Replay::Impl::cells_kept(const Request& r) const {
  std::int64_t cells = 0;
  for (std::size_t track = 0; track < header_.track_units.size(); ++track)
    cells += header_.track_units[track] * r.gathered->kept(static_cast<std::int64_t>(track));
  return cells;
}

Status Replay::Impl::on(const log::Compact& f) {
  Request* const r = running(f.request);
  if (r == nullptr || r->gathered == nullptr || !in_ending_order(*r) || r->ends || r->owes_first_token)
    return contradict(f.request, "moves its survivors out of turn");
  if (!r->gathered->due(r->written))
    return contradict(f.request, "moves its survivors together although less than a block is dropped");
  const std::int64_t slots = r->gathered->slots_kept();
  const std::int64_t released =
      static_cast<std::int64_t>(r->table.size()) - ceil_div(slots, header_.quantum_tokens);
  const auto expect = [&](std::int64_t told, std::int64_t here, const char* what) {
    return told == here
               ? Status(Done{})
               : contradict(f.request, "moves its survivors together: expected " + std::to_string(here) +
                                           what + ", found " + std::to_string(told));
  };
  KVPLAN_TRY_DO(expect(f.slots, slots, " slots"));
  if (!stopped()) KVPLAN_TRY_DO(expect(f.cells, cells_kept(*r), " kept cells"));
  if (!stopped()) KVPLAN_TRY_DO(expect(f.released, released, " blocks that go back"));
  return stopped() ? Status(Done{}) : arena_.gather(*r);
}

}  // namespace kvplan::validator
