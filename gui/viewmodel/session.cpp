#include "gui/viewmodel/session.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <filesystem>

#include "simulator/base/json_writer.h"
#include "simulator/base/units.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::gui {
namespace {

constexpr std::int64_t kMostNs = std::int64_t{1} << 52;

std::string beside(const std::string& file, const std::string& session) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path whole = fs::absolute(file, error).lexically_normal();
  const fs::path folder = fs::absolute(session, error).lexically_normal().parent_path();
  if (error) return file;
  const fs::path relative = whole.lexically_relative(folder);
  const bool below = !relative.empty() && *relative.begin() != "..";
  return (below ? relative : whole).generic_string();
}

/// Whole numbers as numbers, everything else as text.
void write_value(JsonWriter& json, const std::string& text) {
  const auto number = parse_integer(text);
  if (number && std::to_string(*number) == text) {
    json.value(*number);
  } else {
    json.value(text);
  }
}

void write_range(JsonWriter& json, const std::string& prefix, const std::optional<TimeRange>& range) {
  if (!range) return;
  json.member(prefix + "begin_ns", ns_floor(Ticks{range->begin}));
  json.member(prefix + "end_ns", ns_floor(Ticks{range->end}));
}

/// A scenario by its paths, with files as in the session's own.
void write_kept(JsonWriter& json, const std::vector<runs::Setting>& settings, const std::string& session) {
  json.begin_object();
  for (const runs::Setting& setting : settings)
    json.member(setting.path,
                runs::with_files_moved(setting.path, setting.text,
                                       [&](const std::string& file) { return beside(file, session); }));
  json.end_object();
}

void write_view(JsonWriter& json, const SessionView& view, const std::string& session) {
  json.key("view").begin_object();
  write_range(json, "", view.range);
  if (view.cursor) json.member("cursor_ns", ns_floor(Ticks{*view.cursor}));
  write_range(json, "marked_", view.marked);
  json.member("table", view.table);
  if (!view.view.empty()) json.member("shown", view.view);
  if (view.request) json.member("request", *view.request);
  if (view.block) json.member("block", *view.block);
  if (!view.kept.empty()) {
    json.key("kept").begin_array();
    for (const auto& settings : view.kept) write_kept(json, settings, session);
    json.end_array();
  }
  json.end_object();
}

/// A time of the view, in ticks; nothing where the file has none.
Result<std::optional<std::int64_t>> read_time(const QJsonObject& view, const char* key) {
  const QJsonValue value = view.value(QLatin1String(key));
  if (value.isUndefined() || value.isNull()) return std::optional<std::int64_t>{};
  const std::int64_t ns = value.toInteger(-1);
  if (ns < 0 || ns > kMostNs)
    return bad_input("expected whole nanoseconds").at_field("view." + std::string(key));
  return std::optional(ticks_from_ns(ns).count);
}

/// A request or a block; nothing where the file has none.
Result<std::optional<std::int64_t>> read_number(const QJsonObject& view, const char* key) {
  const QJsonValue value = view.value(QLatin1String(key));
  if (value.isUndefined() || value.isNull()) return std::optional<std::int64_t>{};
  const std::int64_t number = value.toInteger(-1);
  if (number < 0 || number > kMostNs)
    return bad_input("expected a whole number").at_field("view." + std::string(key));
  return std::optional(number);
}

Result<std::optional<TimeRange>> read_range(const QJsonObject& view, const char* from, const char* to) {
  KVPLAN_TRY(const auto begin, read_time(view, from));
  KVPLAN_TRY(const auto end, read_time(view, to));
  if (!begin && !end) return std::optional<TimeRange>{};
  if (!begin || !end || *begin >= *end)
    return bad_input("expected a range that ends after its beginning").at_field("view." + std::string(from));
  return std::optional(TimeRange{*begin, *end});
}

