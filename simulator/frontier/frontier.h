// What budgets buy: attended mass and output error of policies, budgets and formats over bytes per token, pooled over
// recordings, and the bound on mass beside them.
//
// Pooling. Every layer of every sequence of every recording counts: a mass or an error is that of one query head at one
// decode step, and all of them count alike, so a longer sequence counts more. bytes_per_token is what is stored after
// the last token, of all layers, keys, values and the policy's metadata beside them, over all tokens of the sequences;
// so it compares with the bytes of a token in the full cache, and falls as sequences get longer than the budget.
//
// Errors compare the attention output with that of the full cache. Masses are sums of the full cache's weights; how a
// format rounds does not show in them.
//
// All policies, budgets and formats run on one pass of the rows of a layer. Layers of sequences are worked on beside
// each other by several threads; what they found is added up in the order of inputs, sequences and layers, so any
// number of threads gives the same bits.
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

/// What a scheme grants the layers of a recording of one of its sequences' prompts.
using GrantsOf = std::function<Result<attention::Grants>(
    const Choice& scheme, const attention::Recording& recording, std::int32_t sequence, std::int64_t prompt)>;

struct Request {
  std::vector<Input> inputs;
  std::vector<Lane> lanes;
  std::vector<Storage> storages;
  /// Of layers with a window, in place of each of these: they keep their newest tokens, as many as it shows, whatever
  /// the lane's policy leaves of the others.
  std::optional<Storage> window_storage{};
  GrantsOf grants{};       ///< asked from one thread; may be empty where no lane has a scheme
  std::int64_t prompt{0};  ///< tokens; 0: what each sequence says of itself, else its first half
  std::optional<std::int32_t> layer{};
  int threads{1};
};

struct Point {
  std::size_t lane{0};
  std::size_t storage{0};
  double bytes_per_token{0};
  double metadata_bytes_per_token{0};  ///< of these, the policy's
  std::optional<double> mass_mean;     ///< nothing without decode steps
  std::optional<double> mass_min;
  std::optional<double> error_mean;  ///< nothing where a recording has no values, or without decode steps
  std::optional<double> error_p95;   ///< nearest rank
  std::int64_t sequences{0};
  std::optional<double> entries_mean;  ///< tokens that a query attends, itself included
  std::int64_t entries_max{0};
  /// The most mass that any choice of as many entries has, at each step and query head as many as were attended there.
  std::optional<double> oracle_mass_mean;
  /// Of mass_mean and of error_mean, with sequences as what was drawn (samples.h); nothing of fewer than two.
  std::optional<double> mass_standard_error;
  std::optional<double> error_standard_error;
  /// Of what a query attends, the share that is among as many greatest weights of its full row (of equal weights the
  /// newer ones); nothing without decode steps, and of policies whose queries read a part of what is kept.
  std::optional<double> overlap_mean;
  /// Share of the tokens of class `needle` that is retained (attention/evaluation.h); nothing where there are none.
  std::optional<double> needle_recall;
};

/// The most mass that any choice of so many entries per query head has, at every decode step anew. A bound on mass, not
/// on errors; no cache that drops tokens reaches it in general.
struct OraclePoint {
  std::int64_t entries{0};
  std::optional<double> mass_mean;
};

struct Frontier {
  std::vector<Point> points;        ///< [lane][storage]
  std::vector<OraclePoint> oracle;  ///< ascending
  std::int64_t sequences{0};
  double full_bytes_per_token{0};        ///< everything at the recordings' own element size
  std::vector<std::string> assumptions;  ///< whole sentences, each once
};

/// Asked between steps, by any of the threads; an error ends the run.
using Pause = std::function<Status()>;

/// The oracle's entries: each budget N and N + 1, which a policy attends that drops after it has attended; what a
/// policy attends at most that retains N of the prompt and all that follows; and the longest sequence.
/// Layers that were not recorded are left out, as are those of a recording that broke off inside the prompt; the
/// assumptions say so. Errors, with the input's name: a prompt longer than a sequence, a policy or format that the
/// recording cannot drive, nothing to pool, storage for windows where no layer has one.
Result<Frontier> run(const Request& request, const Pause& pause);

}  // namespace kvplan::frontier
