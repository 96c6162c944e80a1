#include "gui/worker/open_files.h"

#include <algorithm>
#include <filesystem>

#include "gui/viewmodel/reported_timeline.h"
#include "simulator/io/report_file.h"
#include "simulator/io/report_result.h"
#include "simulator/io/scenario_file.h"
#include "traces/import/open_trace.h"
#include "traces/io/input.h"
#include "traces/record/stoppable_stream.h"

namespace kvplan::gui {
namespace {

enum class FileKind : std::uint8_t { kTrace, kScenario, kReport, kDocument };

/// A file by its first bytes; a document is read at once, into `opened`.
Result<FileKind> kind_of(const std::string& path, const DocumentReader& documents, Opened& opened) {
  KVPLAN_TRY(const auto file, traces::Input::open(path));
  const std::string_view head = file->peek(4096);
  if (documents) {
    if (auto read = documents(head, path)) {
      KVPLAN_TRY(DocumentPtr document, std::move(*read));
      opened.documents.push_back(std::move(document));
      return FileKind::kDocument;
    }
  }
  const FileKind kind = io::looks_like_report(head) || io::is_named(path, ".kvr") ? FileKind::kReport
                        : io::looks_like_scenario(head)                           ? FileKind::kScenario
                                                                                  : FileKind::kTrace;
  if (file->failed()) return file->error();
  return kind;
}

/// Opens a file so that reading it counts, and ends when `control` wants to stop.
Result<std::unique_ptr<traces::Input>> open_counted(const std::string& path, const core::RunControl& control,
                                                    ReadProgress& progress) {
  std::error_code error;
  const auto size =
      std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
  progress.bytes = 0;
  progress.total = error ? 0 : static_cast<std::int64_t>(size);
  return traces::Input::open(path, [&](std::size_t bytes) -> Status {
    progress.bytes += static_cast<std::int64_t>(bytes);
    if (control.wants_stop()) return interrupted_error();
    return Done{};
  });
}

/// Settings and view of a scenario or session. REQUIRES: it can be read as a scenario, so it is small.
Status read_session(const std::string& path, Opened& opened) {
  KVPLAN_TRY(opened.settings, io::read_scenario(path));
  KVPLAN_TRY(const auto file, traces::Input::open(path));
  KVPLAN_TRY(opened.view, view_of(file->take(std::size_t{1} << 20), path));
  opened.scenario_file = path;
  return Done{};
}

Status read_report(const std::string& path, const core::RunControl& control, ReadProgress& progress,
                   Opened& opened) {
  KVPLAN_TRY(const auto file, open_counted(path, control, progress));
  ReportedTimeline bins;
  KVPLAN_TRY(io::ReportedRun reported,
             io::read_reported_run(*file, [&](std::int64_t replica, const runs::BinNumbers& bin) {
               return bins.add(replica, bin);
             }));
  auto columns = bins.take();
  if (!columns.ok()) return std::move(columns).error().at_file(path);
  auto report = std::make_shared<LoadedReport>();
  report->path = path;
  report->timeline = TimelineData::from(std::move(columns).value(), reported.run.capacity_bytes);
  report->run = std::move(reported.run);
  opened.settings = std::move(reported.settings);
  opened.report = std::move(report);
  return Done{};
}

}  // namespace

Result<TracePtr> read_trace(const std::string& path, const traces::ImportOptions& import,
                            const core::RunControl& control, ReadProgress& progress) {
  traces::Inputs inputs;
  KVPLAN_TRY(inputs.first, open_counted(path, control, progress));
  KVPLAN_TRY(const std::unique_ptr<traces::TraceStream> stream,
             traces::open_stream(std::move(inputs), import));
  traces::StoppableStream stoppable(*stream, [&control] { return control.wants_stop(); });
  KVPLAN_TRY(traces::Trace trace, traces::collect(stoppable));
  return TracePtr(std::make_shared<LoadedTrace>(LoadedTrace{path, import, std::move(trace)}));
}

namespace {

void use_trace(std::vector<runs::Setting>& settings, const std::string& path) {
  if (path.empty()) return;
  std::erase_if(settings, [](const runs::Setting& s) { return s.path == "workload.trace"; });
  settings.insert(settings.begin(), {"workload.trace", path, {}, 0});
}

/// The trace that settings name; `known` if it is that one.
Result<TracePtr> trace_of(const std::vector<runs::Setting>& settings, const std::string& file,
                          const TracePtr& known, const core::RunControl& control, ReadProgress& progress) {
  KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(settings));
  if (scenario.trace.empty())
    return bad_input("names no trace: open it together with a trace")
        .at_file(file)
        .at_field("workload.trace");
  if (known && known->path == scenario.trace && known->import == scenario.import) return known;
  return read_trace(scenario.trace, scenario.import, control, progress);
}

}  // namespace

Result<Opened> open_files(const std::vector<std::string>& paths, std::vector<runs::Setting> current,
                          const DocumentReader& documents, const core::RunControl& control,
                          ReadProgress& progress) {
  Opened opened;
  opened.settings = std::move(current);
  for (const std::string& path : paths) {
    KVPLAN_TRY(const FileKind kind, kind_of(path, documents, opened));
    if (kind == FileKind::kDocument) continue;
    if (kind == FileKind::kReport && paths.size() > 1)
      return bad_input("is the report of a finished run: open it alone").at_file(path);
    if (kind == FileKind::kReport) {
      KVPLAN_TRY_DO(read_report(path, control, progress, opened));
      return opened;
    }
    if (kind == FileKind::kScenario) {
      if (!opened.scenario_file.empty()) opened.others.push_back({opened.settings, nullptr});
      if (opened.others.size() == runs::kMostSlots)
        return bad_input("at most " + std::to_string(runs::kMostSlots) + " scenarios are compared at once")
            .at_file(path);
      KVPLAN_TRY_DO(read_session(path, opened));
    } else {
      opened.trace_file = path;
    }
  }
  const bool documents_alone =
      !opened.documents.empty() && opened.trace_file.empty() && opened.scenario_file.empty();
  if (documents_alone) return opened;
  const std::string file = paths.empty() ? std::string() : paths.back();
  use_trace(opened.settings, opened.trace_file);
  KVPLAN_TRY(opened.trace, trace_of(opened.settings, file, nullptr, control, progress));
  for (OpenedScenario& other : opened.others) {
    use_trace(other.settings, opened.trace_file);
    KVPLAN_TRY(other.trace, trace_of(other.settings, file, opened.trace, control, progress));
  }
  return opened;
}

}  // namespace kvplan::gui
