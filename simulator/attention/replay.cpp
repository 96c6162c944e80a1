#include "simulator/attention/replay.h"

#include <algorithm>
#include <cmath>

#include "simulator/attention/kernels.h"
#include "simulator/attention/output_error.h"

namespace kvplan::attention {
namespace {

double gather_row(RowView row, std::span<const std::int32_t> positions, std::span<double> out) {
  return row.f64 != nullptr ? gather(row.f64, positions, out) : gather(row.f32, positions, out);
}

}  // namespace

Result<std::int32_t> group_of(const PolicyChoice& policy, const RecordingInfo& info) {
  const std::int64_t given = policy.choice.integer("group");
  const std::int64_t group = given == 0 ? info.group : given;
  if (info.query_heads % group != 0)
    return bad_input("expected a divisor of the recording's " + std::to_string(info.query_heads) +
                     " query heads, found " + std::to_string(group))
        .at_field(std::string(policy.choice.name()) + ":group");
  return static_cast<std::int32_t>(group);
}

LayerReplay::LayerReplay(const PolicyChoice& policy, std::int32_t query_heads, std::int32_t group,
                         std::int64_t prompt, bool measure)
    : traits_(policy.kind->traits(policy.choice)),
      aggregate_(policy.choice.text("agg") == "max" ? Aggregate::kMax : Aggregate::kMean),
      prompt_(prompt),
      measure_(measure) {
  KVPLAN_CHECK(group >= 1 && query_heads % group == 0 && prompt >= 1, query_heads, group, prompt);
  const std::int32_t heads = traits_.scope == Scope::kLayer ? query_heads : group;
  for (std::int32_t first = 0; first < query_heads; first += heads) {
    Unit unit;
    unit.first_head = first;
    unit.heads = heads;
    unit.policy = policy.kind->make(policy.choice);
    unit.residents = Residents(traits_.columns);
    units_.push_back(std::move(unit));
  }
  sums_.resize(static_cast<std::size_t>(heads));
  if (measure_) mass_.resize(static_cast<std::size_t>(query_heads));
}

bool LayerReplay::needs_rows(std::int64_t t) const {
  // What a selecting policy keeps does not depend on what it reads.
  if (t >= prompt_) return measure_ || (traits_.rows != RowUse::kNone && !traits_.selects);
  if (traits_.prompt == PromptRows::kLast) return t == prompt_ - 1;
  return traits_.prompt == PromptRows::kAll;
}

std::span<const std::int32_t> LayerReplay::kept(std::int32_t unit) const {
  return units_[static_cast<std::size_t>(unit)].residents.positions();
}
std::span<const std::int32_t> LayerReplay::dropped(std::int32_t unit) const {
  return units_[static_cast<std::size_t>(unit)].dropped;
}
std::span<const std::int32_t> LayerReplay::reported(std::int32_t unit) const {
  if (traits_.selects && tokens_ > prompt_) return units_[static_cast<std::size_t>(unit)].selected;
  return kept(unit);
}
std::int64_t LayerReplay::attended_entries(std::int32_t unit) const {
  return units_[static_cast<std::size_t>(unit)].attended;
}

void LayerReplay::step(const LayerRows* rows) {
  KVPLAN_CHECK(rows != nullptr || !needs_rows(tokens_), tokens_);
  error_.clear();
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (u + 1 < units_.size() && needs_rows(tokens_)) ask_ahead(units_[u + 1], *rows);
    step_unit(units_[u], rows);
  }
  ++tokens_;
}

/// The next unit's row comes from memory while this one's is worked on: residents lie scattered over it,
/// which the processor does not foresee. A third of the time at budgets of 512 to 1024.
void LayerReplay::ask_ahead(const Unit& next, const LayerRows& rows) {
  const RowView row = rows.row(next.first_head);
  for (const std::int32_t p : next.residents.positions()) {
    if (row.f32 != nullptr) {
      __builtin_prefetch(row.f32 + p);
    } else {
      __builtin_prefetch(row.f64 + p);
    }
  }
}

