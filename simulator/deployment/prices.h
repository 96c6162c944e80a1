// Prices of devices, and the cost of a run's deployment: whole nodes, spare nodes included, for as long as they are
// rented. Money is a plain number in the list's currency.
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

namespace kvplan::runs {

/// How a device is paid for.
enum class Purchase : std::uint8_t { kOnDemand, kReserved, kSpot };
inline constexpr std::size_t kPurchases = 3;
/// Names as in price lists.
inline constexpr std::array<std::string_view, kPurchases> kPurchaseNames{"on_demand", "reserved", "spot"};

/// Spare nodes: a fixed number, or a share of the serving ones, rounded up.
struct Spares {
  std::int64_t nodes{0};
  std::optional<Fraction> share{};
  /// The number of spare nodes for `serving` serving nodes.
  [[nodiscard]] std::int64_t beside(std::int64_t serving) const;
};

struct DevicePrice {
  std::string device;  ///< its canonical name (kvplan list device)
  std::int64_t gpus_per_node{1};
  bool of_a_node{false};  ///< true: prices are for a whole node; false: for a device
  std::array<std::optional<double>, kPurchases> per_hour{};
  Purchase purchase{Purchase::kOnDemand};
  Spares spares;
};

struct PriceList {
  std::string currency;  ///< "USD"
  std::string source;    ///< source of the prices, as text
  std::vector<DevicePrice> devices;
};
/// Reads the list that a scenario names; called from any thread.
using PricesOpener = std::function<Result<PriceList>(const std::string& path)>;

/// Cost of all replicas of a run.
struct Cost {
  std::int64_t nodes{0};  ///< including spare ones
  double per_hour{0};
  std::string currency;
  std::string sentence;  ///< states the basis of the cost
};

/// Cost of `gpus` devices of one kind (canonical name). Errors: the list lacks the device, or this kind of purchase.
Result<Cost> cost_of(const PriceList& prices, std::string_view device, std::int64_t gpus);

}  // namespace kvplan::runs
