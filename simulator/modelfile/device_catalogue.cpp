#include "simulator/modelfile/device_catalogue.h"

#include <simdjson.h>

#include <algorithm>

#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/modelfile/catalogue.h"

namespace kvplan::model {
namespace {

namespace dom = simdjson::dom;

/// Every figure, and the product of any with a small count, fits 63 bits.
constexpr WholeRange kValues{0, std::int64_t{1} << 56};

Error wrong(const std::string& file, std::string message, std::string_view key) {
  return bad_input(std::move(message)).at_file(file).at_field(key);
}

Result<std::string> text_of(const dom::object& object, const char* key, const std::string& file) {
  std::string_view text;
  if (object[key].get_string().get(text) != simdjson::SUCCESS) return wrong(file, "expected a string", key);
  return std::string(text);
}

Result<Mark> mark_of(std::string_view name, const std::string& file, std::string_view key) {
  for (const Mark mark : {Mark::kMeasured, Mark::kPublished, Mark::kAssumed})
    if (name == mark_name(mark)) return mark;
  return wrong(file, "expected the mark measured, published or assumed, found " + found_text(name), key);
}

Result<Figure> figure_of(const dom::element& element, const std::string& file, std::string_view key) {
  dom::object object;
  if (element.get_object().get(object) != simdjson::SUCCESS)
    return wrong(file, "expected an object with value, mark and source", key);
  Figure figure;
  if (object["value"].get_int64().get(figure.value) != simdjson::SUCCESS || figure.value < kValues.low ||
      figure.value > kValues.high)
    return wrong(file, "expected as value " + expected_text(kValues), key);
  KVPLAN_TRY(const std::string mark, text_of(object, "mark", file));
  KVPLAN_TRY(figure.mark, mark_of(mark, file, key));
  KVPLAN_TRY(figure.source, text_of(object, "source", file));
  return figure;
}

Status read_figures(const dom::object& figures, const std::string& file, DeviceShape& device) {
  for (const auto field : figures) {
    std::size_t at = 0;
    std::vector<std::string_view> known;
    for (; at < kDeviceFigures; ++at) {
      known.push_back(figure_kind(static_cast<DeviceFigure>(at)).key);
      if (known.back() == field.key) break;
    }
    if (at == kDeviceFigures) return wrong(file, unknown_name("figure", field.key, known), "figures");
    if (device.figures[at]) return wrong(file, "expected one value, found a second", field.key);
    KVPLAN_TRY(device.figures[at], figure_of(field.value, file, field.key));
  }
  for (std::size_t i = 0; i < kDeviceFigures; ++i) {
    const DeviceFigureKind& kind = figure_kind(static_cast<DeviceFigure>(i));
    if (!kind.needed) continue;
    if (!device.figures[i]) return wrong(file, "expected this figure, found nothing", kind.key);
    if (device.figures[i]->value == 0) return wrong(file, "expected a number above 0", kind.key);
  }
  return Done{};
}

}  // namespace

Result<DeviceShape> parse_device(std::string_view text, const std::string& file) {
  dom::parser parser;
  const simdjson::padded_string padded(text);
  dom::object object;
  if (parser.parse(padded).get_object().get(object) != simdjson::SUCCESS)
    return bad_input("expected a JSON object with the figures of a device").at_file(file);
  DeviceShape device;
  KVPLAN_TRY(device.name, text_of(object, "name", file));
  KVPLAN_TRY(device.title, text_of(object, "title", file));
  KVPLAN_TRY(device.vendor, text_of(object, "vendor", file));
  KVPLAN_TRY(device.architecture, text_of(object, "architecture", file));
  KVPLAN_TRY(device.memory, text_of(object, "memory", file));
  KVPLAN_TRY(device.note, text_of(object, "note", file));
  dom::array aliases;
  if (object["aliases"].get_array().get(aliases) != simdjson::SUCCESS)
    return wrong(file, "expected a list of names", "aliases");
  for (const dom::element alias : aliases) {
    std::string_view name;
    if (alias.get_string().get(name) != simdjson::SUCCESS)
      return wrong(file, "expected a list of names", "aliases");
    device.aliases.emplace_back(name);
  }
  dom::object figures;
  if (object["figures"].get_object().get(figures) != simdjson::SUCCESS)
    return wrong(file, "expected an object with figures", "figures");
  KVPLAN_TRY_DO(read_figures(figures, file, device));
  return device;
}

std::span<const DeviceShape> devices() {
  static const std::vector<DeviceShape> kDevices = [] {
    std::vector<DeviceShape> out;
    for (const EmbeddedConfig& file : embedded_devices())
      out.push_back(parse_device(file.text, std::string(file.file)).value());
    std::sort(out.begin(), out.end(),
              [](const DeviceShape& a, const DeviceShape& b) { return a.name < b.name; });
    return out;
  }();
  return kDevices;
}

Result<const DeviceShape*> find_device(std::string_view name) {
  std::vector<std::string_view> names;
  for (const DeviceShape& device : devices()) {
    if (device.name == name ||
        std::find(device.aliases.begin(), device.aliases.end(), name) != device.aliases.end())
      return &device;
    names.push_back(device.name);
  }
  return bad_input(unknown_name("device", name, names));
}

}  // namespace kvplan::model
