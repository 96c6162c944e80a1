#include "simulator/sweep/database_text.h"

#include "simulator/base/utf8.h"
#include "simulator/report/number_text.h"
#include "simulator/sweep/database.h"
#include "simulator/sweep/saturated.h"

namespace kvplan::sweep {

Result<std::string> database_text(Database& database) {
  const Head& head = database.head();
  KVPLAN_TRY(const std::int64_t done, database.done());
  KVPLAN_TRY(const std::int64_t failed, database.failed());
  const bool whole = head.shard.count == 1;
  std::string text = printable(database.path()) + ": " + report::grouped(done) + " of " +
                     report::grouped(head.share) + " cases";
  if (!whole) text += " of shard " + head.shard.text();
  text += failed == 0 ? "" : ", " + report::grouped(failed) + " of them failed";
  if (!head.chosen.empty()) text += "; " + printable(head.chosen);
  text += "\n";
  for (const runs::Vary& vary : head.varies) {
    text += "  " + printable(vary.path) + ": " + printable(vary.values.front());
    if (vary.values.size() > 2)
      text += ", ... (" + report::grouped(static_cast<std::int64_t>(vary.values.size()));
    if (vary.values.size() > 2) text += " values)";
    if (vary.values.size() > 1) text += ", " + printable(vary.values.back());
    text += "\n";
  }
  KVPLAN_TRY(const std::int64_t saturated, saturated_cases(database));
  if (saturated > 0)
    text += "In " + report::grouped(saturated) +
            " of them requests arrive faster than they are served, and waiting times grow with the length of "
            "the trace (saturation.saturated is 1). Means, Pareto fronts and heat maps of latencies leave "
            "these cases out.\n";
  if (failed > 0 && failed == done) {
    // All cases are likely to have failed for one reason, so the first one is shown.
    KVPLAN_TRY_DO(database.query("SELECT error FROM cases ORDER BY \"case\" LIMIT 1", [&](const auto& row) {
      if (const auto* const error = std::get_if<std::string>(&row.front()))
        text += "No case could run. The error of the first case: " + printable(*error) + "\n";
    }));
  }
  return text;
}

}  // namespace kvplan::sweep
