// The history of each request, and the counts of tokens and steps that follow from it.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/core/observer.h"
#include "simulator/core/workload.h"

namespace kvplan::observe {

enum class RequestStatus : std::uint8_t { kNotArrived, kRejected, kUnfinished, kCompleted };

/// Times are since the trace's first arrival. A time is valid only if `status` and the counts say that the request got
/// that far.
struct RequestRecord {
  RequestStatus status{RequestStatus::kNotArrived};
  bool scheduled{false};
  bool has_first_token{false};
  std::int32_t preemptions{0};
  SimTime arrival, first_scheduled, first_token, finish;
  std::int64_t computed_tokens{0};    ///< sum over all its admissions
  std::int64_t rehit_tokens{0};       ///< hit tokens at its later admissions
  std::int32_t prefix_hit_tokens{0};  ///< hit tokens at its first admission
  /// While it runs: hit tokens at its latest admission. If no KV is stored: the tokens of its first step minus
  /// one.
  std::int32_t latest_hit_tokens{0};
};
static_assert(sizeof(RequestRecord) == 64, "there are millions of them");

/// The observer for one replica.
class RequestRecords final : public core::Observer {
 public:
  /// `records`: by RequestId, for all requests of the trace; outlives this. Replicas may share it, since each
  /// request is served by one replica. `recomputes`: no KV is stored, so every step computes all tokens of its
  /// requests again.
  explicit RequestRecords(std::vector<RequestRecord>& records, bool recomputes = false)
      : recomputes_(recomputes), records_(records) {}

  [[nodiscard]] std::int64_t iterations() const { return iterations_; }
  [[nodiscard]] std::int64_t computed_tokens() const { return computed_tokens_; }

  void on_arrival(SimTime time, RequestId request, bool accepted) override;
  void on_pass_begin(SimTime time) override { now_ = time; }
  void on_admit(const core::Admission& admission) override;
  void on_chunk(const core::Chunk& chunk) override;
  void on_preempt(const core::Release& release) override;
  void on_steps(const core::Steps& steps) override;
  void on_decode_run(const core::DecodeRun& decode_run) override;
  void on_first_token(SimTime time, RequestId request) override;
  void on_finish(SimTime time, const core::Release& release) override;
  [[nodiscard]] bool follows_decode_runs() const override { return true; }

 private:
  RequestRecord& at(RequestId r) { return records_[index(r)]; }
  void count_computed(const core::Release& release);

  bool recomputes_;
  std::vector<RequestRecord>& records_;
  SimTime now_{};
  std::int64_t iterations_{0};
  std::int64_t computed_tokens_{0};
};

}  // namespace kvplan::observe
