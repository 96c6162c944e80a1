// Warnings with a defined meaning: an importer adds them, an edit removes them. Also the mark of all other warnings.
#pragma once

#include <string_view>

namespace kvplan::traces {

/// Beginning of the warning about a source in which each session has its own clock.
inline constexpr std::string_view kNoSessionStarts = "The file does not say when a session starts: ";
/// Beginning of the warning about a source without times.
inline constexpr std::string_view kNoArrivals = "The file has no arrival times: ";
/// Prefix of an importer's warning about the trace from which an edited one was made.
inline constexpr std::string_view kOfTheOriginal = "Warning of the source trace: ";

}  // namespace kvplan::traces
