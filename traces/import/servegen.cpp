// Requests generated from the client pools of ServeGen (repository alibaba/ServeGen): seconds, the client as tenant;
// output tokens include reasoning. The pools themselves are the input of a generator, not requests.
#include "traces/import/importer.h"

namespace kvplan::traces::servegen {
namespace {

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kCsv && sniff.has("arrival_s") && sniff.has("client_id") &&
         sniff.has("input_tokens") && sniff.has("output_tokens");
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"arrival_s"}, TimeUnit::kSeconds, true};
  map.at(Role::kInput) = {{"input_tokens"}, {}, true};
  map.at(Role::kOutput) = {{"output_tokens"}, {}, true};
  map.at(Role::kTenant) = {{"client_id"}, {}, false};
  return open_csv_table(std::move(inputs), std::move(map), "servegen");
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "servegen",
                       .summary = "Requests generated from ServeGen's client pools (CSV)",
                       .source = "github.com/alibaba/ServeGen",
                       .recognises = recognises,
                       .open = open};

}  // namespace kvplan::traces::servegen
