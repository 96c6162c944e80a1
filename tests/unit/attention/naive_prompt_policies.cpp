// Observed attention, SnapKV and Ada-KV, which act once, when the prompt ends.
#include <cmath>

#include "tests/unit/attention/naive_layer.h"

namespace kvplan::attention {
namespace {

/// Keeps every row of the prompt; `choose` is called once.
class PromptPolicy : public NaiveLayer {
 public:
  PromptPolicy(const NaiveSpec& spec, const NaivePlace& place) : NaiveLayer(place), spec_(spec) {}
  NaiveSets stay(int t, const NaiveSets& kept) override { return t == place_.prompt - 1 ? choose() : kept; }

 protected:
  virtual NaiveSets choose() = 0;
  /// Sum of head h's prompt rows from row `first` on, at position p.
  [[nodiscard]] double column(int h, int p, int first) const {
    double sum = 0;
    for (int t = std::max(first, p); t < place_.prompt; ++t)
      sum += (*place_.rows)[static_cast<std::size_t>(h)][static_cast<std::size_t>(t)]
                           [static_cast<std::size_t>(p)];
    return sum;
  }
  template <class Score>
  NaiveRow over_group(int set, int n, Score score) const {
    NaiveRow out;
    for (int p = 0; p < n; ++p) {
      double value = 0;
      for (int h = set * place_.group; h < (set + 1) * place_.group; ++h)
        value = place_.max ? std::max(value, score(h, p)) : value + score(h, p);
      out[p] = place_.max ? value : value / place_.group;
    }
    return out;
  }
  NaiveSpec spec_;
};

class Observed final : public PromptPolicy {
 public:
  using PromptPolicy::PromptPolicy;

 private:
  NaiveSets choose() override {
    const int prompt = place_.prompt;
    const int keep = static_cast<int>(prompt * (1.0 - spec_.number("ratio")));
    NaiveSets out;
    for (int s = 0; s < sets(); ++s) {
      const auto score = over_group(s, prompt, [&](int h, int p) { return column(h, p, 0) / (prompt - p); });
      out.push_back(naive_best(score, naive_range(0, prompt), keep));
    }
    return out;
  }
};

class Snap : public PromptPolicy {
 public:
  Snap(const NaiveSpec& spec, const NaivePlace& place)
      : PromptPolicy(spec, place), window_(spec.whole("window")), capacity_(spec.whole("capacity")) {}

 protected:
  NaiveSets choose() override {
    NaiveSets out;
    for (int s = 0; s < sets(); ++s) out.push_back(naive_range(0, place_.prompt));
    if (place_.prompt < capacity_) return out;
    for (int s = 0; s < sets(); ++s)
      out[static_cast<std::size_t>(s)] = with_window(pooled(s, 1.0), capacity_ - window_);
    return out;
  }
  std::set<int> with_window(const NaiveRow& score, int count) const {
    std::set<int> out = naive_best(score, naive_range(0, place_.prompt - window_), count);
    out.merge(naive_range(place_.prompt - window_, place_.prompt));
    return out;
  }
  /// Votes of the window, each divided by `divisor`, reduced over the group, then pooled.
  [[nodiscard]] NaiveRow pooled(int set, double divisor) const {
    const int before = place_.prompt - window_;
    const NaiveRow votes =
        over_group(set, before, [&](int h, int p) { return column(h, p, before) / divisor; });
    const int reach = spec_.whole("kernel") / 2;
    NaiveRow out;
    for (int p = 0; p < before; ++p) {
      double sum = 0;
      double most = -1;
      for (int q = std::max(0, p - reach); q <= std::min(before - 1, p + reach); ++q) {
        sum += votes.at(q);
        most = std::max(most, votes.at(q));
      }
      out[p] = spec_.text("pooling") == "max" ? most : sum / spec_.whole("kernel");
    }
    return out;
  }
  int window_;
  int capacity_;
};

class Ada final : public Snap {
 public:
  using Snap::Snap;

 private:
  NaiveSets choose() override {
    const int base = capacity_ - window_;
    NaiveSets out;
    for (int s = 0; s < sets(); ++s) out.push_back(naive_range(0, place_.prompt));
    if (base > place_.prompt - window_) return out;
    // (-score, -position, head), so that ascending order is the order of choice.
    std::vector<std::tuple<double, int, int>> all;
    std::vector<NaiveRow> scores;
    for (int s = 0; s < sets(); ++s) {
      scores.push_back(pooled(s, window_));
      double total = 0;
      double own = 0;
      for (const auto& [p, score] : scores.back()) total += score;
      for (const int p : naive_best(scores.back(), naive_range(0, place_.prompt - window_), base))
        own += scores.back().at(p);
      const double weight = spec_.text("normalize") == "false" ? 1.0 : total > 0 ? own / total : 0.0;
      for (const auto& [p, score] : scores.back()) all.emplace_back(-(score * weight), -p, s);
    }
    std::sort(all.begin(), all.end());
    std::vector<int> count(static_cast<std::size_t>(sets()));
    for (int i = 0; i < base * sets(); ++i)
      ++count[static_cast<std::size_t>(std::get<2>(all[static_cast<std::size_t>(i)]))];
    const double floor = spec_.number("floor");
    for (std::size_t s = 0; s < count.size(); ++s) {
      const float exact =
          static_cast<float>(count[s] * (1.0 - floor)) + static_cast<float>(int(base * floor));
      const float below = std::floor(exact);
      const float rest = exact - below;
      const bool up = rest > 0.5F || (rest == 0.5F && std::fmod(below, 2.0F) == 1.0F);
      out[s] = with_window(scores[s], static_cast<int>(below) + (up ? 1 : 0));
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<NaiveLayer> naive_prompt_policy(const NaiveSpec& spec, const NaivePlace& place) {
  if (spec.name == "observed-attention") return std::make_unique<Observed>(spec, place);
  if (spec.name == "snapkv") return std::make_unique<Snap>(spec, place);
  if (spec.name == "ada-kv") return std::make_unique<Ada>(spec, place);
  return nullptr;
}

}  // namespace kvplan::attention
