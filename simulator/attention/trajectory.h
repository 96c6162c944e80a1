// What a token policy does to a sequence over time, for a serving run that moves real blocks: after t tokens,
// which positions does each (layer, KV head) keep, and what did the last token change?
//
// A trajectory depends on (recording, sequence, prompt split, policy with its parameters and what a budget grants
// its layers) and on nothing else, so all requests driven by that recording share one; of a policy that looks ahead
// (PolicyTraits::foresight) it depends on how many tokens there will be, too. It is computed as far as it is asked
// for, one layer after the other: each is opened once for its own replay and worked through from its first token,
// and nothing but what it drops stays. A policy that looks ahead has its layer opened once more before; of one whose
// layer depends on those below (lower_layers) each layer opens all of these, so that work and reading grow with the
// square of the layers. Memory holds, per track, 4 bytes for each dropped token and 8 for each decode step, and
// while it is computed the rows of one layer. Asked for later tokens it works through all of them again: ask for the
// last one that matters. Where tokens are placed, and what that frees, is a course (courses/course.h) made from it.
//
// Time is counted in tokens: "after token t" is the end of the step that wrote token t, counting from 0; t =
// prompt - 1 is the end of the prompt, where the policy first selects. Before it nothing is dropped.
//
// Life cycle: `make`, then `advance` before asking about a token; the questions themselves never fail. While it
// advances nobody else may ask; a TrajectoryStore hands out those that no longer do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/catalogue.h"
#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// Cells kept by several (layer, KV head) pairs alike: where all are (PolicyTraits::all_alike) there is one track
/// (one per pair where layers have budgets of their own); TOVA has one per layer, H2O one per pair.
struct TrackInfo {
  std::int32_t layer{0};    ///< first pair of the track
  std::int32_t kv_head{0};  ///< first pair of the track
  std::int32_t pairs{1};    ///< pairs that are alike
};

/// What a serving run needs of a recording: every layer, with all of its heads, as many in each, and what rows are made
/// from if they are asked for. Errors (field "layer N", or those of check_recorded_layer): another one.
Status check_all_layers(const Recording& recording, std::int32_t sequence, bool for_rows);

class Trajectory {
 public:
  /// Of the first `most_tokens` of the recorded tokens: a policy that looks ahead sees no more.
  /// Errors: sequence not there, prompt outside 1 .. recorded tokens, group that does not divide, those of with_budget.
  static Result<std::unique_ptr<Trajectory>> make(std::shared_ptr<const Recording> recording,
                                                  std::int32_t sequence, std::int64_t prompt,
                                                  const PolicyChoice& policy, const Grants& grants = {},
                                                  std::int64_t most_tokens = INT64_MAX);

  [[nodiscard]] std::int64_t prompt() const { return prompt_; }
  /// Recorded ones, unless fewer were asked for: a request of P + O - 1 tokens needs at least as many.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// Questions may name tokens below this.
  [[nodiscard]] std::int64_t computed() const { return computed_; }
  /// Computes up to and including token t, unless it was. `stop_asked`, if set, is asked now and then, and ends it.
  /// Errors: rows that cannot be read; interrupted. Then what was computed before still stands.
  /// REQUIRES: t < tokens().
  Status advance(std::int64_t t, const StopAsked& stop_asked = {});

  [[nodiscard]] std::span<const TrackInfo> tracks() const { return infos_; }
  [[nodiscard]] std::int32_t track_of(std::int32_t layer, std::int32_t kv_head) const;
  [[nodiscard]] std::int32_t layers() const { return layers_; }
  [[nodiscard]] std::int32_t kv_heads() const { return kv_heads_; }

  // REQUIRES for all below: 0 <= t < computed(), 0 <= track < tracks().

  /// Positions that go at the end of token t, ascending.
  [[nodiscard]] std::span<const std::int32_t> dropped(std::int32_t track, std::int64_t t) const;
  /// Positions kept after token t.
  [[nodiscard]] std::int64_t kept_count(std::int32_t track, std::int64_t t) const;
  /// All positions kept after token t, ascending; O(t).
  [[nodiscard]] std::vector<std::int32_t> kept(std::int32_t track, std::int64_t t) const;