/// The kept scenarios; files are relative to the session's folder.
Result<std::vector<std::vector<runs::Setting>>> read_kept(const QJsonValue& value,
                                                          const std::string& session) {
  std::vector<std::vector<runs::Setting>> kept;
  if (value.isUndefined() || value.isNull()) return kept;
  const std::filesystem::path folder = std::filesystem::path(session).parent_path();
  const QJsonArray scenarios = value.toArray();
  if (!value.isArray() || scenarios.size() >= static_cast<qsizetype>(runs::kMostSlots))
    return bad_input("expected a list of at most " + std::to_string(runs::kMostSlots - 1) + " scenarios")
        .at_field("view.kept");
  for (const QJsonValue each : scenarios) {
    std::vector<runs::Setting> settings;
    const QJsonObject object = each.toObject();
    for (auto at = object.begin(); at != object.end(); ++at) {
      if (!at.value().isString()) return bad_input("expected texts").at_field("view.kept");
      const std::string path = at.key().toStdString();
      const std::string text = runs::with_files_moved(
          path, at.value().toString().toStdString(),
          [&](const std::string& file) { return (folder / file).lexically_normal().generic_string(); });
      settings.push_back({path, text, {}, 0});
    }
    kept.push_back(std::move(settings));
  }
  return kept;
}

Result<SessionView> read_view(const QJsonObject& object, const std::string& session) {
  SessionView view;
  KVPLAN_TRY(view.range, read_range(object, "begin_ns", "end_ns"));
  KVPLAN_TRY(view.cursor, read_time(object, "cursor_ns"));
  KVPLAN_TRY(view.marked, read_range(object, "marked_begin_ns", "marked_end_ns"));
  const QJsonValue table = object.value(QLatin1String("table"));
  if (!table.isUndefined() && !table.isBool())
    return bad_input("expected true or false").at_field("view.table");
  view.table = table.toBool();
  const QJsonValue shown = object.value(QLatin1String("shown"));
  if (!shown.isUndefined() && !shown.isString()) return bad_input("expected a text").at_field("view.shown");
  view.view = shown.toString().toStdString();
  KVPLAN_TRY(view.request, read_number(object, "request"));
  KVPLAN_TRY(view.block, read_number(object, "block"));
  KVPLAN_TRY(view.kept, read_kept(object.value(QLatin1String("kept")), session));
  return view;
}

}  // namespace

std::string session_text(const std::vector<runs::Setting>& settings, const SessionView& view,
                         const std::string& path) {
  JsonWriter json;
  json.begin_object();
  std::string group;  // the object that is open
  for (const runs::Field& field : runs::scenario_fields()) {
    const auto given = std::find_if(settings.begin(), settings.end(),
                                    [&](const runs::Setting& s) { return s.path == field.path; });
    if (given == settings.end()) continue;
    const std::size_t dot = field.path.find('.');
    const std::string head(dot == std::string_view::npos ? std::string_view() : field.path.substr(0, dot));
    if (head != group) {
      if (!group.empty()) json.end_object();
      group = head;
      if (!group.empty()) json.key(group).begin_object();
    }
    json.key(dot == std::string_view::npos ? field.path : field.path.substr(dot + 1));
    const std::string text = runs::with_files_moved(
        field.path, given->text, [&](const std::string& file) { return beside(file, path); });
    if (field.kind == runs::FieldKind::kText) {
      json.value(text);
    } else {
      write_value(json, text);
    }
  }
  if (!group.empty()) json.end_object();
  write_view(json, view, path);
  json.end_object();
  return json.take();
}

Result<std::optional<SessionView>> view_of(std::string_view text, const std::string& path) {
  const auto document = QJsonDocument::fromJson(QByteArray(text.data(), static_cast<qsizetype>(text.size())));
  const QJsonValue view = document.object().value(QLatin1String("view"));
  if (view.isUndefined() || view.isNull()) return std::optional<SessionView>{};
  if (!view.isObject()) return bad_input("expected an object").at_file(path).at_field("view");
  auto read = read_view(view.toObject(), path);
  if (!read.ok()) return Error(read.error()).at_file(path);
  return std::optional(std::move(read).value());
}

}  // namespace kvplan::gui
