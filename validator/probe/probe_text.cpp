// The measurements, as a calibration file and as text for people.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "validator/probe/probe.h"

namespace kvplan::validator {
namespace {

std::string rounded(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string line(const std::string& name, const std::string& value) {
  return name + std::string(std::max<std::size_t>(name.size() + 1, 22) - name.size(), ' ') + value + "\n";
}

/// The rate at the greatest `size` of a direction: bytes over nanoseconds.
std::string rate(const MeasuredTable& table, std::string_view direction) {
  const auto& directions = table.column("direction").texts;
  std::size_t best = directions.size();
  for (std::size_t i = 0; i < directions.size(); ++i)
    if (directions[i] == direction) best = i;  // sizes ascend
  if (best == directions.size()) return "not measured";
  const double size = table.column("size").numbers[best], ns = table.column("median").numbers[best];
  return rounded(ns > 0 ? size / ns : 0, 1) + " GB/s, of " + rounded(size, 0) + " bytes";
}

}  // namespace

std::string to_json(const Measured& m) {
  JsonWriter json;
  json.begin_object().member("schema", "kvplan-calibration-1");
  json.member("made_by", "kvplan-validate " + std::string(kVersion)).member("when", m.when);
  json.key("device").begin_object().member("name", m.device.name).member("sm_count", m.device.sm_count);
  json.member("l2_bytes", m.device.l2_bytes).member("visible_bytes", m.device.visible_bytes);
  json.member("sm_clock_mhz", m.device.sm_clock_mhz).member("memory_clock_mhz", m.device.memory_clock_mhz);
  json.end_object().key("software").begin_object().member("driver", m.device.driver);
  json.member("toolkit", m.device.toolkit).member("engine", "kvplan").member("engine_version", kVersion);
  json.member("kernel_build", m.device.kernel_build).end_object();
  json.key("method").begin_object().member("cold", m.cold).member("graph", false);
  json.member("least_samples", m.least_samples).member("stop_rule", m.stop_rule).end_object();
  json.key("tables").begin_array();
  for (const MeasuredTable& table : m.tables) table.write(json);
  json.end_array().key("fits").begin_array().end_array().end_object();
  return json.take();
}

std::string to_text(const Measured& m) {
  std::string text = line("device", m.device.name + ", " + std::to_string(m.device.sm_count) + " SMs, " +
                                        std::to_string(m.device.visible_bytes) + " bytes visible");
  text += line("software", "driver " + m.device.driver + ", toolkit " + m.device.toolkit + ", kernels " +
                               m.device.kernel_build);
  const MeasuredTable& granularity = m.table("granularity");
  text +=
      line("granularity", rounded(granularity.column("minimum").numbers.front(), 0) + " bytes at least, " +
                              rounded(granularity.column("recommended").numbers.front(), 0) + " recommended");
  const MeasuredTable& context = m.table("context");
  for (std::size_t i = 0; i < context.rows(); ++i)
    text += line(
        "free, " + context.column("moment").texts[i],
        rounded(context.column("free").numbers[i], 0) + " bytes (" + context.column("source").texts[i] + ")");
  const MeasuredTable& release = m.table("pool-release");
  for (std::size_t i = 0; i < release.rows(); ++i)
    text += line("pool " + release.column("threshold").texts[i] + ", " + release.column("moment").texts[i],
                 rounded(release.column("free_returned").numbers[i], 0) + " bytes returned");
  const MeasuredTable& vmm = m.table("vmm");
  for (std::size_t i = 0; i < vmm.rows(); ++i) {
    std::string value;
    for (const char* part : {"create", "map", "set_access", "unmap", "release"})
      value += (value.empty() ? "" : ", ") + std::string(part) + " " +
               rounded(vmm.column(part).numbers[i] / 1e3, 1);
    text += line("vmm, us", rounded(vmm.column("handles").numbers[i], 0) + " x " +
                                rounded(vmm.column("handle_size").numbers[i], 0) + " bytes: " + value);
  }
  const MeasuredTable& bandwidth = m.table("bandwidth");
  text += line("read", rate(bandwidth, "read") + (m.cold ? "" : ", not cold"));
  text += line("copy", rate(bandwidth, "copy") + " copied, with one read and one write" +
                           (m.cold ? "" : ", not cold"));
  const MeasuredTable& launch = m.table("launch");
  for (std::size_t i = 0; i < launch.rows(); ++i)
    text += line("launch, " + launch.column("from").texts[i],
                 rounded(launch.column("kernels").numbers[i], 0) + " in " +
                     rounded(launch.column("median").numbers[i] / 1e3, 1) + " us");
  std::string rows;
  for (const MeasuredTable& table : m.tables)
    rows += (rows.empty() ? "" : ", ") + table.name() + " " + std::to_string(table.rows());
  return text + line("rows", rows);
}

std::string utc_text(std::int64_t seconds) {
  const auto moment = static_cast<std::time_t>(seconds);
  std::tm parts{};
  KVPLAN_CHECK(::gmtime_r(&moment, &parts) != nullptr, seconds);
  char text[32];
  KVPLAN_CHECK(std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 20, seconds);
  return text;
}

}  // namespace kvplan::validator