  /// Memory of all that it holds but for the recording and the policy's text.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Track {
    std::vector<std::int32_t> drops;       ///< positions in order of going
    std::vector<std::int64_t> drop_begin;  ///< [t - (prompt - 1)] index into drops; one more at the end
  };
  Trajectory(std::shared_ptr<const Recording> recording, std::int32_t sequence, const LayerPlace& place,
             PolicyChoice policy, Grants grants, std::int64_t tokens);
  /// The tracks of one layer, to their end.
  Status compute_layer(std::int32_t layer, std::int64_t end, const StopAsked& stop_asked,
                       std::span<Track> tracks) const;
  void record(Track& track, std::span<const std::int32_t> dropped, std::int64_t t) const;

  std::shared_ptr<const Recording> recording_;
  std::int32_t sequence_;
  LayerPlace place_;  ///< of layer 0
  PolicyChoice policy_;
  Grants grants_;
  std::int64_t prompt_;
  std::int64_t tokens_;
  std::int64_t computed_{0};
  std::int32_t layers_;    ///< of the model
  std::int32_t kv_heads_;  ///< per layer
  bool alike_;             ///< one replay and one track for all layers
  std::vector<TrackInfo> infos_;
  std::vector<Track> tracks_;
};

/// Trajectories by key, shared by requests, runs and threads. As many as fit into a size are kept for requests to
/// come, the latest used ones; the others are forgotten (they can be computed again and come out the same). What was
/// read from a policy's files is kept with them and not counted. What it has handed out never changes. Its functions
/// may be called by any thread; of several that want the same one computes it.
class TrajectoryStore {
 public:
  /// Those still held by a request stay whatever they take.
  explicit TrajectoryStore(std::int64_t max_bytes) : max_bytes_(max_bytes) {}
  /// One that is computed up to and including token `last`; a policy that looks ahead sees one token more, the last
  /// one of a request (last_that_drops in drops.h), and those of other lengths have other trajectories. `policy` is
  /// compared by its name, all parameters but `placement`, which changes nothing here, and what was read from its
  /// files. Errors: those of Trajectory::make and advance.
  /// REQUIRES: last < Trajectory::tokens().
  Result<std::shared_ptr<const Trajectory>> get(const std::shared_ptr<const Recording>& recording,
                                                std::int32_t sequence, std::int64_t prompt, std::int64_t last,
                                                const PolicyChoice& policy, const Grants& grants = {},
                                                const StopAsked& stop_asked = {});
  /// Forgets those of recordings that nobody else has any more.
  void forget_left_recordings();
  [[nodiscard]] std::int64_t size() const;
  /// Of all trajectories here.
  [[nodiscard]] std::int64_t bytes() const;
  /// How often one was computed.
  [[nodiscard]] std::int64_t computations() const;

 private:
  struct Key {
    std::shared_ptr<const Recording> recording;
    std::int32_t sequence;
    std::int64_t prompt;
    std::int64_t tokens;  ///< INT64_MAX: as many as were recorded
    std::string policy;
    std::shared_ptr<const RecordedLayers> sets;  ///< that its file has
    std::vector<HeadTable> tables;               ///< that its files have
    Grants grants;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const Trajectory> trajectory;  ///< null while the first one is computed
    std::int64_t used;
    bool in_work;
  };
  using Entries = std::list<Entry>;
  class Work;
  [[nodiscard]] bool known(Entries::iterator entry, std::int64_t last) const {
    return entry != entries_.end() && entry->trajectory != nullptr && entry->trajectory->computed() > last;
  }
  Entries::iterator find(const Key& key);
  void forget(Entries::iterator entry);
  void forget_old();

  const std::int64_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable work_ended_;
  std::int64_t bytes_{0};
  std::int64_t clock_{0};
  std::int64_t computations_{0};
  Entries entries_;
};

}  // namespace kvplan::attention
