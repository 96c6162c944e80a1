// Shared by policies that look at the prompt once, when it ends, and only append afterwards: sums of their rows for
// each query head, and the reductions that follow.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"

namespace kvplan::attention {

/// Sums of prompt rows. Nothing is dropped before the prompt ends, so residents are the positions 0, 1, ...
class PromptScores {
 public:
  explicit PromptScores(const LayerPlace& place);

  /// Adds the row of each head of a KV head, divided by its divisor.
  void add(std::int32_t set, std::span<const HeadRow> heads);
  /// Sums of query head `head` at positions 0, 1, ...
  [[nodiscard]] std::span<double> of_head(std::int32_t head);
  /// One score for each position of [0, n): mean or maximum over the query heads of the KV head.
  [[nodiscard]] std::vector<double> of_set(std::int32_t set, std::int64_t n, Aggregate aggregate) const;
  /// Frees the memory: the prompt has ended.
  void forget(std::int32_t set);

  /// True right after the prompt's last token was added to these residents.
  [[nodiscard]] bool prompt_ends(const Residents& residents) const;

 private:
  std::int64_t prompt_;
  std::int32_t group_;
  std::vector<std::vector<double>> sums_;  ///< [query head][position]
};

enum class Pooling : std::uint8_t { kAverage, kMax };
inline constexpr std::array<std::string_view, 2> kPoolings{"avg", "max"};

/// Replaces each score by the average (missing neighbours count as zero, always divided by `kernel`) or the maximum
/// of the `kernel` scores around it; additions in ascending order. REQUIRES: kernel odd.
std::vector<double> pool(std::span<const double> scores, std::int64_t kernel, Pooling pooling);

// The parameters of SnapKV and its relatives.
inline constexpr Param kWindowParam{
    .name = "window",
    .help = "Last tokens of the prompt: always kept, and their attention rows are the scores",
    .unit = Unit::kTokens,
    .fallback = "32",
    .low = 1,
    .high = kMaxTokens};
inline constexpr Param kCapacityParam =
    tokens_param("capacity", "Tokens of the prompt that are kept, including the window", 1);
inline constexpr Param kKernelParam{.name = "kernel",
                                    .help = "Width of the pooling over neighbouring scores; odd",
                                    .fallback = "5",
                                    .low = 1,
                                    .high = 65535};
inline constexpr Param kPoolingParam{.name = "pooling",
                                     .help = "Pool scores by their average or by their maximum",
                                     .kind = ParamKind::kText,
                                     .fallback = "avg",
                                     .choices = kPoolings};

struct PromptWindow {
  std::int64_t window;
  std::int64_t capacity;
  std::int64_t kernel;
  Pooling pooling;
};
/// From a choice with the four parameters above.
PromptWindow prompt_window_of(const Choice& choice);
/// Errors: an even kernel, a capacity below the window.
Status check_prompt_window(const Choice& choice);

}  // namespace kvplan::attention
