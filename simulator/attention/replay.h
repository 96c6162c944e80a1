// Replays one policy on one layer of one sequence, token by token, by the step model of policy.h.
//
// Life cycle: construct; call `step` for tokens 0, 1, 2, ...; between calls ask for the kept tokens, the tokens that
// the last step dropped, and what its query saw. Memory: only for the kept tokens, never for the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/output_error.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// Query heads per KV head for this policy on this layer; an error if they do not divide.
Result<std::int32_t> group_of(const PolicyChoice& policy, const LayerInfo& layer);
/// As above, for the first recorded layer; an error if they do not divide on any layer.
Result<std::int32_t> group_of(const PolicyChoice& policy, const RecordingInfo& info);

/// The place of a policy with `group` query heads per KV head. REQUIRES: info.has_layer(layer).
LayerPlace place_of(const RecordingInfo& info, std::int32_t layer, std::int32_t group, std::int64_t prompt);

/// For a policy that follows recorded sets: an error if they were not read or do not fit a layer of this many tokens.
Status check_recorded_for(const PolicyChoice& policy, const LayerPlace& place, std::int64_t tokens);

/// For a policy with tables of heads: an error if they were not read, or do not fit a model with these `kv_heads` in
/// its layers; 0: unknown number.
Status check_tables(const PolicyChoice& policy, std::span<const std::int32_t> kv_heads);
/// As above, for the model of a recording; layers that were not recorded are not checked.
Status check_tables(const PolicyChoice& policy, const RecordingInfo& info);

/// For a policy that decides by keys, queries or values: an error if the layer has none, or stores them for smaller
/// groups of query heads than the policy's.
Status check_tensors(const PolicyChoice& policy, const LayerInfo& layer, std::int32_t group);

class LayerReplay {
 public:
  /// `measure`: also computes attended mass (and output errors, if there are values) of every decode step, which
  /// needs rows for positional policies too. REQUIRES: group divides query_heads; prompt >= 1; check_recorded_for and
  /// check_tables report no error. The policy's recorded sets outlive this. `stop_asked`, if set, is called now and
  /// then by `foresee` and by policies with long steps; once it returns true, do not use this object further.
  LayerReplay(const PolicyChoice& policy, const LayerPlace& place, bool measure, StopAsked stop_asked = {});

  /// Shows a policy with PolicyTraits::foresight the decode rows of the first `tokens` tokens: all that will ever
  /// attend, which may be fewer than were recorded. Shows a policy with lower_layers the layers below. Call before
  /// the first `step`. Errors: more rows than the policy can process, rows that cannot be read, interrupted.
  /// REQUIRES: place.prompt <= tokens <= those of the layer.
  Status foresee(const Recording& recording, std::int32_t sequence, std::int64_t tokens);

  /// True: `step` for token t reads rows.
  [[nodiscard]] bool needs_rows(std::int64_t t) const;
  /// Processes the next token, t = tokens(). `full`: outputs of the full cache, shared by replays over the same rows;
  /// null: its own. REQUIRES: `rows` is at t, or needs_rows(t) is false.
  void step(const LayerRows* rows, FullOutputs* full = nullptr);
  /// Tokens processed so far.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Sets of residents: one per KV head, or one for the layer (PolicyTraits::scope).
  [[nodiscard]] std::int32_t sets() const { return static_cast<std::int32_t>(sets_.size()); }
  [[nodiscard]] const PolicyTraits& traits() const { return traits_; }
  [[nodiscard]] const LayerPlace& place() const { return place_; }
  /// Positions kept after the last step, ascending.
  [[nodiscard]] std::span<const std::int32_t> kept(std::int32_t set) const;
  /// Positions that the last step dropped, ascending.
  [[nodiscard]] std::span<const std::int32_t> dropped(std::int32_t set) const;
  /// The tokens that a report calls retained: `kept`; for Reads::kShown the tokens that the next query may see, without
  /// its own; for Reads::kChosen the tokens that the last query read.
  [[nodiscard]] std::vector<std::int32_t> reported(std::int32_t set) const;
  /// Number of tokens that the last query could attend: those kept before it, and its own.
  [[nodiscard]] std::int64_t attended_entries(std::int32_t set) const;

  /// By query head, for the last decode step (only with `measure`): sum of the recorded row over what was attended,
  /// and |o - o'| / |o| of the attention output (empty without values).
  [[nodiscard]] std::span<const double> attended_mass() const { return mass_; }
  [[nodiscard]] std::span<const double> output_error() const { return error_; }
  /// By query head, for the last decode step (only with `measure`): number of attended tokens, its own included.
  [[nodiscard]] std::span<const std::int64_t> read_entries() const { return read_; }

 private:
  /// State for a set of residents, in addition to them.
  struct Beside {
    std::int32_t first_head{0};
    std::int64_t attended{0};
    std::vector<std::int32_t> chosen;   ///< positions that the last query read (Reads::kChosen)
    std::vector<std::int32_t> dropped;  ///< positions
  };
  Status show_lower_layers(const Recording& recording, std::int32_t sequence);
  [[nodiscard]] Status check_lower_layer(const Recording& recording, std::int32_t sequence,
                                         std::int32_t layer) const;
  [[nodiscard]] bool decoding() const { return tokens_ >= place_.prompt; }
  void ask_ahead(std::size_t set, const LayerRows& rows) const;
  void attend(std::size_t set, const LayerRows& rows, FullOutputs& full);
  /// For each head of the set, its row over the tokens that it sees, gathered; also masses for the report.
  std::span<const HeadRow> gather_rows(std::size_t set, const LayerRows& rows);
  std::span<const std::int32_t> seen(std::size_t set, std::size_t head);
  static double divisor_of(HeadRow& seen, RowView row, double sum, std::span<double> weight);
  void choose(std::size_t set, std::span<const HeadRow> heads, const LayerRows& rows);
  void measure_errors(std::size_t set, std::span<const HeadRow> heads, const LayerRows& rows,
                      FullOutputs& full);
  void drop_marked(std::size_t set);

  std::string name_;  ///< name of the policy
  PolicyTraits traits_;
  LayerPlace place_;
  bool measure_;
  StopAsked stop_asked_;
  bool reads_tensors_;
  std::size_t heads_;  ///< query heads of one set
  std::unique_ptr<LayerPolicy> policy_;
  SetPolicy* by_set_;  ///< the policy, if its sets decide for themselves; else null
  std::int64_t tokens_{0};
  std::vector<ResidentSet> sets_;
  std::vector<Beside> beside_;  ///< [set]
  std::vector<double> mass_;
  std::vector<double> error_;
  std::vector<std::int64_t> read_;
  std::vector<double> gathered_;                  ///< [heads of a set][residents]
  std::vector<HeadRow> rows_;                     ///< [heads of a set]
  std::vector<std::vector<std::int32_t>> shown_;  ///< [heads of a set] positions (Reads::kShown)
  std::vector<std::int32_t> indices_;
  std::vector<double> scratch_;  ///< weights of the tokens that a policy with Reads::kChosen reads
  FullOutputs full_;
};

}  // namespace kvplan::attention
