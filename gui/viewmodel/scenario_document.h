// The scenario that the window edits: the settings that the user gave, and the scenario to which they resolve.
//
// An edit is accepted only if the settings resolve; otherwise nothing changes and an error is returned. Each edit is a
// step on the undo stack; consecutive edits with the same `merge` key (the values of one drag) are one step. There is
// one setting per path, components as a whole with their given parameters, in the order of runs::scenario_fields().
// So two ways to the same scenario give the same settings.
#pragma once

#include <QObject>
#include <QUndoStack>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::gui {

class ScenarioDocument final : public QObject {
  Q_OBJECT

 public:
  explicit ScenarioDocument(QObject* parent = nullptr);

  [[nodiscard]] const std::vector<runs::Setting>& settings() const { return settings_; }
  [[nodiscard]] const runs::Scenario& scenario() const { return scenario_; }
  [[nodiscard]] QUndoStack& undo_stack() { return undo_; }

  /// Loads another scenario and clears the undo stack.
  Status load(std::span<const runs::Setting> settings);
  /// Gives `path` (a field, or COMPONENT.parameter) the value `text`. A component's name alone resets its parameters;
  /// parameters without default get an initial value. A pool size replaces the other pool sizes. `merge`: 0 = a
  /// separate undo step.
  Status set(std::string_view path, std::string_view text, int merge = 0);
  /// Takes all settings of another scenario, as one step.
  Status replace(std::span<const runs::Setting> settings);
  /// Undoes the newest step if it has this `merge`: the user cancelled a movement.
  void take_back(int merge);
  /// Resets to the default.
  Status reset(std::string_view path);
  /// True: `path` (a field, or COMPONENT.parameter) was given. A scenario file may mark values as defaults.
  [[nodiscard]] bool is_given(std::string_view path) const;

 Q_SIGNALS:
  /// The scenario changed. `discrete`: by a single change, not in the middle of a drag.
  void changed(bool discrete);

 private:
  class Step;
  Status push(std::vector<runs::Setting> next, std::string_view path, int merge);
  void apply(const std::vector<runs::Setting>& settings, bool discrete);

  std::vector<runs::Setting> settings_;
  runs::Scenario scenario_;
  QUndoStack undo_;
};

/// The command that runs the same scenario: `kvplan run TRACE --set PATH=VALUE ...`, quoted for a POSIX
/// shell.
std::string command_line(const std::vector<runs::Setting>& settings);

}  // namespace kvplan::gui
