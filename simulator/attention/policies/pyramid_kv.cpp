// PyramidKV: SnapKV whose capacity falls from the first layer to the last.
#include <algorithm>
#include <array>
#include <memory>

#include "simulator/attention/budget.h"
#include "simulator/attention/budgeted.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/prompt_scores.h"

namespace kvplan::attention {

extern const PolicyKind kSnapKv;

namespace {

constexpr std::array kParams{kWindowParam,  kCapacityParam, kPyramidBeta, kKernelParam,
                             kPoolingParam, kGroupParam,    kAggParam,    kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = choice.integer(kWindowParam.name)};
}

/// The choice of SnapKV with what this layer has.
Choice snapkv_choice(const LayerInput& input) {
  const Choice& given = input.choice;
  const std::int64_t retained = pyramid_retained(
      given.integer(kCapacityParam.name), given.integer(kWindowParam.name), given.decimal(kPyramidBeta.name),
      input.place.prompt, input.place.layers)[static_cast<std::size_t>(input.place.layer)];
  // A prompt that is retained whole may be shorter than the window.
  const std::int64_t tokens =
      retained < input.place.prompt ? retained : static_cast<std::int64_t>(kMaxTokens);
  std::vector<Choice::Value> values;
  for (const Param& param : kSnapKv.descriptor.params)
    values.push_back(
        {.text = param.name == kCapacityParam.name ? std::to_string(tokens) : given.text(param.name),
         .given = true});
  return {&kSnapKv.descriptor, std::move(values)};
}

std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  const Choice choice = snapkv_choice(input);
  return kSnapKv.make({.choice = choice, .place = input.place});
}

}  // namespace

extern const PolicyKind kPyramidKvPolicy;
const PolicyKind kPyramidKvPolicy{
    .descriptor =
        {.family = kFamily,
         .name = "pyramidkv",
         .summary = "SnapKV whose capacity falls from the first layer to the last",
         .source = "arXiv 2406.02069; KVCache-Factory@c97f9d7 pyramidkv/pyramidkv_utils.py",
         .params = kParams,
         .divergences =
             "The form of the public code (budget pyramidkv): its step between layers is rounded down, so "
             "that "
             "all layers together keep up to 12 % more than layers x capacity. Other pyramids: snapkv with "
             "kvplan evict --budget. A model of one layer keeps the capacity."},
    .golden_name = "pyramidkv",
    .check = check_prompt_window,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
