// The effect of memory budgets: attended mass and output error of policies, budgets and formats over bytes per token,
// pooled over recordings, and the upper bound on mass for comparison.
//
// Pooling. Every layer of every sequence of every recording counts. A mass or an error is that of one query head at one
// decode step, and all count the same, so a longer sequence counts more. bytes_per_token is everything stored after the
// last token (keys, values and the policy's metadata of all layers), divided by all tokens of the sequences. So it
// compares with the bytes of a token in the full cache, and falls as sequences get longer than the budget.
//
// Errors compare the attention output with that of the full cache. Masses are sums of the full cache's weights; the
// rounding of a format does not change them.
//
// All policies, budgets and formats run in one pass over the rows of a layer. Several threads work on layers of
// sequences; their results are added in the order of inputs, sequences and layers, so any number of threads gives the
// same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/frontier/lanes.h"

namespace kvplan::frontier {

struct Input {
  std::string name;
  std::shared_ptr<const attention::Recording> recording;
};

/// The tokens that a scheme grants the layers of a recording, for the prompt of one of its sequences.
using GrantsOf = std::function<Result<attention::Grants>(
    const Choice& scheme, const attention::Recording& recording, std::int32_t sequence, std::int64_t prompt)>;

struct Request {
  std::vector<Input> inputs;
  std::vector<Lane> lanes;
  std::vector<Storage> storages;
  /// Storage of layers with a window, instead of the lane's storage. These layers keep their newest tokens, as many as
  /// the window has, whatever the lane's policy keeps in other layers.
  std::optional<Storage> window_storage{};
  GrantsOf grants{};       ///< called from one thread; may be empty if no lane has a scheme
  std::int64_t prompt{0};  ///< tokens; 0: the prompt length that each sequence states, else its first half
  std::optional<std::int32_t> layer{};
  int threads{1};
};

struct Point {
  std::size_t lane{0};
  std::size_t storage{0};
  double bytes_per_token{0};
  double metadata_bytes_per_token{0};  ///< the policy's metadata among them
  std::optional<double> mass_mean;     ///< nothing without decode steps
  std::optional<double> mass_min;
  std::optional<double> error_mean;  ///< absent if a recording has no values, or without decode steps
  std::optional<double> error_p95;   ///< nearest rank
  std::int64_t sequences{0};
  std::optional<double> entries_mean;  ///< tokens that a query attends, its own included
  std::int64_t entries_max{0};
  /// The most mass that any choice of as many tokens has: at each step and query head, the number of tokens that were
  /// attended there.
  std::optional<double> oracle_mass_mean;
  /// Standard errors of mass_mean and error_mean, with sequences as the sampled units (samples.h); absent with fewer
  /// than two.
  std::optional<double> mass_standard_error;
  std::optional<double> error_standard_error;
  /// The share of attended tokens that are among equally many tokens with the greatest weights of the full row (of
  /// equal weights the newer ones). Absent without decode steps, and for policies with queries that read only a part of
  /// the kept tokens.
  std::optional<double> overlap_mean;
  /// Share of the tokens of class `needle` that is kept (attention/evaluation.h); absent if there are none.
  std::optional<double> needle_recall;
};

/// The most mass that any choice of `entries` tokens per query head has, if tokens are chosen anew at every decode
/// step. A bound on mass, not on errors; in general no cache that drops tokens reaches it.
struct OraclePoint {
  std::int64_t entries{0};
  std::optional<double> mass_mean;
};

struct Frontier {
  std::vector<Point> points;        ///< [lane][storage]
  std::vector<OraclePoint> oracle;  ///< ascending
  std::int64_t sequences{0};
  double full_bytes_per_token{0};        ///< everything stored in the recordings' own element size
  std::vector<std::string> assumptions;  ///< whole sentences, each once
};

/// Called between steps, by any of the threads; an error ends the run.
using Pause = std::function<Status()>;

/// Runs all lanes. The oracle is computed for these numbers of tokens: each budget N; N + 1, which a query attends if
/// the policy drops tokens after it; the most that is attended if a policy keeps N tokens of the prompt and everything
/// after it; and the longest sequence. Layers that were not recorded, or broke off inside the prompt, are left out; the
/// assumptions say so. Errors, with the input's name: a prompt longer than a sequence, a policy or format that the
/// recording cannot drive, no layers, storage for windows although no layer has one.
Result<Frontier> run(const Request& request, const Pause& pause);

}  // namespace kvplan::frontier
