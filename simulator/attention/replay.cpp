#include "simulator/attention/replay.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/kernels.h"
#include "simulator/attention/output_error.h"
#include "simulator/attention/recorded_sets.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention {
namespace {

double gather_row(RowView row, std::span<const std::int32_t> positions, std::span<double> out) {
  return row.f64 != nullptr ? gather(row.f64, positions, out) : gather(row.f32, positions, out);
}

/// Unrolled, since a replay takes only about five cycles per resident. Neighbours share lines of the CPU cache.
template <class T>
void prefetch(const T* row, std::span<const std::int32_t> positions) {
  const std::size_t gaps = consecutive_from(positions);
#pragma GCC unroll 8
  for (std::size_t i = 0; i < gaps; ++i) __builtin_prefetch(row + positions[i]);
  if (positions.empty()) return;
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const std::int64_t last = positions.back();
  for (std::int64_t p = positions[gaps]; p < last; p += kLine) __builtin_prefetch(row + p);
  __builtin_prefetch(row + last);
}

}  // namespace

Status check_tables(const PolicyChoice& policy, std::span<const std::int32_t> kv_heads) {
  if (!policy.kind->traits(policy.choice).head_tables) return Done{};
  const std::string name(policy.choice.name());
  std::size_t next = 0;
  for (const Param& param : policy.choice.descriptor().params) {
    if (!param.names_file) continue;
    const std::string field = name + ":" + std::string(param.name);
    if (next == policy.tables.size())
      return bad_input("expected its scores to be read first; `kvplan evict` does it").at_field(field);
    const HeadTable& table = policy.tables[next++];
    if (table.size() != kv_heads.size())
      return bad_input("expected a list for each of " + std::to_string(kv_heads.size()) + " layers, found " +
                       std::to_string(table.size()))
          .at_field(field);
    for (std::size_t layer = 0; layer < table.size(); ++layer)
      if (kv_heads[layer] != 0 && std::ssize(table[layer]) != kv_heads[layer])
        return bad_input("expected a number for each of " + std::to_string(kv_heads[layer]) +
                         " KV heads in layer " + std::to_string(layer) + ", found " +
                         std::to_string(table[layer].size()))
            .at_field(field);
  }
  return Done{};
}

namespace {

/// KV heads of the whole layer in the model; a group that the model's heads do not fill counts as one.
std::int32_t model_kv_heads(const LayerInfo& layer, std::int32_t group) {
  return (layer.model_query_heads + group - 1) / group;
}

}  // namespace

Status check_tables(const PolicyChoice& policy, const RecordingInfo& info) {
  std::vector<std::int32_t> heads(static_cast<std::size_t>(info.layers));
  const auto given = static_cast<std::int32_t>(policy.choice.integer("group"));
  for (const std::int32_t number : info.layer_numbers()) {
    const LayerInfo layer = info.layer(number);
    heads[static_cast<std::size_t>(number)] = model_kv_heads(layer, given == 0 ? layer.group : given);
  }
  return check_tables(policy, heads);
}

LayerPlace place_of(const RecordingInfo& info, std::int32_t layer, std::int32_t group, std::int64_t prompt) {
  const LayerInfo of = info.layer(layer);
  LayerPlace out{.layer = layer,
                 .layers = info.layers,
                 .query_heads = of.query_heads,
                 .group = group,
                 .prompt = prompt,
                 .model_heads = model_kv_heads(of, group)};
  if (of.recorded_kv_heads.empty()) return out;
  for (std::int32_t head = 0; head < out.kv_heads(); ++head)
    out.head_numbers.push_back(of.model_query_head(head * group) / group);
  return out;
}

Result<std::int32_t> group_of(const PolicyChoice& policy, const LayerInfo& layer) {
  const std::int64_t given = policy.choice.integer("group");
  const std::int64_t group = given == 0 ? layer.group : given;
  if (layer.query_heads % group != 0)
    return bad_input("expected a divisor of the recording's " + std::to_string(layer.query_heads) +
                     " query heads, found " + std::to_string(group))
        .at_field(std::string(policy.choice.name()) + ":group");
  return static_cast<std::int32_t>(group);
}

