#include "simulator/planner/search.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "simulator/base/check.h"

namespace kvplan::planner {
namespace {

std::string text(std::int64_t number) {
  return std::to_string(number);
}

/// The search for the fewest replicas of one shape, one trial at a time.
class Fewest {
 public:
  /// `most`: replicas that are allowed. `guess`: where to begin; 0: unknown. `by_price`: begin with the most, since
  /// only then more trials are worth it.
  Fewest(std::int64_t most, std::int64_t guess, bool by_price)
      : most_(most), guess_(std::min(guess, most)), by_price_(by_price) {}

  /// The next number to try, and why; nothing: it is over.
  [[nodiscard]] std::optional<std::pair<std::int64_t, std::string>> next() const {
    using Next = std::pair<std::int64_t, std::string>;
    if (most_ < 1 || refused_) return std::nullopt;
    if (!meets_) {
      if (misses_ >= most_) return std::nullopt;
      if (by_price_) return Next{most_, "as many as the best price so far buys"};
      if (guess_ > misses_) return Next{guess_, "what a slice of the trace asks for"};
      const std::int64_t more = misses_ == 0        ? 1
                                : misses_ == guess_ ? guess_ + std::max<std::int64_t>(1, guess_ / 8)
                                                    : 2 * misses_;
      return Next{std::min(most_, more), misses_ == 0
                                             ? std::string("one replica")
                                             : "more than " + text(misses_) + ", which miss a target"};
    }
    if (*meets_ - misses_ <= 1) return std::nullopt;
    const std::string between = "between " + text(misses_) + ", which miss a target, and " + text(*meets_);
    if (guess_ > misses_ && guess_ < *meets_) return Next{guess_, "what a slice of the trace asks for"};
    // A slice that is busier than the rest asks for too many: a few fewer each time, then halves.
    if (misses_ == 0 && guess_ > 0 && *meets_ <= guess_) {
      const std::int64_t fewer = *meets_ - std::max<std::int64_t>(1, (guess_ - *meets_) * 2);
      if (fewer > 0) return Next{fewer, "fewer than " + text(*meets_) + ", which meet the targets"};
    }
    if (guess_ == misses_ && guess_ > 0) return Next{guess_ + 1, "one more than " + text(guess_)};
    return Next{misses_ + (*meets_ - misses_) / 2, between};
  }

  void told(std::int64_t replicas, const Verdict& verdict) {
    if (!verdict.ran) {
      refused_ = true;
    } else if (verdict.meets) {
      meets_ = std::min(meets_.value_or(replicas), replicas);
    } else {
      misses_ = std::max(misses_, replicas);
      if (meets_ && misses_ >= *meets_) misses_ = *meets_ - 1;
    }
    by_price_ = false;
    if (!meets_ && misses_ >= most_) refused_ = true;
  }
  [[nodiscard]] std::optional<std::int64_t> meets() const { return meets_; }

 private:
  std::int64_t most_, guess_;
  bool by_price_;
  bool refused_{false};
  std::int64_t misses_{0};  // the most replicas that missed
  std::optional<std::int64_t> meets_;
};

class Searcher {
 public:
  explicit Searcher(const SearchRequest& request) : request_(request) {
    const std::size_t shapes = request.shapes.size();
    std::size_t groups = 0;
    for (const SearchShape& shape : request.shapes) groups = std::max(groups, shape.group + 1);
    result_.of_group.resize(groups);
    result_.of_shape.resize(shapes);
    result_.tried.resize(shapes);
    slice_answers_.resize(shapes);
  }

  SearchResult take() {
    Status status = search_all();
    if (!status.ok()) result_.error = status.error();
    settle();
    return std::move(result_);
  }

 private:
  Status search_all() {
    if (request_.slices) KVPLAN_TRY_DO(search_slices());
    KVPLAN_TRY_DO(search_first_shapes());
    KVPLAN_TRY_DO(search_other_shapes());
    return check_neighbours();
  }

