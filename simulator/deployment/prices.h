// What devices cost, and what a run's deployment costs by it: whole nodes, spare ones included, for as long as they are
// there. Money is a plain number in the list's currency.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/result.h"

namespace kvplan::plan {

/// How a device is paid for.
enum class Purchase : std::uint8_t { kOnDemand, kReserved, kSpot };
inline constexpr std::size_t kPurchases = 3;
/// As price lists have them.
inline constexpr std::array<std::string_view, kPurchases> kPurchaseNames{"on_demand", "reserved", "spot"};

/// Nodes beside those that serve: so many, or a share of these, rounded up.
struct Spares {
  std::int64_t nodes{0};
  std::optional<Fraction> share{};
  /// Spare nodes beside `serving` ones.
  [[nodiscard]] std::int64_t beside(std::int64_t serving) const;
};

struct DevicePrice {
  std::string device;  ///< by its own name (kvplan list device)
  std::int64_t gpus_per_node{1};
  bool of_a_node{false};  ///< prices are of a whole node; otherwise of a device
  std::array<std::optional<double>, kPurchases> per_hour{};
  Purchase purchase{Purchase::kOnDemand};
  Spares spares;
};

struct PriceList {
  std::string currency;  ///< "USD"
  std::string source;    ///< where the prices are from, for people
  std::vector<DevicePrice> devices;
};
/// Reads the list that a scenario names; called from any thread.
using PricesOpener = std::function<Result<PriceList>(const std::string& path)>;

/// Of all replicas of a run.
struct Cost {
  std::int64_t nodes{0};  ///< spare ones included
  double per_hour{0};
  std::string currency;
  std::string sentence;  ///< what it rests on
};

/// So many devices of one kind (by its own name). Errors: the list does not have the device, or not this way to pay.
Result<Cost> cost_of(const PriceList& prices, std::string_view device, std::int64_t gpus);

}  // namespace kvplan::plan
