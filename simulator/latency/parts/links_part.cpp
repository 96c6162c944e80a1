#include "simulator/latency/parts/links_part.h"

#include <algorithm>
#include <map>

#include "simulator/base/check.h"
#include "simulator/kernels/measured_engines.h"
#include "simulator/latency/parts/products_part.h"
#include "simulator/model/ranks.h"
#include "simulator/topology/cluster.h"
#include "simulator/topology/collectives.h"

namespace kvplan::latency {
namespace {

constexpr double kTicksOfNs = static_cast<double>(kTicksPerNs);

/// Sums in ticks over all that ranks send each other.
class Sums {
 public:
  /// `only_counts_reduces`: all-reduces are counted and not summed.
  Sums(const StepShape& shape, const LinkRates& rates, const topology::Cluster& cluster,
       bool only_counts_reduces)
      : shape_(shape),
        rates_(rates),
        cluster_(cluster),
        reduces_(only_counts_reduces),
        routes_(cluster.topology) {}

  double fixed{0}, token{0}, request{0};
  std::int64_t reduces{0};
  std::int64_t slowest_ring{0}, slowest_stage{0};  ///< bytes/s

  void add_stages() {
    const auto layers = model::layers_of_stages(shape_.model.layers, shape_.stages, shape_.stage_layers);
    const double hidden_bytes = static_cast<double>(shape_.model.hidden * kActivationBytes);
    const double logit_bytes = static_cast<double>(shape_.model.weight_shape.vocabulary * kActivationBytes);
    for (std::int64_t stage = 0; stage < shape_.stages; ++stage) {
      if (stage > 0) add_transfer(stage, 2 * hidden_bytes);
      if (shape_.tensor_ranks == 1) continue;
      const topology::Ring ring = ring_of(stage);
      const std::int64_t count = 2 * layers[static_cast<std::size_t>(stage)] + (stage == 0 ? 1 : 0);
      if (reduces_) reduces += count;
      if (!reduces_) add(ring.all_reduce(), static_cast<double>(count), hidden_bytes, token);
      if (stage + 1 == shape_.stages) add(ring.all_gather(), 1, logit_bytes, request);
      note(slowest_ring, ring.bytes_per_s());
    }
  }

 private:
  [[nodiscard]] std::span<const topology::Place> ranks_of(std::int64_t stage) const {
    const auto ranks = static_cast<std::size_t>(shape_.tensor_ranks);
    return std::span(cluster_.devices).subspan(static_cast<std::size_t>(stage) * ranks, ranks);
  }

  /// All nodes are wired alike (topology/cluster.h). Two stages have equal routes if their first ranks have the same
  /// place in a node.
  [[nodiscard]] std::int64_t place_in_node(std::int64_t stage) const {
    return stage * shape_.tensor_ranks % rates_.node_devices;
  }

  topology::Ring ring_of(std::int64_t stage) {
    const auto known = rings_.find(place_in_node(stage));
    if (known != rings_.end()) return known->second;
    auto ring = topology::Ring::over(routes_, ranks_of(stage));
    KVPLAN_CHECK(ring.has_value());
    rings_.emplace(place_in_node(stage), *ring);
    return *ring;
  }

  /// From each rank of the stage before to its own of this one.
  topology::SharedRate rate_into(std::int64_t stage) {
    const auto known = into_.find(place_in_node(stage));
    if (known != into_.end()) return known->second;
    std::vector<topology::Route> routes;
    for (std::int64_t rank = 0; rank < shape_.tensor_ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      auto route = routes_.widest(ranks_of(stage - 1)[at], ranks_of(stage)[at]);
      KVPLAN_CHECK(route.has_value());
      routes.push_back(std::move(*route));
    }
    const topology::SharedRate rate = topology::shared_rate(cluster_.topology, routes);
    into_.emplace(place_in_node(stage), rate);
    return rate;
  }

