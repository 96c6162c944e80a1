#include "simulator/latency/step_table.h"

#include <algorithm>
#include <array>

#include "simulator/core/latency.h"

namespace kvplan::latency {
namespace {

std::int64_t cut(Wide ticks) {
  return ticks > core::kLongestStepTicks ? core::kLongestStepTicks : static_cast<std::int64_t>(ticks);
}

/// The two neighbours of a position among ascending ones: equal if only one counts.
struct Between {
  std::size_t low, high;
};
template <class List, class Place>
Between between(const List& list, std::int64_t at, Place place) {
  const auto above = std::upper_bound(list.begin(), list.end(), at,
                                      [&](std::int64_t a, const auto& b) { return a < place(b); });
  if (above == list.begin()) return {0, 0};
  const auto low = static_cast<std::size_t>(above - list.begin()) - 1;
  if (place(list[low]) == at || list.size() == 1) return {low, low};
  return above == list.end() ? Between{low - 1, low} : Between{low, low + 1};
}

/// On the line through (low, a) and (high, b), rounded down to a tick; beyond `high` no less than b.
std::int64_t on_line(std::int64_t at, std::int64_t low, std::int64_t a, std::int64_t high, std::int64_t b) {
  if (at > high && b <= a) return b;
  // Neither factor has more than 63 bits.
  const Wide rise = (Wide{b} - a) * (Wide{at} - low);
  const std::int64_t span = high - low;
  const Wide quotient = rise / span;
  return cut(a + quotient - (quotient * span > rise ? 1 : 0));
}

}  // namespace

Result<StepTable> StepTable::make(std::vector<MeasuredStep> steps) {
  if (steps.empty()) return bad_input("expected at least one measured step");
  for (const MeasuredStep& s : steps)
    if (s.sequences < 1 || s.computed < s.sequences || s.context < 0 || s.duration.count < 0 ||
        s.duration.count > core::kLongestStepTicks)
      return bad_input(
          "expected steps with at least one sequence, at least one token per sequence, and at most 13 days");
  const auto place = [](const MeasuredStep& s) {
    return std::array{s.sequences, s.computed - s.sequences, s.context};
  };
  std::sort(steps.begin(), steps.end(), [&](const MeasuredStep& a, const MeasuredStep& b) {
    return std::pair(place(a), a.duration.count) < std::pair(place(b), b.duration.count);
  });
  StepTable table;
  for (std::size_t i = 0, next = 0; i < steps.size(); i = next) {
    while (next < steps.size() && place(steps[next]) == place(steps[i])) ++next;
    const MeasuredStep& middle = steps[i + (next - i - 1) / 2];
    const auto [sequences, prompt, context] = place(middle);
    if (table.rows_.empty() || table.rows_.back().sequences != sequences)
      table.rows_.push_back({sequences, {}});
    std::vector<Curve>& curves = table.rows_.back().curves;
    if (curves.empty() || curves.back().prompt != prompt) curves.push_back({prompt, {}});
    curves.back().knots.push_back({context, middle.duration.count});
  }
  return table;
}

std::int64_t StepTable::ask(const Curve& curve, Ask what, std::int64_t context) {
  const std::vector<TickKnot>& knots = curve.knots;
  const TickKnot& last = knots.back();
  if (what == Ask::kLastSlope || context > last.at) {
    std::int64_t slope = 0;
    if (knots.size() > 1) {
      const TickKnot& before = knots[knots.size() - 2];
      slope = std::max<std::int64_t>(0, floor_div(Wide{last.ticks} - before.ticks, last.at - before.at));
    }
    if (what == Ask::kLastSlope) return slope;
    return cut(last.ticks + Wide{slope} * (context - last.at));
  }
  const auto [low, high] = between(knots, context, [](const TickKnot& k) { return k.at; });
  if (low == high) return knots[low].ticks;
  const Piece p = piece_between(knots[low], knots[high], context);
  return static_cast<std::int64_t>(p.ticks(context));
}

std::int64_t StepTable::ask(const Row& row, Ask what, std::int64_t prompt, std::int64_t context) {
  const auto [low, high] = between(row.curves, prompt, [](const Curve& c) { return c.prompt; });
  const Curve& a = row.curves[low];
  const Curve& b = row.curves[high];
  if (low == high) return ask(a, what, context);
  return on_line(prompt, a.prompt, ask(a, what, context), b.prompt, ask(b, what, context));
}

std::int64_t StepTable::ask(Ask what, std::int64_t sequences, std::int64_t prompt,
                            std::int64_t context) const {
  const auto [low, high] = between(rows_, sequences, [](const Row& r) { return r.sequences; });
  const Row& a = rows_[low];
  const Row& b = rows_[high];
  if (low == high) return ask(a, what, prompt, context);
  return on_line(sequences, a.sequences, ask(a, what, prompt, context), b.sequences,
                 ask(b, what, prompt, context));
}

StepTable::Piece StepTable::piece(std::int64_t sequences, std::int64_t computed, std::int64_t context) const {
  const std::int64_t prompt = std::max<std::int64_t>(0, computed - sequences);
  // The measured contexts around this one, of all curves that count.
  std::int64_t before = -1;
  std::int64_t behind = kNoEnd;
  const auto look = [&](const Curve& curve) {
    const auto above = std::upper_bound(curve.knots.begin(), curve.knots.end(), context,
                                        [](std::int64_t c, const TickKnot& k) { return c < k.at; });
    if (above != curve.knots.end()) behind = std::min(behind, above->at);
    if (above != curve.knots.begin()) before = std::max(before, (above - 1)->at);
  };
  const auto rows = between(rows_, sequences, [](const Row& r) { return r.sequences; });
  for (const std::size_t r : {rows.low, rows.high}) {
    const std::vector<Curve>& curves = rows_[r].curves;
    const auto beside = between(curves, prompt, [](const Curve& c) { return c.prompt; });
    look(curves[beside.low]);
    look(curves[beside.high]);
  }
  const auto ticks = [&](std::int64_t at) { return ask(Ask::kTicks, sequences, prompt, at); };
  if (before < 0) return {0, behind, ticks(behind), 0};
  if (behind == kNoEnd)
    return {before, kNoEnd, ticks(before), ask(Ask::kLastSlope, sequences, prompt, before)};
  return piece_between({before, ticks(before)}, {behind, ticks(behind)}, context);
}

}  // namespace kvplan::latency
