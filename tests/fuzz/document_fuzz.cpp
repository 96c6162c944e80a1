// Hostile scenario and report files in binary form, and JSON reports. Checksums would reject nearly every mutation at
// once, so the first byte of the input is a choice: 0 = the rest is a file as it is; 1 and 2 = the messages of a
// scenario or a report (body, parts of the timeline), each after its length in two bytes, around which correct frames
// are built.
#include <algorithm>
#include <cstdlib>

#include "proto/document.pb.h"
#include "proto/report.pb.h"
#include "simulator/frame/frame.h"
#include "simulator/io/report_file.h"
#include "simulator/io/report_message.h"
#include "simulator/io/report_result.h"
#include "simulator/io/scenario_file.h"
#include "simulator/io/scenario_message.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace kvplan;

std::string framed(io::DocumentKind kind, std::string_view bytes) {
  v1::DocumentHeader header;
  header.set_version(io::kDocumentVersion);
  std::string out(io::document_magic(kind));
  out += frame::make(io::kHeadFrame, header.SerializeAsString());
  std::uint32_t count = 1;
  for (; bytes.size() >= 2; ++count) {
    std::size_t length = static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    length = std::min(length, bytes.size());
    out += frame::make(count == 1 ? io::kBodyFrame : io::kTimelineFrame, bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  v1::DocumentTail tail;
  tail.set_frames(count);
  return out + frame::make(io::kTailFrame, tail.SerializeAsString());
}

std::string with_length(const std::string& message) {
  return {static_cast<char>(message.size() & 255), static_cast<char>(message.size() >> 8)};
}

/// Input over bytes that must outlive it.
traces::Input input_of(const std::string& bytes) {
  auto source = traces::open_memory(bytes, "fuzz");
  if (!source.ok()) std::abort();
  return {std::move(source).value(), "fuzz"};
}

template <class T>
bool is_read(const Result<T>& result) {
  if (!result.ok() && result.error().to_string().find('\n') != std::string::npos) std::abort();
  return result.ok();
}

/// A scenario that can be resolved is written, and resolves to the same scenario again.
void read_scenario(const std::string& bytes) {
  traces::Input input = input_of(bytes);
  const auto settings = io::read_scenario(input);
  if (!is_read(settings)) return;
  const auto scenario = runs::resolve(settings.value());
  if (!is_read(scenario)) return;
  const auto written = [](const runs::Scenario& from) {
    std::string out;
    const Status done = io::write_scenario_binary(from, "-", [&](std::string_view more) -> Status {
      out += more;
      return Done{};
    });
    if (!done.ok()) std::abort();
    return out;
  };
  const std::string once = written(scenario.value());
  traces::Input again = input_of(once);
  const auto second = io::read_scenario(again);
  if (!second.ok()) std::abort();
  const auto resolved = runs::resolve(second.value());
  if (!resolved.ok() || written(resolved.value()) != once) std::abort();
}

/// The JSON of a report can be read as a report, and gives the same JSON again.
void read_report(const std::string& bytes, int more) {
  traces::Input input = input_of(bytes);
  const auto report = io::read_report(input);
  traces::Input for_timeline = input_of(bytes);
  const Status lines = io::copy_timeline_csv(for_timeline, [](std::string_view) -> Status { return Done{}; });
  if (report.ok() && report.value().timeline != lines.ok()) std::abort();
  traces::Input as_run = input_of(bytes);
  const auto run = io::read_reported_run(as_run, [](std::int64_t, const runs::BinNumbers& bin) -> Status {
    if (bin.begin_ns < 0 || bin.end_ns < bin.begin_ns) std::abort();
    return Done{};
  });
  if (is_read(run) && !report.ok()) std::abort();
  if (!is_read(report) || more == 0) return;
  std::string copy;
  traces::Input json = input_of(report.value().json);
  const Status copied = io::copy_report_binary(json, [&](std::string_view part) -> Status {
    copy += part;
    return Done{};
  });
  if (is_read(copied)) read_report(copy, more - 1);
}

v1::Report small_report() {
  v1::Report report;
  v1::Component& engine = *report.mutable_scenario()->mutable_engine();
  engine.set_name("vllm-v1");
  v1::Parameter& parameter = *engine.add_parameters();
  parameter.set_name("max_seqs");
  parameter.set_integer(3);
  report.mutable_scenario()->mutable_targets()->mutable_ttft_s()->set_digits("0.50");
  report.add_warnings("w");
  report.mutable_requests()->set_arrived(7);
  report.set_makespan_s(1.25);
  report.mutable_batch()->set_max_running(2);
  report.mutable_latency_s()->mutable_ttft()->set_p99(0.1);
  report.mutable_memory()->mutable_mean_bytes()->set_live(3);
  report.mutable_memory()->mutable_peak()->mutable_bytes()->set_free(INT64_MAX);
  report.add_replicas()->set_quanta(5);
  return report;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  const v1::Report report = small_report();
  v1::TimelineChunk chunk;
  chunk.add_length_ns(5);
  v1::TimelineRow& row = *chunk.add_rows();
  row.set_name("live");
  row.add_mean(1.5);
  row.add_least_step(1);
  row.add_greatest_step(2);
  const auto part = [](const std::string& message) { return with_length(message) + message; };
  const auto resolved = runs::resolve({});
  v1::Scenario scenario;
  if (!resolved.ok() || !io::fill_message(resolved.value(), scenario).ok()) std::abort();
  const std::string scenario_parts = part(scenario.SerializeAsString());
  const std::string report_parts = part(report.SerializeAsString()) + part(chunk.SerializeAsString());
  std::string file(1, '\0');
  return {"\x01" + scenario_parts, "\x02" + report_parts,
          file + framed(io::DocumentKind::kScenario, scenario_parts),
          file + framed(io::DocumentKind::kReport, report_parts), file + io::report_json(report).value()};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 1) {
    read_scenario(framed(io::DocumentKind::kScenario, rest));
  } else if (data[0] == 2) {
    read_report(framed(io::DocumentKind::kReport, rest), 2);
  } else {
    const std::string bytes(rest);
    io::looks_like_report(bytes) ? read_report(bytes, 2) : read_scenario(bytes);
  }
  return 0;
}