  /// `bytes` for each of what `sum` counts.
  void add(const topology::TransferTime& time, double count, double bytes, double& sum) {
    fixed += count * (time.fixed_ns + rates_.collective_ns) * kTicksOfNs;
    sum += count * time.ns_per_byte * bytes / rates_.efficiency * kTicksOfNs;
  }

  void add_transfer(std::int64_t stage, double bytes) {
    const topology::SharedRate rate = rate_into(stage);
    add({static_cast<double>(rate.latency_ns), 1e9 / static_cast<double>(rate.bytes_per_s)}, 1,
        bytes / static_cast<double>(shape_.tensor_ranks), token);
    if (shape_.tensor_ranks > 1) add(ring_of(stage).all_gather(), 1, bytes, token);
    note(slowest_stage, rate.bytes_per_s);
  }

  static void note(std::int64_t& slowest, std::int64_t bytes_per_s) {
    if (slowest == 0 || bytes_per_s < slowest) slowest = bytes_per_s;
  }

  const StepShape& shape_;
  const LinkRates& rates_;
  const topology::Cluster& cluster_;
  bool reduces_;
  topology::RouteFinder routes_;
  std::map<std::int64_t, topology::Ring> rings_;       // by place_in_node
  std::map<std::int64_t, topology::SharedRate> into_;  // likewise
};

std::string rate_text(std::int64_t bytes_per_s) {
  const std::int64_t tenths = bytes_per_s / 100'000'000;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) +
         "e9 bytes/s";
}

}  // namespace

CountedTicks LinksPart::reduce_times(const StepShape& shape, const kernels::CurveWish& wish,
                                     std::int64_t count) {
  const auto curve = std::make_shared<const kernels::KindCurve>(kernels::nearest_curve(
      kernels::all_reduce_kind(), wish,
      {std::string(kernels::reduce_kernel(wish.engine)), std::to_string(shape.tensor_ranks)}));
  reduce_origin_ = curve->origin();
  const auto hidden = static_cast<double>(shape.model.hidden), times = static_cast<double>(count);
  return CountedTicks([curve, hidden, times](std::int64_t tokens) {
    return times * (*curve)(hidden * static_cast<double>(padded_tokens(tokens)));
  });
}

Result<LinksPart> LinksPart::make(const StepShape& shape, const LinkRates& rates,
                                  const kernels::CurveWish* measured) {
  LinksPart part;
  const std::int64_t devices = shape.tensor_ranks * shape.stages;
  if (devices == 1) return part;
  KVPLAN_TRY(const topology::Cluster cluster,
             topology::make_cluster(shape.device, {.devices = devices,
                                                   .node_devices = rates.node_devices,
                                                   .network_bytes_per_s = rates.network_bytes_per_s}));
  const bool within_a_node = shape.tensor_ranks > 1 && rates.node_devices % shape.tensor_ranks == 0;
  Sums sums(shape, rates, cluster, measured != nullptr && within_a_node);
  sums.add_stages();
  constexpr double kMost = static_cast<double>(std::int64_t{1} << 46);
  if (!(sums.fixed < kMost && sums.token < kMost && sums.request < kMost))
    return bad_input("expected links that send a token within a minute").at_field("latency");
  if (sums.reduces > 0) part.reduced_ = part.reduce_times(shape, *measured, sums.reduces);
  part.fixed_ = std::llround(sums.fixed);
  part.token_ = FineTicks::of(sums.token);
  part.request_ = FineTicks::of(sums.request);
  const std::string& within = cluster.within;
  const auto crosses = [&](std::int64_t ranks) { return ranks > rates.node_devices; };
  if (shape.tensor_ranks > 1)
    part.within_stage_ = rate_text(sums.slowest_ring) + " over " +
                         (crosses(shape.tensor_ranks) ? "the network between nodes" : within);
  if (shape.stages > 1)
    part.between_stages_ =
        rate_text(sums.slowest_stage) + " over " + (crosses(devices) ? "the network between nodes" : within);
  return part;
}

}  // namespace kvplan::latency
