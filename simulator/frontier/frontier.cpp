#include "simulator/frontier/frontier.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/evaluation.h"
#include "simulator/attention/overlap.h"
#include "simulator/attention/top_mass.h"
#include "simulator/base/ordered_work.h"
#include "simulator/formats/evaluation.h"
#include "simulator/frontier/sums.h"

namespace kvplan::frontier {
namespace {

using attention::EvaluationSummary;
using attention::LayerReplay;
using attention::PolicyChoice;
using attention::RecordingInfo;

/// One layer of one sequence of one input: a thread's unit of work.
struct Piece {
  const Input* input{nullptr};
  std::int32_t sequence{0};
  std::int32_t layer{0};
  std::int64_t tokens{0};
  std::int64_t prompt{0};
  std::size_t cluster{0};                                  ///< number of the sequence among all
  const std::vector<attention::Grants>* granted{nullptr};  ///< [lane] of its sequence; empty without a scheme
};

void note(std::vector<std::string>& notes, const std::string& sentence) {
  if (std::find(notes.begin(), notes.end(), sentence) == notes.end()) notes.push_back(sentence);
}

/// Compares the shapes of the models, and the digests of their weights if these were recorded.
bool several_models(const std::vector<Input>& inputs) {
  const auto shape = [](const Input& input) {
    const RecordingInfo& info = input.recording->info();
    return std::tuple(info.layers, info.query_heads, info.kv_heads, info.key_size, info.value_size);
  };
  std::string_view digest;
  for (const Input& input : inputs) {
    const std::string_view own = input.recording->info().model_digest;
    if (shape(input) != shape(inputs.front()) || (!digest.empty() && !own.empty() && own != digest))
      return true;
    if (!own.empty()) digest = own;
  }
  return false;
}

/// Input that all pieces share.
struct Plan {
  const Request& request;
  const Pause& pause;
  std::vector<Piece> pieces{};
  std::deque<std::vector<attention::Grants>> granted{};  ///< by sequence, for all pieces
  bool all_values{true};
  std::int64_t samples{0};             ///< query heads x decode steps x layers
  std::vector<std::int64_t> wanted{};  ///< entries, descending
};

/// The results of some pieces.
struct Found {
  explicit Found(const Plan& plan)
      : lanes(plan.request.lanes.size()),
        points(plan.request.lanes.size() * plan.request.storages.size(), Sums(plan.samples)),
        oracle(plan.wanted.size()) {}
  void add(const Found& other) {
    full_bytes += other.full_bytes;
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].add(other.lanes[i]);
    for (std::size_t i = 0; i < points.size(); ++i) points[i].add(other.points[i]);
    for (std::size_t i = 0; i < oracle.size(); ++i) oracle[i].add(other.oracle[i]);
    for (const std::string& sentence : other.notes) note(notes, sentence);
  }
  std::int64_t full_bytes{0};
  std::vector<LaneSums> lanes;
  std::vector<Sums> points;  ///< [lane][storage]
  std::vector<Mean> oracle;  ///< [wanted]
  std::vector<std::string> notes;
};

/// Runs one piece.
class PieceRun {
 public:
  PieceRun(const Plan& plan, const Piece& piece)
      : plan_(plan), request_(plan.request), piece_(piece), found_(plan) {}

  Result<Found> all() {
    const attention::Recording& recording = *piece_.input->recording;
    const RecordingInfo& info = recording.info();
    std::vector<PolicyChoice> policies;
    for (std::size_t lane = 0; lane < request_.lanes.size(); ++lane) {
      KVPLAN_TRY(PolicyChoice policy, policy_at(lane));
      policies.push_back(std::move(policy));
    }
    KVPLAN_TRY(
        const auto summaries,
        attention::evaluate_together(
            recording,
            {.prompt = piece_.prompt,
             .sequence = piece_.sequence,
             .layer = piece_.layer,
             .stop_asked = [this] { return !plan_.pause().ok(); }},
            policies, [&](std::span<const LayerReplay> replays, const attention::LayerRows& rows) -> Status {
              KVPLAN_TRY_DO(plan_.pause());
              if (replays.front().tokens() > piece_.prompt) add_step(replays, rows);
              return Done{};
            }));
    const attention::LayerInfo layer = info.layer(piece_.layer);
    found_.full_bytes = piece_.tokens * (layer.query_heads / layer.group) *
                        std::int64_t{layer.key_size + layer.value_size} * info.cache_element_bytes;
    for (std::size_t l = 0; l < policies.size(); ++l) {
      for (const std::string& assumption : summaries[l].assumptions) note(found_.notes, assumption);
      add_needles(summaries[l], found_.lanes[l]);
      for (std::size_t s = 0; s < request_.storages.size(); ++s) {
        Sums& to = sums({l, s});
        to.metadata_bytes += summaries[l].metadata_bytes;
        to.bytes += storage(s).format ? summaries[l].metadata_bytes : summaries[l].bytes;
      }
    }
    KVPLAN_TRY_DO(add_formats(policies));
    return std::move(found_);
  }

