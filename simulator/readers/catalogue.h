// All readers, and what a user writes of one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/readers/reader.h"

namespace kvplan::readers {

/// Every member, in the order in which lists show them.
std::span<const ReaderKind* const> readers();
/// The one that reads everything, as the first layers of others do.
extern const ReaderKind kFullReader;
/// Their descriptors, for parsing, `list` and `explain`.
Catalogue reader_descriptors();

struct ReaderChoice {
  const ReaderKind* kind{nullptr};
  Choice choice;
  std::vector<attention::HeadTable> tables{};  ///< what its files say of heads, once they were read
};

/// REQUIRES: a choice among the descriptors.
ReaderChoice reader_of(Choice choice);

/// Parses `NAME[:key=value,...]`, with `budget` as its number of tokens where it has such a parameter. Errors as
/// parse_component, also where text and budget both give that parameter.
Result<ReaderChoice> parse_reader(std::string_view text, std::optional<std::int64_t> budget = {});

}  // namespace kvplan::readers
