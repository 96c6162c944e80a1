// Which kernels a step runs on one device, as cases that a machine can time; and which steps tell most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validator/kernels/case.h"
#include "validator/run/logged_steps.h"

namespace kvplan::validator {

/// Layers of a model that attend in the same way, on one rank.
struct AttentionLayers {
  std::int64_t layers{1};
  std::int32_t query_heads{1}, kv_heads{1}, head_size{128};
  std::int64_t window{0};
};

/// What the kernels of a run have in common.
struct KernelShape {
  std::vector<AttentionLayers> attention;
  Stored stored{Stored::kBf16};
  std::optional<Format> format;  ///< to which new tokens are quantised, and from which read ones are
  std::int32_t page_tokens{16};
  bool compacts{false};               ///< kept tokens lie together, head by head
  bool reuses{false};                 ///< kept tokens lie in pages that have no holes
  std::vector<std::string> left_out;  ///< sentences: what no kernel here computes
};

/// A kernel of a step, which each of `calls` layers runs once.
struct KernelOfStep {
  Case of;
  std::int64_t calls{1};
};

/// Decode attention of all kinds of layers; appending the new tokens; with a format, quantising these and
/// dequantising those that are read.
std::vector<KernelOfStep> kernels_of(const LoggedStep& step, const KernelShape& shape);

/// The case with a time that stands for another one's: holes are read whatever their number, so their share does not
/// count; compacted tokens are read like a sequence of that length.
Case stand_in(Case of);

struct ChosenSteps {
  std::vector<std::int64_t> steps;  ///< by index, ascending
  std::int64_t logged{0};           ///< runs of steps in the log
  std::int64_t decoding{0};         ///< of these, with requests that decode
  double time_share{0};  ///< of the simulated time of all steps: those with kernels that fit the machine
};

/// At most `most` steps: the one with most tokens, the one with most requests, and of the rest, sorted by tokens, those
/// in the middle of parts that take the same simulated time. Steps with a kernel that reads more than `most_bytes`
/// are left out. Errors: those of the log.
Result<ChosenSteps> choose_steps(const std::string& log, const KernelShape& shape, std::int64_t most,
                                 std::int64_t most_bytes);

}  // namespace kvplan::validator