void LayerReplay::step_unit(Unit& unit, const LayerRows* rows) {
  const bool decoding = tokens_ >= prompt_;
  unit.residents.append(static_cast<std::int32_t>(tokens_));
  unit.attended = unit.residents.size();
  unit.dropped.clear();
  if (needs_rows(tokens_)) {
    const Weights weights = weigh(unit, *rows);
    if (decoding && traits_.selects) {
      unit.drop.clear();
      unit.policy->select(unit.residents, weights, unit.drop);
      unit.selected.clear();
      for (const std::int32_t index : unit.drop)
        unit.selected.push_back(unit.residents.positions()[static_cast<std::size_t>(index)]);
      if (measure_) measure_selected(unit, *rows);
    }
    if (decoding && measure_) measure_errors(unit, *rows);
    if (traits_.rows != RowUse::kNone) unit.policy->update(unit.residents, weights);
  }
  if (tokens_ >= prompt_ - 1) evict(unit);
}

void LayerReplay::evict(Unit& unit) {
  unit.drop.clear();
  unit.policy->evict(unit.residents, unit.drop);
  for (const std::int32_t index : unit.drop)
    unit.dropped.push_back(unit.residents.positions()[static_cast<std::size_t>(index)]);
  unit.residents.drop(unit.drop);
}

Weights LayerReplay::weigh(const Unit& unit, const LayerRows& rows) {
  const auto n = static_cast<std::size_t>(unit.residents.size());
  const auto heads = static_cast<std::size_t>(unit.heads);
  if (gathered_.size() < heads * n) gathered_.resize(heads * n * 2);
  for (std::size_t h = 0; h < heads; ++h) {
    const RowView row = rows.row(unit.first_head + static_cast<std::int32_t>(h));
    const std::span<double> out(gathered_.data() + h * n, n);
    sums_[h] = gather_row(row, unit.residents.positions(), out);
    if (measure_) mass_[static_cast<std::size_t>(unit.first_head) + h] = sums_[h];
  }
  return reduce(unit, rows, sums_);
}

/// The sum that renormalises a gathered row. Where the residents hold so little of the row that its numbers
/// have lost their digits (or all are zero), the softmax is taken anew from the logits, if there are any.
double LayerReplay::renorm_divisor(const Unit& unit, RowView row, double sum,
                                   std::span<double> weights) const {
  if (sum >= 1e-280) return sum;
  if (row.logits == nullptr) return sum > 0 ? sum : 1.0;
  gather(row.logits, unit.residents.positions(), weights);
  return exp_from_max(weights);
}

Weights LayerReplay::reduce(const Unit& unit, const LayerRows& rows, std::span<const double> sums) {
  const auto n = static_cast<std::size_t>(unit.residents.size());
  const bool renorm = traits_.rows == RowUse::kRenorm;
  const auto divisor_of = [&](std::size_t h, std::span<double> weights) {
    if (!renorm) return 1.0;
    return renorm_divisor(unit, rows.row(unit.first_head + static_cast<std::int32_t>(h)), sums[h], weights);
  };
  if (unit.heads == 1) {
    const std::span<double> weights(gathered_.data(), n);
    const double divisor = divisor_of(0, weights);
    return {.value = weights, .divisor = divisor};
  }
  combined_.assign(n, 0.0);
  const bool mean = aggregate_ == Aggregate::kMean;
  for (std::size_t h = 0; h < static_cast<std::size_t>(unit.heads); ++h) {
    const std::span<double> weights(gathered_.data() + h * n, n);
    const double divisor = divisor_of(h, weights);
    if (mean) {
      accumulate(weights, divisor, combined_);
    } else {
      for (std::size_t i = 0; i < n; ++i) combined_[i] = std::max(combined_[i], weights[i] / divisor);
    }
  }
  return {.value = combined_, .divisor = mean ? static_cast<double>(unit.heads) : 1.0};
}

void LayerReplay::measure_selected(const Unit& unit, const LayerRows& rows) {
  scratch_.resize(unit.selected.size());
  for (std::int32_t h = unit.first_head; h < unit.first_head + unit.heads; ++h)
    mass_[static_cast<std::size_t>(h)] = gather_row(rows.row(h), unit.selected, scratch_);
}

void LayerReplay::measure_errors(const Unit& unit, const LayerRows& rows) {
  if (rows.values(unit.first_head).data == nullptr) return;
  error_.resize(mass_.size());
  const std::span<const std::int32_t> attended =
      traits_.selects ? std::span<const std::int32_t>(unit.selected) : unit.residents.positions();
  for (std::int32_t h = unit.first_head; h < unit.first_head + unit.heads; ++h)
    error_[static_cast<std::size_t>(h)] =
        relative_output_error(rows.row(h), tokens_ + 1, attended, rows.values(h));
}

}  // namespace kvplan::attention
