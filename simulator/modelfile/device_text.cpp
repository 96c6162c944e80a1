#include "simulator/modelfile/device_text.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/number_input.h"
#include "simulator/base/pair_value.h"
#include "simulator/base/suggest.h"
#include "simulator/modelfile/device_catalogue.h"

namespace kvplan::model {
namespace {

constexpr std::string_view kTotalKey = "total_bytes", kNameKey = "name";
constexpr std::array<std::string_view, 5> kDeviceWords{kNameKey, "title", "vendor", "architecture", "memory"};

std::string& word_of(DeviceShape& device, std::size_t word) {
  const std::array<std::string*, 5> words{&device.name, &device.title, &device.vendor, &device.architecture,
                                          &device.memory};
  return *words.at(word);
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> out(kDeviceWords.begin(), kDeviceWords.end());
  out.push_back(kTotalKey);
  for (std::size_t i = 0; i < kDeviceFigures; ++i)
    out.push_back(figure_kind(static_cast<DeviceFigure>(i)).key);
  return out;
}

/// What some device could have; a value in GB or TFLOP/s is below it.
WholeRange range_of(DeviceFigure figure) {
  constexpr WholeRange kMemory{std::int64_t{1} << 28, std::int64_t{1} << 50};
  constexpr WholeRange kRate{1'000'000'000, 1'000'000'000'000'000'000 / 16};
  switch (figure) {
    case DeviceFigure::kReportedBytes:
    case DeviceFigure::kUsableBytes:
    case DeviceFigure::kUsableBytesMost:
      return kMemory;
    case DeviceFigure::kHostLink:
    case DeviceFigure::kDeviceLink:
      return {0, kRate.high};
    default:
      break;
  }
  const Unit unit = figure_kind(figure).unit;
  if (unit == Unit::kFlopsPerSecond || unit == Unit::kBytesPerSecond) return kRate;
  return {1, std::int64_t{1} << 40};
}

std::string expected_amount(DeviceFigure figure) {
  const WholeRange range = range_of(figure);
  const Unit unit = figure_kind(figure).unit;
  return expected_text(range) + (unit == Unit::kNone ? "" : ", in " + std::string(unit_name(unit)));
}

Status read_figure(DeviceShape& device, DeviceFigure figure, std::string_view key, std::string_view text) {
  auto& place = device.figures[static_cast<std::size_t>(figure)];
  if (place) return bad_input("expected one value, found a second").at_field(std::string(key));
  const auto value = decimal_times_power_of_two(text, 0);
  const WholeRange range = range_of(figure);
  if (!value || *value < range.low || *value > range.high)
    return not_expected(expected_amount(figure), text).at_field(std::string(key));
  place = Figure{*value, Mark::kGiven, "given"};
  return Done{};
}

Status read_pair(DeviceShape& device, std::string_view key, std::string_view text) {
  for (std::size_t i = 0; i < kDeviceWords.size(); ++i) {
    if (key != kDeviceWords.at(i)) continue;
    std::string& word = word_of(device, i);
    if (!word.empty()) return bad_input("expected one value, found a second").at_field(std::string(key));
    if (text.empty() || text.size() > 200 || text.find_first_of("\"\n\r\t") != std::string_view::npos)
      return not_expected("a word of at most 200 characters, without quotes", text)
          .at_field(std::string(key));
    word = text;
    return Done{};
  }
  if (key == kTotalKey) return read_figure(device, DeviceFigure::kUsableBytes, key, text);
  for (std::size_t i = 0; i < kDeviceFigures; ++i) {
    const auto figure = static_cast<DeviceFigure>(i);
    if (figure_kind(figure).key == key) return read_figure(device, figure, key, text);
  }
  const std::vector<std::string_view> known = known_keys();
  return bad_input(unknown_name("key of a device", key, known));
}

/// What must be there, and what follows from the rest.
Status complete(DeviceShape& device) {
  for (std::size_t i = 0; i < kDeviceFigures; ++i) {
    const auto figure = static_cast<DeviceFigure>(i);
    const DeviceFigureKind& kind = figure_kind(figure);
    if (!kind.needed || device.figures[i]) continue;
    const std::string_view key = figure == DeviceFigure::kUsableBytes ? kTotalKey : kind.key;
    return bad_input("expected " + expected_amount(figure) + ", found nothing").at_field(std::string(key));
  }
  const auto& most = device.find(DeviceFigure::kUsableBytesMost);
  if (most && most->value < device.at(DeviceFigure::kUsableBytes).value)
    return bad_input("expected at least total_bytes, found " + std::to_string(most->value))
        .at_field("usable_bytes_most");
  if (device.name.empty()) device.name = "device";
  if (device.title.empty()) device.title = device.name;
  return Done{};
}

}  // namespace

bool says_device(std::string_view text) {
  return text.find('=') != std::string_view::npos;
}

bool names_device_file(std::string_view text) {
  return !says_device(text) && (text.ends_with(".json") || text.find('/') != std::string_view::npos);
}

Result<DeviceShape> device_in_place(std::string_view text) {
  DeviceShape device;
  while (!text.empty()) {
    const std::size_t end = std::min(end_of_pair(text), text.size());
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return not_expected("key=value,key=value", pair);
    std::string_view value = pair.substr(equals + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    KVPLAN_TRY_DO(read_pair(device, pair.substr(0, equals), value));
    text = end == text.size() ? std::string_view{} : text.substr(end + 1);
  }
  KVPLAN_TRY_DO(complete(device));
  return device;
}

Result<std::shared_ptr<const DeviceShape>> any_device(std::string_view text) {
  if (says_device(text)) {
    KVPLAN_TRY(DeviceShape device, device_in_place(text));
    return std::make_shared<const DeviceShape>(std::move(device));
  }
  KVPLAN_TRY(const DeviceShape* const known, find_device(text));
  return std::shared_ptr<const DeviceShape>(known, [](const DeviceShape*) {});
}

Result<DeviceShape> device_of_file(std::string_view text, const std::string& file) {
  namespace dom = simdjson::dom;
  dom::parser parser;
  const simdjson::padded_string padded(text);
  dom::object object;
  const bool flat = parser.parse(padded).get_object().get(object) == simdjson::SUCCESS &&
                    object["figures"].error() != simdjson::SUCCESS;
  if (!flat) return parse_device(text, file);
  DeviceShape device;
  const auto read = [&]() -> Status {
    for (const auto field : object) {
      std::string_view word;
      const bool quoted = field.value.get_string().get(word) == simdjson::SUCCESS;
      const std::string value = quoted ? std::string(word) : std::string(simdjson::minify(field.value));
      KVPLAN_TRY_DO(read_pair(device, field.key, value));
    }
    return complete(device);
  };
  if (const Status done = read(); !done.ok()) return Error(done.error()).at_file(file);
  return device;
}

std::string in_place(const DeviceShape& device) {
  std::string out;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    out.append(out.empty() ? "" : ",").append(key).append("=").append(pair_value(value));
  };
  DeviceShape copy = device;
  for (std::size_t i = 0; i < kDeviceWords.size(); ++i)
    if (kDeviceWords.at(i) != "title" || device.title != device.name)
      add(kDeviceWords.at(i), word_of(copy, i));
  for (std::size_t i = 0; i < kDeviceFigures; ++i) {
    const auto figure = static_cast<DeviceFigure>(i);
    if (!device.figures[i]) continue;
    add(figure == DeviceFigure::kUsableBytes ? kTotalKey : figure_kind(figure).key,
        std::to_string(device.figures[i]->value));
  }
  return out;
}

}  // namespace kvplan::model
