#include "simulator/io/calibration.h"

#include <algorithm>

#include "simulator/base/json_writer.h"

namespace kvplan::io {
namespace {

void write_table(JsonWriter& json, const CalibrationTable& table) {
  json.begin_object().member("name", table.name).key("columns").begin_array();
  for (const CalibrationColumn& column : table.columns) {
    json.begin_object().member("name", column.name).member("unit", column.unit).key("numbers").begin_array();
    for (const double number : column.numbers) json.value(number);
    json.end_array().key("texts").begin_array();
    for (const std::string& text : column.texts) json.value(text);
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void write_fit(JsonWriter& json, const CalibrationFit& fit) {
  json.begin_object().member("table", fit.table).member("form", fit.form).key("parameters").begin_array();
  for (const CalibrationParameter& parameter : fit.parameters)
    json.begin_object()
        .member("name", parameter.name)
        .member("value", parameter.value)
        .member("unit", parameter.unit)
        .end_object();
  json.end_array().member("held_out_error", fit.held_out_error).member("held_out_rows", fit.held_out_rows);
  json.end_object();
}

bool same_device(const CalibrationDevice& a, const CalibrationDevice& b) {
  // Clock rates are not compared: they differ from one measuring run to the next.
  return a.name == b.name && a.sm_count == b.sm_count && a.l2_bytes == b.l2_bytes &&
         a.visible_bytes == b.visible_bytes;
}

bool same_software(const CalibrationSoftware& a, const CalibrationSoftware& b) {
  return a.driver == b.driver && a.toolkit == b.toolkit && a.engine == b.engine &&
         a.engine_version == b.engine_version && a.kernel_build == b.kernel_build;
}

bool same_method(const CalibrationMethod& a, const CalibrationMethod& b) {
  return a.cold == b.cold && a.graph == b.graph && a.least_samples == b.least_samples &&
         a.stop_rule == b.stop_rule;
}

Status append_rows(CalibrationTable& table, const CalibrationTable& more) {
  const bool alike =
      std::equal(table.columns.begin(), table.columns.end(), more.columns.begin(), more.columns.end(),
                 [](const CalibrationColumn& a, const CalibrationColumn& b) {
                   return a.name == b.name && a.unit == b.unit;
                 });
  if (!alike)
    return bad_input("expected the same columns in both calibrations")
        .at_field("table \"" + table.name + "\"");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    CalibrationColumn& column = table.columns[i];
    column.numbers.insert(column.numbers.end(), more.columns[i].numbers.begin(),
                          more.columns[i].numbers.end());
    column.texts.insert(column.texts.end(), more.columns[i].texts.begin(), more.columns[i].texts.end());
  }
  return Done{};
}

}  // namespace

std::string calibration_json(const Calibration& c) {
  JsonWriter json;
  json.begin_object()
      .member("schema", kCalibrationSchema)
      .member("made_by", c.made_by)
      .member("when", c.when);
  json.key("device").begin_object().member("name", c.device.name).member("sm_count", c.device.sm_count);
  json.member("l2_bytes", c.device.l2_bytes).member("visible_bytes", c.device.visible_bytes);
  json.member("sm_clock_mhz", c.device.sm_clock_mhz).member("memory_clock_mhz", c.device.memory_clock_mhz);
  json.end_object().key("software").begin_object().member("driver", c.software.driver);
  json.member("toolkit", c.software.toolkit).member("engine", c.software.engine);
  json.member("engine_version", c.software.engine_version).member("kernel_build", c.software.kernel_build);
  json.end_object()
      .key("method")
      .begin_object()
      .member("cold", c.method.cold)
      .member("graph", c.method.graph);
  json.member("least_samples", c.method.least_samples).member("stop_rule", c.method.stop_rule).end_object();
  json.key("tables").begin_array();
  for (const CalibrationTable& table : c.tables) write_table(json, table);
  json.end_array().key("fits").begin_array();
  for (const CalibrationFit& fit : c.fits) write_fit(json, fit);
  json.end_array().end_object();
  return json.take();
}

Status merge_calibration(Calibration& base, const Calibration& more) {
  if (!same_device(base.device, more.device))
    return bad_input("expected the same device in both calibrations").at_field("device");
  if (!same_software(base.software, more.software))
    return bad_input("expected the same driver, toolkit, engine and kernels in both calibrations")
        .at_field("software");
  if (!same_method(base.method, more.method))
    return bad_input("expected the same method in both calibrations").at_field("method");
  for (const CalibrationTable& table : more.tables) {
    const auto found = std::find_if(base.tables.begin(), base.tables.end(),
                                    [&](const CalibrationTable& t) { return t.name == table.name; });
    if (found == base.tables.end())
      base.tables.push_back(table);
    else
      KVPLAN_TRY_DO(append_rows(*found, table));
  }
  for (const CalibrationFit& fit : more.fits) {
    if (std::any_of(base.fits.begin(), base.fits.end(),
                    [&](const CalibrationFit& f) { return f.table == fit.table && f.form == fit.form; }))
      return bad_input("expected each fit once: fit the merged rows instead")
          .at_field("fit of \"" + fit.table + "\"");
    base.fits.push_back(fit);
  }
  base.when = std::min(base.when, more.when);
  return Done{};
}

}  // namespace kvplan::io
