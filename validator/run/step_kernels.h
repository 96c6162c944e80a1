// The kernels that a step runs on one device, as cases that a machine can time; and the choice of steps to time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validator/kernels/case.h"
#include "validator/run/logged_steps.h"

namespace kvplan::validator {

/// Layers of a model with the same kind of attention, on one rank.
struct AttentionLayers {
  std::int64_t layers{1};
  std::int32_t query_heads{1}, kv_heads{1}, head_size{128};
  std::int64_t window{0};
};

/// Facts that all kernels of a run share.
struct KernelShape {
  std::vector<AttentionLayers> attention;
  Stored stored{Stored::kBf16};
  std::optional<Format> format;  ///< new tokens are quantised to it, and read tokens dequantised from it
  std::int32_t page_tokens{16};
  bool compacts{false};               ///< kept tokens are stored next to each other, head by head
  bool reuses{false};                 ///< kept tokens are stored in pages without holes
  std::vector<std::string> left_out;  ///< sentences: what none of these kernels computes
};

/// A kernel of a step, which each of `calls` layers runs once.
struct KernelOfStep {
  Case of;
  std::int64_t calls{1};
};

/// Decode attention for all kinds of layers, and appending the new tokens; with a format, also quantising the new
/// tokens and dequantising those that are read.
std::vector<KernelOfStep> kernels_of(const LoggedStep& step, const KernelShape& shape);

/// The case that is timed in place of `of`: holes are read like kept tokens, so their share does not matter, and
/// compacted tokens are read like a sequence of that length.
Case stand_in(Case of);

struct ChosenSteps {
  std::vector<std::int64_t> steps;  ///< by index, ascending
  std::int64_t logged{0};           ///< series of steps in the log
  std::int64_t decoding{0};         ///< number of these with requests that decode
  double time_share{0};  ///< share in all simulated time: steps with kernels that fit into the machine
};

/// At most `most` steps: the step with the most tokens, the one with the most requests, and others: the rest, sorted by
/// tokens, is divided into parts of equal simulated time, and the step in the middle of each part is taken. Steps that
/// have a kernel which reads more than `most_bytes` are left out. Errors: those of the log.
Result<ChosenSteps> choose_steps(const std::string& log, const KernelShape& shape, std::int64_t most,
                                 std::int64_t most_bytes);

}  // namespace kvplan::validator