 private:
  /// Tokens that the layer's window shows, if the window decides which tokens are stored; 0 if the lane's policy does.
  [[nodiscard]] std::int64_t window() const {
    return request_.window_storage ? piece_.input->recording->info().layer(piece_.layer).window : 0;
  }
  [[nodiscard]] const Storage& storage(std::size_t s) const {
    return window() > 0 ? *request_.window_storage : request_.storages[s];
  }

  Result<PolicyChoice> policy_at(std::size_t lane_number) const {
    if (window() > 0) return attention::parse_policy("window:window=" + std::to_string(window()));
    const Lane& lane = request_.lanes[lane_number];
    if (lane.scheme) {
      const RecordingInfo& info = piece_.input->recording->info();
      KVPLAN_TRY(const std::int32_t group, attention::group_of(lane.policy, info.layer(piece_.layer)));
      return policy_of_layer(lane, (*piece_.granted)[lane_number],
                             attention::place_of(info, piece_.layer, group, piece_.prompt));
    }
    if (!lane.budget) return lane.policy;
    return attention::with_budget(lane.policy, std::span(&*lane.budget, 1), false, {.prompt = piece_.prompt});
  }

  static void add_needles(const EvaluationSummary& summary, LaneSums& to) {
    for (const attention::ClassShare& share : summary.classes) {
      if (share.name != attention::kNeedleClass) continue;
      to.needles += share.shares;
      to.needle_states += share.states;
    }
  }

  /// Masses, errors and bounds of one decode step.
  void add_step(std::span<const LayerReplay> replays, const attention::LayerRows& rows) {
    const std::int64_t tokens = replays.front().tokens();
    const std::size_t heads = replays.front().attended_mass().size();
    attended_.resize(replays.size());
    for (std::size_t l = 0; l < replays.size(); ++l) attended_[l] = attention::attended_positions(replays[l]);
    for (std::size_t h = 0; h < heads; ++h) {
      asked_.assign(plan_.wanted.begin(), plan_.wanted.end());
      for (const LayerReplay& replay : replays)
        asked_.push_back(std::max<std::int64_t>(1, replay.read_entries()[h]));
      std::sort(asked_.begin(), asked_.end(), std::greater<>());
      asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
      most_.resize(asked_.size());
      greatest_.resize(asked_.size());
      top_.choose(rows.row(static_cast<std::int32_t>(h)), tokens, asked_, most_, greatest_);
      const auto place_of = [&](std::int64_t entries) {
        const auto at = std::lower_bound(asked_.begin(), asked_.end(), entries, std::greater<>());
        return static_cast<std::size_t>(at - asked_.begin());
      };
      const auto most_of = [&](std::int64_t entries) { return most_[place_of(entries)]; };
      for (std::size_t i = 0; i < plan_.wanted.size(); ++i) found_.oracle[i].add(most_of(plan_.wanted[i]));
      for (std::size_t l = 0; l < replays.size(); ++l) {
        const std::int64_t entries = replays[l].read_entries()[h];
        found_.lanes[l].entries.add(static_cast<double>(entries));
        found_.lanes[l].entries_max = std::max(found_.lanes[l].entries_max, entries);
        found_.lanes[l].bound.add(entries == 0 ? 0.0 : most_of(entries));
        if (attended_[l].empty()) continue;
        const std::vector<std::int32_t>& own = attended_[l][h * attended_[l].size() / heads];
        found_.lanes[l].overlap.add(attention::shared_part(own, greatest_[place_of(entries)]));
      }
    }
    for (std::size_t l = 0; l < replays.size(); ++l)
      for (std::size_t s = 0; s < request_.storages.size(); ++s)
        if (!storage(s).format)
          add_samples(sums({l, s}), replays[l].attended_mass(), replays[l].output_error());
  }

