#include "simulator/attention/nested_residency.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::attention {
namespace {

/// Number of nodes between two checks whether to stop: some milliseconds.
constexpr std::int64_t kLooksBetween = std::int64_t{1} << 16;

/// Nodes: one for the main line after b decode steps, b in [0, steps]; and for each token one node for each step
/// through which it may have been kept. From each node of a token a unit of flow can return to the line.
class ResidencyFlow {
 public:
  ResidencyFlow(const std::vector<std::vector<std::int64_t>>& weight, std::int64_t prompt,
                std::int64_t budget, const std::function<bool()>& stop_asked)
      : weight_(weight),
        prompt_(prompt),
        budget_(budget),
        stop_asked_(stop_asked),
        steps_(static_cast<std::int64_t>(weight.size())),
        line_flow_(weight.size() + 1),
        returned_at_(weight.size() + 1) {
    std::int64_t nodes = steps_ + 1;
    for (std::int64_t i = 0; i < prompt_ + steps_; ++i) {
      first_.push_back(nodes);
      nodes += steps_ - arrival(i);
    }
    owner_.resize(static_cast<std::size_t>(nodes));
    for (std::int64_t i = 0; i < prompt_ + steps_; ++i)
      std::fill_n(owner_.begin() + first_[static_cast<std::size_t>(i)], steps_ - arrival(i), i);
    potential_.resize(owner_.size());
    distance_.resize(owner_.size());
    before_.resize(owner_.size());
    kept_through_.resize(owner_.size());
    returns_.resize(owner_.size());
  }

  std::vector<std::int64_t> solve() {
    first_potentials();
    for (std::int64_t unit = 0; unit < budget_; ++unit) {
      if (!find_paths()) break;
      // The distance to the line's end, with the potentials subtracted again; staying on the line costs nothing.
      if (potential_[static_cast<std::size_t>(steps_)] - potential_[0] >= 0) break;
      augment();
    }
    std::vector<std::int64_t> until;
    for (std::int64_t i = 0; i < prompt_ + steps_; ++i) {
      std::int64_t b = arrival(i);
      while (b < steps_ && kept_through_[static_cast<std::size_t>(node(i, b + 1))] != 0) ++b;
      until.push_back(b);
    }
    return until;
  }

 private:
  /// Number of decode steps done when token i is computed.
  [[nodiscard]] std::int64_t arrival(std::int64_t i) const {
    return std::max<std::int64_t>(0, i - prompt_ + 1);
  }
  /// Node of token i kept through step b - 1. REQUIRES: arrival(i) < b <= steps.
  [[nodiscard]] std::int64_t node(std::int64_t i, std::int64_t b) const {
    return first_[static_cast<std::size_t>(i)] + b - arrival(i) - 1;
  }
  [[nodiscard]] std::int64_t gain(std::int64_t i, std::int64_t step) const {
    return weight_[static_cast<std::size_t>(step)][static_cast<std::size_t>(i)];
  }

  /// Without flow the network has no cycle: distances from the line's start, step by step.
  void first_potentials() {
    for (std::int64_t b = 1; b <= steps_; ++b) {
      std::int64_t least = potential_[static_cast<std::size_t>(b - 1)];
      for (std::int64_t i = 0; i < prompt_ + b - 1; ++i) {
        const std::int64_t from = arrival(i) == b - 1 ? b - 1 : node(i, b - 1);
        const std::int64_t here = potential_[static_cast<std::size_t>(from)] - gain(i, b - 1);
        potential_[static_cast<std::size_t>(node(i, b))] = here;
        least = std::min(least, here);
      }
      potential_[static_cast<std::size_t>(b)] = least;
    }
  }

  /// Shortest distances from the line's start over edges with free capacity; they become the potentials. Every node
  /// is reachable: the line is never full before the last unit, and a unit's path can be walked backwards. Returns
  /// false without a result if it was asked to stop.
  [[nodiscard]] bool find_paths() {
    std::fill(distance_.begin(), distance_.end(), INT64_MAX);
    distance_[0] = 0;
    waiting_.emplace(0, 0);
    for (std::int64_t looks = 0; !waiting_.empty(); ++looks) {
      if (looks % kLooksBetween == 0 && stop_asked_ && stop_asked_()) return false;
      const auto [distance, from] = waiting_.top();
      waiting_.pop();
      if (distance > distance_[static_cast<std::size_t>(from)]) continue;
      if (from <= steps_) {
        leave_line(from);
      } else {
        leave_token(from);
      }
    }
    for (std::size_t n = 0; n < potential_.size(); ++n) potential_[n] += distance_[n];
    return true;
  }

