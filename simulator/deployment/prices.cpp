#include "simulator/deployment/prices.h"

#include <algorithm>

#include "simulator/base/component.h"
#include "simulator/base/json_writer.h"
#include "simulator/base/units.h"
#include "simulator/modelfile/device_text.h"

namespace kvplan::runs {
namespace {

std::string listed(const PriceList& prices) {
  std::string out;
  for (const DevicePrice& each : prices.devices) out.append(out.empty() ? "" : ", ").append(each.device);
  return out;
}

std::string sentence_of(const PriceList& prices, const DevicePrice& price, std::int64_t serving,
                        std::int64_t spares, double paid) {
  const std::string nodes = std::to_string(serving) + (serving == 1 ? " node of " : " nodes of ") +
                            std::to_string(price.gpus_per_node) + " " + price.device;
  return "Costs are those of " + nodes + " and " + std::to_string(spares) +
         (spares == 1 ? " spare, at " : " spares, at ") + shortest(paid) + " " + prices.currency +
         " per hour and " + (price.of_a_node ? "node" : "device") + " (" +
         std::string(kPurchaseNames[static_cast<std::size_t>(price.purchase)]) + "; " + prices.source + ").";
}

}  // namespace

std::int64_t Spares::beside(std::int64_t serving) const {
  if (!share) return nodes;
  const Wide more = Wide{serving} * share->numerator + share->denominator - 1;
  return static_cast<std::int64_t>(more / share->denominator);
}

Result<Cost> cost_of(const PriceList& prices, std::string_view text, std::int64_t gpus) {
  std::string device(text);
  if (model::says_device(text)) {
    KVPLAN_TRY(const model::DeviceShape in_place, model::device_in_place(text));
    device = in_place.name;
  }
  const auto price = std::find_if(prices.devices.begin(), prices.devices.end(),
                                  [&](const DevicePrice& each) { return each.device == device; });
  if (price == prices.devices.end())
    return bad_input("expected a price for " + device + ", but the price list only has " + listed(prices));
  const auto purchase = static_cast<std::size_t>(price->purchase);
  const std::optional<double>& paid = price->per_hour[purchase];
  if (!paid)
    return bad_input("expected a price")
        .at_field("devices." + price->device + "." + std::string(kPurchaseNames[purchase]));
  const std::int64_t serving = ceil_div(gpus, price->gpus_per_node);
  const std::int64_t spares = price->spares.beside(serving);
  Cost cost{.nodes = serving + spares, .per_hour = 0, .currency = prices.currency, .sentence = {}};
  const std::int64_t units = price->of_a_node ? cost.nodes : cost.nodes * price->gpus_per_node;
  cost.per_hour = static_cast<double>(units) * *paid;
  cost.sentence = sentence_of(prices, *price, serving, spares, *paid);
  return cost;
}

}  // namespace kvplan::runs
