#include "simulator/survey/page.h"

#include "simulator/report/charts.h"
#include "simulator/report/html.h"

namespace kvplan::survey {

std::string page(const Plots& plots, const std::vector<Map>& maps, const std::string& title,
                 const std::string& command) {
  report::Markup html;
  report::begin_page(html, "What attention looks like", title);
  for (const report::Table& table : tables(plots.survey)) report::write_table(html, table);
  report::write_list(html, "How to read it", explanations(plots.survey));
  for (const Map& map : maps) {
    report::write_chart(html, map.title, chart(map, map.key));
    html.leaf("p", map.definition, {{"class", "lead"}}).line_break();
  }
  if (plots.attention)
    report::write_chart(html, "The attention of one head", chart(*plots.attention, "attention"));
  report::end_page(html, command);
  return html.take();
}

std::string document(const Sheet& sheet) {
  return report::svg_document(sheet.chart);
}

}  // namespace kvplan::survey
