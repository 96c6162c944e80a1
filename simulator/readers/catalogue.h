// All sparse attention methods ("readers"), and the parsing of their names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/readers/reader.h"

namespace kvplan::readers {

namespace full {
extern const ReaderKind kMember;
}  // namespace full

/// All members, in the order in which lists show them.
std::span<const ReaderKind* const> readers();
/// The reader that reads everything, like the first layers of other readers.
inline constexpr const ReaderKind& kFullReader = full::kMember;
/// Their descriptors, for parsing, `list` and `explain`.
Catalogue reader_descriptors();

struct ReaderChoice {
  const ReaderKind* kind{nullptr};
  Choice choice;
  std::vector<attention::HeadTable> tables{};  ///< content of its files about heads, once they were read
};

/// REQUIRES: a choice made from the descriptors.
ReaderChoice reader_of(Choice choice);

/// Parses `NAME[:key=value,...]`; `budget` sets its number of tokens, if it has such a parameter. Errors as
/// parse_component, and if both text and budget give that parameter.
Result<ReaderChoice> parse_reader(std::string_view text, std::optional<std::int64_t> budget = {});

}  // namespace kvplan::readers