  [[nodiscard]] double cost(std::size_t shape, std::int64_t replicas) const {
    return request_.cost(request_.shapes[shape].group, replicas * request_.shapes[shape].gpus_of_replica);
  }
  [[nodiscard]] Found found(std::size_t shape, std::int64_t replicas, double tightness) const {
    return {shape, replicas, replicas * request_.shapes[shape].gpus_of_replica, cost(shape, replicas),
            tightness};
  }
  /// Replicas that the limits of the whole search allow.
  [[nodiscard]] std::int64_t most(std::size_t shape) const {
    std::int64_t low = 0, high = request_.most_gpus / request_.shapes[shape].gpus_of_replica + 1;
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (cost(shape, middle) <= request_.most_cost ? low : high) = middle;
    }
    return low;
  }
  /// Those that do not cost more than an answer, and of equal price do not take more GPUs.
  [[nodiscard]] std::int64_t most_within(std::size_t shape, const Found& answer) const {
    std::int64_t replicas = most(shape);
    const auto fits = [&](std::int64_t n) {
      return std::tuple(cost(shape, n), n * request_.shapes[shape].gpus_of_replica) <=
             std::tuple(answer.cost, answer.gpus);
    };
    std::int64_t low = 0, high = replicas + 1;
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return low;
  }

  /// Runs searches side by side until all are over.
  Status run_rounds(std::vector<std::pair<std::size_t, Fewest>>& searches, bool slice) {
    while (true) {
      std::vector<Trial> trials;
      std::vector<std::size_t> of;
      for (std::size_t i = 0; i < searches.size(); ++i) {
        const auto next = searches[i].second.next();
        if (!next) continue;
        trials.push_back({searches[i].first, next->first, slice, next->second});
        of.push_back(i);
      }
      if (trials.empty()) return Done{};
      KVPLAN_TRY(const std::vector<Verdict> verdicts, run(trials));
      for (std::size_t i = 0; i < trials.size(); ++i)
        searches[of[i]].second.told(trials[i].replicas, verdicts[i]);
    }
  }

