#include "simulator/frontier/frontier.h"

#include <algorithm>
#include <set>
#include <utility>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/evaluation.h"
#include "simulator/attention/top_mass.h"
#include "simulator/formats/evaluation.h"
#include "simulator/frontier/samples.h"

namespace kvplan::frontier {
namespace {

using attention::EvaluationSummary;
using attention::LayerReplay;
using attention::PolicyChoice;
using attention::RecordingInfo;

/// One sequence of one input.
struct Sequence {
  const Input* input{nullptr};
  std::int32_t index{0};
  std::int64_t tokens{0};
  std::int64_t prompt{0};
};

struct Sums {
  explicit Sums(std::int64_t samples) : p95(samples) {}
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};
  Mean mass;
  Mean error;
  Percentile95 p95;
};

struct LaneSums {
  Mean entries;
  Mean bound;
  std::int64_t entries_max{0};
};

class Run {
 public:
  Run(const Request& request, const Pause& pause) : request_(request), pause_(pause) {}

  Result<Frontier> all() {
    KVPLAN_TRY_DO(place_sequences());
    lanes_.resize(request_.lanes.size());
    points_.assign(request_.lanes.size() * request_.storages.size(), Sums(samples_));
    wanted_ = wanted_entries();
    oracle_.resize(wanted_.size());
    for (const Sequence& sequence : sequences_) {
      auto done = of_sequence(sequence);
      if (done.ok()) continue;
      Error error = std::move(done).error();
      if (error.file.empty() && error.kind == ErrorKind::kBadInput) error.file = sequence.input->name;
      return error;
    }
    return finish();
  }

 private:
  Status place_sequences() {
    bool any_values = false;
    for (const Input& input : request_.inputs) {
      const RecordingInfo& info = input.recording->info();
      all_values_ = all_values_ && info.has_values;
      any_values = any_values || info.has_values;
      if (request_.layer && *request_.layer >= info.layers)
        return bad_input("expected 0 to " + std::to_string(info.layers - 1) + " for this recording, found " +
                         std::to_string(*request_.layer))
            .at_file(input.name)
            .at_field("--layer");
      for (std::size_t i = 0; i < info.sequences.size(); ++i) {
        const attention::SequenceInfo& is = info.sequences[i];
        std::int64_t prompt = request_.prompt > 0 ? request_.prompt : is.prompt_tokens;
        if (prompt == 0) {
          prompt = std::max<std::int64_t>(1, is.tokens / 2);
          note(
              "A recording does not say where the prompt ends: the first half of each of its sequences is "
              "taken as "
              "prompt (--prefill decides otherwise).");
        }
        if (prompt > is.tokens)
          return bad_input("expected at most the " + std::to_string(is.tokens) + " tokens of sequence " +
                           std::to_string(i) + ", found " + std::to_string(prompt))
              .at_file(input.name)
              .at_field("--prefill");
        sequences_.push_back({&input, static_cast<std::int32_t>(i), is.tokens, prompt});
        samples_ += (is.tokens - prompt) * info.query_heads * layers_of(info);
        tokens_ += is.tokens;
      }
    }
    if (any_values && !all_values_)
      note("Some recordings have no values, so no output error is given of all together.");
    return Done{};
  }

  [[nodiscard]] std::int32_t layers_of(const RecordingInfo& info) const {
    return request_.layer ? 1 : info.layers;
  }

  void note(const std::string& sentence) {
    if (std::find(notes_.begin(), notes_.end(), sentence) == notes_.end()) notes_.push_back(sentence);
  }

  /// Descending, as TopMass wants them.
  [[nodiscard]] std::vector<std::int64_t> wanted_entries() const {
    std::set<std::int64_t, std::greater<>> out;
    std::int64_t longest = 0;
    std::int64_t most_steps = 0;
    for (const Sequence& s : sequences_) {
      longest = std::max(longest, s.tokens);
      most_steps = std::max(most_steps, s.tokens - s.prompt);
    }
    out.insert(longest);
    for (const Lane& lane : request_.lanes) {
      if (!lane.budget) continue;
      out.insert({*lane.budget, *lane.budget + 1});
      if (lane.policy.kind->budget.of_prompt) out.insert(std::min(longest, *lane.budget + most_steps));
    }
    return {out.begin(), out.end()};
  }

