#include "simulator/scenario/source.h"

#include <array>

namespace kvplan::runs {
namespace {

constexpr std::array<std::string_view, 5> kNames{"default", "derived", "given", "file", "option"};

}  // namespace

std::string_view from_name(Source::From from) {
  return kNames[static_cast<std::size_t>(from)];
}

std::optional<Source::From> from_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Source::From>(i);
  return std::nullopt;
}

Origin origin_of(const Source& source) {
  return source.from == Source::From::kDefault || source.from == Source::From::kDerived ? Origin::kDefault
                                                                                        : Origin::kGiven;
}

std::string source_text(const Source& source) {
  switch (source.from) {
    case Source::From::kOption:
      return source.name;
    case Source::From::kFile: {
      const std::string file = source.name.substr(source.name.rfind('/') + 1);
      return source.line > 0 ? file + ":" + std::to_string(source.line) : file;
    }
    default:
      return std::string(from_name(source.from));
  }
}

}  // namespace kvplan::runs
