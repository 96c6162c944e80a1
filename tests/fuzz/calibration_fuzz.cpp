// Calibrations: what can be read is written with the same bytes, and can be merged with itself; errors are one line.
#include <cstdlib>

#include "simulator/io/calibration.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> fuzz_seeds() {
  using namespace kvplan::io;
  Calibration small;
  small.when = "2026-11-22T04:05:06Z";
  small.software = {"1", "2", "kvplan", "", "b1"};
  small.tables.push_back(
      {"granularity", {{"minimum", "bytes", {2097152}, {}}, {"recommended", "bytes", {2097152}, {}}}});
  Calibration wide = small;
  wide.tables.push_back(
      {"context", {{"moment", "text", {}, {"before", "launch"}}, {"free", "bytes", {9e9, 8e9}, {}}}});
  wide.tables.push_back({"own",
                         {{"p10", "ns", {1.5}, {}},
                          {"median", "ns", {2}, {}},
                          {"p90", "ns", {2e3}, {}},
                          {"x", "ratio", {0.1}, {}}}});
  wide.fits.push_back({"own", "a + b x", {{"a", 1e-9, "ns"}, {"b", 3, "ns/bytes"}}, 0.03, 7});
  return {calibration_json(small), calibration_json(wide)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvplan::io;
  const auto read = parse_calibration({reinterpret_cast<const char*>(data), size}, "c.json");
  if (!read.ok()) return read.error().to_string().find('\n') == std::string::npos ? 0 : (std::abort(), 0);
  const std::string json = calibration_json(read.value());
  const auto again = parse_calibration(json, "c.json");
  if (!again.ok() || calibration_json(again.value()) != json) std::abort();
  Calibration twice = read.value();
  twice.fits.clear();
  const Calibration once = twice;
  if (!merge_calibration(twice, once).ok()) std::abort();
  for (std::size_t i = 0; i < once.tables.size(); ++i)
    if (twice.tables[i].rows() != 2 * once.tables[i].rows()) std::abort();
  return 0;
}
