// What `kvplan run` prints: the answer first, and no more than a screen and a half.
#pragma once

#include <string>
#include <vector>

#include "simulator/report/content.h"

namespace kvplan::report {

/// Most lines of an overview at 100 columns, if the scenario gives at most ten settings.
inline constexpr std::size_t kOverviewLines = 60;

/// Verdict, latencies, limits, memory by state; then the results of token policies, placing, ranks, replicas and
/// prices, if any; then the settings that were given. The text leaves out default settings, states without a byte, the
/// derivation of the pool, and assumptions beyond `kOverviewLines`; the last line says that --verbose prints them
/// (content.h). Lines have at most about `width` characters. Ends in a newline.
std::string overview_text(const runs::RunSummary& result, std::size_t width);

// Parts that the short form of a comparison uses too:

/// The settings that were given, in full, and one row with the names of the other important settings.
Table settings_table(const runs::Scenario& scenario);

/// Like list_text, with as many whole sentences as fit into `lines` lines, title included, but at least one; then a
/// line with the number of sentences that were left out.
std::string fitting_list(const std::string& title, const std::vector<std::string>& sentences,
                         std::size_t width, std::size_t lines);

std::size_t lines_of(const std::string& text);

}  // namespace kvplan::report
