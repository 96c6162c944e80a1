// The space of a plan: all combinations of rates, shapes and numbers of replicas. A shape is a device, the ranks of a
// replica, and the values of all else that may vary. Every combination has a number, like the cases of a sweep, so the
// database of a plan has the form of a sweep's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/scenario/vary.h"

namespace kvplan::planner {

/// The axis of a database that states on which requests a case ran: `whole`, or `busiest`, a slice of the trace.
inline constexpr const char* kSliceAxis = "plan.slice";

/// Most shapes of a space.
inline constexpr std::int64_t kMostShapes = 100'000;

/// A setting with the plan as its source.
runs::Setting planned(std::string path, std::string text);

struct SpaceOptions {
  std::vector<runs::Setting> settings;    ///< of all cases
  std::vector<std::string> rates;         ///< values of workload.rate_scale; at least one
  std::vector<std::string> devices;       ///< empty: the scenario's, or none
  std::vector<std::string> tensor_ranks;  ///< values of deployment.tp; at least one
  std::vector<std::string> stages;        ///< values of deployment.pp; at least one
  std::vector<runs::Vary> may;            ///< paths that may also have other values
  std::int64_t most_gpus{0};
};

class Space {
 public:
  /// Errors: a path occurs twice, more than kMostShapes shapes.
  static Result<Space> of(SpaceOptions options);

  [[nodiscard]] std::size_t shapes() const { return shapes_; }
  /// The shapes as combinations of values, with the same numbers.
  [[nodiscard]] Result<runs::Combinations> shape_combinations() const;
  /// Paths and values of a shape.
  [[nodiscard]] runs::Varied shape(std::size_t number) const;
  /// "h100-sxm, tp=4, pp=1".
  [[nodiscard]] std::string shape_name(std::size_t number) const;
  [[nodiscard]] const SpaceOptions& options() const { return options_; }

  /// The settings of a case. REQUIRES: replicas >= 1.
  [[nodiscard]] std::vector<runs::Setting> settings(const std::string& rate, std::size_t shape,
                                                    std::int64_t replicas) const;

  /// All axes: rate, slice, those of shapes, replicas.
  [[nodiscard]] const std::vector<runs::Vary>& varies() const { return varies_; }
  [[nodiscard]] std::int64_t cases() const;
  /// REQUIRES: 1 <= replicas <= options().most_gpus.
  [[nodiscard]] std::int64_t number(std::size_t rate, bool slice, std::size_t shape,
                                    std::int64_t replicas) const;
  [[nodiscard]] runs::Varied varied(std::size_t rate, bool slice, std::size_t shape,
                                    std::int64_t replicas) const;

 private:
  SpaceOptions options_;
  std::vector<runs::Vary> varies_;
  std::size_t shapes_{1};
};

}  // namespace kvplan::planner
