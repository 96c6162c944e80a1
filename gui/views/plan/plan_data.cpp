#include "gui/views/plan/plan_data.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>

#include "gui/viewmodel/formatting.h"
#include "gui/views/json_document.h"
#include "simulator/io/scenario_json.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Plan {
  Q_DECLARE_TR_FUNCTIONS(Plan)
};

std::optional<double> number_at(const QJsonObject& object, const char* key) {
  const QJsonValue value = object.value(QLatin1String(key));
  return value.isDouble() ? std::optional(value.toDouble()) : std::nullopt;
}

QString text_at(const QJsonObject& object, const char* key) {
  return object.value(QLatin1String(key)).toString();
}

QString targets_text(const QJsonArray& targets) {
  QStringList parts;
  for (const QJsonValue value : targets) {
    const QJsonObject each = value.toObject();
    parts << Plan::tr("%1: %2 of %3")
                 .arg(text_at(each, "name"),
                      shown_text(cell_of(each.value(QLatin1String("value"))), CellKind::kNumber),
                      shown_text(cell_of(each.value(QLatin1String("limit"))), CellKind::kNumber));
  }
  return parts.join(QStringLiteral("; "));
}

/// The scenario and where its values come from, as a scenario file has them.
std::vector<runs::Setting> settings_of(const QJsonObject& option, const std::string& path) {
  QJsonObject scenario = option.value(QLatin1String("scenario")).toObject();
  if (scenario.isEmpty()) return {};
  const QJsonValue origins = option.value(QLatin1String("scenario_origins"));
  if (origins.isObject()) scenario.insert(QLatin1String("scenario_origins"), origins);
  const QByteArray text = QJsonDocument(scenario).toJson();
  auto settings = io::parse_scenario({text.constData(), static_cast<std::size_t>(text.size())}, path);
  return settings.ok() ? std::move(settings).value() : std::vector<runs::Setting>();
}

void add_option(PlanDocument& document, const QString& role, const QJsonObject& option) {
  if (option.isEmpty()) return;
  PlannedOption planned;
  planned.role = role;
  planned.name = text_at(option, "name");
  planned.cost_per_hour = number_at(option, "cost_per_hour");
  planned.met_fraction = number_at(option, "met_fraction");
  planned.gpus = option.value(QLatin1String("gpus")).toInteger();
  planned.preemptions = option.value(QLatin1String("preemptions")).toInteger();
  planned.meets = option.value(QLatin1String("meets")).toBool();
  planned.targets = targets_text(option.value(QLatin1String("targets")).toArray());
  planned.settings = settings_of(option, document.path);
  document.options.push_back(std::move(planned));
}

void read_rate(PlanDocument& document, const QJsonObject& rate, const QString& suffix) {
  add_option(document, Plan::tr("best") + suffix, rate.value(QLatin1String("best")).toObject());
  add_option(document, Plan::tr("fewer") + suffix, rate.value(QLatin1String("fewer")).toObject());
  add_option(document, Plan::tr("more") + suffix, rate.value(QLatin1String("more")).toObject());
  for (const QJsonValue value : rate.value(QLatin1String("runners_up")).toArray())
    add_option(document, Plan::tr("runner-up") + suffix, value.toObject());
  for (const QJsonValue value : rate.value(QLatin1String("baselines")).toArray())
    add_option(document, Plan::tr("rule of thumb: %1").arg(text_at(value.toObject(), "name")) + suffix,
               value.toObject().value(QLatin1String("option")).toObject());
}

QStringList lines_of(const QJsonValue& value) {
  QStringList lines;
  for (const QJsonValue each : value.toArray()) lines << each.toString();
  return lines;
}

}  // namespace

