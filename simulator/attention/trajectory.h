// What a token policy does to a sequence over time, for a serving run that moves real blocks: after t tokens,
// which positions does each (layer, stored head) keep, and what did the last token change?
//
// A trajectory depends on (recording, sequence, prompt split, policy with its parameters and what a budget grants
// its layers) and on nothing else, so all requests driven by that recording share one. It is computed when asked
// for, in pieces of tokens and one layer at a time, so memory holds what the trajectory says and the rows of one
// layer only. A position is dropped at most once; so per track and recorded token it is 4 bytes for when it goes
// and 4 for the list of drops. Where tokens are placed, and what that frees, is a course (core/course.h) made from it.
//
// Time is counted in tokens: "after token t" is the end of the step that wrote token t, counting from 0; t =
// prompt - 1 is the end of the prompt, where the policy first selects. Before it nothing is dropped.
//
// Life cycle: `make`, then `advance` before asking about a token; the questions themselves never fail. Not
// for several threads at once: every simulation owns its TrajectoryStore.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/catalogue.h"
#include "simulator/attention/recording.h"
#include "simulator/attention/replay.h"

namespace kvplan::attention {

/// Cells kept by several (layer, stored head) pairs alike: positional policies have one track for all (one per pair
/// where layers have budgets of their own), TOVA one per layer, H2O one per pair.
struct TrackInfo {
  std::int32_t layer{0};        ///< first pair of the track
  std::int32_t stored_head{0};  ///< first pair of the track
  std::int32_t pairs{1};        ///< pairs that are alike
};

class Trajectory {
 public:
  /// Errors: sequence not there, prompt outside 1 .. recorded tokens, group that does not divide, those of with_budget.
  static Result<std::unique_ptr<Trajectory>> make(std::shared_ptr<const Recording> recording,
                                                  std::int32_t sequence, std::int64_t prompt,
                                                  const PolicyChoice& policy, const Grants& grants = {});

  [[nodiscard]] std::int64_t prompt() const { return prompt_; }
  /// Recorded tokens: a request of P + O - 1 tokens needs at least as many.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// Questions may name tokens below this.
  [[nodiscard]] std::int64_t computed() const { return computed_; }
  /// Computes up to and including token t (and some way on). Errors: rows that cannot be read.
  /// REQUIRES: t < tokens().
  Status advance(std::int64_t t);

  [[nodiscard]] std::span<const TrackInfo> tracks() const { return infos_; }
  [[nodiscard]] std::int32_t track_of(std::int32_t layer, std::int32_t stored_head) const;
  [[nodiscard]] std::int32_t layers() const { return layers_; }
  [[nodiscard]] std::int32_t stored_heads() const { return stored_heads_; }

  // REQUIRES for all below: 0 <= t < computed(), 0 <= track < tracks().

  /// Positions that go at the end of token t, ascending.
  [[nodiscard]] std::span<const std::int32_t> dropped(std::int32_t track, std::int64_t t) const;
  /// Positions kept after token t.
  [[nodiscard]] std::int64_t kept_count(std::int32_t track, std::int64_t t) const;
  [[nodiscard]] bool keeps(std::int32_t track, std::int64_t position, std::int64_t t) const;
  /// All positions kept after token t, ascending; O(t).
  [[nodiscard]] std::vector<std::int32_t> kept(std::int32_t track, std::int64_t t) const;

  /// Memory of what has been computed.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Track {
    std::vector<std::int32_t> gone_after;  ///< [position] token at whose end it goes, or kNever
    std::vector<std::int32_t> drops;       ///< positions in order of going
    std::vector<std::int64_t> drop_begin;  ///< [t - (prompt - 1)] index into drops; one more at the end
  };
  Trajectory(std::shared_ptr<const Recording> recording, std::int32_t sequence, std::int64_t prompt,
             std::vector<PolicyChoice> policies, std::int32_t group);
  Status advance_layer(std::int32_t layer, std::int64_t end);
  void record(Track& track, std::span<const std::int32_t> dropped, std::int64_t t) const;

  std::shared_ptr<const Recording> recording_;
  std::int32_t sequence_;
  std::int64_t prompt_;
  std::vector<PolicyChoice> policies_;  ///< [layer], or one for all
  std::int64_t tokens_;
  std::int64_t computed_{0};
  std::int32_t layers_;               ///< of the model
  std::int32_t stored_heads_;         ///< per layer
  bool positional_;                   ///< one replay and one track for all layers
  std::vector<LayerReplay> replays_;  ///< [layer], or one
  std::vector<TrackInfo> infos_;
  std::vector<Track> tracks_;
};

/// Trajectories by key, shared by requests, least recently used ones forgotten when they exceed a size (they
/// can be computed again and come out the same).
class TrajectoryStore {
 public:
  /// Those still held by a request stay whatever they take.
  explicit TrajectoryStore(std::int64_t max_bytes) : max_bytes_(max_bytes) {}
  /// `policy` is compared by its name and all parameters but `placement`, which changes nothing here.
  Result<std::shared_ptr<Trajectory>> get(const std::shared_ptr<const Recording>& recording,
                                          std::int32_t sequence, std::int64_t prompt,
                                          const PolicyChoice& policy, const Grants& grants = {});
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }

 private:
  struct Entry {
    const Recording* recording;
    std::int32_t sequence;
    std::int64_t prompt;
    std::string policy;
    Grants grants;
    std::shared_ptr<Trajectory> trajectory;
    std::int64_t used;
  };
  void forget_old();
  std::int64_t max_bytes_;
  std::int64_t clock_{0};
  std::vector<Entry> entries_;
};

}  // namespace kvplan::attention
