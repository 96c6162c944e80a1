// Scissorhands, least used, random, and the greedy bound: policies with a fixed budget.
#include "tests/unit/attention/naive_layer.h"

namespace kvplan::attention {
namespace {

class Scissors final : public NaiveLayer {
 public:
  Scissors(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place), spec_(spec), marked_(static_cast<std::size_t>(sets())) {}
  void see(int set, int /*t*/, const std::vector<NaiveRow>& heads) override {
    std::set<int> marked;
    for (const auto& [p, weight] : reduce(heads))
      if (weight > 1.0 / static_cast<double>(heads[0].size())) marked.insert(p);
    marked_[static_cast<std::size_t>(set)].push_back(marked);
  }
  NaiveSets stay(int t, const NaiveSets& kept) override {
    NaiveSets out = kept;
    for (std::size_t s = 0; s < out.size(); ++s) {
      NaiveRow count;
      for (int row = std::max(0, t + 1 - spec_.whole("history")); row <= t; ++row)
        for (const int p : marked_[s][static_cast<std::size_t>(row)]) count[p] += 1;
      while (static_cast<int>(out[s].size()) > spec_.whole("budget")) {
        const std::set<int> may = naive_less(out[s], naive_newest(out[s], spec_.whole("recent")));
        if (may.empty()) break;
        const int stays = std::max(0, static_cast<int>(may.size()) - spec_.whole("drop"));
        out[s] = naive_less(out[s], naive_less(may, naive_best(count, may, stays)));
      }
    }
    return out;
  }

 private:
  NaiveSpec spec_;
  std::vector<std::vector<std::set<int>>> marked_;  ///< [set][row]
};

class LeastUsed final : public NaiveLayer {
 public:
  LeastUsed(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place), spec_(spec), uses_(static_cast<std::size_t>(sets())) {}
  std::set<int> room(int set, const std::set<int>& kept, int /*t*/) override {
    if (static_cast<int>(kept.size()) < spec_.whole("budget")) return {};
    NaiveRow rank;
    for (const int p : kept) {
      const auto& uses = uses_[static_cast<std::size_t>(set)][p];
      rank[p] = spec_.text("mode") == "lfu" ? static_cast<double>(uses.size()) : uses.back();
    }
    return naive_less(kept, naive_best(rank, kept, static_cast<int>(kept.size()) - 1));
  }
  void see(int set, int t, const std::vector<NaiveRow>& heads) override {
    for (const auto& [p, weight] : reduce(heads))
      if (p == t || weight >= spec_.number("theta")) uses_[static_cast<std::size_t>(set)][p].push_back(t);
  }
  NaiveSets stay(int /*t*/, const NaiveSets& kept) override { return kept; }

 private:
  NaiveSpec spec_;
  std::vector<std::map<int, std::vector<int>>> uses_;  ///< [set][position] tokens that used it
};

class ByLot final : public NaiveLayer {
 public:
  ByLot(const NaiveSpec& spec, const NaivePlace& place) : NaiveLayer(place), spec_(spec) {
    for (int head = 0; head < sets(); ++head)
      state_.push_back(std::stoull(spec.text("seed")) +
                       0x9E3779B97F4A7C15ULL * (1 + std::stoull(spec.text("layer")) * 1048576 +
                                                static_cast<std::uint64_t>(head)));
  }
  NaiveSets stay(int /*t*/, const NaiveSets& kept) override {
    NaiveSets out = kept;
    for (std::size_t s = 0; s < out.size(); ++s) {
      while (static_cast<int>(out[s].size()) > spec_.whole("budget")) {
        const std::set<int> may = naive_less(naive_less(out[s], naive_newest(out[s], spec_.whole("recent"))),
                                             naive_range(0, spec_.whole("sink")));
        if (may.empty()) break;
        auto victim = may.begin();
        std::advance(victim, static_cast<int>(next(s) * static_cast<double>(may.size())));
        out[s].erase(*victim);
      }
    }
    return out;
  }

 private:
  double next(std::size_t s) {
    state_[s] += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_[s];
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) / 9007199254740992.0;
  }
  NaiveSpec spec_;
  std::vector<std::uint64_t> state_;
};

class Suffix final : public NaiveLayer {
 public:
  Suffix(const NaiveSpec& spec, const NaivePlace& place) : NaiveLayer(place), budget_(spec.whole("budget")) {}
  NaiveSets stay(int t, const NaiveSets& kept) override {
    NaiveSets out = kept;
    for (int s = 0; s < sets(); ++s) {
      auto& set = out[static_cast<std::size_t>(s)];
      NaiveRow to_come;
      for (const int p : set)
        for (std::size_t later = static_cast<std::size_t>(t) + 1; later < (*place_.rows)[0].size(); ++later) {
          double value = 0;
          for (int h = s * place_.group; h < (s + 1) * place_.group; ++h) {
            const double weight =
                (*place_.rows)[static_cast<std::size_t>(h)][later][static_cast<std::size_t>(p)];
            value = place_.max ? std::max(value, weight) : value + weight;
          }
          to_come[p] += value;  // a mean has the same order as the sum
        }
      set = naive_best(to_come, set, budget_);
    }
    return out;
  }

 private:
  int budget_;
};

}  // namespace

std::unique_ptr<NaiveLayer> naive_budget_policy(const NaiveSpec& spec, const NaivePlace& place) {
  if (spec.name == "scissorhands") return std::make_unique<Scissors>(spec, place);
  if (spec.name == "seed-lfu" || spec.name == "seed-lru") return std::make_unique<LeastUsed>(spec, place);
  if (spec.name == "random") return std::make_unique<ByLot>(spec, place);
  if (spec.name == "oracle-suffix") return std::make_unique<Suffix>(spec, place);
  return nullptr;
}

}  // namespace kvplan::attention