  void add_samples(Sums& to, std::span<const double> masses, std::span<const double> errors) const {
    for (const double mass : masses) to.mass.add(mass);
    if (!plan_.all_values) return;
    for (const double error : errors) {
      to.error.add(error);
      to.p95.add(error);
    }
  }

  struct At {
    std::size_t lane, storage;
  };
  Sums& sums(At at) { return found_.points[at.lane * request_.storages.size() + at.storage]; }

  /// For all formats combined with all policies: bytes of the layer after its last token, masses and errors.
  Status add_formats(const std::vector<PolicyChoice>& policies) {
    std::vector<formats::EvaluationRequest> requests;
    std::vector<At> at;
    for (std::size_t l = 0; l < policies.size(); ++l)
      for (std::size_t s = 0; s < request_.storages.size(); ++s) {
        if (!storage(s).format) continue;
        at.push_back({l, s});
        requests.push_back({.format = formats::of_layer(*storage(s).format, piece_.layer,
                                                        piece_.input->recording->info().layers),
                            .evict = policies[l],
                            .prompt = piece_.prompt,
                            .sequence = piece_.sequence,
                            .layer = piece_.layer});
      }
    if (requests.empty()) return Done{};
    KVPLAN_TRY(const auto found, formats::evaluate_together(
                                     *piece_.input->recording, requests,
                                     [&](std::size_t i, const formats::StepResult& step) {
                                       add_samples(sums(at[i]), step.attended_mass, step.output_error);
                                     },
                                     plan_.pause));
    for (std::size_t i = 0; i < found.size(); ++i) sums(at[i]).bytes += found[i].summary.final_bytes;
    return Done{};
  }

  const Plan& plan_;
  const Request& request_;
  const Piece& piece_;
  Found found_;
  attention::TopMass top_;
  std::vector<std::int64_t> asked_;  ///< requested numbers of top tokens of one row, descending
  std::vector<double> most_;         ///< [asked]
  std::vector<std::vector<std::int32_t>> greatest_;               ///< [asked] positions
  std::vector<std::vector<std::vector<std::int32_t>>> attended_;  ///< [lane][set] positions
};

class Run {
 public:
  Run(const Request& request, const Pause& pause) : plan_{.request = request, .pause = pause} {}

  Result<Frontier> all() {
    for (const Input& input : plan_.request.inputs) {
      auto placed = place(input);
      if (!placed.ok()) return std::move(placed).error().at_file(input.name);
    }
    if (plan_.pieces.empty())
      return bad_input("no layer of any sequence has attention rows to replay")
          .at_file(plan_.request.inputs.front().name);
    KVPLAN_TRY_DO(check_windows());
    if (several_models(plan_.request.inputs))
      note(notes_,
           "The recordings come from different models; bytes, masses and errors are means over all of them.");
    if (any_values_ && !plan_.all_values)
      note(notes_, "Some recordings have no values, so there is no overall output error.");
    plan_.wanted = wanted_entries();
    total_.emplace(plan_);
    total_->notes = std::move(notes_);
    clusters_.resize(plan_.request.lanes.size() * plan_.request.storages.size());
    KVPLAN_TRY_DO(work_in_order<Found>(
        plan_.request.threads, plan_.pieces.size(), [this](std::size_t i) { return work(i); },
        [this](std::size_t i, Found&& found) { merge(i, found); }));
    close_cluster();
    return finish();
  }

