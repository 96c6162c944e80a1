// Price lists: JSON that people write, PRICE_FORMAT.md has its keys.
#pragma once

#include <string>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/deployment/prices.h"

namespace kvplan::io {

/// Errors: of the file; broken JSON, a key that there is not or that is missing, a device that kvplan does not know or
/// has twice by another name, a price that is negative or no number.
Result<plan::PriceList> parse_prices(std::string_view text, const std::string& file);
/// Of a file, plain or compressed, of at most 1 MiB.
Result<plan::PriceList> open_prices(const std::string& path);

}  // namespace kvplan::io
