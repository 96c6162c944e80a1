#include "gui/views/workspace.h"

#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::gui {

Workspace::Workspace(QObject* parent) : QObject(parent) {
  connect(&helper_, &SimulationWorker::failed, this, [this](quint64, const Error& error) {
    running_ = false;
    Q_EMIT problem(to_qstring(error.to_string()));
    next();
  });
}

bool Workspace::shows(const ResultPtr& result) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.result == result; });
}

void Workspace::set_edited(Slot slot) {
  slots_.front() = std::move(slot);
  std::erase_if(inspections_, [this](const Inspected& entry) { return !shows(entry.result); });
  Q_EMIT slots_changed();
}

void Workspace::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  Q_EMIT slots_changed();
}

bool Workspace::keep(Slot slot) {
  if (!has_room() || !slot.result) return false;
  slots_.push_back(std::move(slot));
  Q_EMIT slots_changed();
  return true;
}

void Workspace::drop_kept(std::size_t slot) {
  if (slot == 0 || slot >= slots_.size()) return;
  slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(slot));
  Q_EMIT slots_changed();
}

void Workspace::drop_all_kept() {
  slots_.resize(1);
  Q_EMIT slots_changed();
}

void Workspace::set_document(const DocumentPtr& document) {
  documents_[document->view] = document;
  Q_EMIT documents_changed();
}

DocumentPtr Workspace::document(const std::string& view) const {
  const auto at = documents_.find(view);
  return at == documents_.end() ? nullptr : at->second;
}

InspectionPtr Workspace::inspection(const ResultPtr& result) {
  if (!result || !result->trace) return nullptr;
  for (const Inspected& entry : inspections_)
    if (entry.result == result) return entry.inspection;
  inspections_.push_back({result, nullptr});
  using Found = Result<InspectionPtr>;
  compute<Found>(
      this,
      [result](core::RunControl& control, runs::Inputs& inputs) -> Found {
        inputs.keep_only(runs::files_of(result->run.scenario));
        return inspect(result->run.scenario, result->trace->trace, inputs.openers(), control);
      },
      [this, result](const Found& found) {
        if (!found.ok()) return Q_EMIT problem(to_qstring(found.error().to_string()));
        for (Inspected& entry : inspections_)
          if (entry.result == result) entry.inspection = found.value();
        Q_EMIT inspected();
      },
      [this, result] { return shows(result); });
  return nullptr;
}

void Workspace::add(Waiting waiting) {
  waiting_.push_back(std::move(waiting));
  if (!running_) next();
}

void Workspace::next() {
  std::erase_if(waiting_, [](const Waiting& each) { return each.wanted && !each.wanted(); });
  if (waiting_.empty()) return Q_EMIT became_idle();
  running_ = true;
  SimulationWorker::Task task = std::move(waiting_.front().task);
  waiting_.erase(waiting_.begin());
  helper_.perform_task([this, task = std::move(task)](core::RunControl& control,
                                                      runs::Inputs& inputs) -> SimulationWorker::Answer {
    return [this, answer = task(control, inputs)] {
      answer();
      running_ = false;
      next();
    };
  });
}

}  // namespace kvplan::gui