  Result<std::vector<Verdict>> run(const std::vector<Trial>& trials) {
    KVPLAN_TRY(std::vector<Verdict> verdicts, request_.run(trials));
    KVPLAN_CHECK(verdicts.size() == trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (!trials[i].slice) result_.tried[trials[i].shape][trials[i].replicas] = verdicts[i];
    return verdicts;
  }

  Status search_slices() {
    std::vector<std::pair<std::size_t, Fewest>> searches;
    for (std::size_t shape = 0; shape < request_.shapes.size(); ++shape)
      searches.emplace_back(shape, Fewest(most(shape), 0, false));
    KVPLAN_TRY_DO(run_rounds(searches, true));
    for (const auto& [shape, fewest] : searches) slice_answers_[shape] = fewest.meets();
    return Done{};
  }

  /// Shapes of a group, the most promising first: by the price of their slices, then by the GPUs of a replica.
  [[nodiscard]] std::vector<std::size_t> order_of(std::size_t group) const {
    std::vector<std::size_t> shapes;
    for (std::size_t i = 0; i < request_.shapes.size(); ++i)
      if (request_.shapes[i].group == group && most(i) > 0) shapes.push_back(i);
    const auto key = [&](std::size_t shape) {
      const auto& slice = slice_answers_[shape];
      return std::tuple(slice ? cost(shape, *slice) : std::numeric_limits<double>::infinity(),
                        request_.shapes[shape].gpus_of_replica);
    };
    std::stable_sort(shapes.begin(), shapes.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return shapes;
  }

  [[nodiscard]] std::int64_t guess(std::size_t shape) const { return slice_answers_[shape].value_or(0); }

  void take_answer(std::size_t shape, const Fewest& fewest) {
    const auto replicas = fewest.meets();
    if (!replicas) return;
    const Found answer = found(shape, *replicas, result_.tried[shape].at(*replicas).tightness);
    result_.of_shape[shape] = answer;
    auto& best = result_.of_group[request_.shapes[shape].group];
    if (!best || better(answer, *best)) best = answer;
  }

  /// The first shape of each group that has an answer.
  Status search_first_shapes() {
    std::vector<std::vector<std::size_t>> orders;
    for (std::size_t group = 0; group < result_.of_group.size(); ++group) orders.push_back(order_of(group));
    for (std::size_t turn = 0;; ++turn) {
      std::vector<std::pair<std::size_t, Fewest>> searches;
      for (std::size_t group = 0; group < orders.size(); ++group) {
        if (result_.of_group[group] || turn >= orders[group].size()) continue;
        const std::size_t shape = orders[group][turn];
        searches.emplace_back(shape, Fewest(most(shape), guess(shape), false));
        searched_.insert(shape);
      }
      if (searches.empty()) return Done{};
      KVPLAN_TRY_DO(run_rounds(searches, false));
      for (const auto& [shape, fewest] : searches) take_answer(shape, fewest);
    }
  }

  Status search_other_shapes() {
    std::vector<std::pair<std::size_t, Fewest>> searches;
    for (std::size_t shape = 0; shape < request_.shapes.size(); ++shape) {
      const std::optional<Found>& answer = result_.of_group[request_.shapes[shape].group];
      if (!answer || searched_.contains(shape) || !worth_a_run(shape)) continue;
      searches.emplace_back(shape, Fewest(most_within(shape, *answer), guess(shape), true));
    }
    KVPLAN_TRY_DO(run_rounds(searches, false));
    for (const auto& [shape, fewest] : searches) take_answer(shape, fewest);
    return Done{};
  }

  [[nodiscard]] bool worth_a_run(std::size_t shape) const {
    if (!request_.slices) return true;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < request_.shapes.size(); ++other)
      if (request_.shapes[other].group == request_.shapes[shape].group && slice_answers_[other])
        least = std::min(least, cost(other, *slice_answers_[other]));
    return slice_answers_[shape] && cost(shape, *slice_answers_[shape]) <= kSliceMargin * least;
  }

  /// Tries the replicas below the answer of each group, again while one of them becomes the answer, and one above.
  Status check_neighbours() {
    while (true) {
      std::vector<Trial> trials;
      for (const auto& answer : result_.of_group)
        if (answer) add_neighbours(*answer, trials);
      if (trials.empty()) return Done{};
      KVPLAN_TRY_DO(run(trials));
      for (const auto& trial : trials) {
        const Verdict& verdict = result_.tried[trial.shape].at(trial.replicas);
        if (!verdict.meets) continue;
        const Found answer = found(trial.shape, trial.replicas, verdict.tightness);
        auto& of_shape = result_.of_shape[trial.shape];
        if (!of_shape || better(answer, *of_shape)) of_shape = answer;
        auto& best = result_.of_group[request_.shapes[trial.shape].group];
        if (!best || better(answer, *best)) best = answer;
      }
    }
  }

  /// The nearest neighbour below that was not tried yet, and the one above.
  void add_neighbours(const Found& answer, std::vector<Trial>& trials) const {
    const auto& tried = result_.tried[answer.shape];
    for (std::int64_t below = 1; below <= kNeighbours && below < answer.replicas; ++below) {
      const auto at = tried.find(answer.replicas - below);
      if (at == tried.end()) {
        trials.push_back({answer.shape, answer.replicas - below, false, "neighbour of the answer"});
        break;
      }
      if (at->second.overload || !at->second.ran) break;
    }
    if (answer.replicas < most(answer.shape) && !tried.contains(answer.replicas + 1))
      trials.push_back({answer.shape, answer.replicas + 1, false, "one more than the answer"});
  }

  void settle() {
    for (std::size_t shape = 0; shape < result_.tried.size(); ++shape) {
      std::optional<std::int64_t> met;
      for (const auto& [replicas, verdict] : result_.tried[shape]) {
        if (verdict.meets && !met) met = replicas;
        if (verdict.ran && !verdict.meets && met) result_.contradictions.push_back({shape, *met, replicas});
      }
      // What an interrupted search saw of a shape counts too.
      if (!met) continue;
      const Found answer = found(shape, *met, result_.tried[shape].at(*met).tightness);
      auto& of_shape = result_.of_shape[shape];
      if (!of_shape || better(answer, *of_shape)) of_shape = answer;
      auto& best = result_.of_group[request_.shapes[shape].group];
      if (!best || better(answer, *best)) best = answer;
    }
  }

  const SearchRequest& request_;
  SearchResult result_;
  std::vector<std::optional<std::int64_t>> slice_answers_;  // of each shape
  std::set<std::size_t> searched_;
};

}  // namespace

bool better(const Found& a, const Found& b) {
  return std::tuple(a.cost, a.gpus, a.tightness, a.shape) < std::tuple(b.cost, b.gpus, b.tightness, b.shape);
}

std::optional<Found> SearchResult::best() const {
  std::optional<Found> best;
  for (const auto& each : of_group)
    if (each && (!best || better(*each, *best))) best = each;
  return best;
}

SearchResult search(const SearchRequest& request) {
  return Searcher(request).take();
}

}  // namespace kvplan::planner
