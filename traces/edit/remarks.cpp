#include "traces/edit/remarks.h"

#include <algorithm>

#include "traces/record/known_warnings.h"
#include "traces/record/oddities.h"

namespace kvplan::traces {
namespace {

bool is_said(const std::vector<std::string>& warnings, const std::string& sentence) {
  return std::find(warnings.begin(), warnings.end(), sentence) != warnings.end();
}

}  // namespace

std::vector<std::string> lasting_warnings(const Trace& trace) {
  std::vector<std::string> out;
  const auto counted = oddities_of(trace).sentences();
  for (const std::string& warning : trace.provenance.warnings)
    if (std::find(counted.begin(), counted.end(), warning) == counted.end()) out.push_back(warning);
  return out;
}

void renew_warnings(const Trace& original, Trace& edited) {
  const std::vector<std::string>& said = original.provenance.warnings;
  const auto before = oddities_of(original).sentences();
  const auto after = oddities_of(edited).sentences();
  std::vector<std::string> warnings;
  for (std::size_t kind = 0; kind < after.size(); ++kind) {
    const bool unsaid = !before[kind].empty() && !is_said(said, before[kind]);
    if (!after[kind].empty() && !unsaid) warnings.push_back(after[kind]);
  }
  for (std::string& warning : lasting_warnings(original)) {
    const bool marked = warning.compare(0, kOfTheOriginal.size(), kOfTheOriginal) == 0;
    warnings.push_back(marked ? std::move(warning) : std::string(kOfTheOriginal) + warning);
  }
  edited.provenance.warnings = std::move(warnings);
}

}  // namespace kvplan::traces
