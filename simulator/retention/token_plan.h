// The token policy of a run: what stays in the cache, which recordings drive which request, and what a cell
// is.
//
// A policy whose kept tokens follow from lengths (window, streaming-llm; duo-attention, whose tables of heads say which
// of them keep everything) needs no recording, nor does one of which
// lengths say how many stay, with placement=compact: then it is counted, and which tokens stay changes nothing of a
// run. One that goes by lots or positions, but in no closed form (random, seed-ring, an expression of positions), is
// replayed on the model's shape. With recordings, and any other policy always, it is replayed on these: request i is
// driven by recording i mod n, the recordings being the sequences of the files of workload.attention, in order. A
// recording drives a request only if it is long enough (prompt + output - 1 tokens) and has the model's shape, or
// stands for it where the scenario names an extrapolation; rows are never looped, stretched or tiled. A request that
// its recording cannot drive is counted where lengths say how many tokens stay, and an error where they do not.
//
// Retained sets of a file (recorded) are of one prompt: requests with that prompt follow them, others are an error.
//
// A budget (run_budget.h) takes the place of the number of tokens that the policy says, layer by layer or head by head;
// positional policies then follow courses as others do, and so does each layer of a counted one.
//
// Where tables are of layers or heads and layers of the model have windows, those layers keep what their window shows
// once the prompt is whole, and the policy decides about the others.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/attention/drops.h"
#include "simulator/attention/head_intervals.h"
#include "simulator/courses/counted_course.h"
#include "simulator/deployment/deployment.h"
#include "simulator/memory/allocators.h"
#include "simulator/retention/run_reader.h"
#include "simulator/retention/run_recordings.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// Reads the config of a model by its path; called from any thread.
using ModelOpener = std::function<Result<model::ModelShape>(const std::string& path)>;

/// Reads retained sets by their path; called from any thread.
using SetsOpener =
    std::function<Result<std::shared_ptr<const attention::RecordedLayers>>(const std::string& path)>;

struct TokenPlan {
  model::ModelShape model;
  ModelOnRanks placed;
  attention::CellUnits units;  ///< of one token; scales of the format are in their metadata
  std::optional<attention::PolicyChoice> policy;  ///< set: requests follow courses, as with `encoded`
  std::optional<RunBudget> budget;                ///< of the policy
  std::optional<RunReader> reader;                ///< decode steps read a part; then there is no policy
  /// Of the whole model, where the policy's tables say what each KV head keeps; else empty.
  attention::IntervalTable by_head;
  core::KeepRule keep;          ///< of all layers alike, where requests follow no courses
  std::int64_t prompt_rows{1};  ///< tokens at a prompt's end that are computed though cached blocks have them
  std::int64_t tables{1};       ///< of a request; units.per_token is a multiple
  /// Set where ranks that share their tables keep other tokens than each other, or recordings stand for the model.
  std::optional<RankTracks> rank_tracks;
  std::optional<TrackShape> standing;  ///< layers and KV heads of recordings that stand for the model's
  /// Not empty: requests follow courses, tokens are encoded when their prompt is whole, and a cell is a byte.
  std::vector<EncodedLayers> encoded;
  /// Of each layer of the rank, what it sees: 0 everything, and the policy says what stays; else so many tokens, which
  /// stay whatever the policy says. Empty: all layers follow the policy. Not empty only where tables are of layers or
  /// heads.
  std::vector<std::int64_t> windows;
  std::vector<Recorded> recordings;  ///< not empty: the policy is replayed on them
  bool unrecorded{false};            ///< they are the model's shape alone: the policy asks for no attention
  /// Requests find cached blocks; with courses, those of one table, dropped in place.
  bool finds_prefixes{false};
  bool counted{false};          ///< lengths say how many tokens stay, survivors are moved together
  bool counts_by_steps{false};  ///< each length says another number (PolicyTraits::count_at, thins)
  bool reads_holes{false};      ///< attention reads what was dropped, as long as it is held
  core::Placement placement{core::Placement::kHoles};
  memory::TablePer table_per{memory::TablePer::kRequest};

