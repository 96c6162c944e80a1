#include "gui/views/json_document.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "simulator/base/read_files.h"
#include "simulator/base/utf8.h"

namespace kvplan::gui {
namespace {
constexpr qint64 kMostBytes = qint64{64} << 20;
}

std::optional<QJsonObject> read_json_object(std::string_view head, const std::string& path) {
  head = without_byte_order_mark(head);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return std::nullopt;
  // A trace of one object per line begins likewise.
  const std::size_t line = std::min(head.find('\n'), head.size());
  if (line > first + 1 && line < head.size() && head.substr(0, line).find('}') != std::string_view::npos &&
      head.find('{', line) == line + 1)
    return std::nullopt;
  QFile file(to_qstring(path));
  if (!file.open(QIODevice::ReadOnly) || file.size() > kMostBytes) return std::nullopt;
  note_read(path);
  const QByteArray text = file.readAll();
  const auto bytes = without_byte_order_mark({text.constData(), static_cast<std::size_t>(text.size())});
  const QJsonDocument document =
      QJsonDocument::fromJson(QByteArray::fromRawData(bytes.data(), static_cast<qsizetype>(bytes.size())));
  if (!document.isObject()) return std::nullopt;
  return document.object();
}

TableValue cell_of(const QJsonValue& value) {
  if (value.isBool()) return value.toBool() ? QStringLiteral("true") : QStringLiteral("false");
  if (value.isString()) return value.toString();
  if (value.isArray()) {
    QStringList parts;
    for (const QJsonValue each : value.toArray()) parts << plain_text(cell_of(each));
    return parts.join(QStringLiteral(", "));
  }
  if (!value.isDouble()) return {};
  const double number = value.toDouble();
  const auto whole = static_cast<std::int64_t>(value.toInteger(0));
  if (static_cast<double>(whole) == number) return whole;
  return number;
}

}  // namespace kvplan::gui
