#include "gui/views/validation/validation_data.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>

#include "gui/views/json_document.h"
#include "simulator/io/validation_file.h"

namespace kvplan::gui {
namespace {

/// The context of these texts for translators.
struct Validation {
  Q_DECLARE_TR_FUNCTIONS(Validation)
};

std::optional<double> number_at(const QJsonObject& object, const char* key) {
  const QJsonValue value = object.value(QLatin1String(key));
  return value.isDouble() ? std::optional(value.toDouble()) : std::nullopt;
}

TableValue cell(const std::optional<double>& value) {
  return value ? TableValue(*value) : TableValue();
}

}  // namespace

std::optional<double> ValidatedQuantity::ratio() const {
  if (!predicted || !measured || *predicted <= 0 || *measured <= 0) return std::nullopt;
  return *measured / *predicted;
}

std::optional<Result<DocumentPtr>> read_validation(std::string_view head, const std::string& path) {
  std::optional<QJsonObject> object;
  if (io::document_kind(head) == io::DocumentKind::kValidation) {
    const Result<std::string> json = io::validation_file_json(path);
    if (!json.ok()) return Result<DocumentPtr>(json.error());
    object = QJsonDocument::fromJson(QByteArray::fromStdString(json.value())).object();
  } else {
    object = read_json_object(head, path);
  }
  if (!object || !object->value(QLatin1String("quantities")).isArray()) return std::nullopt;
  auto document = std::make_shared<ValidationDocument>();
  document->path = path;
  document->view = "validation";
  for (const QJsonValue value : object->value(QLatin1String("quantities")).toArray()) {
    const QJsonObject each = value.toObject();
    const QJsonValue name = each.value(QLatin1String("name"));
    if (!name.isString())
      return Result<DocumentPtr>(
          bad_input("expected a name of each quantity").at_file(path).at_field("quantities.name"));
    document->quantities.push_back({name.toString(), each.value(QLatin1String("unit")).toString(),
                                    number_at(each, "predicted"), number_at(each, "measured")});
  }
  document->verdict = object->value(QLatin1String("verdict")).toString();
  if (document->verdict.isEmpty()) document->verdict = object->value(QLatin1String("cause")).toString();
  document->device = object->value(QLatin1String("device")).toString();
  return Result<DocumentPtr>(DocumentPtr(std::move(document)));
}

TableContent validation_table(const std::shared_ptr<const ValidationDocument>& document) {
  TableContent content;
  content.columns = {{Validation::tr("Quantity"), QStringLiteral("name"), CellKind::kText, {}},
                     {Validation::tr("Unit"), QStringLiteral("unit"), CellKind::kText, {}},
                     {Validation::tr("Predicted"), QStringLiteral("predicted"), CellKind::kNumber, {}},
                     {Validation::tr("Measured"), QStringLiteral("measured"), CellKind::kNumber, {}},
                     {Validation::tr("Measured / predicted"), QStringLiteral("ratio"), CellKind::kNumber,
                      Validation::tr("1 where the prediction was exact")}};
  if (!document) return content;
  content.rows = static_cast<int>(document->quantities.size());
  content.value = [document](int row, int column) -> TableValue {
    const ValidatedQuantity& quantity = document->quantities[static_cast<std::size_t>(row)];
    switch (column) {
      case 0:
        return quantity.name;
      case 1:
        return quantity.unit;
      case 2:
        return cell(quantity.predicted);
      case 3:
        return cell(quantity.measured);
      default:
        return cell(quantity.ratio());
    }
  };
  return content;
}

}  // namespace kvplan::gui
