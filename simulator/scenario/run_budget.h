// The budget of each layer of a run's model. `budget` of a scenario names a member of the family "budget"; the tokens
// that it grants each layer (or KV head) of a prompt replace the number of tokens in `eviction` (attention/budgeted.h).
// A prompt is all that an admission computes before it samples: longer after a preemption.
//
// A layer that is granted fewer tokens than the policy protects keeps the protected tokens (`kvplan evict` reports an
// error): requests of a trace have all lengths, and a share of a short prompt is less than any window.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/policy.h"
#include "simulator/model/model_shape.h"

namespace kvplan::runs {

/// Reads scores of heads from a file, or from the value itself; called from any thread.
using ScoresOpener = std::function<Result<attention::HeadTable>(const std::string& file_or_text)>;

/// The values of `budget`: none, or a member of the family.
Catalogue run_budgets();
/// False for `none`.
bool is_budget(const Choice& choice);

class RunBudget {
 public:
  /// Makes the budget of `policy`, which must have a number of tokens, for a model. Errors (the field begins with
  /// "budget"): scores that cannot be read, errors of the scheme for such a model, budgets by head that do not fit the
  /// policy or the model's number of heads. REQUIRES: is_budget(choice).
  static Result<RunBudget> make(const Choice& choice, const attention::PolicyChoice& policy,
                                const model::ModelShape& model, const ScoresOpener& open);

  [[nodiscard]] const Choice& choice() const { return choice_; }
  /// True: its scores are measured from the prompt's attention, so requests must be driven by recordings.
  [[nodiscard]] bool measured() const { return attention::measures_scores(choice_); }
  [[nodiscard]] bool by_head() const { return by_head_; }
  /// The least number of tokens that any layer or head is granted.
  [[nodiscard]] std::int64_t least() const { return least_; }
  /// The scores of a prompt. REQUIRES: measured().
  [[nodiscard]] Result<attention::HeadTable> measure(const attention::Recording& recording,
                                                     std::int32_t sequence, std::int64_t prompt) const;
  /// Grants for each layer of the model. `measured`: the result of `measure`; ignored if nothing is measured.
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

}  // namespace kvplan::runs
