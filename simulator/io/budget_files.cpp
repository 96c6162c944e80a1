#include "simulator/io/budget_files.h"

#include <string>
#include <utility>
#include <vector>

#include "simulator/io/head_scores.h"

namespace kvplan::io {

Result<attention::Retained> retained_of(const Choice& budget, std::int64_t layers, std::int64_t prompt,
                                        const MeasuredOn& on) {
  const attention::BudgetKind& kind = attention::budget_of(budget);
  std::vector<std::vector<double>> scores;
  if (attention::measures_scores(budget)) {
    if (on.recording == nullptr)
      return bad_input(
                 "\"measured\" needs recorded attention, which this command does not have: expected a file "
                 "or lists of numbers")
          .at_field(std::string(budget.name()) + ":scores");
    KVPLAN_TRY(scores, kind.measure(*on.recording, on.sequence, prompt));
  } else if (kind.takes_scores) {
    auto read = read_head_scores(budget.text("scores"));
    if (!read.ok())
      return bad_input(read.error().to_string()).at_field(std::string(budget.name()) + ":scores");
    scores = std::move(read).value();
  }
  return kind.retained({.choice = budget, .layers = layers, .prompt = prompt, .scores = scores});
}

}  // namespace kvplan::io
