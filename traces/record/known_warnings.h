// Warnings that somebody else answers: an importer gives them, an edit takes them away.
#pragma once

#include <string_view>

namespace kvplan::traces {

/// Begins the warning of a source whose sessions have clocks of their own.
inline constexpr std::string_view kNoSessionStarts = "The file does not say when a session starts: ";

}  // namespace kvplan::traces
