// The memory that each request held, and for how long. The whole table of a request counts, with everything in it. A
// block that several requests hold counts for each of them, so the sum over requests is held memory plus what sharing
// saves.
// Amounts are allocation units, and exact integers of allocation units x ticks.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/core/observer.h"

namespace kvplan::observe {

struct RequestHeld {
  Wide alloc_unit_ticks{0};  ///< sum over all its admissions, until `since`
  /// Most at one moment; while a range is copied, old and new range both count
  std::int64_t most_alloc_units{0};
  std::int64_t alloc_units{0};  ///< held now
  SimTime since{};              ///< time from which it has held `alloc_units`
};

/// The observer for one replica.
class RequestMemory final : public core::Observer {
 public:
  /// `held`: by RequestId, for all requests of the trace; outlives this. Replicas may share it, since each
  /// request is served by one replica. Prefix hits come in units of `alloc_unit_tokens`; an admission takes
  /// `state_blocks` units that are in no table.
  RequestMemory(std::vector<RequestHeld>& held, std::int64_t alloc_unit_tokens, std::int64_t state_blocks)
      : held_(held), alloc_unit_tokens_(alloc_unit_tokens), state_blocks_(state_blocks) {}

  void on_pass_begin(SimTime time) override { now_ = time; }
  void on_admit(const core::Admission& admission) override;
  void on_grant(const core::Grant& grant) override { add(grant.request, grant.alloc_units); }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override;
  void on_move(const core::Move& move) override;
  void on_copies_end(SimTime time, std::span<const core::Move> copies, const core::PoolCounts& pool) override;
  void on_decode_run(const core::DecodeRun& decode_run) override;
  void on_step_end(SimTime time, std::span<const RequestId> /*finishing*/) override { now_ = time; }
  void on_compact(const core::Compacted& compacted) override;
  void on_free_blocks(const core::FreedBlocks& gone) override;
  void on_preempt(const core::Release& release) override { leave(release.request); }
  void on_finish(SimTime /*time*/, const core::Release& release) override { leave(release.request); }
  [[nodiscard]] bool follows_decode_runs() const override { return true; }

 private:
  [[nodiscard]] RequestHeld& at(RequestId r) { return held_[index(r)]; }
  void add(RequestId request, std::int64_t alloc_units);
  void leave(RequestId request) { add(request, -at(request).alloc_units); }

  std::vector<RequestHeld>& held_;
  std::int64_t alloc_unit_tokens_, state_blocks_;
  SimTime now_{};
};

}  // namespace kvplan::observe
