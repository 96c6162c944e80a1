// Azure LLM inference traces: repository Azure/AzurePublicDataset, files AzureLLMInferenceDataset2023.md,
// ...2024.md and AzureLMMInferenceDataset2025.md. Three dialects of one table: seven fraction digits without
// a zone (2023), zero or six with `+00:00` (2024), `T...Z` with three and a column NumImages (2025).
#include "traces/import/importer.h"

namespace kvplan::traces::azure {
namespace {

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kCsv && sniff.has("TIMESTAMP") && sniff.has("ContextTokens") &&
         sniff.has("GeneratedTokens");
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"TIMESTAMP"}, TimeUnit::kIso, true};
  map.at(Role::kInput) = {{"ContextTokens"}, {}, true};
  map.at(Role::kOutput) = {{"GeneratedTokens"}, {}, true};
  return open_csv_table(std::move(inputs), std::move(map), "azure");
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "azure",
                       .summary = "Azure LLM inference traces of 2023, 2024 and 2025 (CSV)",
                       .source = "github.com/Azure/AzurePublicDataset",
                       .recognises = recognises,
                       .open = open};

}  // namespace kvplan::traces::azure