Result<std::int32_t> group_of(const PolicyChoice& policy, const RecordingInfo& info) {
  std::int32_t first = 0;
  for (const std::int32_t number : info.layer_numbers()) {
    KVPLAN_TRY(const std::int32_t group, group_of(policy, info.layer(number)));
    if (first == 0) first = group;
  }
  return first;
}

namespace {

/// The parts of a layer that policies can use, as text: "queries and keys and values".
std::string parts_text(const LayerInfo& layer) {
  std::string out;
  if (layer.parts.has(Part::kRows) || layer.parts.has(Part::kTopRows)) out = "attention rows";
  for (const Part part :
       {Part::kQueries, Part::kKeys, Part::kValues, Part::kValueNorms, Part::kOutputWeights})
    if (layer.parts.has(part)) out += (out.empty() ? "" : " and ") + std::string(part_name(part));
  return out;
}

}  // namespace

Status check_tensors(const PolicyChoice& policy, const LayerInfo& layer, std::int32_t group) {
  const PolicyTraits traits = policy.kind->traits(policy.choice);
  const std::string name(policy.choice.name());
  const auto has = [&](Part part) { return layer.parts.has(part); };
  const auto missing = [&](std::string_view what) {
    return bad_input("decides by " + std::string(what) + ", which this recording does not have (" +
                     parts_text(layer) + " only): expected a .kva file with queries, keys and values" +
                     (traits.output_weights ? ", with output weights" : ""))
        .at_field(name);
  };
  if (traits.keys && !has(Part::kKeys)) return missing("keys");
  if (traits.queries && !has(Part::kQueries)) return missing("queries");
  if (traits.values && !has(Part::kValues)) return missing("values");
  if (traits.value_norms && !has(Part::kValueNorms) && !has(Part::kValues)) return missing("value norms");
  if (traits.output_weights && !has(Part::kOutputWeights)) return missing("output weights");
  const bool any =
      traits.keys || traits.queries || traits.values || traits.value_norms || traits.output_weights;
  if (any && layer.group % group != 0)
    return bad_input("expected a divisor of the " + std::to_string(layer.group) +
                     " query heads that share a recorded key, found " + std::to_string(group))
        .at_field(name + ":group");
  return Done{};
}

Status check_recorded_for(const PolicyChoice& policy, const LayerPlace& place, std::int64_t tokens) {
  const PolicyTraits traits = policy.kind->traits(policy.choice);
  if (!traits.recorded) return Done{};
  if (policy.recorded == nullptr)
    return bad_input("expected its token sets to be read from the file first; `kvplan evict` does it")
        .at_field(policy.choice.name());
  return check_recorded(*policy.recorded, place, traits.scope == Scope::kLayer ? 1 : place.kv_heads(),
                        tokens);
}

LayerReplay::LayerReplay(const PolicyChoice& policy, const LayerPlace& place, bool measure,
                         StopAsked stop_asked)
    : name_(policy.choice.name()),
      traits_(policy.kind->traits(policy.choice)),
      place_(place),
      measure_(measure),
      stop_asked_(std::move(stop_asked)),
      reads_tensors_(traits_.keys || traits_.queries || traits_.values || traits_.value_norms ||
                     traits_.output_weights),
      heads_(static_cast<std::size_t>(traits_.scope == Scope::kLayer ? place.query_heads : place.group)) {
  KVPLAN_CHECK(place.group >= 1 && place.query_heads % place.group == 0 && place.prompt >= 1,
               place.query_heads, place.group, place.prompt);
  policy_ = make_policy(policy, place, stop_asked_);
  by_set_ = policy_->by_set();
  const auto query_heads = static_cast<std::size_t>(place.query_heads);
  for (std::size_t first = 0; first < query_heads; first += heads_) {
    sets_.push_back({.residents = Residents(traits_.columns), .drop = {}});
    beside_.push_back(
        {.first_head = static_cast<std::int32_t>(first), .attended = 0, .chosen = {}, .dropped = {}});
  }
  rows_.resize(heads_);
  shown_.resize(heads_);
  if (measure_) {
    mass_.resize(query_heads);
    read_.resize(query_heads);
  }
}

