// PyramidKV: SnapKV with a capacity that falls from the first layer to the last.
#include <algorithm>
#include <array>
#include <memory>

#include "simulator/attention/budget.h"
#include "simulator/attention/budgeted.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"

namespace kvplan::attention::snapkv {
extern const PolicyKind kMember;
}  // namespace kvplan::attention::snapkv

namespace kvplan::attention::pyramid_kv {

namespace {

constexpr std::array kParams{kWindowParam,  kCapacityParam, kPyramidBeta, kKernelParam,
                             kPoolingParam, kGroupParam,    kAggParam,    kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = choice.integer(kWindowParam.name)};
}

/// The public code's capacities, windows included; kMaxTokens for a layer that keeps its prompt whole, which may be
/// shorter than the window.
std::vector<std::int64_t> capacities(const Choice& given, std::int64_t prompt, std::int64_t layers) {
  std::vector<std::int64_t> out =
      pyramid_retained(given.integer(kCapacityParam.name), given.integer(kWindowParam.name),
                       given.decimal(kPyramidBeta.name), prompt, layers);
  for (std::int64_t& tokens : out)
    if (tokens >= prompt) tokens = static_cast<std::int64_t>(kMaxTokens);
  return out;
}

std::vector<core::KeptCount> layer_counts(const Choice& choice, std::int64_t prompt, std::int64_t layers) {
  std::vector<core::KeptCount> out;
  for (const std::int64_t tokens : capacities(choice, prompt, layers))
    out.push_back({.budget = tokens, .once = true});
  return out;
}

/// SnapKV's parameters with this layer's capacity.
Choice snapkv_choice(const LayerInput& input) {
  const Choice& given = input.choice;
  const std::int64_t tokens =
      capacities(given, input.place.prompt, input.place.layers)[static_cast<std::size_t>(input.place.layer)];
  std::vector<Choice::Value> values;
  for (const Param& param : snapkv::kMember.descriptor.params)
    values.push_back(
        {.text = param.name == kCapacityParam.name ? std::to_string(tokens) : given.text(param.name),
         .given = true});
  return {&snapkv::kMember.descriptor, std::move(values)};
}

std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  const Choice choice = snapkv_choice(input);
  return snapkv::kMember.make({.choice = choice, .place = input.place});
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "pyramidkv",
         .summary = "SnapKV with a capacity that decreases from the first layer to the last",
         .source = "arXiv 2406.02069; KVCache-Factory@c97f9d7 pyramidkv/pyramidkv_utils.py",
         .params = kParams,
         .divergences =
             "This is the public code's version (budget pyramidkv). It rounds the step between layers down, "
             "so all layers together keep up to 12 % more than layers x capacity. For other pyramids use "
             "snapkv with `kvplan evict --budget`. A model with one layer keeps the capacity."},
    .golden_name = "pyramidkv",
    .check = check_prompt_window,
    .traits = traits,
    .make = make,
    .layer_counts = layer_counts};

}  // namespace kvplan::attention::pyramid_kv
