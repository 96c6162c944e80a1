#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "simulator/base/json_writer.h"
#include "simulator/base/units.h"
#include "traces/synth/client_pool.h"
#include "traces/synth/draws.h"

namespace kvplan::traces::arrivals_servegen {
namespace {

constexpr double kMostInWindow = 67'108'864;

/// The requests of one client in one window after the other: as many as the window's rate says, with gaps drawn from
/// its distribution and scaled to fill it. There is one gap more than requests, so that none has to be at an end. The
/// gaps are drawn twice from the same state, first for their sum, so that a window of any number of requests needs no
/// memory.
class ClientRequests {
 public:
  ClientRequests(const PoolClient& client, Random random, double rate_scale, std::size_t window,
                 std::int64_t day_begin_ns)
      : client_(&client),
        random_(random),
        rate_scale_(rate_scale),
        window_(window),
        day_begin_ns_(day_begin_ns) {
    open_window();
  }

  /// The time of the next event: a request, or the end of a window without further requests.
  [[nodiscard]] Wide at() const { return at_; }
  /// True if the next event is a request; it arrives at `in_day_ns` of the day.
  [[nodiscard]] bool is_request() const { return left_ > 0; }
  [[nodiscard]] std::int64_t in_day_ns() const { return static_cast<std::int64_t>(at_ - day_begin_ns_); }
  [[nodiscard]] const PoolClient& client() const { return *client_; }
  Random& random() { return random_; }

  void go_on(std::int64_t day_ns) {
    if (left_ > 0) {
      --left_;
      place();
      return;
    }
    if (++window_ == client_->windows.size()) {
      window_ = 0;
      day_begin_ns_ += day_ns;
    }
    open_window();
  }

 private:
  [[nodiscard]] const PoolWindow& window() const { return client_->windows[window_]; }

  double gap() {
    return window().weibull ? draw_weibull(gaps_, window().shape) : draw_gamma(gaps_, window().shape);
  }

  /// A number that follows from the pool's own rate is whole; others are rounded by chance, right on average.
  std::int64_t count() {
    const double wanted = window().requests() * rate_scale_;
    const double nearest = std::floor(wanted + 0.5);
    const double ticket = random_.unit();
    if (std::abs(wanted - nearest) < 1e-6) return static_cast<std::int64_t>(nearest);
    return static_cast<std::int64_t>(std::floor(wanted + ticket));
  }

  void open_window() {
    left_ = count();
    sum_ = total_ = 0;
    if (left_ > 0) {
      const Random state(random_.next());
      gaps_ = state;
      for (std::int64_t i = 0; i <= left_; ++i) total_ += gap();
      gaps_ = state;
    }
    place();
  }

  void place() {
    const Wide begin = day_begin_ns_ + window().begin_ns;
    const std::int64_t length = window().end_ns - window().begin_ns;
    if (left_ == 0) {
      at_ = day_begin_ns_ + window().end_ns;
      return;
    }
    sum_ += gap();
    // If all gaps are too small for a double (or one is too large), all requests arrive at the beginning.
    const double share = total_ > 0 && std::isfinite(total_) ? sum_ / total_ : 0;
    const auto since = static_cast<std::int64_t>(share * static_cast<double>(length));
    at_ = begin + std::min(since, length - 1);
  }

  const PoolClient* client_;
  Random random_;
  double rate_scale_;
  std::size_t window_;
  Wide day_begin_ns_;  ///< in the workload's time
  Random gaps_{0};
  double total_{0}, sum_{0};
  std::int64_t left_{0};
  Wide at_{0};
};

class Servegen final : public ArrivalProcess {
 public:
  Servegen(ClientPool pool, const std::vector<std::size_t>& chosen, std::uint64_t key, double rate_scale,
           std::int64_t from_ns)
      : pool_(std::move(pool)) {
    for (const std::size_t position : chosen) {
      const PoolClient& client = pool_.clients[position];
      // Windows that are over when the workload begins are skipped, and so are the requests of the day before.
      std::size_t window = 0;
      std::int64_t day_begin_ns = -from_ns;
      while (window < client.windows.size() && client.windows[window].end_ns <= from_ns) ++window;
      if (window == client.windows.size()) {
        window = 0;
        day_begin_ns += pool_.day_ns;
      }
      heap_.emplace_back(client, Random(key, "client-" + std::to_string(client.number)), rate_scale, window,
                         day_begin_ns);
    }
    std::make_heap(heap_.begin(), heap_.end(), later);
  }

