// Warnings that somebody else answers: an importer gives them, an edit takes them away; and how edits mark the others.
#pragma once

#include <string_view>

namespace kvplan::traces {

/// Begins the warning of a source whose sessions have clocks of their own.
inline constexpr std::string_view kNoSessionStarts = "The file does not say when a session starts: ";
/// Begins the warning of a source without times.
inline constexpr std::string_view kNoArrivals = "The file has no arrival times: ";
/// Begins what an importer said of the trace that an edited one was made of.
inline constexpr std::string_view kOfTheOriginal = "Warning of the source trace: ";

}  // namespace kvplan::traces
