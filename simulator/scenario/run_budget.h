// What a budget gives the layers of a run's model: `budget` of a scenario names a member of the family "budget", and
// what that grants each layer (or KV head) of a prompt takes the place of the number of tokens that `eviction` says
// (attention/budgeted.h). A prompt is what an admission computes before it samples: after a preemption a longer one.
//
// A layer that is granted fewer tokens than the policy protects keeps those, where `kvplan evict` refuses: requests of
// a trace have all lengths, and a share of a short prompt is less than any window.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/policy.h"
#include "simulator/model/model_shape.h"

namespace kvplan::plan {

/// Reads scores of heads by their file, or out of the text itself; called from any thread.
using ScoresOpener = std::function<Result<attention::HeadTable>(const std::string& file_or_text)>;

/// What `budget` can name: none, or a member of the family.
Catalogue run_budgets();
/// False of `none`.
bool is_budget(const Choice& choice);

class RunBudget {
 public:
  /// For `policy`, which takes a number of tokens, on a model. Errors (the field begins with "budget"): scores that
  /// cannot be read, those of the scheme for such a model, heads with budgets of their own where the policy or the
  /// model's number of them does not fit. REQUIRES: is_budget(choice).
  static Result<RunBudget> make(const Choice& choice, const attention::PolicyChoice& policy,
                                const model::ModelShape& model, const ScoresOpener& open);

  [[nodiscard]] const Choice& choice() const { return choice_; }
  /// Its scores are those of the prompt's attention, so that requests have to be driven by recordings.
  [[nodiscard]] bool measured() const { return attention::measures_scores(choice_); }
  [[nodiscard]] bool by_head() const { return by_head_; }
  /// Tokens that every layer or head has at least.
  [[nodiscard]] std::int64_t least() const { return least_; }
  /// The scores of a prompt. REQUIRES: measured().
  [[nodiscard]] Result<attention::HeadTable> measure(const attention::Recording& recording,
                                                     std::int32_t sequence, std::int64_t prompt) const;
  /// Of each layer of the model. `measured`: what `measure` says, or anything where nothing is measured.
  [[nodiscard]] Result<attention::Grants> grants(std::int64_t prompt,
                                                 const attention::HeadTable& measured = {}) const;

 private:
  RunBudget(Choice choice, std::int64_t layers, std::int64_t least)
      : choice_(std::move(choice)), layers_(layers), least_(least) {}
  Choice choice_;
  std::int64_t layers_;
  std::int64_t least_;
  attention::HeadTable scores_;
  bool by_head_{false};
};

}  // namespace kvplan::plan
