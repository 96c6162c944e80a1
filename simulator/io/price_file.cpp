#include "simulator/io/price_file.h"

#include <simdjson.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/base/utf8.h"
#include "simulator/modelfile/device_catalogue.h"
#include "simulator/modelfile/json_keys.h"
#include "traces/io/input.h"

namespace kvplan::io {
namespace {

namespace dom = simdjson::dom;
using runs::DevicePrice;
using runs::kPurchaseNames;
using runs::PriceList;
using runs::Purchase;
using runs::Spares;

constexpr std::size_t kMostPriceBytes = std::size_t{1} << 20;
constexpr std::int64_t kMostGpusPerNode = 1024;
constexpr std::int64_t kMostSpares = 1'000'000;
constexpr double kMostPrice = 1e9;  // dollars per hour

/// An object of the file, and where it is: "devices.h100-sxm".
struct Place {
  dom::object object;
  std::string path;

  [[nodiscard]] std::string at(std::string_view key) const {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
  }
  [[nodiscard]] bool has(std::string_view key) const { return object[key].error() == simdjson::SUCCESS; }
  [[nodiscard]] Error wrong(std::string message, std::string_view key) const {
    return bad_input(std::move(message)).at_field(at(key));
  }
};

std::string found(dom::element value) {
  return found_text(simdjson::minify(value));
}

/// Errors: a key that is not among `known`, or one that occurs twice.
Status check_keys(const Place& place, std::initializer_list<std::string_view> known) {
  std::set<std::string_view> seen;
  for (const auto field : place.object) {
    if (std::find(known.begin(), known.end(), field.key) == known.end())
      return place.wrong(unknown_name("key", field.key, {known.begin(), known.size()}), field.key);
    if (!seen.insert(field.key).second) return place.wrong("expected one value, found a second", field.key);
  }
  return Done{};
}

Result<std::string> text_of(const Place& place, std::string_view key) {
  dom::element value;
  if (place.object[key].get(value) != simdjson::SUCCESS)
    return place.wrong("expected a string, found nothing", key);
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS || text.empty() || text.size() > 400)
    return place.wrong("expected a string, found " + found(value), key);
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return place.wrong("expected a string with one line", key);
  return std::string(text);
}

Result<std::int64_t> whole_of(const Place& place, std::string_view key, WholeRange range) {
  dom::element value;
  if (place.object[key].get(value) != simdjson::SUCCESS)
    return place.wrong("expected " + expected_text(range) + ", found nothing", key);
  std::int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS || number < range.low || number > range.high)
    return place.wrong("expected " + expected_text(range) + ", found " + found(value), key);
  return number;
}

Result<double> number_of(const Place& place, std::string_view key, NumberRange range) {
  dom::element value;
  if (place.object[key].get(value) != simdjson::SUCCESS)
    return place.wrong("expected " + expected_text(range) + ", found nothing", key);
  double number = 0;
  if (value.get_double().get(number) != simdjson::SUCCESS || number < range.low || number > range.high)
    return place.wrong("expected " + expected_text(range) + ", found " + found(value), key);
  return number;
}

/// "a, b or c" in a key's text: its index among the names.
Result<std::size_t> one_of(const Place& place, std::string_view key,
                           std::span<const std::string_view> names) {
  KVPLAN_TRY(const std::string text, text_of(place, key));
  const auto name = std::find(names.begin(), names.end(), text);
  if (name != names.end()) return static_cast<std::size_t>(name - names.begin());
  std::string listed;
  for (const std::string_view each : names) listed.append(listed.empty() ? "" : ", ").append(each);
  return place.wrong("expected one of " + listed + ", found " + found_text(text), key);
}

Result<Place> object_of(const Place& place, std::string_view key) {
  Place below{{}, place.at(key)};
  dom::element value;
  if (place.object[key].get(value) != simdjson::SUCCESS)
    return place.wrong("expected an object, found nothing", key);
  if (value.get_object().get(below.object) != simdjson::SUCCESS)
    return place.wrong("expected an object, found " + found(value), key);
  return below;
}

