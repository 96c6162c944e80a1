// Reads the tokens with the greatest weights of each row: no other set of the same size has more mass.
#include <algorithm>
#include <array>

#include "simulator/attention/selection.h"
#include "simulator/readers/reader.h"

namespace kvplan::readers::oracle {
namespace {

constexpr std::array kParams{attention::tokens_param("budget", "Tokens that each query head reads", 1)};

class Oracle final : public LayerReader {
 public:
  Oracle(const attention::LayerTensors& tensors, std::int64_t budget) : in_(tensors), budget_(budget) {}
  void read(std::int64_t t, const attention::LayerRows& rows, std::span<ReadSet> sets) override {
    const std::int64_t first = in_.first_seen(t);
    const std::int64_t seen = t + 1 - first;
    for (std::size_t h = 0; h < sets.size(); ++h) {
      const attention::RowView row = rows.row(static_cast<std::int32_t>(h));
      attention::highest(std::span(row.f64 + first, static_cast<std::size_t>(seen)),
                         static_cast<std::int32_t>(std::min(budget_, seen)), sets[h]);
      for (std::int32_t& position : sets[h]) position += static_cast<std::int32_t>(first);
    }
  }

 private:
  const attention::LayerTensors& in_;
  std::int64_t budget_;
};

std::unique_ptr<LayerReader> make(const ReaderInput& input) {
  return std::make_unique<Oracle>(input.tensors, input.choice.integer("budget"));
}

Result<CountedReads> counted(const UnrecordedHead& head) {
  return CountedReads{.rule = {.fetched = head.query_heads * head.choice.integer("budget")},
                      .at_most = head.query_heads > 1};
}

}  // namespace

extern const ReaderKind kMember;
const ReaderKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "oracle",
                   .summary = "Reads the tokens with the query's largest weights: no set of the same size "
                              "holds more attention mass",
                   .source = "kvplan (an upper bound)",
                   .params = kParams,
                   .divergences =
                       "The oracle knows the attention row before it reads. It bounds the attention mass, "
                       "not the error of the output, and no metadata is counted."},
    .budget = "budget",
    .ranks_products = false,
    .counted = counted,
    .make = make};

}  // namespace kvplan::readers::oracle
