// What `kvplan run` prints: the answer first, and no more than a screen and a half.
#pragma once

#include <string>
#include <vector>

#include "simulator/report/content.h"

namespace kvplan::report {

/// Lines that an overview has at most at 100 columns, as long as the scenario gives no more than ten settings.
inline constexpr std::size_t kOverviewLines = 60;

/// Verdict, latencies, what limits, memory by state; then what token policies, placing, ranks, replicas and prices add;
/// then the settings that were given. Settings at their defaults, states without a byte, the derivation of the pool and
/// assumptions beyond `kOverviewLines` are left out, and the last line says that --verbose has them (content.h).
/// Lines have at most about `width` characters. Ends in a newline.
std::string overview_text(const plan::RunSummary& result, std::size_t width);

// What the short form of a comparison prints too:

/// The settings that were given, in full, and in one row the names of what decides most of the others.
Table settings_table(const plan::Scenario& scenario);

/// As list_text, of as many whole sentences as fit into `lines` lines, the title among them; the first in any case, and
/// a line that says how many more there are.
std::string fitting_list(const std::string& title, const std::vector<std::string>& sentences,
                         std::size_t width, std::size_t lines);

std::size_t lines_of(const std::string& text);

}  // namespace kvplan::report