  [[nodiscard]] bool follows_courses() const { return policy || !encoded.empty(); }
  /// Is its recording long enough for the request? REQUIRES: there are recordings.
  [[nodiscard]] bool drives(const core::Workload& workload, RequestId request) const {
    return workload.final_tokens(request) <= recordings[index(request) % recordings.size()].tokens;
  }
  /// Requests that no recording drives are counted: lengths say how many of their tokens stay.
  [[nodiscard]] bool counts_undriven() const { return counted && !(budget && budget->measured()); }
  /// Layers, or heads, keep numbers of tokens of their own.
  [[nodiscard]] bool keeps_by_layer() const {
    return policy && (budget || !by_head.empty() || policy->kind->layer_counts != nullptr);
  }
  /// Have all ranks the same tables? Those of layers are a stage's, those of heads a rank's.
  [[nodiscard]] bool ranks_share_tables() const {
    if (table_per == memory::TablePer::kHead) return placed.bytes.ranks() == 1;
    return table_per == memory::TablePer::kRequest || placed.bytes.stages == 1;
  }
  /// Ranks that are counted and keep other numbers than each other can be followed: they share tables, and the one that
  /// keeps most says how long each is.
  [[nodiscard]] bool ranks_may_differ() const {
    return counted && encoded.empty() && keeps_by_layer() && placed.bytes.ranks() > 1 && ranks_share_tables();
  }
  /// Of these, each KV head does.
  [[nodiscard]] bool keeps_by_head() const { return !by_head.empty() || (budget && budget->by_head()); }
  [[nodiscard]] std::int64_t token_bytes() const {
    if (!encoded.empty()) return units.per_token;
    return placed.bytes.token_bytes - placed.bytes.scale_bytes + units.per_token * units.metadata_bytes;
  }
};

/// What reads the files that a plan needs.
struct TokenPlanFiles {
  const RecordingOpener& recording;
  const ModelOpener& model;
  const ScoresOpener& scores;
  const SetsOpener& sets;
  const SideOpener& side;
};

/// Errors: a model, recording or side file that cannot be opened, a recording, tables of heads or sets of another shape
/// than the model, those of place_model, RunBudget::make and run_reader. Appends what is ignored or assumed.
Result<TokenPlan> make_token_plan(const Scenario& scenario, const TokenPlanFiles& open,
                                  std::vector<std::string>& warnings, std::vector<std::string>& assumptions);

// For both: `prompt` as core::KeptCount has it; `grants` of that prompt, empty without a budget.

/// How many tokens of a request stay, of each of its cells in order, neighbours that keep alike together; where they
/// are counted by steps, what the budget grants. Where another rank may keep more and all cells have one table, its
/// count stands last, with no cells.
/// REQUIRES: plan.counted.
std::vector<core::CountedUnits> counted_units_of(const TokenPlan& plan, std::int64_t prompt,
                                                 const attention::Grants& grants);

/// Which tokens of such a request the policy keeps, by layer of the rank or one for all; empty: all.
/// REQUIRES: tokens are encoded.
std::vector<KeptTokens> kept_encoded(const TokenPlan& plan, std::int64_t prompt,
                                     const attention::Grants& grants);

/// Sets of cells of a token on the rank, each of which drops the same tokens, where it is known which tokens go; 0
/// where only their number is, or where ranks have no tracks of it. REQUIRES: requests follow courses.
std::int64_t known_tracks(const TokenPlan& plan);

/// Requests that are counted, since their recording is too short for them.
std::int64_t undriven_requests(const TokenPlan& plan, const core::Workload& workload);

/// Can every request that the engine would accept be driven, by recordings or a file's sets, or counted? The error
/// names the first that cannot.
Status check_recordings(const TokenPlan& plan, const core::Workload& workload, const core::Memory& memory,
                        std::int64_t most_tokens);

}  // namespace kvplan::plan
