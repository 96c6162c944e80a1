#include "simulator/replacement/member.h"

#include "simulator/base/fraction.h"
#include "simulator/base/units.h"

namespace kvplan::replacement {

Result<std::int64_t> part_of(const Choice& choice, std::string_view param, std::int64_t whole) {
  if (choice.decimal(param) == 0) return std::int64_t{0};
  auto fraction = parse_fraction(choice.text(param));
  if (!fraction.ok()) {
    std::string field(choice.name());
    return std::move(fraction).error().at_field(field.append(":").append(param));
  }
  const Wide product = Wide{whole} * fraction.value().numerator;
  return static_cast<std::int64_t>(product / fraction.value().denominator);
}

}  // namespace kvplan::replacement
