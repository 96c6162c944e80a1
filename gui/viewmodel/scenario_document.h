// The scenario that the window edits: the settings that a user gave, and the scenario they resolve to.
//
// An edit is taken only if the settings resolve; otherwise nothing changes and the error says what is wrong
// where. Each edit is a step on the undo stack; edits with the same `merge` key that follow each other (the
// values of one drag) are one step. Settings are kept one per path, components as a whole with the parameters
// that were given, in the order of plan::scenario_fields(); so two ways to the same scenario give the same
// settings.
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

  [[nodiscard]] const std::vector<plan::Setting>& settings() const { return settings_; }
  [[nodiscard]] const plan::Scenario& scenario() const { return scenario_; }
  [[nodiscard]] QUndoStack& undo_stack() { return undo_; }

  /// Another scenario: the undo stack begins anew.
  Status load(std::span<const plan::Setting> settings);
  /// Gives `path` (a field, or COMPONENT.parameter) the value `text`. A component's name alone drops its
  /// parameters; where the new component has parameters without default they get a first value. A size of the
  /// pool takes the place of the other sizes. `merge`: 0 = a step of its own.
  Status set(std::string_view path, std::string_view text, int merge = 0);
  /// Undoes the newest step if it is of this `merge`: a movement that was given up.
  void take_back(int merge);
  /// Back to the default.
  Status reset(std::string_view path);
  /// Did somebody give `path` (a field, or COMPONENT.parameter)? A scenario file may name defaults as such.
  [[nodiscard]] bool is_given(std::string_view path) const;

 Q_SIGNALS:
  /// The scenario is another one. `discrete`: by a single change, not in the middle of a drag.
  void changed(bool discrete);

 private:
  class Step;
  Status push(std::vector<plan::Setting> next, std::string_view path, int merge);
  void apply(const std::vector<plan::Setting>& settings, bool discrete);

  std::vector<plan::Setting> settings_;
  plan::Scenario scenario_;
  QUndoStack undo_;
};

/// The command that runs the same scenario: `kvplan run TRACE --set PATH=VALUE ...`, quoted for a POSIX
/// shell.
std::string command_line(const std::vector<plan::Setting>& settings);

}  // namespace kvplan::gui