  Result<bool> next(Arrival& arrival) override {
    for (;;) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      ClientRequests& client = heap_.back();
      if (client.at() > INT64_MAX) return too_late();
      const bool found = client.is_request() && client.at() >= 0;
      if (found) {
        const PoolLengths& lengths = client.client().lengths_at(client.in_day_ns());
        arrival.at_ns = static_cast<std::int64_t>(client.at());
        arrival.client = client.client().number;
        const std::int32_t input = lengths.input.draw(client.random());
        arrival.lengths = {input, lengths.output.draw(client.random())};
      }
      client.go_on(pool_.day_ns);
      std::push_heap(heap_.begin(), heap_.end(), later);
      if (found) return true;
    }
  }
  [[nodiscard]] bool has_lengths() const override { return true; }

 private:
  static bool later(const ClientRequests& a, const ClientRequests& b) {
    return std::pair(a.at(), a.client().number) > std::pair(b.at(), b.client().number);
  }

  ClientPool pool_;
  std::vector<ClientRequests> heap_;  ///< never empty
};

constexpr std::array<Param, 4> kParams{
    text_param("pool",
               "The client pool: a folder with chunk-K-trace.csv and chunk-K-dataset.json files, or a .tar "
               "of it, also .tar.gz or .tar.zst",
               ""),
    whole_param("clients", "Number of clients, drawn by their rates without replacement; 0 = all",
                Unit::kNone, "0", 0, 65'536),
    decimal_param("rate_per_s", "Mean requests per second over the pool's day; 0 = the recorded rates",
                  Unit::kNone, "0", 0, 1e9),
    decimal_param("from_s", "Time of day at which the workload begins; the pool's day repeats",
                  Unit::kSeconds, "0", 0, 1e9)};

/// Chooses `count` clients; each draw is in proportion to the requests of those that are left.
std::vector<std::size_t> choose(const ClientPool& pool, std::size_t count, Random& random) {
  std::vector<double> weights;
  std::vector<std::size_t> chosen;
  for (const PoolClient& client : pool.clients) weights.push_back(client.requests());
  for (std::size_t drawn = 0; drawn < count; ++drawn) {
    chosen.push_back(Weighted(weights).draw(random));
    weights[chosen.back()] = 0;
  }
  return chosen;
}

Result<std::unique_ptr<ArrivalProcess>> make(const Choice& choice, const PartContext& context) {
  const std::string& path = choice.text("pool");
  KVPLAN_TRY(ClientPool pool, read_client_pool(path, context.on_read));
  const auto busy = [](const PoolClient& client) { return client.requests() > 0; };
  std::erase_if(pool.clients, [&](const PoolClient& client) { return !busy(client); });
  const auto wanted = static_cast<std::size_t>(choice.integer("clients"));
  if (wanted > pool.clients.size())
    return bad_input("the pool has " + std::to_string(pool.clients.size()) + " clients with requests")
        .at_file(path)
        .at_field("servegen:clients");
  Random random = context.random;
  const std::uint64_t key = random.next();
  const std::vector<std::size_t> chosen = choose(pool, wanted == 0 ? pool.clients.size() : wanted, random);
  double requests = 0;
  for (const std::size_t position : chosen) requests += pool.clients[position].requests();
  const double day_s = static_cast<double>(pool.day_ns) / static_cast<double>(kNsPerSecond);
  const double rate = choice.decimal("rate_per_s");
  const double scale = rate > 0 ? rate * day_s / requests : 1;
  if (!(requests * scale >= 1))
    return bad_input("expected at least one request a day, found " + shortest(requests * scale))
        .at_file(path)
        .at_field("servegen:rate_per_s");
  for (const PoolClient& client : pool.clients)
    for (const PoolWindow& window : client.windows)
      if (!(window.requests() * scale <= kMostInWindow))
        return bad_input("more than 67108864 requests of one client in one window")
            .at_file(path)
            .at_field("servegen:rate_per_s");
  const std::int64_t from_ns = std::llround(choice.decimal("from_s") * static_cast<double>(kNsPerSecond));
  if (from_ns >= pool.day_ns)
    return bad_input("expected a time before the end of the pool's day, " + shortest(day_s) + " s")
        .at_field("servegen:from_s");
  return std::unique_ptr<ArrivalProcess>(
      std::make_unique<Servegen>(std::move(pool), chosen, key, scale, from_ns));
}

}  // namespace

extern const ArrivalsEntry kMember;
const ArrivalsEntry kMember{
    .descriptor = {.family = "arrivals",
                   .name = "servegen",
                   .summary = "The clients of a ServeGen pool. Each client is a tenant with its own rates, "
                              "gaps and lengths by time of day.",
                   .source = "arXiv:2505.09999, github.com/alibaba/ServeGen: servegen/clientpool.py",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::traces::arrivals_servegen
