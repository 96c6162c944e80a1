// Seeded mutations of an input, for binary and text formats alike.
#pragma once

#include <string>

#include "simulator/base/random.h"

namespace kvplan {

/// `input` with one to four changes: cut, flipped, overwritten by extreme numbers (fixed width, varint,
/// decimal), bytes inserted, removed, repeated, or a part of `other` spliced in. May return the input
/// unchanged, never more than 4 x its size + 4 KiB. The same stream gives the same bytes.
std::string mutate(std::string input, const std::string& other, Random& random);

}  // namespace kvplan
