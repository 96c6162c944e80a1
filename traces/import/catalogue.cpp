// The list of importers. A new format is one line here, sorted by name.
#include <array>

#include "traces/import/importer.h"

#define KVPLAN_IMPORTERS(APPLY) \
  APPLY(aiperf)                 \
  APPLY(aiperf_agentic)         \
  APPLY(azure)                  \
  APPLY(bailian)                \
  APPLY(burstgpt)               \
  APPLY(claude_code)            \
  APPLY(csv)                    \
  APPLY(dynamo)                 \
  APPLY(guidellm)               \
  APPLY(jsonl)                  \
  APPLY(kvplan_csv)             \
  APPLY(kvplan_jsonl)           \
  APPLY(lengths)                \
  APPLY(mooncake)               \
  APPLY(otel)                   \
  APPLY(servegen)               \
  APPLY(sharegpt)               \
  APPLY(vidur)                  \
  APPLY(vllm_bench)

namespace kvplan::traces {

#define KVPLAN_DECLARE_IMPORTER(name) \
  namespace name {                    \
  extern const Importer kMember;      \
  }
#define KVPLAN_IMPORTER_ADDRESS(name) &name::kMember,
KVPLAN_IMPORTERS(KVPLAN_DECLARE_IMPORTER)

std::span<const Importer* const> importers() {
  static constexpr const Importer* kAll[]{KVPLAN_IMPORTERS(KVPLAN_IMPORTER_ADDRESS)};
  return kAll;
}

}  // namespace kvplan::traces