bool LayerReplay::needs_rows(std::int64_t t) const {
  // If everything is kept, kept tokens do not depend on the tokens that are read.
  if (!measure_ && traits_.keeps_everything()) return false;
  if (t >= place_.prompt) return measure_ || traits_.decode_rows;
  return place_.prompt - t <= traits_.prompt_rows;
}

std::span<const std::int32_t> LayerReplay::kept(std::int32_t set) const {
  return sets_[static_cast<std::size_t>(set)].residents.positions();
}
std::span<const std::int32_t> LayerReplay::dropped(std::int32_t set) const {
  return beside_[static_cast<std::size_t>(set)].dropped;
}
std::int64_t LayerReplay::attended_entries(std::int32_t set) const {
  return beside_[static_cast<std::size_t>(set)].attended;
}

std::vector<std::int32_t> LayerReplay::reported(std::int32_t set) const {
  const Beside& beside = beside_[static_cast<std::size_t>(set)];
  const auto positions = kept(set);
  if (traits_.reads == Reads::kChosen && tokens_ > place_.prompt) return beside.chosen;
  if (traits_.reads != Reads::kShown) return {positions.begin(), positions.end()};
  std::vector<std::int32_t> any;  // tokens that any of the set's query heads may see
  for (std::size_t h = 0; h < heads_; ++h)
    for (const std::int32_t index : policy_->shown(beside.first_head + static_cast<std::int32_t>(h)))
      any.push_back(positions[static_cast<std::size_t>(index)]);
  std::sort(any.begin(), any.end());
  any.erase(std::unique(any.begin(), any.end()), any.end());
  return any;
}

Status LayerReplay::foresee(const Recording& recording, std::int32_t sequence, std::int64_t tokens) {
  KVPLAN_CHECK(tokens_ == 0, tokens_);
  if (traits_.lower_layers) KVPLAN_TRY_DO(show_lower_layers(recording, sequence));
  if (!traits_.foresight) return Done{};
  if (tokens - place_.prompt > traits_.max_foreseen / tokens)
    return bad_input("this bound uses all future rows at once: expected at most " +
                     std::to_string(traits_.max_foreseen) + " (decode steps x tokens), found " +
                     std::to_string(tokens - place_.prompt) + " x " + std::to_string(tokens))
        .at_field(name_);
  KVPLAN_TRY(const auto rows, recording.open(sequence, place_.layer));
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<double>> weight(heads_, std::vector<double>(all.size()));
  for (std::int64_t t = place_.prompt; t < tokens; ++t) {
    if (stop_asked_ && stop_asked_()) return interrupted_error();
    KVPLAN_TRY_DO(rows->seek(t));
    if (reads_tensors_) policy_->tensors(*rows);
    const auto seen = std::span<const std::int32_t>(all).first(static_cast<std::size_t>(t + 1));
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      for (std::size_t h = 0; h < heads_; ++h) {
        gather_row(rows->row(beside_[s].first_head + static_cast<std::int32_t>(h)), seen, weight[h]);
        rows_[h] = {.positions = seen, .weight = std::span(weight[h]).first(seen.size())};
      }
      policy_->foresee(static_cast<std::int32_t>(s), rows_);
    }
  }
  return Done{};
}

Status LayerReplay::check_lower_layer(const Recording& recording, std::int32_t sequence,
                                      std::int32_t layer) const {
  const std::string what = "layer " + std::to_string(layer) + ", on which layer " +
                           std::to_string(place_.layer) + " depends under this policy, ";
  if (recording.tokens(sequence, layer) < place_.prompt)
    return bad_input(what + "was not recorded over the whole prompt").at_field(name_);
  const LayerInfo info = recording.info().layer(layer);
  if (info.query_heads == place_.query_heads) return Done{};
  const std::string missing = missing_heads(info);
  return bad_input(what + (missing.empty()
                               ? "has " + std::to_string(info.query_heads) + " query heads, expected " +
                                     std::to_string(place_.query_heads)
                               : missing))
      .at_field(name_);
}

