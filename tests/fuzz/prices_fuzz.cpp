// Price lists: a list that can be read gives a cost for each of its devices; errors are one line.
#include <cmath>
#include <cstdlib>

#include "simulator/io/price_file.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> fuzz_seeds() {
  return {
      R"({"currency":"USD","source":"x","spares":{"share":0.1},"devices":{"h100-sxm":{"per":"node_hour",)"
      R"("gpus_per_node":8,"on_demand":20,"reserved":14.5}}})",
      R"({"currency":"EUR","source":"y","purchase":"spot","devices":{"l40s":{"per":"gpu_hour","gpus_per_node":1,)"
      R"("spot":0.9,"spares":{"nodes":2},"note":"z"}}})"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto prices = kvplan::io::parse_prices({reinterpret_cast<const char*>(data), size}, "p.json");
  if (!prices.ok()) return prices.error().to_string().find('\n') == std::string::npos ? 0 : (std::abort(), 0);
  for (const kvplan::runs::DevicePrice& each : prices.value().devices)
    for (const std::int64_t gpus : {1, 7, 1'000'000}) {
      const auto cost = kvplan::runs::cost_of(prices.value(), each.device, gpus);
      if (!cost.ok() || cost.value().nodes * each.gpus_per_node < gpus) std::abort();
      if (!std::isfinite(cost.value().per_hour) || cost.value().per_hour < 0) std::abort();
    }
  return 0;
}
