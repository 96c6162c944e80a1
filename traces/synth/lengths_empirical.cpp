#include <array>
#include <vector>

#include "traces/import/open_trace.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::lengths_empirical {
namespace {

/// Holds 8 bytes for each request of the file.
class Empirical final : public LengthSource {
 public:
  Empirical(Random random, std::vector<RequestLengths> pairs, bool in_order)
      : random_(random), pairs_(std::move(pairs)), in_order_(in_order) {}
  RequestLengths draw(const Arrival& /*arrival*/) override {
    if (!in_order_) return pairs_[random_.below(pairs_.size())];
    if (next_ == pairs_.size()) next_ = 0;
    return pairs_[next_++];
  }

 private:
  Random random_;
  std::vector<RequestLengths> pairs_;
  bool in_order_;
  std::size_t next_{0};
};

constexpr std::array<std::string_view, 2> kOrders{"random", "file"};
constexpr std::array<Param, 2> kParams{
    text_param("file", "Source of the lengths: a .kvt or any importable file, with or without arrivals", ""),
    text_param("order",
               "random: draw any request of the file with equal probability; file: take requests in file "
               "order, and start again after the last",
               "random", kOrders)};

Result<std::unique_ptr<LengthSource>> make(const Choice& choice, const PartContext& context) {
  KVPLAN_TRY(const std::unique_ptr<TraceStream> stream,
             open_stream({choice.text("file")}, {}, context.on_read));
  std::vector<RequestLengths> pairs;
  Trace piece;
  for (;;) {
    KVPLAN_TRY(const bool more, stream->next(piece));
    if (!more) break;
    for (std::size_t i = 0; i < piece.input_tokens.size(); ++i)
      pairs.push_back({piece.input_tokens[i], piece.output_tokens[i]});
  }
  return std::unique_ptr<LengthSource>(
      std::make_unique<Empirical>(context.random, std::move(pairs), choice.text("order") == "file"));
}

}  // namespace

extern const LengthsEntry kMember;
const LengthsEntry kMember{
    .descriptor = {.family = "lengths",
                   .name = "empirical",
                   .summary = "Prompt and output lengths of one recorded request, drawn together.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::lengths_empirical