  void relax(std::int64_t from, std::int64_t to, std::int64_t cost) {
    const auto f = static_cast<std::size_t>(from);
    const auto t = static_cast<std::size_t>(to);
    const std::int64_t distance = distance_[f] + cost + potential_[f] - potential_[t];
    if (distance >= distance_[t]) return;
    distance_[t] = distance;
    before_[t] = from;
    waiting_.emplace(distance, to);
  }

  void leave_line(std::int64_t b) {
    if (b < steps_) relax(b, b + 1, 0);
    if (b > 0 && line_flow_[static_cast<std::size_t>(b - 1)] > 0) relax(b, b - 1, 0);
    for (const std::int64_t i : returned_at_[static_cast<std::size_t>(b)]) relax(b, node(i, b), 0);
    if (b == steps_) return;
    const std::int64_t begin = b == 0 ? 0 : prompt_ + b - 1;
    for (std::int64_t i = begin; i < prompt_ + b; ++i)
      if (kept_through_[static_cast<std::size_t>(node(i, b + 1))] == 0) relax(b, node(i, b + 1), -gain(i, b));
  }

  void leave_token(std::int64_t from) {
    const auto f = static_cast<std::size_t>(from);
    const std::int64_t i = owner_[f];
    const std::int64_t b = from - first_[static_cast<std::size_t>(i)] + arrival(i) + 1;
    if (returns_[f] == 0) relax(from, b, 0);
    if (b < steps_ && kept_through_[f + 1] == 0) relax(from, from + 1, -gain(i, b));
    if (kept_through_[f] != 0) relax(from, b == arrival(i) + 1 ? b - 1 : from - 1, gain(i, b - 1));
  }

  /// Adds one unit of flow along the path that was found.
  void augment() {
    for (std::int64_t to = steps_; to != 0;) {
      const std::int64_t from = before_[static_cast<std::size_t>(to)];
      push(from, to);
      to = from;
    }
  }

  void push(std::int64_t from, std::int64_t to) {
    if (from <= steps_ && to <= steps_) {
      line_flow_[static_cast<std::size_t>(std::min(from, to))] += to > from ? 1 : -1;
      return;
    }
    const bool along = from > steps_ && to > steps_;
    const std::int64_t token_node = along ? std::max(from, to) : from > steps_ ? from : to;
    const auto at = static_cast<std::size_t>(token_node);
    const std::int64_t i = owner_[at];
    const std::int64_t b = token_node - first_[static_cast<std::size_t>(i)] + arrival(i) + 1;
    const std::int64_t line = from > steps_ ? to : from;
    if (along || line == b - 1) {
      kept_through_[at] = to == token_node ? 1 : 0;
      return;
    }
    auto& returned = returned_at_[static_cast<std::size_t>(b)];
    returns_[at] = from == token_node ? 1 : 0;
    if (from == token_node) {
      returned.push_back(i);
    } else {
      returned.erase(std::find(returned.begin(), returned.end(), i));
    }
  }

  const std::vector<std::vector<std::int64_t>>& weight_;
  std::int64_t prompt_;
  std::int64_t budget_;
  const std::function<bool()>& stop_asked_;
  std::int64_t steps_;
  std::vector<std::int64_t> first_;      ///< [token] its first node
  std::vector<std::int64_t> owner_;      ///< [node] token
  std::vector<std::int64_t> potential_;  ///< [node]
  std::vector<std::int64_t> distance_;   ///< [node]
  std::vector<std::int64_t> before_;     ///< [node] on the path that was found
  std::vector<std::int64_t> line_flow_;  ///< [b] units on the line between b and b + 1
  std::vector<char> kept_through_;       ///< [token's node] a unit comes here from the step before
  std::vector<char> returns_;            ///< [token's node] a unit returns to the line here
  std::vector<std::vector<std::int64_t>> returned_at_;  ///< [b] tokens that are no longer kept after step b
  using Waiting = std::pair<std::int64_t, std::int64_t>;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
};

}  // namespace

std::vector<std::int64_t> needed_until(const std::vector<std::vector<std::int64_t>>& weight,
                                       std::int64_t prompt, std::int64_t budget,
                                       const std::function<bool()>& stop_asked) {
  KVPLAN_CHECK(prompt >= 1 && budget >= 1, prompt, budget);
  return ResidencyFlow(weight, prompt, budget, stop_asked).solve();
}

}  // namespace kvplan::attention
