// Policies that act at every step.
#include <cmath>

#include "tests/unit/attention/naive_layer.h"

namespace kvplan::attention {
namespace {

class Masked final : public NaiveLayer {
 public:
  Masked(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place),
        heavy_(spec.whole("hh")),
        recent_(spec.whole("recent")),
        score_(static_cast<std::size_t>(sets())),
        shown_(score_.size()) {}
  std::set<int> shown(int set, const std::set<int>& /*kept*/) override {
    return shown_[static_cast<std::size_t>(set)];
  }
  void see(int set, int /*t*/, const std::vector<NaiveRow>& heads) override {
    for (const auto& [p, weight] : reduce(heads)) score_[static_cast<std::size_t>(set)][p] += weight;
  }
  NaiveSets stay(int t, const NaiveSets& kept) override {
    const int seen = t + 1;
    for (std::size_t s = 0; s < shown_.size(); ++s) {
      shown_[s] = naive_range(0, seen);
      if (seen <= heavy_ + recent_) continue;
      shown_[s] = naive_best(score_[s], naive_range(0, seen - recent_), heavy_);
      shown_[s].merge(naive_range(seen - recent_ + 1, seen));
      for (auto& [p, score] : score_[s])
        if (recent_ > 0 && p < seen - recent_ && shown_[s].count(p) == 0) score = 0;
    }
    return kept;
  }

 private:
  int heavy_;
  int recent_;
  std::vector<NaiveRow> score_;
  NaiveSets shown_;
};

/// Both forms of Keyformer.
class Keyformer final : public NaiveLayer {
 public:
  Keyformer(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place), spec_(spec), score_(static_cast<std::size_t>(sets())) {
    kept_ = static_cast<int>(place.prompt * spec.number("kv_percent") / 100);
    recent_ = static_cast<int>(kept_ * spec.number("recent_percent") / 100);
  }
  void see(int set, int t, const std::vector<NaiveRow>& heads) override {
    const double tau = spec_.number("tau_init") +
                       (t < place_.prompt ? 0 : t - place_.prompt + 1) * spec_.number("tau_delta");
    std::vector<NaiveRow> tempered = heads;
    for (NaiveRow& row : tempered)
      for (auto& [p, weight] : row) weight = std::pow(weight, 1 / tau);
    for (const auto& [p, weight] : reduce(tempered)) score_[static_cast<std::size_t>(set)][p] += weight;
  }
  NaiveSets stay(int t, const NaiveSets& kept) override {
    NaiveSets out = kept;
    const int seen = t + 1;
    for (std::size_t s = 0; s < out.size(); ++s) {
      if (spec_.name == "keyformer") {
        if (static_cast<int>(kept[s].size()) <= kept_) continue;
        const std::set<int> recent = naive_newest(kept[s], recent_);
        out[s] = naive_best(score_[s], naive_less(kept[s], recent), kept_ - recent_);
        out[s].insert(recent.begin(), recent.end());
      } else if (seen > kept_) {
        // The mask of the masking simulation, minus tokens that were hidden before.
        std::set<int> mask = naive_best(score_[s], naive_range(0, seen - recent_), kept_ - recent_);
        mask.merge(naive_range(seen - recent_ + 1, seen));
        out[s] = naive_less(kept[s], naive_less(kept[s], mask));
      }
      for (const int p : naive_less(kept[s], out[s])) score_[s].erase(p);
    }
    return out;
  }

 private:
  NaiveSpec spec_;
  int kept_;
  int recent_;
  std::vector<NaiveRow> score_;
};

/// Threshold and proportional: stores every weight that a resident received.
class ByImportance final : public NaiveLayer {
 public:
  ByImportance(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place), spec_(spec), received_(static_cast<std::size_t>(sets())) {}
  void see(int set, int /*t*/, const std::vector<NaiveRow>& heads) override {
    for (const auto& [p, weight] : reduce(heads, spec_.text("score_rows") == "raw"))
      received_[static_cast<std::size_t>(set)][p].push_back(weight);
  }
  NaiveSets stay(int /*t*/, const NaiveSets& kept) override {
    NaiveSets out = kept;
    for (std::size_t s = 0; s < out.size(); ++s) {
      if (spec_.name == "seed-threshold") {
        for (const int p : may_go(out[s]))
          if (importance(s, p) < spec_.number("threshold")) out[s].erase(p);
        continue;
      }
      while (static_cast<int>(out[s].size()) > spec_.whole("budget")) {
        const std::set<int> may = may_go(out[s]);
        if (may.empty()) break;
        const int goes =
            std::max(1, static_cast<int>(spec_.number("fraction") * static_cast<double>(out[s].size())));
        NaiveRow score;
        for (const int p : may) score[p] = importance(s, p);
        const std::set<int> best = naive_best(score, may, std::max(0, static_cast<int>(may.size()) - goes));
        out[s] = naive_less(out[s], naive_less(may, best));
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::set<int> may_go(const std::set<int>& kept) const {
    return naive_less(naive_less(kept, naive_newest(kept, spec_.whole("recent"))),
                      naive_range(0, spec_.whole("sink")));
  }
  double importance(std::size_t set, int p) {
    const auto& weights = received_[set][p];
    if (spec_.text("importance") == "max") return *std::max_element(weights.begin(), weights.end());
    const double fade = spec_.text("importance") == "decay" ? spec_.number("gamma") : 1.0;
    double sum = 0;
    double count = 0;
    for (const double weight : weights) {
      sum = fade * sum + weight;
      count = fade * count + 1;
    }
    return sum / count;
  }
  NaiveSpec spec_;
  std::vector<std::map<int, std::vector<double>>> received_;
};

}  // namespace

std::unique_ptr<NaiveLayer> naive_decode_policy(const NaiveSpec& spec, const NaivePlace& place) {
  if (spec.name == "h2o-masked") return std::make_unique<Masked>(spec, place);
  if (spec.name == "keyformer" || spec.name == "keyformer-gptj")
    return std::make_unique<Keyformer>(spec, place);
  if (spec.name == "seed-threshold" || spec.name == "seed-proportional")
    return std::make_unique<ByImportance>(spec, place);
  return nullptr;
}

}  // namespace kvplan::attention
