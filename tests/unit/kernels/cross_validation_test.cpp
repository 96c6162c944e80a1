// Predictions of measured calls without their own times. Prints the errors that simulator/kernels/README.md has; the
// limits are those figures plus at least a tenth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "simulator/kernels/attention_roofline.h"
#include "simulator/kernels/grid_estimate.h"
#include "simulator/modelfile/device_catalogue.h"
#include "tests/unit/kernels/support.h"

namespace kvplan::kernels {
namespace {

using testing::asked;
using testing::calls_of;
using testing::names_of;

/// Relative errors, in percent: of all tables together, and of each engine on each GPU.
class Errors {
 public:
  /// The errors that are added next belong to this table.
  void of(const KernelTable& table) { own_ = &by_engine_[table.gpu + ", " + table.engine]; }
  void add(double us, double measured) {
    percent_.push_back(100 * std::fabs(us - measured) / measured);
    own_->push_back(percent_.back());
  }
  void add_none() { ++none_; }

  struct Limits {
    double mean, p50, p90, p95;
    std::size_t none{0};
  };
  void check(const char* name, std::size_t calls, const Limits& limits) {
    ASSERT_EQ(percent_.size() + none_, calls);
    const double mean = print(name, percent_);
    std::printf("%-32s not said %zu\n", name, none_);
    EXPECT_LE(mean, limits.mean) << name;
    EXPECT_LE(at(percent_, 50), limits.p50) << name;
    EXPECT_LE(at(percent_, 90), limits.p90) << name;
    EXPECT_LE(at(percent_, 95), limits.p95) << name;
    EXPECT_LE(none_, limits.none) << name;
    for (auto& [engine, percent] : by_engine_)
      if (!percent.empty()) print(engine.c_str(), percent);
  }

 private:
  /// Sorts and prints the errors; returns their mean.
  static double print(const char* name, std::vector<double>& percent) {
    std::sort(percent.begin(), percent.end());
    double sum = 0;
    for (const double error : percent) sum += error;
    const double mean = sum / static_cast<double>(percent.size());
    std::printf("%-32s %6zu calls  mean %5.2f %%  p50 %5.2f %%  p90 %5.2f %%  p95 %5.2f %%  p99 %5.2f %%\n",
                name, percent.size(), mean, at(percent, 50), at(percent, 90), at(percent, 95),
                at(percent, 99));
    return mean;
  }
  /// Nearest rank in the sorted list.
  static double at(const std::vector<double>& percent, std::size_t percentile) {
    return percent[(percent.size() * percentile + 99) / 100 - 1];
  }

