// The window: scenario at the left, timeline in the middle, sliders and numbers below.
//
// It holds the scenario document, the worker and the newest result, and connects them: an edit changes the document,
// the change starts a simulation job, its result becomes a picture. The old picture stays, greyed, until a newer one
// exists. The report of a finished run is a picture that nothing in the window changes.
#pragma once

#include <QMainWindow>
#include <QTimer>

#include "gui/view/language.h"
#include "gui/view/theme.h"
#include "gui/viewmodel/scenario_document.h"
#include "gui/views/workspace.h"
#include "gui/worker/simulation_worker.h"

class QDockWidget;
class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTabBar;
class QTableView;

namespace kvplan::gui {

class AnswerBar;
class HeadlinePanel;
class MessageBar;
class ScenarioPanel;
class SliderPanel;
class TimelineView;
class View;

class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  /// Reads files in the background; what is shown stays until they are read, and stays if they cannot be.
  void open(const QStringList& paths);
  /// Sets a value of the scenario as an edit of the user; errors appear in the message bar.
  void edit(const QString& path, const QString& text, int merge = 0);
  /// Edits another scenario: as a step that can be undone, or from its own trace if that is another one.
  void edit_scenario(const std::vector<runs::Setting>& settings);
  /// Writes what is shown as a session (gui/viewmodel/session.h); adds ".json" if missing. False if it could not be
  /// written; the message bar says why.
  bool save_session(const QString& path);
  void set_theme(Theme theme);
  /// Changes the language of the whole program at once, and stores it for the next start.
  void choose_language(Language language);
  /// Restores position, docks and theme from the last time, and stores them when the window closes.
  void restore_layout();
  void save_layout() const;

  [[nodiscard]] ScenarioDocument& document() { return document_; }
  [[nodiscard]] SimulationWorker& worker() { return worker_; }
  /// Shows a view; false: there is none of this id (gui/views/registry.h).
  bool show_view(const QString& id);
  [[nodiscard]] View* current_view() const;
  [[nodiscard]] QString current_view_id() const;
  /// Writes what the current view shows, by the suffix of the path; the message bar says why if it cannot.
  bool export_to(const QString& path);
  [[nodiscard]] Workspace& workspace() { return workspace_; }
  [[nodiscard]] TimelineView* timeline() const { return timeline_; }
  [[nodiscard]] ScenarioPanel* form() const { return form_; }
  [[nodiscard]] SliderPanel* sliders() const { return sliders_; }
  [[nodiscard]] HeadlinePanel* numbers() const { return numbers_; }
  /// What fits and what it costs.
  [[nodiscard]] HeadlinePanel* fits() const { return fits_; }
  [[nodiscard]] AnswerBar* answer() const { return answer_; }
  [[nodiscard]] MessageBar* messages() const { return messages_; }
  /// The result shown; null before the first one.
  [[nodiscard]] const ResultPtr& result() const { return result_; }
  /// True: no job runs or waits, and the picture is that of the present scenario.
  [[nodiscard]] bool settled() const;
  /// The command line that gives the same numbers.
  [[nodiscard]] QString command() const;
  /// The session or scenario file opened or saved last; empty if none.
  [[nodiscard]] QString session_file() const { return session_file_; }
  /// True: the report of a finished run is shown.
  [[nodiscard]] bool shows_report() const { return report_ != nullptr; }

 Q_SIGNALS:
  /// A newer result, or a document, is shown.
  void result_shown();
  /// Files could not be opened, or a run failed.
  void problem(const QString& text);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  static constexpr int kLayoutVersion = 2;  // version of saved docks; larger when docks are added

