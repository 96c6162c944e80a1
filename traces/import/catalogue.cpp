// The list of importers. A new format is one line here.
#include <array>

#include "traces/import/importer.h"

namespace kvplan::traces {

extern const Importer kAzure;
extern const Importer kCsv;
extern const Importer kJsonl;
extern const Importer kKvplanCsv;
extern const Importer kMooncake;

std::span<const Importer* const> importers() {
  static constexpr std::array<const Importer*, 5> kAll{&kAzure, &kCsv, &kJsonl, &kKvplanCsv, &kMooncake};
  return kAll;
}

}  // namespace kvplan::traces
