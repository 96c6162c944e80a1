// The effect of a token policy on a sequence over time: the positions that each (layer, KV head) keeps after t tokens,
// and those that the last token dropped. For serving runs, which move real blocks.
//
// A trajectory depends only on (recording, sequence, prompt split, policy with its parameters, budget granted to its
// layers), so all requests driven by that recording share it. With PolicyTraits::foresight it also depends on the final
// number of tokens. It is computed as far as it is asked for, one layer after the other: each layer is opened once for
// its own replay and processed from its first token, and only its drops are stored. A policy with foresight has its
// layer opened once more before that. With lower_layers each layer opens all layers below it, so work and reading
// grow with the square of the number of layers. Memory, per track: 4 bytes for each dropped token and 8 for each
// decode step, and during the computation the rows of one layer. If later tokens are asked for, everything is
// computed again: so ask for the last token that matters. A course (courses/course.h) made from it says where tokens
// are placed and which blocks that frees.
//
// Time is counted in tokens: "after token t" is the end of the step that wrote token t, counted from 0; t = prompt -
// 1 is the end of the prompt, where the policy first selects. Before it nothing is dropped.
//
// Life cycle: `make`, then `advance` before asking about a token; the questions themselves never fail. No other thread
// may use it while it advances; a TrajectoryStore hands out trajectories that no longer do.
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

/// (layer, KV head) pairs that keep the same cells form a track. With PolicyTraits::all_alike there is one track (one
/// per pair if layers have budgets of their own); TOVA has one per layer, H2O one per pair.
struct TrackInfo {
  std::int32_t layer{0};    ///< first pair of the track
  std::int32_t kv_head{0};  ///< first pair of the track
  std::int32_t pairs{1};    ///< number of (layer, KV head) pairs in the track
};

/// Checks that a recording has all data that a serving run needs: every layer with all of its heads, the same number in
/// each, and the source of rows if `for_rows`. Errors (field "layer N", or those of check_recorded_layer).
Status check_all_layers(const Recording& recording, std::int32_t sequence, bool for_rows);

class Trajectory {
 public:
  /// Uses the first `most_tokens` recorded tokens: a policy with foresight sees no more. Errors: missing sequence,
  /// prompt outside 1 .. recorded tokens, group that does not divide, those of with_budget.
  static Result<std::unique_ptr<Trajectory>> make(std::shared_ptr<const Recording> recording,
                                                  std::int32_t sequence, std::int64_t prompt,
                                                  const PolicyChoice& policy, const Grants& grants = {},
                                                  std::int64_t most_tokens = INT64_MAX);

  [[nodiscard]] std::int64_t prompt() const { return prompt_; }
  /// Recorded tokens, or fewer if asked for; a request of P + O - 1 tokens needs at least as many.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// `dropped`, `kept_count` and `kept` may be called for tokens below this.
  [[nodiscard]] std::int64_t computed() const { return computed_; }
  /// Computes up to and including token t, if not yet done. `stop_asked`, if set, is called now and then and can end
  /// it. Errors: rows that cannot be read; interrupted. Results computed before stay valid. REQUIRES: t < tokens().
  Status advance(std::int64_t t, const StopAsked& stop_asked = {});

  [[nodiscard]] std::span<const TrackInfo> tracks() const { return infos_; }
  [[nodiscard]] std::int32_t track_of(std::int32_t layer, std::int32_t kv_head) const;
  [[nodiscard]] std::int32_t layers() const { return layers_; }
  [[nodiscard]] std::int32_t kv_heads() const { return kv_heads_; }

  // REQUIRES for all below: 0 <= t < computed(), 0 <= track < tracks().

  /// Positions dropped at the end of token t, ascending.
  [[nodiscard]] std::span<const std::int32_t> dropped(std::int32_t track, std::int64_t t) const;
  /// Number of positions kept after token t.
  [[nodiscard]] std::int64_t kept_count(std::int32_t track, std::int64_t t) const;
  /// All positions kept after token t, ascending; O(t).
  [[nodiscard]] std::vector<std::int32_t> kept(std::int32_t track, std::int64_t t) const;

  /// Memory of everything except the recording and the policy's text.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Track {
    std::vector<std::int32_t> drops;       ///< positions in the order in which they are dropped
    std::vector<std::int64_t> drop_begin;  ///< [t - (prompt - 1)] index into drops; one more at the end
  };
  Trajectory(std::shared_ptr<const Recording> recording, std::int32_t sequence, const LayerPlace& place,
             PolicyChoice policy, Grants grants, std::int64_t tokens);
  /// Computes the tracks of one layer, up to `end`.
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

/// Trajectories by key, shared by requests, runs and threads. The latest used ones are kept for later requests up to
/// a total size; others are forgotten (computing them again gives the same). Content read from a policy's files is
/// kept with them and not counted. Trajectories handed out never change. Any thread may call it; if several want the
/// same trajectory, one computes it.
class TrajectoryStore {
 public:
  /// Trajectories that a request still holds stay, whatever their size.
  explicit TrajectoryStore(std::int64_t max_bytes) : max_bytes_(max_bytes) {}
  /// A trajectory computed up to and including token `last`. A policy with foresight sees one token more, the last
  /// one of a request (last_that_drops in drops.h); requests of other lengths have other trajectories. `policy` is
  /// compared by its name, all parameters except `placement` (which has no effect here), and the content of its
  /// files. Errors: those of Trajectory::make and advance. REQUIRES: last < Trajectory::tokens().
  Result<std::shared_ptr<const Trajectory>> get(const std::shared_ptr<const Recording>& recording,
                                                std::int32_t sequence, std::int64_t prompt, std::int64_t last,
                                                const PolicyChoice& policy, const Grants& grants = {},
                                                const StopAsked& stop_asked = {});
  /// Forgets trajectories of recordings that have no other owner.
  void forget_left_recordings();
  [[nodiscard]] std::int64_t size() const;
  /// Memory of all trajectories in the store.
  [[nodiscard]] std::int64_t bytes() const;
  /// Number of computations since the store was made.
  [[nodiscard]] std::int64_t computations() const;

 private:
  struct Key {
    std::shared_ptr<const Recording> recording;
    std::int32_t sequence;
    std::int64_t prompt;
    std::int64_t tokens;  ///< INT64_MAX: all recorded tokens
    std::string policy;
    std::shared_ptr<const RecordedLayers> sets;  ///< content of its file of retained sets
    std::vector<HeadTable> tables;               ///< content of its files of head tables
    Grants grants;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const Trajectory> trajectory;  ///< null while it is computed for the first time
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
