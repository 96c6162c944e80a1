// Lengths without arrivals, as Vidur and etalon publish them: repository microsoft/vidur, data/processed_traces/, and
// project-etalon/etalon, data/processed_traces/. To serve them, give them an arrival process.
#include "traces/import/importer.h"

namespace kvplan::traces::lengths {
namespace {

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kCsv && !sniff.has("arrived_at") && sniff.has("num_prefill_tokens") &&
         sniff.has("num_decode_tokens");
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  ColumnMap map;
  map.at(Role::kInput) = {{"num_prefill_tokens"}, {}, true};
  map.at(Role::kOutput) = {{"num_decode_tokens"}, {}, true};
  return open_csv_table(std::move(inputs), std::move(map), "lengths");
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "lengths",
                       .summary = "Prompt and output lengths without arrivals, as in Vidur and etalon (CSV)",
                       .source = "github.com/microsoft/vidur",
                       .recognises = recognises,
                       .open = open};

}  // namespace kvplan::traces::lengths
