#include "gui/worker/open_files.h"

#include <algorithm>

#include "simulator/io/scenario_file.h"
#include "traces/import/open_trace.h"
#include "traces/io/input.h"
#include "traces/record/trace_stream.h"

namespace kvplan::gui {
namespace {

/// Passes pieces on until somebody wants to stop.
class StoppableStream final : public traces::TraceStream {
 public:
  StoppableStream(traces::TraceStream& inner, const core::RunControl& control)
      : inner_(inner), control_(control) {}
  Result<bool> next(traces::Trace& piece) override {
    if (control_.wants_stop()) return interrupted_error();
    return inner_.next(piece);
  }
  [[nodiscard]] const traces::StreamSummary& summary() const override { return inner_.summary(); }

 private:
  traces::TraceStream& inner_;
  const core::RunControl& control_;
};

Result<bool> is_scenario(const std::string& path) {
  KVPLAN_TRY(const auto file, traces::Input::open(path));
  const bool scenario = io::looks_like_scenario(file->peek(4096));
  if (file->failed()) return file->error();
  return scenario;
}

/// Settings and view of a scenario or session. REQUIRES: it can be read as a scenario, so it is small.
Status read_session(const std::string& path, Opened& opened) {
  KVPLAN_TRY(opened.settings, io::read_scenario(path));
  KVPLAN_TRY(const auto file, traces::Input::open(path));
  KVPLAN_TRY(opened.view, view_of(file->take(std::size_t{1} << 20), path));
  opened.scenario_file = path;
  return Done{};
}

}  // namespace

Result<TracePtr> read_trace(const std::string& path, const core::RunControl& control) {
  KVPLAN_TRY(const std::unique_ptr<traces::TraceStream> stream, traces::open_stream({path}));
  StoppableStream stoppable(*stream, control);
  KVPLAN_TRY(traces::Trace trace, traces::collect(stoppable));
  return TracePtr(std::make_shared<LoadedTrace>(LoadedTrace{path, std::move(trace)}));
}

Result<Opened> open_files(const std::vector<std::string>& paths, std::vector<plan::Setting> current,
                          const core::RunControl& control) {
  Opened opened;
  opened.settings = std::move(current);
  for (const std::string& path : paths) {
    KVPLAN_TRY(const bool scenario, is_scenario(path));
    if (scenario) {
      KVPLAN_TRY_DO(read_session(path, opened));
    } else {
      opened.trace_file = path;
    }
  }
  if (!opened.trace_file.empty()) {
    std::erase_if(opened.settings, [](const plan::Setting& s) { return s.path == "workload.trace"; });
    opened.settings.insert(opened.settings.begin(), {"workload.trace", opened.trace_file, {}, 0});
  }
  KVPLAN_TRY(const plan::Scenario scenario, plan::resolve(opened.settings));
  if (scenario.trace.empty())
    return bad_input("names no trace; open it together with one")
        .at_file(paths.empty() ? std::string() : paths.back())
        .at_field("workload.trace");
  KVPLAN_TRY(opened.trace, read_trace(scenario.trace, control));
  return opened;
}

}  // namespace kvplan::gui
