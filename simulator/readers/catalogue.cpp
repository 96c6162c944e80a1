#include "simulator/readers/catalogue.h"

#include <algorithm>

#include "simulator/base/family.h"

// One line per member; the order is that of `kvplan list reader`.
#define KVPLAN_READERS(MEMBER) \
  MEMBER(full)                 \
  MEMBER(quest)                \
  MEMBER(infinigen)            \
  MEMBER(clusterkv)            \
  MEMBER(retro_infer)          \
  MEMBER(retrieval_heads)      \
  MEMBER(oracle)

namespace kvplan::readers {

KVPLAN_FAMILY(ReaderKind, KVPLAN_READERS)

std::span<const ReaderKind* const> readers() {
  return family().members();
}

Catalogue reader_descriptors() {
  return family().descriptors();
}

ReaderChoice reader_of(Choice choice) {
  const ReaderKind& kind = family().member(choice);
  return {.kind = &kind, .choice = std::move(choice), .tables = {}};
}

Result<ReaderChoice> parse_reader(std::string_view text, std::optional<std::int64_t> budget) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto members = readers();
  const auto known = std::find_if(members.begin(), members.end(),
                                  [name](const auto* kind) { return kind->descriptor.name == name; });
  std::string whole(text);
  if (budget && known != members.end() && !(*known)->budget.empty())
    whole += (name.size() == text.size() ? ":" : ",") + std::string((*known)->budget) + "=" +
             std::to_string(*budget);
  KVPLAN_TRY(Choice choice, parse_component(whole, kFamily, reader_descriptors()));
  return reader_of(std::move(choice));
}

}  // namespace kvplan::readers
