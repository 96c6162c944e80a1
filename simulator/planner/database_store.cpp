#include "simulator/planner/database_store.h"

#include "simulator/base/digest.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::planner {
namespace {

using sweep::Cell;
using sweep::Database;

sweep::Head head_of(const DatabaseOptions& options, const Space& space, const std::vector<Target>& targets,
                    const runs::Scenario& first) {
  sweep::Head head;
  head.program = "kvplan " + std::string(kVersion);
  head.cases = space.cases();
  head.share = head.cases;
  head.varies = space.varies();
  head.inputs = options.inputs;
  Digest identity;
  const runs::FileMove nameless = [](const std::string&) { return std::string("file"); };
  const auto fields = runs::scenario_fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    identity.add_text(runs::with_files_moved(fields[i].path, first.texts[i], nameless));
  for (const auto& input : options.inputs) identity.add_text(input.second);
  std::string wanted;
  for (const Target& target : targets) {
    identity.add_text(target.name + "=" + shortest(target.limit));
    wanted += (wanted.empty() ? "" : ", ") + target.text();
  }
  head.identity = identity.text();
  head.chosen = "tried by a plan for " + wanted;
  for (const runs::Setting& setting : space.options().settings)
    head.settings.emplace_back(setting.path, setting.text);
  for (const runs::Figure& figure : runs::figures())
    head.figures.push_back(
        {figure.name, std::string(unit_name(figure.unit)), std::string(runs::better_name(figure.better))});
  return head;
}

class DatabaseStore final : public Store {
 public:
  DatabaseStore(Database database, std::vector<Target> targets)
      : database_(std::move(database)), targets_(std::move(targets)) {}

  Status begin() {
    return database_.make_tables(
        "CREATE TABLE IF NOT EXISTS plan_path (position INTEGER PRIMARY KEY, \"case\" INTEGER, why TEXT, "
        "outcome TEXT);"
        "CREATE TABLE IF NOT EXISTS plan_numbers (\"case\" INTEGER, name TEXT, value REAL, PRIMARY KEY "
        "(\"case\", name))");
  }

  Result<std::optional<CaseOutcome>> find(std::int64_t number) override {
    KVPLAN_TRY(const std::optional<Database::Row> row, database_.row(number));
    if (!row) return std::optional<CaseOutcome>();
    const auto* const error = std::get_if<std::string>(&(*row)[2]);
    NamedNumbers numbers;
    KVPLAN_TRY_DO(database_.query(
        "SELECT name, value FROM plan_numbers WHERE \"case\" = " + std::to_string(number),
        [&](const Database::Row& each) {
          const auto* const name = std::get_if<std::string>(&each[0]);
          const auto* const value = std::get_if<double>(&each[1]);
          if (name != nullptr)
            numbers.emplace_back(*name, value != nullptr ? std::optional(*value) : std::nullopt);
        }));
    return std::optional(outcome_from(error != nullptr ? *error : std::string(), numbers, targets_));
  }

  Status add(const Step& step, const runs::Varied& varied,
             const std::vector<runs::FigureValue>& figures) override {
    sweep::CaseRow row{step.number, {}, figures};
    if (!step.outcome.error.empty()) row.error = bad_input(step.outcome.error);
    KVPLAN_TRY_DO(database_.add(row, varied));
    for (const auto& [name, value] : numbers_of(step.outcome, targets_))
      KVPLAN_TRY_DO(database_.add_to("plan_numbers", {step.number, name, value ? Cell(*value) : Cell()}));
    return Done{};
  }

  Status note(std::int64_t position, const Step& step, const std::string& outcome) override {
    return database_.add_to("plan_path", {position, step.number, step.trial.why, outcome});
  }

  Status commit() override { return database_.commit(); }

 private:
  Database database_;
  std::vector<Target> targets_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_database_store(const DatabaseOptions& options, const Space& space,
                                                   const std::vector<Target>& targets,
                                                   const runs::Scenario& first) {
  const sweep::Head head = head_of(options, space, targets, first);
  KVPLAN_TRY(Database database,
             options.resume ? Database::resume(options.path, head) : Database::create(options.path, head));
  auto store = std::make_unique<DatabaseStore>(std::move(database), targets);
  KVPLAN_TRY_DO(store->begin());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace kvplan::planner