 private:
  Status place(const Input& input) {
    const attention::Recording& recording = *input.recording;
    const RecordingInfo& info = recording.info();
    if (plan_.request.layer && *plan_.request.layer >= info.layers)
      return bad_input("expected 0 to " + std::to_string(info.layers - 1) + " for this recording, found " +
                       std::to_string(*plan_.request.layer))
          .at_field("--layer");
    for (std::size_t i = 0; i < info.sequences.size(); ++i) {
      const attention::SequenceInfo& is = info.sequences[i];
      std::int64_t prompt = plan_.request.prompt > 0 ? plan_.request.prompt : is.prompt_tokens;
      if (prompt == 0) {
        prompt = std::max<std::int64_t>(1, is.tokens / 2);
        note(notes_,
             "A recording does not say where the prompt ends. kvplan takes the first half of each of its "
             "sequences as the prompt (use --prefill to change this).");
      }
      if (prompt > is.tokens && is.complete)
        return bad_input("expected at most the " + std::to_string(is.tokens) + " tokens of sequence " +
                         std::to_string(i) + ", found " + std::to_string(prompt))
            .at_field("--prefill");
      KVPLAN_TRY_DO(place_layers(input, static_cast<std::int32_t>(i), prompt));
    }
    return Done{};
  }

  Status place_layers(const Input& input, std::int32_t sequence, std::int64_t prompt) {
    const attention::Recording& recording = *input.recording;
    const RecordingInfo& info = recording.info();
    const auto& only = plan_.request.layer;
    if (only && info.sequences.size() == 1)
      KVPLAN_TRY_DO(attention::check_recorded_layer(recording, sequence, *only));
    const std::size_t before = plan_.pieces.size();
    std::int32_t left_out = 0;
    for (const std::int32_t number : info.layer_numbers()) {
      if (only && *only != number) continue;
      const attention::LayerInfo layer = info.layer(number);
      const std::int64_t tokens = recording.tokens(sequence, number);
      if (tokens == 0 || tokens < prompt || !layer.has_rows()) {
        ++left_out;
        continue;
      }
      plan_.pieces.push_back({&input, sequence, number, tokens, prompt, sequences_, nullptr});
      plan_.samples += (tokens - prompt) * layer.query_heads;
      plan_.all_values = plan_.all_values && layer.parts.has(attention::Part::kValues);
      any_values_ = any_values_ || layer.parts.has(attention::Part::kValues);
    }
    if (left_out > 0)
      note(notes_,
           "In some sequences, layers were not recorded or their recording ends inside the prompt. They are "
           "left out.");
    if (plan_.pieces.size() == before) return Done{};
    KVPLAN_TRY_DO(grant(recording, sequence, prompt, std::span(plan_.pieces).subspan(before)));
    ++sequences_;
    tokens_ += info.sequences[static_cast<std::size_t>(sequence)].tokens;
    return Done{};
  }

  /// Computes the grants of schemes for all layers of a sequence; `pieces` are those of the sequence.
  Status grant(const attention::Recording& recording, std::int32_t sequence, std::int64_t prompt,
               std::span<Piece> pieces) {
    const auto& lanes = plan_.request.lanes;
    std::vector<attention::Grants> granted(lanes.size());
    std::map<std::string, std::size_t> known;  // the first lane with the same scheme
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      if (!lanes[l].scheme) continue;
      const auto [first, fresh] = known.emplace(lanes[l].scheme->choice.to_string(), l);
      if (fresh) {
        KVPLAN_TRY(granted[l], plan_.request.grants(lanes[l].scheme->choice, recording, sequence, prompt));
      } else {
        granted[l] = granted[first->second];
      }
    }
    plan_.granted.push_back(std::move(granted));
    for (Piece& piece : pieces) piece.granted = &plan_.granted.back();
    return Done{};
  }

  /// Checks that at least one layer has a window, if a storage for windows was given.
  Status check_windows() const {
    const auto has_window = [](const Piece& piece) {
      return piece.input->recording->info().layer(piece.layer).window > 0;
    };
    if (!plan_.request.window_storage || std::any_of(plan_.pieces.begin(), plan_.pieces.end(), has_window))
      return Done{};
    return bad_input("expected a recording with sliding-window layers; these recordings have none")
        .at_field("--window-format");
  }

