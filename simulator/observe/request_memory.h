// How much memory each request held, for how long: its whole table, whatever is in it. A block that several requests
// hold counts for each of them, so that all requests together come to what is held and what sharing saves.
//
// Counts quanta; exact integers of quanta x ticks.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/core/observer.h"

namespace kvplan::observe {

struct RequestHeld {
  Wide quantum_ticks{0};        ///< over all its admissions
  std::int64_t most_quanta{0};  ///< at one moment; while a range is copied both places count
};

/// By RequestId; replicas may share one, since each request belongs to one of them.
class RequestMemory final : public core::Observer {
 public:
  explicit RequestMemory(std::int64_t requests) : records_(static_cast<std::size_t>(requests)) {}

  [[nodiscard]] RequestHeld held(RequestId request) const { return at(request).held; }
  /// Quanta that the request holds now.
  [[nodiscard]] std::int64_t quanta(RequestId request) const { return at(request).quanta; }

  void on_pass_begin(SimTime time) override { now_ = time; }
  void on_admit(const core::Admission& admission) override;
  void on_grant(const core::Grant& grant) override { add(grant.request, grant.quanta); }
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override;
  void on_move(const core::Move& move) override;
  void on_copies_end(SimTime time, std::span<const core::Move> copies, const core::PoolCounts& pool) override;
  void on_stretch(const core::Stretch& stretch) override;
  void on_step_end(SimTime time, std::span<const RequestId> /*finishing*/) override { now_ = time; }
  void on_drop(const core::Drop& drop) override;
  void on_let_go(const core::LetGo& let_go) override;
  void on_leave_windows(const core::LeaveWindows& left) override;
  void on_preempt(const core::Release& release) override { leave(release.request); }
  void on_finish(SimTime /*time*/, const core::Release& release) override { leave(release.request); }
  [[nodiscard]] bool follows_stretches() const override { return true; }
  /// Found tokens come in quanta of so many. To be told before the replica runs.
  void set_quantum_tokens(std::int64_t tokens) { quantum_tokens_ = tokens; }

 private:
  struct Record {
    RequestHeld held;
    std::int64_t quanta{0};
    SimTime since{};
  };
  [[nodiscard]] Record& at(RequestId r) { return records_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] const Record& at(RequestId r) const { return records_[static_cast<std::size_t>(r)]; }
  void add(RequestId request, std::int64_t quanta);
  void leave(RequestId request) { add(request, -at(request).quanta); }

  std::vector<Record> records_;
  std::int64_t quantum_tokens_{1};
  SimTime now_{};
};

}  // namespace kvplan::observe