Status LayerReplay::show_lower_layers(const Recording& recording, std::int32_t sequence) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(place_.prompt));
  std::iota(all.begin(), all.end(), 0);
  const auto query_heads = static_cast<std::size_t>(place_.query_heads);
  std::vector<std::vector<double>> weight(query_heads, std::vector<double>(all.size()));
  std::vector<HeadRow> heads(query_heads);
  for (std::int32_t layer = 0; layer < place_.layer; ++layer) {
    KVPLAN_TRY_DO(check_lower_layer(recording, sequence, layer));
    KVPLAN_TRY(const auto rows, recording.open(sequence, layer));
    for (std::int64_t t = 0; t < place_.prompt; ++t) {
      KVPLAN_TRY_DO(rows->seek(t));
      const auto seen = std::span<const std::int32_t>(all).first(static_cast<std::size_t>(t + 1));
      for (std::size_t h = 0; h < query_heads; ++h) {
        gather_row(rows->row(static_cast<std::int32_t>(h)), seen, weight[h]);
        heads[h] = {.positions = seen, .weight = std::span(weight[h]).first(seen.size())};
      }
      policy_->lower_layer(layer, heads);
    }
  }
  return Done{};
}

void LayerReplay::step(const LayerRows* rows, FullOutputs* full) {
  const bool reads = needs_rows(tokens_);
  KVPLAN_CHECK(rows != nullptr || !reads, tokens_);
  error_.clear();
  for (Beside& beside : beside_) beside.dropped.clear();
  if (traits_.makes_room) {
    policy_->make_room(sets_);
    for (std::size_t s = 0; s < sets_.size(); ++s) drop_marked(s);
  }
  const bool evicts = tokens_ >= place_.prompt - 1;
  if (reads && reads_tensors_) policy_->tensors(*rows);
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    if (reads && s + 1 < sets_.size()) ask_ahead(s + 1, *rows);
    sets_[s].residents.append(static_cast<std::int32_t>(tokens_));
    beside_[s].attended = sets_[s].residents.size();
    if (reads) attend(s, *rows, full == nullptr ? full_ : *full);
    if (!evicts || by_set_ == nullptr) continue;
    by_set_->evict_set(static_cast<std::int32_t>(s), sets_[s].residents, sets_[s].drop);
    drop_marked(s);
  }
  if (evicts && by_set_ == nullptr) {
    policy_->evict(sets_);
    for (std::size_t s = 0; s < sets_.size(); ++s) drop_marked(s);
  }
  ++tokens_;
}

/// Prefetches the next set's row while this one is processed: residents are scattered over it, which the processor
/// does not predict. Saves a third of the time at budgets of 512 to 1024.
void LayerReplay::ask_ahead(std::size_t set, const LayerRows& rows) const {
  const RowView row = rows.row(beside_[set].first_head);
  const auto positions = sets_[set].residents.positions();
  row.f32 != nullptr ? prefetch(row.f32, positions) : prefetch(row.f64, positions);
}

void LayerReplay::attend(std::size_t set, const LayerRows& rows, FullOutputs& full) {
  const std::span<const HeadRow> heads = gather_rows(set, rows);
  if (decoding()) {
    if (traits_.reads == Reads::kChosen) choose(set, heads, rows);
    if (measure_) measure_errors(set, heads, rows, full);
  }
  if (decoding() ? traits_.decode_rows : traits_.prompt_rows > 0)
    policy_->update(static_cast<std::int32_t>(set), sets_[set].residents, heads);
}

/// Positions that a head of the set sees now.
std::span<const std::int32_t> LayerReplay::seen(std::size_t set, std::size_t head) {
  const auto positions = sets_[set].residents.positions();
  if (traits_.reads != Reads::kShown || !decoding()) return positions;
  std::vector<std::int32_t>& shown = shown_[head];
  shown.clear();
  const auto query_head = beside_[set].first_head + static_cast<std::int32_t>(head);
  for (const std::int32_t index : policy_->shown(query_head))
    shown.push_back(positions[static_cast<std::size_t>(index)]);
  shown.push_back(positions.back());
  return shown;
}

