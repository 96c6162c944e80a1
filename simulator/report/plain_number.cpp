#include "simulator/report/plain_number.h"

#include <cmath>
#include <cstdio>

namespace kvplan::report {

std::string plain_number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string error_text(double error) {
  return std::isfinite(error) ? plain_number(error, 4) : "-";
}

}  // namespace kvplan::report