  std::vector<double> percent_;
  std::map<std::string, std::vector<double>> by_engine_;
  std::vector<double>* own_{nullptr};
  std::size_t none_{0};
};

/// Adds the errors of calls for which `held` is true, predicted from all others.
std::size_t hold_out(const KernelTable& table, const std::function<bool(const MeasuredCall&)>& held,
                     Errors& errors) {
  std::vector<MeasuredCall> kept, out;
  for (const MeasuredCall& call : calls_of(table.grid)) (held(call) ? out : kept).push_back(call);
  if (out.empty() || kept.empty()) return 0;
  errors.of(table);
  KernelTable without = table;
  without.grid = MeasuredGrid::make(kept).value();
  const DecodeTimes times(std::vector<KernelTable>{without}, names_of(table));
  for (const MeasuredCall& call : out) {
    const auto time = times(asked(table, call));
    time ? errors.add(time->us, call.us) : errors.add_none();
  }
  return out.size();
}

/// For each value returned by `of`, holds back all calls of a table with that value.
std::size_t hold_out_each(const std::function<std::int64_t(const MeasuredCall&)>& of,
                          const std::function<bool(const GridAxes&, std::int64_t)>& wanted, Errors& errors) {
  std::size_t calls = 0;
  for (const KernelTable& table : kernel_tables()) {
    std::set<std::int64_t> values;
    for (const MeasuredCall& call : calls_of(table.grid)) values.insert(of(call));
    for (const std::int64_t value : values)
      if (wanted(table.grid.axes(), value))
        calls += hold_out(
            table, [&](const MeasuredCall& call) { return of(call) == value; }, errors);
  }
  return calls;
}

bool any(const GridAxes& /*axes*/, std::int64_t /*value*/) {
  return true;
}

TEST(CrossValidation, OneCall) {
  Errors errors;
  std::size_t calls = 0;
  for (const KernelTable& table : kernel_tables()) {
    errors.of(table);
    MeasuredGrid grid = table.grid;
    for (std::size_t i = 0; i < grid.places(); ++i) {
      const GridPlace place = grid.place(i);
      const double us = grid.at(place);
      if (us == 0) continue;
      ++calls;
      MeasuredGrid without = table.grid;
      without.forget(place);
      const auto time = estimate(without, place, table.window);
      time ? errors.add(time->us, us) : errors.add_none();
    }
  }
  errors.check("one call", calls, {.mean = 2.6, .p50 = 1.4, .p90 = 6.2, .p95 = 9.3, .none = 25});
}

TEST(CrossValidation, EveryFifthCall) {
  Errors errors;
  std::size_t calls = 0;
  for (const KernelTable& table : kernel_tables())
    for (std::uint64_t part = 0; part < 5; ++part)
      calls += hold_out(
          table,
          [&](const MeasuredCall& c) {
            auto hash =
                static_cast<std::uint64_t>(((c.batch * 64 + c.kv_heads) * 64 + c.group) * 1000003 + c.length);
            hash = (hash ^ (hash >> 29)) * 0xBF58476D1CE4E5B9ULL;
            return (hash >> 33) % 5 == part;
          },
          errors);
  errors.check("every fifth call", calls, {.mean = 2.8, .p50 = 1.6, .p90 = 6.7, .p95 = 10});
}

TEST(CrossValidation, OneBatch) {
  Errors errors;
  const std::size_t calls = hold_out_each(
      [](const MeasuredCall& call) { return call.batch; },
      [](const GridAxes& axes, std::int64_t value) { return value != axes.batches.front(); }, errors);
  errors.check("one batch", calls, {.mean = 5, .p50 = 2.6, .p90 = 12, .p95 = 16.5});
}

TEST(CrossValidation, OneNumberOfKvHeads) {
  Errors errors;
  const std::size_t calls =
      hold_out_each([](const MeasuredCall& call) { return call.kv_heads; }, any, errors);
  errors.check("one number of KV heads", calls, {.mean = 4.4, .p50 = 2.1, .p90 = 11.2, .p95 = 16.5});
}

TEST(CrossValidation, OneGroupOfQueryHeads) {
  Errors errors;
  const std::size_t calls =
      hold_out_each([](const MeasuredCall& call) { return call.group; },
                    [](const GridAxes& /*axes*/, std::int64_t value) { return value > 1; }, errors);
  errors.check("one group", calls, {.mean = 3.7, .p50 = 1.6, .p90 = 8.2, .p95 = 12.5});
}

TEST(CrossValidation, TheGreatestGroups) {
  Errors errors;
  std::size_t calls = 0;
  for (const KernelTable& table : kernel_tables())
    calls += hold_out(
        table, [](const MeasuredCall& call) { return call.group >= 8; }, errors);
  errors.check("groups of 8 and 16", calls, {.mean = 6, .p50 = 2.9, .p90 = 14.5, .p95 = 20});
}

TEST(CrossValidation, OnePairOfHeadCounts) {
  Errors errors;
  const std::size_t calls =
      hold_out_each([](const MeasuredCall& call) { return call.kv_heads * 1000 + call.group; }, any, errors);
  errors.check("one pair of heads", calls, {.mean = 3, .p50 = 1.6, .p90 = 7.4, .p95 = 11});
}

TEST(CrossValidation, OneLength) {
  Errors errors;
  const std::size_t calls = hold_out_each(
      [](const MeasuredCall& call) { return call.length; },
      [](const GridAxes& axes, std::int64_t value) { return value != axes.lengths.front(); }, errors);
  errors.check("one length", calls, {.mean = 6.7, .p50 = 2.3, .p90 = 15, .p95 = 21});
}

TEST(CrossValidation, TheShortestLength) {
  Errors errors;
  const std::size_t calls = hold_out_each(
      [](const MeasuredCall& call) { return call.length; },
      [](const GridAxes& axes, std::int64_t value) { return value == axes.lengths.front(); }, errors);
  errors.check("the shortest length", calls, {.mean = 13, .p50 = 9, .p90 = 28, .p95 = 36});
}

TEST(CrossValidation, Roofline) {
  Errors half, byte;
  std::size_t half_calls = 0, byte_calls = 0;
  for (const KernelTable& table : kernel_tables()) {
    const model::DeviceShape& device = *model::find_device(table.gpu).value();
    const bool bytes = table.kv_elem_bytes < 2;
    (bytes ? byte : half).of(table);
    for (const MeasuredCall& call : calls_of(table.grid)) {
      (bytes ? byte : half).add(attention_roofline(asked(table, call), device).us, call.us);
      ++(bytes ? byte_calls : half_calls);
    }
  }
  half.check("roofline, 2 bytes", half_calls, {.mean = 25, .p50 = 17, .p90 = 50, .p95 = 100});
  byte.check("roofline, 1 byte", byte_calls, {.mean = 36, .p50 = 29, .p90 = 75, .p95 = 110});
}

}  // namespace
}  // namespace kvplan::kernels
