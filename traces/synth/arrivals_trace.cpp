#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "simulator/base/fraction.h"
#include "simulator/base/units.h"
#include "traces/import/open_trace.h"
#include "traces/synth/parts.h"

namespace kvplan::traces::arrivals_trace {
namespace {

/// Holds 24 bytes for each request of the other trace.
class Copied final : public ArrivalProcess {
 public:
  explicit Copied(std::vector<Arrival> arrivals) : arrivals_(std::move(arrivals)) {}
  Result<bool> next(Arrival& arrival) override {
    if (next_ == arrivals_.size()) return false;
    arrival = arrivals_[next_++];
    return true;
  }
  [[nodiscard]] bool has_lengths() const override { return true; }
  [[nodiscard]] bool ends() const override { return true; }

 private:
  std::vector<Arrival> arrivals_;
  std::size_t next_{0};
};

constexpr std::array<Param, 2> kParams{text_param("file", "The trace: a .kvt or any importable file", ""),
                                       text_param("rate_scale",
                                                  "Factor on the arrival rate (p/q or decimal): times since "
                                                  "the first arrival are divided and rounded down",
                                                  "1")};

Result<std::unique_ptr<ArrivalProcess>> make(const Choice& choice, const PartContext& context) {
  auto scale = parse_fraction(choice.text("rate_scale"));
  if (!scale.ok()) return std::move(scale).error().at_field("trace:rate_scale");
  const std::string& path = choice.text("file");
  KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream({path}, {}, context.on_read));
  std::vector<Arrival> arrivals;
  Trace piece;
  for (;;) {
    KVPLAN_TRY(const bool more, stream->next(piece));
    if (!more) break;
    for (std::size_t i = 0; i < piece.arrival_ns.size(); ++i)
      arrivals.push_back({piece.arrival_ns[i], -1, {piece.input_tokens[i], piece.output_tokens[i]}});
  }
  if (!stream->summary().shares_clock)
    return bad_input("its requests have no common clock, so there are no arrival times to copy")
        .at_file(path);
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at_ns < b.at_ns; });
  const std::int64_t first = arrivals.front().at_ns;
  for (Arrival& arrival : arrivals) {
    const Wide since = (Wide{arrival.at_ns} - first) * scale.value().denominator / scale.value().numerator;
    if (since > INT64_MAX) return too_late().at_file(path);
    arrival.at_ns = static_cast<std::int64_t>(since);
  }
  return std::unique_ptr<ArrivalProcess>(std::make_unique<Copied>(std::move(arrivals)));
}

}  // namespace

extern const ArrivalsEntry kMember;
const ArrivalsEntry kMember{
    .descriptor = {.family = "arrivals",
                   .name = "trace",
                   .summary = "The arrival times of another trace, shifted so that the first is 0; its "
                              "lengths are available too.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::arrivals_trace
