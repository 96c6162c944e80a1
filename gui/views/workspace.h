// The data that the views of one window share: the edited scenario and those kept for comparison, the selection,
// documents, and work that runs outside the window's thread. Views request changes by signals.
#pragma once

#include <QObject>
#include <QPointer>
#include <map>
#include <vector>

#include "gui/viewmodel/selection_model.h"
#include "gui/worker/inspection.h"
#include "gui/worker/simulation_worker.h"

namespace kvplan::gui {

/// A scenario and its result.
struct Slot {
  QString name;
  std::vector<runs::Setting> settings;
  ResultPtr result;  ///< null before the first one
};

class Workspace final : public QObject {
  Q_OBJECT

 public:
  explicit Workspace(QObject* parent = nullptr);

  [[nodiscard]] SelectionModel& selection() { return selection_; }
  [[nodiscard]] const runs::Selection& selected() const { return selection_.get(); }

  /// The scenario that the window edits first, then the kept ones.
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  [[nodiscard]] const Slot& edited() const { return slots_.front(); }
  void set_edited(Slot slot);
  /// True: the picture of the edited scenario is older than the scenario itself.
  void set_stale(bool stale);
  [[nodiscard]] bool stale() const { return stale_; }
  /// Keeps a scenario for comparison with the edited one. False: there is no room, or it has no result.
  bool keep(Slot slot);
  [[nodiscard]] bool has_room() const { return slots_.size() < runs::kMostSlots; }
  void drop_kept(std::size_t slot);
  void drop_all_kept();

  /// Replaces the last document of the same view.
  void set_document(const DocumentPtr& document);
  /// The document of a view; null if none is open.
  [[nodiscard]] DocumentPtr document(const std::string& view) const;

  /// The inspection of a result. Null: it is being computed, and the signal `inspected` follows; or it failed.
  InspectionPtr inspection(const ResultPtr& result);
  /// Runs work on another thread, one piece at a time, in order. `done` is called on the window's thread, unless
  /// `context` is gone by then. `wanted` (may be empty) is called first; if it returns false, nothing else is called.
  template <class Value>
  void compute(QObject* context, std::function<Value(core::RunControl&, runs::Inputs&)> work,
               std::function<void(Value)> done, std::function<bool()> wanted = {});
  /// True: nothing is being computed.
  [[nodiscard]] bool idle() const { return !running_ && waiting_.empty(); }

 Q_SIGNALS:
  /// A slot has changed, or its result, or whether it is stale.
  void slots_changed();
  void documents_changed();
  void inspected();
  /// All work is done.
  void became_idle();
  /// A view cannot show what was requested.
  void problem(const QString& text);
  /// Requests of views: show another view; edit this scenario.
  void view_asked(const QString& view);
  void scenario_asked(const std::vector<kvplan::runs::Setting>& settings);

 private:
  struct Waiting {
    SimulationWorker::Task task;
    std::function<bool()> wanted;
  };
  void add(Waiting waiting);
  [[nodiscard]] bool shows(const ResultPtr& result) const;
  void next();

  SelectionModel selection_;
  std::vector<Slot> slots_{1};
  bool stale_{false};
  std::map<std::string, DocumentPtr> documents_;
  struct Inspected {
    ResultPtr result;
    InspectionPtr inspection;  // null: it is being computed, or it failed
  };
  std::vector<Inspected> inspections_;
  std::vector<Waiting> waiting_;
  bool running_{false};
  SimulationWorker helper_;  // last: its thread ends before the members above
};

template <class Value>
void Workspace::compute(QObject* context, std::function<Value(core::RunControl&, runs::Inputs&)> work,
                        std::function<void(Value)> done, std::function<bool()> wanted) {
  SimulationWorker::Task task = [guard = QPointer<QObject>(context), work = std::move(work),
                                 done = std::move(done)](core::RunControl& control,
                                                         runs::Inputs& inputs) -> SimulationWorker::Answer {
    auto value = std::make_shared<Value>(work(control, inputs));
    return [guard, done, value] {
      if (guard) done(std::move(*value));
    };
  };
  add({std::move(task), std::move(wanted)});
}

}  // namespace kvplan::gui
