// Sums for sparse attention (core::ReadRule) over a replica's whole run: tokens that decode queries saw, and how many
// of them were not fetched.
#pragma once

#include "simulator/base/units.h"
#include "simulator/core/observer.h"

namespace kvplan::observe {

/// Sums over decoding requests and steps.
struct DecodeReads {
  Wide seen{0};    ///< visible tokens, the step's own included
  Wide unread{0};  ///< tokens not fetched by the layers with sparse attention
  Wide ranked{0};  ///< tokens of which the metadata was read

  DecodeReads& operator+=(const DecodeReads& other) {
    seen += other.seen;
    unread += other.unread;
    ranked += other.ranked;
    return *this;
  }
};

class ReadSums final : public core::Observer {
 public:
  [[nodiscard]] const DecodeReads& sums() const { return sums_; }

  void on_pass_begin(SimTime /*time*/) override { prompts_ = 0; }
  void on_chunk(const core::Chunk& chunk) override { prompts_ += chunk.computed; }
  void on_steps(const core::Steps& steps) override { add(steps.pass, steps.series.steps); }
  void on_decode_run(const core::DecodeRun& decode_run) override {
    add(decode_run.pass, decode_run.series.steps);
  }
  [[nodiscard]] bool follows_decode_runs() const override { return true; }

 private:
  void add(const core::Pass& pass, std::int64_t steps) {
    const Wide later = Wide{steps} * (steps - 1) / 2;  // 0 + 1 + ... for the steps behind the first
    sums_.seen += (Wide{pass.load.context_tokens} - prompts_ + pass.decoding) * steps +
                  Wide{pass.growth.context_tokens} * later;
    sums_.unread += Wide{pass.load.unread_tokens} * steps + Wide{pass.growth.unread_tokens} * later;
    sums_.ranked += Wide{pass.load.ranked_tokens} * steps + Wide{pass.growth.ranked_tokens} * later;
  }

  std::int64_t prompts_{0};  ///< context of the prompts that this pass computes
  DecodeReads sums_;
};

}  // namespace kvplan::observe
