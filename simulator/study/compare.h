// Runs one scenario in several variants: files are read once and shared, each variant is a case of its own (cases.h),
// and results are in the order of the variants whatever the number of threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/run/run.h"
#include "simulator/scenario/vary.h"
#include "simulator/study/cases.h"
#include "simulator/study/inputs.h"

namespace kvplan::runs {

/// A variant and its outcome: a result, or the error.
struct Variant {
  Varied varied;
  std::optional<RunResult> result;
  std::optional<Error> error;
  /// With CompareOptions::partings: where it parts from the first variant that ran; absent where it never does.
  std::optional<Parting> parting{};

  /// "block_tokens=16, max_seqs=64": the varied values, each with the last part of its path.
  [[nodiscard]] std::string name() const;
};

struct Comparison {
  std::vector<Vary> varies;
  std::vector<Variant> variants;  ///< all combinations of the varied values, the last path changing fastest
  /// The variant from which the others part; absent if partings were not asked for.
  std::optional<std::size_t> parted_from{};
};

struct CompareOptions {
  /// Number of concurrent runs; each needs memory for a pool. A run that gets no memory beside other runs is repeated
  /// alone.
  int threads{1};
  /// Even: timelines of at most this many bins of one width (RunOptions::timeline_joined), only for the first
  /// variants, so that memory does not grow with bins x variants.
  std::int64_t timeline_bins{0};
  std::size_t most_timelines{24};
  /// Also find the first step in which each variant decides otherwise than the first one. The decisions of all variants
  /// are in memory together, so there are at most kMostParted of them.
  bool partings{false};
  core::RunControl* control{nullptr};
  /// Called with the scenario of each variant before anything is read; an error ends the comparison. May be empty.
  std::function<Status(const Scenario&)> check;
  /// Called before the runs begin with the number of requests that they will serve in all. May be empty.
  std::function<void(std::int64_t requests)> on_begin;
};

/// Most variants of one comparison.
inline constexpr std::int64_t kMostVariants = 10'000;
/// Most variants of one comparison with partings.
inline constexpr std::int64_t kMostParted = 24;

/// `settings` as for `resolve`; the varied values are added after them. Traces are read in the calling thread, before
/// anything runs; no results by request are kept. Errors: a value that is valid in no variant, two equal varies, too
/// many variants, no trace, interrupted, or every variant failed (the first one's error).
Result<Comparison> compare(const std::vector<Setting>& settings, const std::vector<Vary>& varies,
                           Inputs& inputs, const CompareOptions& options);

}  // namespace kvplan::runs
