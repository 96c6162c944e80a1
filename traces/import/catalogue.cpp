// The list of importers. A new format is one line here, sorted by name.
#include <array>

#include "traces/import/importer.h"

#define KVPLAN_IMPORTERS(APPLY) \
  APPLY(kAzure)                 \
  APPLY(kBailian)               \
  APPLY(kBurstgpt)              \
  APPLY(kClaudeCode)            \
  APPLY(kCsv)                   \
  APPLY(kDynamo)                \
  APPLY(kJsonl)                 \
  APPLY(kKvplanCsv)             \
  APPLY(kKvplanJsonl)           \
  APPLY(kLengths)               \
  APPLY(kMooncake)              \
  APPLY(kOtel)                  \
  APPLY(kServegen)              \
  APPLY(kSharegpt)              \
  APPLY(kVidur)                 \
  APPLY(kVllmBench)

namespace kvplan::traces {

#define KVPLAN_DECLARE_IMPORTER(name) extern const Importer name;
#define KVPLAN_IMPORTER_ADDRESS(name) &name,
KVPLAN_IMPORTERS(KVPLAN_DECLARE_IMPORTER)

std::span<const Importer* const> importers() {
  static constexpr const Importer* kAll[]{KVPLAN_IMPORTERS(KVPLAN_IMPORTER_ADDRESS)};
  return kAll;
}

}  // namespace kvplan::traces