std::optional<Result<DocumentPtr>> read_plan(std::string_view head, const std::string& path) {
  const auto object = read_json_object(head, path);
  if (!object || !object->value(QLatin1String("path")).isArray() ||
      !object->value(QLatin1String("runners_up")).isArray())
    return std::nullopt;
  auto document = std::make_shared<PlanDocument>();
  document->path = path;
  document->view = "plan";
  document->trace = text_at(*object, "trace");
  document->model = text_at(*object, "model");
  document->currency = text_at(*object, "currency");
  const QJsonArray rates = object->value(QLatin1String("rates")).toArray();
  if (rates.size() > 1) {
    for (const QJsonValue rate : rates)
      read_rate(*document, rate.toObject(),
                Plan::tr(" (load x %1)").arg(text_at(rate.toObject(), "rate_scale")));
  } else {
    read_rate(*document, *object, {});
  }
  for (const QJsonValue value : object->value(QLatin1String("path")).toArray()) {
    const QJsonObject step = value.toObject();
    document->steps.push_back({step.value(QLatin1String("number")).toInteger(), text_at(step, "case"),
                               text_at(step, "why"), text_at(step, "outcome")});
  }
  for (const QJsonValue value : object->value(QLatin1String("binding")).toArray()) {
    const QJsonObject each = value.toObject();
    document->binding << Plan::tr("%1 (%2)").arg(
        text_at(each, "what"), format_percent(each.value(QLatin1String("share")).toDouble()));
  }
  if (const QJsonObject headroom = object->value(QLatin1String("headroom")).toObject(); !headroom.isEmpty())
    document->headroom = format_number(headroom.value(QLatin1String("rate_scale")).toDouble());
  document->notes = lines_of(object->value(QLatin1String("notes")));
  document->doubts = lines_of(object->value(QLatin1String("doubts")));
  return Result<DocumentPtr>(DocumentPtr(std::move(document)));
}

TableContent plan_options_table(const std::shared_ptr<const PlanDocument>& document) {
  TableContent content;
  content.columns = {
      {Plan::tr("Role"), QStringLiteral("role"), CellKind::kText, {}},
      {Plan::tr("Deployment"), QStringLiteral("name"), CellKind::kText, {}},
      {Plan::tr("GPUs"), QStringLiteral("gpus"), CellKind::kCount, {}},
      {Plan::tr("Cost per hour"), QStringLiteral("cost_per_hour"), CellKind::kNumber,
       document ? document->currency : QString()},
      {Plan::tr("In time"), QStringLiteral("met_fraction"), CellKind::kShare,
       Plan::tr("Share of requests that met the targets")},
      {Plan::tr("Meets"), QStringLiteral("meets"), CellKind::kText, {}},
      {Plan::tr("Preemptions"), QStringLiteral("preemptions"), CellKind::kCount, {}},
      {Plan::tr("Targets"), QStringLiteral("targets"), CellKind::kText, {}},
  };
  if (!document) return content;
  content.rows = static_cast<int>(document->options.size());
  content.value = [document](int row, int column) -> TableValue {
    const PlannedOption& option = document->options[static_cast<std::size_t>(row)];
    const auto maybe = [](const std::optional<double>& value) {
      return value ? TableValue(*value) : TableValue();
    };
    switch (column) {
      case 0:
        return option.role;
      case 1:
        return option.name;
      case 2:
        return option.gpus;
      case 3:
        return maybe(option.cost_per_hour);
      case 4:
        return maybe(option.met_fraction);
      case 5:
        return option.meets ? Plan::tr("yes") : Plan::tr("no");
      case 6:
        return option.preemptions;
      default:
        return option.targets;
    }
  };
  return content;
}

TableContent plan_steps_table(const std::shared_ptr<const PlanDocument>& document) {
  TableContent content;
  content.columns = {{Plan::tr("Step"), QStringLiteral("step"), CellKind::kCount, {}},
                     {Plan::tr("Tried"), QStringLiteral("case"), CellKind::kText, {}},
                     {Plan::tr("Why"), QStringLiteral("why"), CellKind::kText, {}},
                     {Plan::tr("Outcome"), QStringLiteral("outcome"), CellKind::kText, {}}};
  if (!document) return content;
  content.rows = static_cast<int>(document->steps.size());
  content.value = [document](int row, int column) -> TableValue {
    const PlanStep& step = document->steps[static_cast<std::size_t>(row)];
    switch (column) {
      case 0:
        return static_cast<std::int64_t>(row) + 1;
      case 1:
        return step.name;
      case 2:
        return step.why;
      default:
        return step.outcome;
    }
  };
  return content;
}

}  // namespace kvplan::gui