/// Reads what a list may say for all devices and for a single one: how it is paid for, and spare nodes.
Status read_terms(const Place& place, Purchase& purchase, Spares& spares) {
  if (place.has("purchase")) {
    KVPLAN_TRY(const std::size_t name, one_of(place, "purchase", kPurchaseNames));
    purchase = static_cast<Purchase>(name);
  }
  if (!place.has("spares")) return Done{};
  KVPLAN_TRY(const Place below, object_of(place, "spares"));
  KVPLAN_TRY_DO(check_keys(below, {"nodes", "share"}));
  if (below.has("nodes") == below.has("share"))
    return place.wrong("expected either \"nodes\" or \"share\"", "spares");
  spares = {};
  if (below.has("nodes")) {
    KVPLAN_TRY(spares.nodes, whole_of(below, "nodes", {0, kMostSpares}));
    return Done{};
  }
  KVPLAN_TRY(const double share, number_of(below, "share", {0, 1}));
  if (share == 0) return Done{};
  auto exact = parse_fraction(shortest(share));
  if (!exact.ok()) return below.wrong("expected fewer digits", "share");
  spares.share = exact.value();
  return Done{};
}

Result<DevicePrice> read_device(const Place& place, DevicePrice price) {
  KVPLAN_TRY_DO(check_keys(
      place, {"per", "gpus_per_node", "on_demand", "reserved", "spot", "purchase", "spares", "note"}));
  static constexpr std::array<std::string_view, 2> kPer{"gpu_hour", "node_hour"};
  KVPLAN_TRY(const std::size_t per, one_of(place, "per", kPer));
  price.of_a_node = per == 1;
  KVPLAN_TRY(price.gpus_per_node, whole_of(place, "gpus_per_node", {1, kMostGpusPerNode}));
  for (std::size_t i = 0; i < runs::kPurchases; ++i) {
    if (!place.has(kPurchaseNames[i])) continue;
    KVPLAN_TRY(price.per_hour[i], number_of(place, kPurchaseNames[i], {0, kMostPrice}));
  }
  if (place.has("note")) KVPLAN_TRY_DO(text_of(place, "note"));
  KVPLAN_TRY_DO(read_terms(place, price.purchase, price.spares));
  const std::string_view paid = kPurchaseNames[static_cast<std::size_t>(price.purchase)];
  if (!place.has(paid))
    return place.wrong("expected " + expected_text(NumberRange{0, kMostPrice}) + ", found nothing", paid);
  return price;
}

Result<PriceList> read_list(const Place& top) {
  KVPLAN_TRY_DO(check_keys(top, {"currency", "source", "purchase", "spares", "devices"}));
  PriceList list;
  KVPLAN_TRY(list.currency, text_of(top, "currency"));
  KVPLAN_TRY(list.source, text_of(top, "source"));
  DevicePrice common;
  KVPLAN_TRY_DO(read_terms(top, common.purchase, common.spares));
  KVPLAN_TRY(const Place devices, object_of(top, "devices"));
  for (const auto field : devices.object) {
    const auto device = model::find_device(field.key);
    if (!device.ok()) return devices.wrong(device.error().message, field.key);
    const std::string& name = device.value()->name;
    if (std::any_of(list.devices.begin(), list.devices.end(),
                    [&](const DevicePrice& each) { return each.device == name; }))
      return devices.wrong("expected each device once, found " + name + " again", field.key);
    KVPLAN_TRY(const Place place, object_of(devices, field.key));
    common.device = name;
    KVPLAN_TRY(DevicePrice price, read_device(place, common));
    list.devices.push_back(std::move(price));
  }
  if (list.devices.empty()) return top.wrong("expected at least one device", "devices");
  return list;
}

}  // namespace

Result<PriceList> parse_prices(std::string_view text, const std::string& file) {
  dom::parser parser;
  const simdjson::padded_string padded(without_byte_order_mark(text));
  Place top;
  const auto parsed = parser.parse(padded);
  if (parsed.error() != simdjson::SUCCESS)
    return bad_input("expected a JSON object with device prices: " +
                     std::string(simdjson::error_message(parsed.error())))
        .at_file(file);
  if (const auto twice = key_given_twice(parsed.value_unsafe()))
    return bad_input("expected each key once, found it twice").at_file(file).at_field(*twice);
  if (parsed.get_object().get(top.object) != simdjson::SUCCESS)
    return bad_input("expected a JSON object with device prices").at_file(file);
  Result<PriceList> list = read_list(top);
  if (list.ok()) return list;
  return std::move(list).error().at_file(file);
}

Result<PriceList> open_prices(const std::string& path) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(path));
  const std::string text(input->take(kMostPriceBytes + 1));
  if (input->failed()) return input->error();
  if (text.size() > kMostPriceBytes) return bad_input("expected at most 1 MiB").at_file(path);
  return parse_prices(text, path);
}

}  // namespace kvplan::io