  Result<PolicyChoice> policy_at(const Lane& lane, const Sequence& sequence) const {
    if (!lane.budget) return lane.policy;
    return attention::with_budget(lane.policy, std::span(&*lane.budget, 1), false,
                                  {.prompt = sequence.prompt});
  }

  Status of_sequence(const Sequence& sequence) {
    const attention::Recording& recording = *sequence.input->recording;
    const RecordingInfo& info = recording.info();
    std::vector<PolicyChoice> policies;
    for (const Lane& lane : request_.lanes) {
      KVPLAN_TRY(PolicyChoice policy, policy_at(lane, sequence));
      policies.push_back(std::move(policy));
    }
    const std::int32_t first = request_.layer.value_or(0);
    for (std::int32_t layer = first; layer < first + layers_of(info); ++layer) {
      KVPLAN_TRY(
          const auto summaries,
          attention::evaluate_together(
              recording, {.prompt = sequence.prompt, .sequence = sequence.index, .layer = layer}, policies,
              [&](std::span<const LayerReplay> replays, const attention::LayerRows& rows) -> Status {
                KVPLAN_TRY_DO(pause_());
                if (replays.front().tokens() > sequence.prompt) add_step(replays, rows);
                return Done{};
              }));
      full_bytes_ += full_bytes(info, sequence);
      for (std::size_t l = 0; l < policies.size(); ++l) {
        for (const std::string& assumption : summaries[l].assumptions) note(assumption);
        for (std::size_t s = 0; s < request_.storages.size(); ++s)
          KVPLAN_TRY_DO(add_layer({l, s}, policies[l], sequence, layer, summaries[l]));
      }
    }
    return Done{};
  }

  [[nodiscard]] static std::int64_t full_bytes(const RecordingInfo& info, const Sequence& sequence) {
    return sequence.tokens * (info.query_heads / info.group) * std::int64_t{info.key_size + info.value_size} *
           info.cache_element_bytes;
  }

  /// Masses, errors and bounds of one decode step.
  void add_step(std::span<const LayerReplay> replays, const attention::LayerRows& rows) {
    const std::int64_t tokens = replays.front().tokens();
    const std::size_t heads = replays.front().attended_mass().size();
    for (std::size_t h = 0; h < heads; ++h) {
      asked_.assign(wanted_.begin(), wanted_.end());
      for (const LayerReplay& replay : replays)
        asked_.push_back(std::max<std::int64_t>(1, replay.read_entries()[h]));
      std::sort(asked_.begin(), asked_.end(), std::greater<>());
      asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
      most_.resize(asked_.size());
      top_.sums(rows.row(static_cast<std::int32_t>(h)), tokens, asked_, most_);
      const auto most_of = [&](std::int64_t entries) {
        const auto at = std::lower_bound(asked_.begin(), asked_.end(), entries, std::greater<>());
        return most_[static_cast<std::size_t>(at - asked_.begin())];
      };
      for (std::size_t i = 0; i < wanted_.size(); ++i) oracle_[i].add(most_of(wanted_[i]));
      for (std::size_t l = 0; l < replays.size(); ++l) {
        const std::int64_t entries = replays[l].read_entries()[h];
        lanes_[l].entries.add(static_cast<double>(entries));
        lanes_[l].entries_max = std::max(lanes_[l].entries_max, entries);
        lanes_[l].bound.add(entries == 0 ? 0.0 : most_of(entries));
      }
    }
    for (std::size_t l = 0; l < replays.size(); ++l)
      for (std::size_t s = 0; s < request_.storages.size(); ++s)
        if (!request_.storages[s].format)
          add_samples(sums({l, s}), replays[l].attended_mass(), replays[l].output_error());
  }

