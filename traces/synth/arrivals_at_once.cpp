#include <array>

#include "traces/synth/parts.h"

namespace kvplan::traces::arrivals_at_once {
namespace {

class AtOnce final : public ArrivalProcess {
 public:
  explicit AtOnce(std::int64_t clients) : clients_(clients) {}
  Result<bool> next(Arrival& arrival) override {
    if (sent_ == clients_) return false;
    ++sent_;
    arrival.at_ns = 0;
    return true;
  }
  [[nodiscard]] bool ends() const override { return true; }

 private:
  std::int64_t clients_;
  std::int64_t sent_{0};
};

constexpr std::array<Param, 1> kParams{
    whole_param("clients", "Arrivals at time 0", Unit::kNone, "", 1, 1'000'000)};

Result<std::unique_ptr<ArrivalProcess>> make(const Choice& choice, const PartContext& /*context*/) {
  return std::unique_ptr<ArrivalProcess>(std::make_unique<AtOnce>(choice.integer("clients")));
}

}  // namespace

extern const ArrivalsEntry kMember;
const ArrivalsEntry kMember{
    .descriptor = {.family = "arrivals",
                   .name = "at-once",
                   .summary = "All clients of a load test send their first request at time 0, and no other "
                              "arrives on its own: with --turns repeat each sends the next one when the last "
                              "is answered.",
                   .source = "kvplan",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::arrivals_at_once
