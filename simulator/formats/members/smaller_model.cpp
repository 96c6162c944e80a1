// The cache of another model in place of this model's: bytes from its shape, and nothing about errors.
#include <array>

#include "simulator/formats/formats.h"

namespace kvplan::formats::smaller_model {
namespace {

constexpr std::array kParams{
    Param{.name = "model_layers",
          .help = "Layers of the smaller model",
          .fallback = {},
          .low = 1,
          .high = kMostLayers},
    Param{.name = "heads",
          .help = "KV heads per layer of the smaller model, on one rank; 0: the same as this model",
          .fallback = "0",
          .low = 0,
          .high = kMostChannels},
    Param{.name = "size",
          .help = "Channels of keys and of values of the smaller model; 0: the same as this model",
          .fallback = "0",
          .low = 0,
          .high = kMostChannels},
    kLayerParam, kLayersParam};

Status check(const Choice& choice, const Shape& shape, std::int64_t /*prompt*/) {
  KVPLAN_TRY_DO(check_placed(choice));
  if (choice.integer("model_layers") > choice.integer("layers"))
    return wrong_param(choice, "model_layers",
                       "at most the " + std::to_string(choice.integer("layers")) + " layers of this model");
  // Its layer must store no more of a token than this model's: heads may be fewer but wider, or the other way round.
  const std::int64_t own = std::int64_t{shape.kv_heads} * (shape.key_size + shape.value_size);
  const std::int64_t size = choice.integer("size");
  const std::int64_t of_head = size > 0 ? 2 * size : shape.key_size + shape.value_size;
  const std::int64_t heads = choice.integer("heads") > 0 ? choice.integer("heads") : shape.kv_heads;
  if (heads * of_head <= own) return Done{};
  const std::string limit = ", so that a layer stores at most the " + std::to_string(own) +
                            " elements per token that this model's does";
  if (size > 0 && own / (2 * heads) > 0)
    return wrong_param(
        choice, "size",
        "at most " + std::to_string(own / (2 * heads)) + " with " + std::to_string(heads) + " heads" + limit);
  return wrong_param(choice, "heads",
                     "at most " + std::to_string(size > 0 ? own / 2 : own / of_head) + limit);
}

/// 2 bytes per element of the smaller model's layer; nothing in layers that it does not have.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  if (choice.integer("layer") >= choice.integer("model_layers")) return {};
  const std::int64_t heads = choice.integer("heads") > 0 ? choice.integer("heads") : shape.kv_heads;
  const std::int64_t size = choice.integer("size") > 0 ? choice.integer("size") : shape.size(side);
  Regions out;
  out.exact = heads * size * lengths.stored() * 2;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "smaller-model",
         .summary = "The cache of a model with fewer or smaller layers; the effect on answers is unknown",
         .source = "kvplan's design notes on KV caches (distillation)",
         .params = kParams,
         .divergences =
             "The design notes describe a smaller model that approximates keys and values of a larger one; "
             "they have no code. A recording of the larger model does not hold what the smaller one "
             "computes. Bytes follow from the smaller model's shape; errors are unknown."},
    .golden_name = "smaller_model",
    .check = check,
    .lengths = {.regions = bytes_of, .by_count = always_by_count, .paging = always_in_tokens},
    .of_layer = placed,
    .bytes_alone = "a recording of this model does not hold what the smaller model stores"};

}  // namespace kvplan::formats::smaller_model
