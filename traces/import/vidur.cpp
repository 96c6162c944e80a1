// Vidur, Sarathi and etalon: repository microsoft/vidur, data/processed_traces/ and
// vidur/request_generator/trace_replay_request_generator.py. Seconds from the first request; Azure's Splitwise traces
// are also distributed in this form.
#include "traces/import/importer.h"

namespace kvplan::traces::vidur {
namespace {

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kCsv && sniff.has("arrived_at") && sniff.has("num_prefill_tokens") &&
         sniff.has("num_decode_tokens");
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"arrived_at"}, TimeUnit::kSeconds, true};
  map.at(Role::kInput) = {{"num_prefill_tokens"}, {}, true};
  map.at(Role::kOutput) = {{"num_decode_tokens"}, {}, true};
  return open_csv_table(std::move(inputs), std::move(map), "vidur");
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "vidur",
                       .summary = "Arrivals and lengths, as in Vidur, Sarathi and etalon (CSV)",
                       .source = "github.com/microsoft/vidur",
                       .recognises = recognises,
                       .open = open};

}  // namespace kvplan::traces::vidur
