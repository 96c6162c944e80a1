// The ring, FINCH, FastGen and the pyramid's selection, written as their definitions are.
#include <cmath>
#include <sstream>

#include "tests/unit/attention/naive_layer.h"

namespace kvplan::attention {
namespace {

class Ring final : public NaiveLayer {
 public:
  Ring(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place), window_(spec.whole("window")), chunk_(spec.whole("chunk")) {}
  NaiveSets stay(int t, const NaiveSets& kept) override {
    NaiveSets out = kept;
    // The written tokens, in whole chunks from the first token on, and the waiting ones.
    std::set<int> written;
    std::set<int> waiting;
    for (int p = 0; p <= t; ++p) (p < t + 1 - (t + 1) % chunk_ ? written : waiting).insert(p);
    std::set<int> stays = naive_newest(written, window_);
    stays.merge(waiting);
    for (auto& set : out) set = naive_less(set, naive_less(set, stays));
    return out;
  }

 private:
  int window_;
  int chunk_;
};

class Question final : public NaiveLayer {
 public:
  Question(const NaiveSpec& spec, const NaivePlace& place) : NaiveLayer(place), spec_(spec) {}
  NaiveSets stay(int t, const NaiveSets& kept) override {
    if (t != place_.prompt - 1) return kept;
    NaiveSets out;
    const int prompt = place_.prompt;
    const int keep = std::max(1, static_cast<int>(prompt * (1.0 - spec_.number("ratio"))));
    const int first = std::max(0, prompt - spec_.whole("window"));
    for (int s = 0; s < sets(); ++s) {
      NaiveRow score;
      for (int p = 0; p < prompt; ++p) {
        if (p >= first) {
          score[p] = 1e9;
          continue;
        }
        for (int h = s * place_.group; h < (s + 1) * place_.group; ++h) {
          double sum = 0;
          for (int q = first; q < prompt; ++q)
            sum += (*place_.rows)[static_cast<std::size_t>(h)][static_cast<std::size_t>(q)]
                                 [static_cast<std::size_t>(p)] *
                   (q + 1);
          score[p] = place_.max ? std::max(score[p], sum) : score[p] + sum;
        }
      }
      out.push_back(naive_best(score, naive_range(0, prompt), keep));
    }
    return out;
  }

 private:
  NaiveSpec spec_;
};

class Chooser final : public NaiveLayer {
 public:
  Chooser(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place),
        spec_(spec),
        seen_(static_cast<std::size_t>(sets())),
        rule_(static_cast<std::size_t>(sets())) {
    std::istringstream list(spec.text("punctuation"));
    for (std::string position; std::getline(list, position, ';');)
      if (position != "none") marks_.insert(std::stoi(position));
  }
  void see(int set, int /*t*/, const std::vector<NaiveRow>& heads) override {
    seen_[static_cast<std::size_t>(set)].push_back(reduce(heads));
  }
  NaiveSets stay(int t, const NaiveSets& kept) override {
    NaiveSets out = kept;
    for (std::size_t s = 0; s < out.size(); ++s) {
      if (t == place_.prompt - 1) rule_[s] = choose(s);
      out[s] = keeps(s, kept[s], rule_[s]);
    }
    return out;
  }

 private:
  [[nodiscard]] int share(const std::string& name) const {
    return static_cast<int>(spec_.number(name) * place_.prompt);
  }
  /// Rules 0 to 4.
  std::set<int> keeps(std::size_t s, const std::set<int>& of, int rule) {
    if (rule == 4) return of;
    std::set<int> out;
    for (const int p : of)
      if (p < spec_.whole("special") || (rule >= 1 && p < place_.prompt && marks_.count(p) != 0))
        out.insert(p);
    const std::set<int> newest = rule >= 3 ? naive_newest(of, share("local")) : std::set<int>{};
    NaiveRow sum;
    for (const NaiveRow& row : seen_[s])
      for (const auto& [p, weight] : row) sum[p] += weight;
    if (rule >= 2) out.merge(naive_best(sum, naive_less(naive_less(of, out), newest), share("frequent")));
    for (const int p : newest) out.insert(p);
    return out;
  }
  int choose(std::size_t s) {
    const std::set<int> all = naive_range(0, place_.prompt);
    for (int rule = 0; rule < 4; ++rule) {
      const std::set<int> kept = keeps(s, all, std::min(rule, 2));
      double sum = 0;
      for (std::size_t t = 0; t < seen_[s].size(); ++t)
        for (const auto& [p, weight] : seen_[s][t])
          if (kept.count(p) != 0 || (rule == 3 && p > static_cast<int>(t) - share("local"))) sum += weight;
      if (sum / place_.prompt >= spec_.number("recovery")) return rule;
    }
    return 4;
  }

  NaiveSpec spec_;
  std::set<int> marks_;
  std::vector<std::vector<NaiveRow>> seen_;  ///< [set][row]
  std::vector<int> rule_;
};

class HalfAndHalf final : public NaiveLayer {
 public:
  HalfAndHalf(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place), spec_(spec), last_(static_cast<std::size_t>(sets())) {}
  void see(int set, int /*t*/, const std::vector<NaiveRow>& heads) override {
    last_[static_cast<std::size_t>(set)] = reduce(heads);
  }
  NaiveSets stay(int /*t*/, const NaiveSets& kept) override {
    NaiveSets out = kept;
    const int budget = spec_.whole("budget");
    for (std::size_t s = 0; s < out.size(); ++s) {
      if (static_cast<int>(out[s].size()) <= budget) continue;
      NaiveRow score = last_[s];
      if (spec_.text("importance") == "prefix") {
        double before = 0;
        for (auto& [p, weight] : score) {
          before += weight;
          weight = before > 0 ? weight / before : 0;
        }
      }
      const std::set<int> newest = naive_newest(out[s], budget / 2);
      std::set<int> best = naive_best(score, naive_less(out[s], newest), budget - budget / 2);
      best.insert(newest.begin(), newest.end());
      out[s] = best;
    }
    return out;
  }

