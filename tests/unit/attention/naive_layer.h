// A second implementation of policies that decide per layer, directly from their definitions: sets and maps, all inputs
// of a decision computed anew. Shares no code with simulator/attention.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/naive_sets.h"

namespace kvplan::attention {

/// `NAME:key=value,...` with every parameter written out.
struct NaiveSpec {
  std::string name;
  std::map<std::string, std::string> given;

  [[nodiscard]] const std::string& text(const std::string& key) const { return given.at(key); }
  [[nodiscard]] int whole(const std::string& key) const { return std::stoi(given.at(key)); }
  [[nodiscard]] double number(const std::string& key) const { return std::stod(given.at(key)); }
};
NaiveSpec naive_spec(const std::string& text);

/// The layer and position of a naive policy.
struct NaivePlace {
  int query_heads;
  int group;
  int prompt;
  bool max;  ///< combine the rows of a group by their maximum
  const Rows* rows;
};

using NaiveSets = std::vector<std::set<int>>;  ///< [KV head]

class NaiveLayer {
 public:
  explicit NaiveLayer(const NaivePlace& place) : place_(place) {}
  virtual ~NaiveLayer() = default;
  /// Tokens dropped before token t arrives.
  virtual std::set<int> room(int /*set*/, const std::set<int>& /*kept*/, int /*t*/) { return {}; }
  /// Tokens that the next query sees in addition to itself.
  virtual std::set<int> shown(int /*set*/, const std::set<int>& kept) { return kept; }
  /// The recorded rows of a set's heads at token t, over the tokens that it sees.
  virtual void see(int /*set*/, int /*t*/, const std::vector<NaiveRow>& /*heads*/) {}
  /// The kept tokens after token t, which is the prompt's last or later.
  virtual NaiveSets stay(int t, const NaiveSets& kept) = 0;

 protected:
  /// One row for a set: each head's row divided by its sum (unless raw), then mean or maximum.
  [[nodiscard]] NaiveRow reduce(const std::vector<NaiveRow>& heads, bool raw = false) const;
  [[nodiscard]] int sets() const { return place_.query_heads / place_.group; }

  NaivePlace place_;
};

/// Returns null if the name is not one of these policies.
std::unique_ptr<NaiveLayer> naive_prompt_policy(const NaiveSpec& spec, const NaivePlace& place);
std::unique_ptr<NaiveLayer> naive_decode_policy(const NaiveSpec& spec, const NaivePlace& place);
std::unique_ptr<NaiveLayer> naive_late_policy(const NaiveSpec& spec, const NaivePlace& place);
std::unique_ptr<NaiveLayer> naive_budget_policy(const NaiveSpec& spec, const NaivePlace& place);

/// Sets and masses in the form of run_policy (no errors, no summary).
Outcome run_naive_layer(const Rows& rows, const NaiveSpec& spec, int prompt);

}  // namespace kvplan::attention
