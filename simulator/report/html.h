// A report as one self-contained HTML page: no script, nothing fetched, light and dark. It is well-formed XML.
#pragma once

#include <string>

#include "simulator/report/content.h"
#include "simulator/report/markup.h"

namespace kvplan::report {

/// `command`: the command line that makes this page again. Charts over time need a timeline in the result.
std::string run_html(const runs::RunResult& result, const std::string& command);

// Parts of pages:

/// From <!DOCTYPE> to the open <body>, with the heading.
void begin_page(Markup& html, const std::string& title, const std::string& lead);
/// The command and the version; ends the page.
void end_page(Markup& html, const std::string& command);
void write_table(Markup& html, const Table& table);
void write_list(Markup& html, const std::string& title, const std::vector<std::string>& lines);
void write_chart(Markup& html, const std::string& title, const std::string& chart);

}  // namespace kvplan::report
