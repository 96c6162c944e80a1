// BurstGPT: repository HPMLL/BurstGPT, README.md. Seconds from midnight of the first day, so that the first row is
// not at 0. Releases with sessions add two columns; only conversations have a session. Failed requests, in files that
// have them, have no output tokens: they are kept and counted. The model becomes the tenant: it distinguishes the two
// services in the trace.
#include "traces/import/importer.h"

namespace kvplan::traces::burstgpt {
namespace {

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kCsv && sniff.has("Timestamp") && sniff.has("Model") &&
         sniff.has("Request tokens") && sniff.has("Response tokens");
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"Timestamp"}, TimeUnit::kSeconds, true};
  map.at(Role::kInput) = {{"Request tokens"}, {}, true};
  map.at(Role::kOutput) = {{"Response tokens"}, {}, true};
  map.at(Role::kSession) = {{"Session ID"}, {}, false};
  map.at(Role::kTenant) = {{"Model"}, {}, false};
  map.at(Role::kE2e) = {{"Elapsed time"}, TimeUnit::kSeconds, false};
  return open_csv_table(std::move(inputs), std::move(map), "burstgpt");
}

}  // namespace

extern const Importer kMember;
const Importer kMember{
    .name = "burstgpt",
    .summary = "BurstGPT: requests to ChatGPT and GPT-4, with sessions in later releases (CSV)",
    .source = "github.com/HPMLL/BurstGPT",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces::burstgpt
