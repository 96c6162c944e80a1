#include "simulator/io/report_result.h"

#include <algorithm>

#include "proto/report.pb.h"
#include "simulator/base/number_input.h"
#include "simulator/io/report_body.h"
#include "simulator/io/report_numbers.h"
#include "simulator/io/report_timeline.h"
#include "simulator/io/scenario_message.h"

namespace kvplan::io {
namespace {

using RowPlaces = std::array<std::size_t, observe::kTimelineRows>;

/// Reads where each value was given: the scenario alone does not contain that.
Status read_sources(const v1::Report& message, runs::Scenario& scenario) {
  for (const v1::ReportSource& each : message.scenario_sources()) {
    const auto from = runs::from_named(each.from());
    if (!from || *from == runs::Source::From::kDefault)
      return not_expected("file, option, given or derived", each.from()).at_field("scenario_sources");
    if (!runs::set_source(scenario, each.path(), {*from, each.name(), each.line()}))
      return not_expected("a scenario value, of the same kind as its origin", each.path())
          .at_field("scenario_sources");
  }
  return Done{};
}

Result<ReportedRun> run_of(const v1::Report& message) {
  ReportedRun out;
  KVPLAN_TRY(out.settings, settings_of(message.scenario()));
  KVPLAN_TRY(out.run.scenario, runs::resolve(out.settings));
  KVPLAN_TRY_DO(read_sources(message, out.run.scenario));
  KVPLAN_TRY_DO(read_numbers(message, out.run));
  return out;
}

/// The position of each of this version's rows in the file.
Result<RowPlaces> places_of(const std::vector<std::string>& names) {
  RowPlaces places{};
  for (std::size_t row = 0; row < places.size(); ++row) {
    const auto at = std::find(names.begin(), names.end(), runs::timeline_row_name(row));
    if (at == names.end())
      return bad_input("expected a row \"" + std::string(runs::timeline_row_name(row)) +
                       "\" in the timeline");
    places[row] = static_cast<std::size_t>(at - names.begin());
  }
  return places;
}

Result<runs::BinNumbers> numbers_of(const NamedBin& from, const RowPlaces& places, std::int64_t capacity) {
  runs::BinNumbers to;
  to.begin_ns = from.begin_ns;
  to.end_ns = from.end_ns;
  if (to.begin_ns < 0 || to.end_ns > kMostReportedNs) return bad_input("expected times from 0 to 2^52 ns");
  for (std::size_t row = 0; row < places.size(); ++row) {
    to.mean[row] = from.mean[places[row]];
    to.least[row] = from.least[places[row]];
    to.greatest[row] = from.greatest[places[row]];
    const std::int64_t most = row < observe::kStates ? capacity : INT32_MAX;
    const double slack = 1e-9 * static_cast<double>(to.greatest[row]);  // means are rounded
    const bool in_order = 0 <= to.least[row] && to.least[row] <= to.greatest[row] &&
                          to.greatest[row] <= most &&
                          to.mean[row] >= static_cast<double>(to.least[row]) - slack &&
                          to.mean[row] <= static_cast<double>(to.greatest[row]) + slack;
    // A bin without length has no mean.
    if (!in_order && to.begin_ns < to.end_ns)
      return bad_input("expected 0 <= min <= mean <= max <= " + std::to_string(most) + " in row \"" +
                       std::string(runs::timeline_row_name(row)) + "\" for the bin at " +
                       std::to_string(to.begin_ns) + " ns");
  }
  return to;
}

}  // namespace

Result<ReportedRun> read_reported_run(traces::Input& input, const BinVisitor& visit) {
  const auto placed = [&](Error error) { return std::move(error).at_file(input.path()); };
  if (!is_binary_report(input)) {
    KVPLAN_TRY(const v1::Report message, read_json_report(input));
    auto out = run_of(message);
    return out.ok() ? std::move(out) : placed(out.error());
  }
  DocumentReader reader(input);
  KVPLAN_TRY(const v1::Report message, read_report_body(reader));
  auto out = run_of(message);
  if (!out.ok()) return placed(out.error());
  TimelineBins bins;
  std::optional<RowPlaces> places;
  std::int64_t replica = -1;
  KVPLAN_TRY_DO(
      each_timeline_chunk(reader, [&](const auto& /*frame*/, const v1::TimelineChunk& chunk) -> Status {
        Status told = bins.add(chunk, [&](const NamedBin& bin) -> Status {
          if (!places) {
            KVPLAN_TRY(places, places_of(bins.names()));
          }
          if (bin.replica != replica && bin.begin_ns != 0) return bad_input("expected the first bin at 0 ns");
          replica = bin.replica;
          KVPLAN_TRY(const runs::BinNumbers numbers,
                     numbers_of(bin, *places, out.value().run.capacity_bytes));
          return visit(bin.replica, numbers);
        });
        if (told.ok() || told.error().kind != ErrorKind::kBadInput) return told;
        return reader.wrong(told.error().message);
      }));
  return out;
}

}  // namespace kvplan::io