  void add_samples(Sums& to, std::span<const double> masses, std::span<const double> errors) const {
    for (const double mass : masses) to.mass.add(mass);
    if (!all_values_) return;
    for (const double error : errors) {
      to.error.add(error);
      to.p95.add(error);
    }
  }

  struct At {
    std::size_t lane, storage;
  };
  Sums& sums(At at) { return points_[at.lane * request_.storages.size() + at.storage]; }

  /// Bytes of a layer after its last token; of a format, its masses and errors too.
  Status add_layer(At at, const PolicyChoice& policy, const Sequence& sequence, std::int32_t layer,
                   const EvaluationSummary& kept) {
    Sums& to = sums(at);
    to.metadata_bytes += kept.metadata_bytes;
    const Storage& storage = request_.storages[at.storage];
    if (!storage.format) {
      to.bytes += kept.bytes;
      return Done{};
    }
    formats::EvaluationRequest request{.format = *storage.format,
                                       .evict = policy,
                                       .prompt = sequence.prompt,
                                       .sequence = sequence.index,
                                       .layer = layer,
                                       .probes = {}};
    KVPLAN_TRY(const formats::Evaluation found,
               formats::evaluate(*sequence.input->recording, request, pause_));
    to.bytes += found.summary.final_bytes + kept.metadata_bytes;
    for (const formats::StepResult& step : found.steps)
      add_samples(to, step.attended_mass, step.output_error);
    return Done{};
  }

  Frontier finish() {
    Frontier out;
    const auto tokens = static_cast<double>(tokens_);
    for (std::size_t l = 0; l < request_.lanes.size(); ++l)
      for (std::size_t s = 0; s < request_.storages.size(); ++s) {
        const Sums& from = sums({l, s});
        const LaneSums& lane = lanes_[l];
        out.points.push_back({.lane = l,
                              .storage = s,
                              .bytes_per_token = static_cast<double>(from.bytes) / tokens,
                              .metadata_bytes_per_token = static_cast<double>(from.metadata_bytes) / tokens,
                              .mass_mean = from.mass.mean(),
                              .mass_min = from.mass.least(),
                              .error_mean = from.error.mean(),
                              .error_p95 = from.p95.value(),
                              .sequences = static_cast<std::int64_t>(sequences_.size()),
                              .entries_mean = lane.entries.mean(),
                              .entries_max = lane.entries_max,
                              .oracle_mass_mean = lane.bound.mean()});
      }
    for (std::size_t i = wanted_.size(); i-- > 0;) out.oracle.push_back({wanted_[i], oracle_[i].mean()});
    out.sequences = static_cast<std::int64_t>(sequences_.size());
    out.full_bytes_per_token = static_cast<double>(full_bytes_) / tokens;
    if (samples_ == 0)
      note("The sequences are all prompt: there is no decode step whose attention could be measured.");
    out.assumptions = std::move(notes_);
    return out;
  }

  const Request& request_;
  const Pause& pause_;
  std::vector<Sequence> sequences_;
  bool all_values_{true};
  std::int64_t samples_{0};  ///< query heads x decode steps x layers
  std::int64_t tokens_{0};
  std::int64_t full_bytes_{0};
  std::vector<LaneSums> lanes_;
  std::vector<Sums> points_;          ///< [lane][storage]
  std::vector<std::int64_t> wanted_;  ///< entries, descending
  std::vector<Mean> oracle_;          ///< [wanted]
  attention::TopMass top_;
  std::vector<std::int64_t> asked_;  ///< of one row, descending
  std::vector<double> most_;         ///< [asked]
  std::vector<std::string> notes_;
};

}  // namespace

Result<Frontier> run(const Request& request, const Pause& pause) {
  KVPLAN_CHECK(!request.inputs.empty() && !request.lanes.empty() && !request.storages.empty(),
               request.inputs.size(), request.lanes.size(), request.storages.size());
  return Run(request, pause).all();
}

}  // namespace kvplan::frontier
