#include "simulator/planner/space.h"

#include "simulator/base/check.h"
#include "simulator/report/number_text.h"

namespace kvplan::planner {
namespace {

constexpr std::size_t kFirstShapeAxis = 2;  // behind rate and slice

}  // namespace

runs::Setting planned(std::string path, std::string text) {
  runs::Setting out{std::move(path), std::move(text), {}, 0};
  out.option = "plan";
  return out;
}

Result<Space> Space::of(SpaceOptions options) {
  Space space;
  auto& varies = space.varies_;
  varies.push_back({"workload.rate_scale", options.rates});
  varies.push_back({kSliceAxis, {"whole", "busiest"}});
  if (!options.devices.empty()) varies.push_back({"deployment.device", options.devices});
  varies.push_back({"deployment.tp", options.tensor_ranks});
  varies.push_back({"deployment.pp", options.stages});
  varies.insert(varies.end(), options.may.begin(), options.may.end());
  runs::Vary replicas{"fleet.replicas", {}};
  for (std::int64_t n = 1; n <= options.most_gpus; ++n) replicas.values.push_back(std::to_string(n));
  varies.push_back(std::move(replicas));
  for (std::size_t i = 0; i < varies.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (varies[i].path == varies[j].path)
        return bad_input("expected each path once, found " + varies[i].path + " again").at_field("--may");
  for (std::size_t i = kFirstShapeAxis; i + 1 < varies.size(); ++i) {
    space.shapes_ *= varies[i].values.size();
    if (space.shapes_ > static_cast<std::size_t>(kMostShapes))
      return bad_input("expected at most " + report::grouped(kMostShapes) +
                       " combinations of devices, ranks and values")
          .at_field("--may");
  }
  space.options_ = std::move(options);
  return space;
}

Result<runs::Combinations> Space::shape_combinations() const {
  return runs::Combinations::of({varies_.begin() + kFirstShapeAxis, varies_.end() - 1}, kMostShapes);
}

runs::Varied Space::shape(std::size_t number) const {
  KVPLAN_CHECK(number < shapes_);
  runs::Varied out(varies_.size() - 1 - kFirstShapeAxis);
  for (std::size_t i = varies_.size() - 1; i-- > kFirstShapeAxis;) {
    const runs::Vary& vary = varies_[i];
    out[i - kFirstShapeAxis] = {vary.path, vary.values[number % vary.values.size()]};
    number /= vary.values.size();
  }
  return out;
}

std::string Space::shape_name(std::size_t number) const {
  std::string out;
  for (const auto& [path, value] : shape(number)) {
    if (!out.empty()) out += ", ";
    if (path != "deployment.device") out += path.substr(path.rfind('.') + 1) + "=";
    out += value;
  }
  return out;
}

std::vector<runs::Setting> Space::settings(const std::string& rate, std::size_t number,
                                           std::int64_t replicas) const {
  std::vector<runs::Setting> out = options_.settings;
  const auto add = [&](const std::string& path, const std::string& value) {
    out.push_back(planned(path, value));
  };
  add("workload.rate_scale", rate);
  for (const auto& [path, value] : shape(number)) add(path, value);
  add("fleet.replicas", std::to_string(replicas));
  return out;
}

std::int64_t Space::cases() const {
  return static_cast<std::int64_t>(options_.rates.size()) * 2 * static_cast<std::int64_t>(shapes_) *
         options_.most_gpus;
}

std::int64_t Space::number(std::size_t rate, bool slice, std::size_t shape, std::int64_t replicas) const {
  KVPLAN_CHECK(replicas >= 1 && replicas <= options_.most_gpus);
  const auto outer = static_cast<std::int64_t>((rate * 2 + (slice ? 1 : 0)) * shapes_ + shape);
  return outer * options_.most_gpus + replicas - 1;
}

runs::Varied Space::varied(std::size_t rate, bool slice, std::size_t number, std::int64_t replicas) const {
  runs::Varied out{{varies_[0].path, options_.rates[rate]}, {kSliceAxis, slice ? "busiest" : "whole"}};
  for (auto& each : shape(number)) out.push_back(std::move(each));
  out.emplace_back("fleet.replicas", std::to_string(replicas));
  return out;
}

}  // namespace kvplan::planner
