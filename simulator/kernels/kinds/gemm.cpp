// gemm: one product of m x k with k x n.
//
// Roofline: a floor of 2.5 us (the lowest time of the tables), plus the longer of memory and arithmetic: weights
// once, activations in and out in 2 bytes; 2 m n k operations. Between measured n and k, the ratio to the roofline is
// bilinear in their logarithms.
#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/kernels/kernel_kind.h"
#include "simulator/kernels/kinds/rates.h"

namespace kvplan::kernels {
namespace {

constexpr std::array<KeyColumn, 3> kColumns{
    {{"gemm_dtype"}, {"n", KeyForm::kNumber}, {"k", KeyForm::kNumber}}};
constexpr double kFloorUs = 2.5;
/// Block fp8 of vLLM 0.24.0 takes at least 55 (H200) to 283 us (L40S); all others of any table at least 1.7 to 12.4 us.
constexpr double kLaunchedUs = 30;

double roofline(const KernelCall& call, const model::DeviceShape& device) {
  const std::string& dtype = call.key[0];
  const double n = call.numbers[1], k = call.numbers[2];
  const double bytes = n * k * weight_bytes(dtype) + 2 * call.at * (n + k);
  const double flops = 2 * call.at * n * k;
  return kFloorUs + 1e6 * std::max(bytes / memory_rate(device), flops / product_flops(device, dtype));
}

/// The measured neighbours of a value: the largest not above it and the smallest not below; the same one twice if the
/// value lies outside.
struct Bracket {
  double low{0}, high{0};
  bool outside{false};
};

Bracket bracket(const TimeTable& table, const std::string& dtype, std::size_t column, double value) {
  Bracket out{0, INFINITY};
  for (const TimeRow& row : table.rows) {
    if (row.key[0] != dtype) continue;
    const double at = row.numbers[column];
    if (at <= value) out.low = std::max(out.low, at);
    if (at >= value) out.high = std::min(out.high, at);
  }
  out.outside = out.low == 0 || std::isinf(out.high);
  if (out.low == 0) out.low = out.high;
  if (std::isinf(out.high)) out.high = out.low;
  return out;
}

std::string text_of(double number) {
  return std::to_string(static_cast<std::int64_t>(number));
}

RowsAround around(const TimeTable& table, const std::vector<std::string>& key,
                  const std::vector<double>& numbers) {
  const std::string& dtype = key[0];
  const double n = numbers[1], k = numbers[2];
  const Bracket of_n = bracket(table, dtype, 1, n), of_k = bracket(table, dtype, 2, k);
  RowsAround out{{}, of_n.outside || of_k.outside};
  if (std::isinf(of_n.low) || std::isinf(of_k.low)) return out;  // no row of this dtype
  const auto way = [](const Bracket& b, double value) {
    return b.high > b.low ? std::log(value / b.low) / std::log(b.high / b.low) : 0;
  };
  const double way_n = way(of_n, n), way_k = way(of_k, k);
  for (const auto& [corner_n, weight_n] : {std::pair{of_n.low, 1 - way_n}, std::pair{of_n.high, way_n}}) {
    for (const auto& [corner_k, weight_k] : {std::pair{of_k.low, 1 - way_k}, std::pair{of_k.high, way_k}}) {
      const double weight = weight_n * weight_k;
      if (weight <= 0) continue;
      const TimeRow* const row = table.find({dtype, text_of(corner_n), text_of(corner_k)});
      if (row != nullptr) out.rows.push_back({static_cast<std::size_t>(row - table.rows.data()), weight});
    }
  }
  return out;
}

SourcedTime between(const TimeTable& table, const KernelCall& call, const model::DeviceShape& device) {
  const RowsAround corners = around(table, call.key, call.numbers);
  double sum = 0, weights = 0;
  TimeSource source = corners.outside ? TimeSource::kExtrapolated : TimeSource::kInterpolated;
  for (const RowWeight& corner : corners.rows) {
    const TimeRow& row = table.rows[corner.row];
    const auto time = time_in_row(table, row, gemm_kind(), call.at, device);
    if (!time) continue;
    sum += corner.weight * std::log(time->us / roofline({row.key, row.numbers, call.at}, device));
    weights += corner.weight;
    source = std::max(source, time->source);
  }
  if (weights <= 0) return {0, TimeSource::kRoofline};
  return {roofline(call, device) * std::exp(sum / weights), source};
}

}  // namespace

const KernelKind& gemm_kind() {
  static constexpr KernelKind kKind{.name = "gemm",
                                    .files = "gemm",
                                    .columns = kColumns,
                                    .axis = "m",
                                    .launched_us = kLaunchedUs,
                                    .shape_before_engine = false,
                                    .roofline = roofline,
                                    .between = between,
                                    .around = around};
  return kKind;
}

}  // namespace kvplan::kernels