 private:
  NaiveSpec spec_;
  std::vector<NaiveRow> last_;
};

class Changing final : public NaiveLayer {
 public:
  Changing(const NaiveSpec& spec, const NaivePlace& place)
      : NaiveLayer(place), spec_(spec), seen_(static_cast<std::size_t>(sets())), masses_(seen_.size()) {}
  void see(int set, int t, const std::vector<NaiveRow>& heads) override {
    seen_[static_cast<std::size_t>(set)].push_back(reduce(heads));
    if (t < place_.prompt) return;
    double mass = 0;
    for (const NaiveRow& row : heads)
      for (const auto& [p, weight] : row) mass += weight;
    masses_[static_cast<std::size_t>(set)].push_back(mass / static_cast<double>(heads.size()));
  }
  NaiveSets stay(int t, const NaiveSets& kept) override {
    NaiveSets out = kept;
    for (std::size_t s = 0; s < out.size(); ++s) {
      std::set<int> may = naive_less(naive_less(out[s], naive_newest(out[s], spec_.whole("recent"))),
                                     naive_range(0, spec_.whole("sink")));
      int limit = budget(s, t);
      if (spec_.text("adjusts") == "theta") {
        limit = spec_.whole("budget");
        const double least = theta(s, t);
        for (const int p : std::set<int>(may))
          if (importance(s, p) < least) may.erase(p), out[s].erase(p);
      }
      const int excess = static_cast<int>(out[s].size()) - limit;
      NaiveRow score;
      for (const int p : may) score[p] = importance(s, p);
      const int stays = static_cast<int>(may.size()) - std::max(0, excess);
      out[s] = naive_less(out[s], naive_less(may, naive_best(score, may, std::max(0, stays))));
    }
    return out;
  }

 private:
  int budget(std::size_t s, int t) const {
    if (spec_.text("by") == "phase") return t < place_.prompt ? spec_.whole("budget") : spec_.whole("later");
    if (spec_.text("by") == "length") {
      const double share = std::floor(spec_.number("share") * (t + 1));
      return static_cast<int>(
          std::min<double>(spec_.whole("most"), std::max<double>(spec_.whole("least"), share)));
    }
    double budget = spec_.whole("budget");
    for (const int look : looks(s)) {
      if (look < 0) budget = std::min<double>(spec_.whole("most"), std::ceil(1.25 * budget));
      if (look > 0) budget = std::max<double>(spec_.whole("least"), std::floor(0.9 * budget));
    }
    return static_cast<int>(budget);
  }
  double theta(std::size_t s, int t) const {
    double theta = spec_.number("theta");
    if (spec_.text("by") == "phase") return t < place_.prompt ? theta : spec_.number("theta_later");
    const auto bounded = [&](double x) {
      return std::max(spec_.number("theta_least"), std::min(spec_.number("theta_most"), x));
    };
    if (spec_.text("by") == "length") return bounded(theta * place_.prompt / (t + 1));
    theta = bounded(theta);
    for (const int look : looks(s))
      if (look != 0) theta = bounded(theta / (look < 0 ? 1.25 : 0.9));
    return theta;
  }
  /// For each check so far: the attention seen was less than wanted (-1), or more (1).
  std::vector<int> looks(std::size_t s) const {
    std::vector<int> out;
    double mean = 0;
    for (std::size_t step = 0; step < masses_[s].size(); ++step) {
      mean = step == 0 ? masses_[s][0] : 0.9 * mean + 0.1 * masses_[s][step];
      if ((step + 1) % static_cast<std::size_t>(spec_.whole("every")) == 0)
        out.push_back(mean < spec_.number("low") ? -1 : mean > spec_.number("high") ? 1 : 0);
    }
    return out;
  }
  double importance(std::size_t s, int p) const {
    double most = 0;
    double sum = 0;
    double count = 0;
    for (const NaiveRow& row : seen_[s]) {
      if (row.count(p) == 0) continue;
      most = std::max(most, row.at(p));
      const double gamma = spec_.text("importance") == "decay" ? spec_.number("gamma") : 1.0;
      sum = gamma * sum + row.at(p);
      count = gamma * count + 1;
    }
    return spec_.text("importance") == "max" ? most : sum / count;
  }
  NaiveSpec spec_;
  std::vector<std::vector<NaiveRow>> seen_;  ///< [set][row]
  std::vector<std::vector<double>> masses_;  ///< [set][decode step]
};

}  // namespace

std::unique_ptr<NaiveLayer> naive_late_policy(const NaiveSpec& spec, const NaivePlace& place) {
  if (spec.name == "seed-ring") return std::make_unique<Ring>(spec, place);
  if (spec.name == "finch") return std::make_unique<Question>(spec, place);
  if (spec.name == "fastgen") return std::make_unique<Chooser>(spec, place);
  if (spec.name == "seed-pyramid-select") return std::make_unique<HalfAndHalf>(spec, place);
  if (spec.name == "seed-dynamic") return std::make_unique<Changing>(spec, place);
  return nullptr;
}

}  // namespace kvplan::attention