  /// In descending order, which TopMass requires.
  [[nodiscard]] std::vector<std::int64_t> wanted_entries() const {
    std::set<std::int64_t, std::greater<>> out;
    std::int64_t longest = 0;
    std::int64_t most_steps = 0;
    for (const Piece& piece : plan_.pieces) {
      longest = std::max(longest, piece.tokens);
      most_steps = std::max(most_steps, piece.tokens - piece.prompt);
    }
    out.insert(longest);
    for (const Lane& lane : plan_.request.lanes) {
      if (!lane.budget) continue;
      out.insert({*lane.budget, *lane.budget + 1});
      if (lane.policy.kind->budget.of_prompt) out.insert(std::min(longest, *lane.budget + most_steps));
    }
    return {out.begin(), out.end()};
  }

  /// Called on any thread.
  Result<Found> work(std::size_t i) const {
    const Piece& piece = plan_.pieces[i];
    auto found = PieceRun(plan_, piece).all();
    if (found.ok() || !found.error().file.empty() || found.error().kind != ErrorKind::kBadInput) return found;
    return std::move(found).error().at_file(piece.input->name);
  }

  /// Called in the order of pieces.
  void merge(std::size_t i, const Found& found) {
    const std::size_t cluster = plan_.pieces[i].cluster;
    if (cluster != open_cluster_) close_cluster();
    open_cluster_ = cluster;
    for (std::size_t p = 0; p < clusters_.size(); ++p) {
      clusters_[p].mass.add(found.points[p].mass);
      clusters_[p].error.add(found.points[p].error);
    }
    total_->add(found);
  }

  /// Called when the masses and errors of a sequence are complete.
  void close_cluster() {
    for (PointClusters& point : clusters_) {
      point.of_masses.add(point.mass.sum(), point.mass.count());
      point.of_errors.add(point.error.sum(), point.error.count());
      point.mass = {};
      point.error = {};
    }
  }

  Frontier finish() {
    Frontier out;
    const auto tokens = static_cast<double>(tokens_);
    const std::size_t storages = plan_.request.storages.size();
    for (std::size_t p = 0; p < clusters_.size(); ++p) {
      const Sums& from = total_->points[p];
      const LaneSums& lane = total_->lanes[p / storages];
      Point point{.lane = p / storages,
                  .storage = p % storages,
                  .bytes_per_token = static_cast<double>(from.bytes) / tokens,
                  .metadata_bytes_per_token = static_cast<double>(from.metadata_bytes) / tokens,
                  .mass_mean = from.mass.mean(),
                  .mass_min = from.mass.least(),
                  .error_mean = from.error.mean(),
                  .error_p95 = from.p95.value(),
                  .sequences = static_cast<std::int64_t>(sequences_),
                  .entries_mean = lane.entries.mean(),
                  .entries_max = lane.entries_max,
                  .oracle_mass_mean = lane.bound.mean(),
                  .mass_standard_error = clusters_[p].of_masses.value(),
                  .error_standard_error = clusters_[p].of_errors.value(),
                  .overlap_mean = lane.overlap.mean(),
                  .needle_recall = {}};
      if (lane.needle_states > 0)
        point.needle_recall = lane.needles / static_cast<double>(lane.needle_states);
      out.points.push_back(point);
    }
    for (std::size_t i = plan_.wanted.size(); i-- > 0;)
      out.oracle.push_back({plan_.wanted[i], total_->oracle[i].mean()});
    out.sequences = static_cast<std::int64_t>(sequences_);
    out.full_bytes_per_token = static_cast<double>(total_->full_bytes) / tokens;
    if (plan_.samples == 0)
      note(total_->notes,
           "Every prompt is its whole sequence: without a decode step there is no attention to measure.");
    out.assumptions = std::move(total_->notes);
    return out;
  }

  struct PointClusters {
    Mean mass, error;  ///< of the sequence that is being merged
    ClusterError of_masses, of_errors;
  };

  Plan plan_;
  bool any_values_{false};
  std::size_t sequences_{0};
  std::int64_t tokens_{0};
  std::vector<std::string> notes_;

  std::size_t open_cluster_{0};
  std::vector<PointClusters> clusters_;  ///< [lane][storage]
  std::optional<Found> total_;
};

}  // namespace

Result<Frontier> run(const Request& request, const Pause& pause) {
  KVPLAN_CHECK(!request.inputs.empty() && !request.lanes.empty() && !request.storages.empty(),
               std::ssize(request.inputs), std::ssize(request.lanes), std::ssize(request.storages));
  return Run(request, pause).all();
}

}  // namespace kvplan::frontier
