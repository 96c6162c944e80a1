// JSON files that commands write and that views show.
#pragma once

#include <QJsonObject>
#include <QJsonValue>
#include <optional>
#include <string>
#include <string_view>

#include "gui/views/table_model.h"
#include "simulator/base/result.h"

namespace kvplan::gui {

/// The JSON object in a file; nothing if the file is not one object, or is larger than 64 MiB. `head`: its first bytes.
std::optional<QJsonObject> read_json_object(std::string_view head, const std::string& path);

/// A number, text or truth value as a cell; lists are joined with commas.
TableValue cell_of(const QJsonValue& value);

}  // namespace kvplan::gui
