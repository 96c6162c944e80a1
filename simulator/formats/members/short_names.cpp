// The names that `kvplan bytes` and scenarios use for numbers of bits. Each stands for the codec with these bytes.
#include <array>

#include "simulator/formats/formats.h"

namespace kvplan::formats::short_names {
namespace {

constexpr Param group_param(std::string_view fallback) {
  return {.name = "group",
          .help =
              "Channels of a token that share a scale, a divisor of the head size; 0: one scale for the "
              "whole tensor",
          .fallback = fallback,
          .low = 0,
          .high = kMostChannels};
}
constexpr std::array kInt8Params{group_param("0")};
constexpr std::array kInt4Params{group_param("32")};

std::string integers(const Choice& choice, std::string_view bits, std::string_view symmetric) {
  const std::int64_t group = choice.integer("group");
  if (group == 0) return "int-tensor:scale=static,bits=" + std::string(bits);
  return "int-token:bits=" + std::string(bits) + ",group=" + std::to_string(group) +
         ",symmetric=" + std::string(symmetric);
}

}  // namespace

}  // namespace kvplan::formats::short_names

namespace kvplan::formats::short_int8 {

using namespace short_names;

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "int8",
         .summary = "Short name of int-tensor with the prompt's scale; with a group, of symmetric int-token",
         .source = "kvplan",
         .params = kInt8Params},
    .stands_for = [](const Choice& choice) { return integers(choice, "8", "true"); }};

}  // namespace kvplan::formats::short_int8

namespace kvplan::formats::short_int4 {

using namespace short_names;

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "int4",
         .summary =
             "Short name of int-token with 4 bits; without a group, of int-tensor with the prompt's scale",
         .source = "kvplan",
         .params = kInt4Params},
    .stands_for = [](const Choice& choice) { return integers(choice, "4", "false"); }};

}  // namespace kvplan::formats::short_int4

namespace kvplan::formats::short_fp4 {

using namespace short_names;

extern const FormatKind kMember;
const FormatKind kMember{.descriptor = {.family = kFamily,
                                        .name = "fp4",
                                        .summary = "Short name of nvfp4",
                                        .source = "kvplan",
                                        .params = {}},
                         .stands_for = [](const Choice& /*choice*/) { return std::string("nvfp4"); }};

}  // namespace kvplan::formats::short_fp4