  void make_panels();
  void make_views();
  void fill_view_menu(QMenu* menu);
  void show_slot();
  void show_documents(const Opened& opened);
  void choose_export();
  void keep_scenario();
  /// Runs scenarios that were opened beside the edited one, and keeps them.
  void keep_opened(const std::vector<OpenedScenario>& others);
  void make_fits();
  void make_offer();
  void make_status();
  void make_menus();
  void make_file_menu();
  void make_edit_menu();
  void make_view_menu();
  void make_look_menus(QMenu* view);
  void make_help_menu();
  QMenu* add_menu(const QString& text);
  void translate();
  QAction* add_action(QMenu* menu, const QString& text, const QKeySequence& keys, const char* name,
                      std::function<void()> what);
  void choose_files(const QString& title, const QString& kinds);
  void open_sample();
  void save_session_again();
  void save_session_as();
  void fill_recent_menu();
  void open_recent(const QString& path);
  void remember_opened(const Opened& opened);
  [[nodiscard]] SessionView shown_view() const;
  void restore_view(const SessionView& view);
  void show_refusal(const Error& error);
  void show_scenario();
  void show_sliders();
  void request_run(bool discrete);
  /// Reads the trace again, as the present scenario says.
  void read_again();
  void wish_run(std::int64_t bins, bool at_once);
  /// Draws the picture with all its columns once the user stops moving.
  void refine();
  void show_result(const ResultPtr& result);
  void show_numbers();
  void show_opened(quint64 generation, const Opened& opened);
  void show_report(quint64 generation, const Opened& opened);
  /// Enables actions for what is open: a trace can be simulated again, a report only viewed.
  void allow_what_is_open();
  [[nodiscard]] QString empty_text() const;
  void show_failure(quint64 generation, const Error& error);
  /// For a scenario that did not run: finds out whether and why its engine cannot start.
  void find_obstacles();
  void show_fits();
  void show_progress();
  void cancel();
  void update_title();
  void show_table(bool table);
  void copy_shown();
  void show_keys();
  void show_about();

  ScenarioDocument document_;
  Workspace workspace_;
  SimulationWorker worker_;
  TracePtr trace_;                              // null before the first one, and with a report
  std::shared_ptr<const LoadedReport> report_;  // null otherwise
  ResultPtr result_;
  Generation wanted_{0};   // the newest run asked for
  Generation opening_{0};  // files being read; 0 = none
  // import options for which the trace was read again, or could not be read
  std::optional<traces::ImportOptions> tried_import_;
  bool stale_{false};                       // the picture is not that of the present scenario
  bool cancelled_{false};                   // by the user
  bool coarse_{false};                      // the newest run has the reduced columns of a movement
  bool refining_{false};                    // the newest run repeats the shown one with all columns
  std::vector<model::Obstacle> obstacles_;  // why the shown scenario could not run; empty: it could
  QString session_file_;
  std::optional<SessionView> wanted_view_;  // view of a session, for its first picture
  Theme theme_{Theme::kSystem};
  QByteArray first_layout_;

  MessageBar* messages_{nullptr};
  QStackedWidget* pages_{nullptr};
  TimelineView* timeline_{nullptr};
  QTableView* table_{nullptr};
  QTabBar* tabs_{nullptr};
  ScenarioPanel* form_{nullptr};
  SliderPanel* sliders_{nullptr};
  AnswerBar* answer_{nullptr};
  HeadlinePanel* numbers_{nullptr};
  HeadlinePanel* fits_{nullptr};
  QLabel* cost_{nullptr};
  QProgressBar* progress_{nullptr};
  QPushButton* cancel_{nullptr};
  QDockWidget* scenario_dock_{nullptr};
  QDockWidget* what_if_dock_{nullptr};
  QDockWidget* fits_dock_{nullptr};
  QObject* commands_{nullptr};   // owns the menu actions, which are created again when the language changes
  QPushButton* offer_{nullptr};  // offers the sample in the empty window
  QMenu* recent_{nullptr};
  QAction* sample_{nullptr};
  QAction* save_{nullptr};
  QAction* save_as_{nullptr};
  QAction* run_again_{nullptr};
  QAction* keep_{nullptr};
  QAction* show_table_{nullptr};
  QTimer progress_timer_;
  QTimer stale_timer_;
  QTimer rest_timer_;
};

}  // namespace kvplan::gui
