// Formats and their bytes as texts.
#pragma once

#include "tests/unit/formats/support.h"

namespace kvplan::formats::test {

inline constexpr std::array<std::int64_t Regions::*, 7> kColumns{
    &Regions::codes,   &Regions::scales,    &Regions::zeros, &Regions::index,
    &Regions::factors, &Regions::centroids, &Regions::exact};

inline std::string text_of(const Regions& bytes) {
  std::string out;
  for (const auto column : kColumns) out += std::to_string(bytes.*column) + " ";
  return out;
}

inline FormatChoice choice_of(const std::string& text) {
  auto format = parse_format(text);
  KVPLAN_CHECK(format.ok());
  return std::move(format).value();
}

}  // namespace kvplan::formats::test