std::span<const HeadRow> LayerReplay::gather_rows(std::size_t set, const LayerRows& rows) {
  const auto n = static_cast<std::size_t>(sets_[set].residents.size());
  const std::int32_t first = beside_[set].first_head;
  if (gathered_.size() < heads_ * n) gathered_.resize(heads_ * n * 2);
  for (std::size_t h = 0; h < heads_; ++h) {
    const std::int32_t query_head = first + static_cast<std::int32_t>(h);
    const RowView row = rows.row(query_head);
    HeadRow& out = rows_[h];
    out.positions = seen(set, h);
    const std::span<double> weight(gathered_.data() + h * n, out.positions.size());
    const double sum = gather_row(row, out.positions, weight);
    if (measure_) {
      mass_[static_cast<std::size_t>(query_head)] = sum;
      read_[static_cast<std::size_t>(query_head)] = static_cast<std::int64_t>(out.positions.size());
    }
    out.weight = weight;
    out.sink = row.sink;
    out.divisor = traits_.rows == RowUse::kRenorm ? divisor_of(out, row, sum, weight) : 1.0;
  }
  return rows_;
}

/// The divisor that renormalises a gathered row, including the sink's share. If the visible part is so small that its
/// numbers have lost their digits (or all are zero), the softmax is computed anew from the logits, if there are any.
double LayerReplay::divisor_of(HeadRow& seen, RowView row, double sum, std::span<double> weight) {
  if (sum + row.sink >= 1e-280) return sum + row.sink;
  if (row.logits == nullptr) return sum > 0 ? sum : 1.0;
  gather(row.logits, seen.positions, weight);
  const SoftmaxSum all = exp_with_sink(weight, row.sink_logit);
  seen.sink = all.sink_share;
  return all.sum > 0 ? all.sum : 1.0;
}

void LayerReplay::choose(std::size_t set, std::span<const HeadRow> heads, const LayerRows& rows) {
  Beside& beside = beside_[set];
  const Residents& residents = sets_[set].residents;
  indices_.clear();
  policy_->choose(static_cast<std::int32_t>(set), residents, heads, indices_);
  beside.chosen.clear();
  for (const std::int32_t index : indices_)
    beside.chosen.push_back(residents.positions()[static_cast<std::size_t>(index)]);
  if (!measure_) return;
  scratch_.resize(beside.chosen.size());
  for (std::size_t h = 0; h < heads_; ++h) {
    const std::int32_t query_head = beside.first_head + static_cast<std::int32_t>(h);
    mass_[static_cast<std::size_t>(query_head)] = gather_row(rows.row(query_head), beside.chosen, scratch_);
    read_[static_cast<std::size_t>(query_head)] = static_cast<std::int64_t>(beside.chosen.size());
  }
}

void LayerReplay::measure_errors(std::size_t set, std::span<const HeadRow> heads, const LayerRows& rows,
                                 FullOutputs& full) {
  const Beside& beside = beside_[set];
  if (rows.values(beside.first_head).data == nullptr) return;
  error_.resize(mass_.size());
  for (std::size_t h = 0; h < heads_; ++h) {
    const std::int32_t query_head = beside.first_head + static_cast<std::int32_t>(h);
    const std::span<const std::int32_t> attended =
        traits_.reads == Reads::kChosen ? std::span<const std::int32_t>(beside.chosen) : heads[h].positions;
    error_[static_cast<std::size_t>(query_head)] =
        relative_output_error(full.of(rows, tokens_ + 1, query_head), rows.exact_row(query_head), attended,
                              rows.values(query_head));
  }
}

void LayerReplay::drop_marked(std::size_t set) {
  ResidentSet& it = sets_[set];
  for (const std::int32_t index : it.drop)
    beside_[set].dropped.push_back(it.residents.positions()[static_cast<std::size_t>(index)]);
  it.residents.drop(it.drop);
  it.drop.clear();
}

}  // namespace kvplan::attention
