// Price lists: hand-written JSON; PRICE_FORMAT.md has its keys.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/deployment/prices.h"

namespace kvplan::io {

/// Errors, with the file: broken JSON, an unknown or missing key, a device that kvplan does not know or that is
/// listed twice under different names, a price that is negative or not a number.
Result<runs::PriceList> parse_prices(std::string_view text, const std::string& file);
/// Reads a file, plain or compressed, of at most 1 MiB.
Result<runs::PriceList> open_prices(const std::string& path);

}  // namespace kvplan::io
