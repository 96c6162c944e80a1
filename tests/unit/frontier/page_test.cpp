// The page is well-formed for any input, and the chart's points read back as the numbers.
#include "simulator/frontier/page.h"

#include <gtest/gtest.h>

#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"
#include "tests/unit/report/xml.h"

namespace kvplan::frontier {
namespace {

/// `errors`: the recording has values.
void expect_points_on_page(bool errors) {
  Random random(8, "page");
  std::shared_ptr<const attention::Recording> recording =
      attention::recording_of({attention::random_rows(random, 2, 30, attention::RowKind::kSmooth)});
  if (errors)
    recording =
        std::make_shared<attention::RecordedTensors>(attention::random_tensors(random, 1, 2, 30, false));
  const Request request{
      .inputs = {{"a<b>&.kva", recording}},
      .lanes =
          lanes_of("tova;full;expr:score=\"last < 0.5 && age > 1\"", std::vector<std::int64_t>{4, 8}).value(),
      .storages = storages_of("full").value(),
      .prompt = 12};
  const Frontier found = run(request, [] { return Status(Done{}); }).value();
  const auto root = report::testing::parse_xml(page(request, found, "kvplan frontier 'a<b>&.kva'"));
  EXPECT_NE(root.all_text().find("a<b>&.kva"), std::string::npos);
  EXPECT_NE(root.all_text().find("last < 0.5 && age > 1"), std::string::npos);
  EXPECT_NE(root.all_text().find(errors ? "mean output error" : "mean attended mass"), std::string::npos);
  const auto circles = root.named("circle");
  ASSERT_EQ(circles.size(), found.points.size());
  double widest = 0;
  double highest = 0;
  const auto value = [errors](const Point& point) { return errors ? *point.error_mean : *point.mass_mean; };
  for (const Point& point : found.points) {
    widest = std::max(widest, point.bytes_per_token);
    highest = std::max(highest, value(point));
  }
  // Lines are in the order of the policies, their points by bytes; here budgets ascend.
  for (std::size_t i = 0; i < circles.size(); ++i) {
    const double x = std::stod(circles[i]->attributes.at("cx"));
    const double y = std::stod(circles[i]->attributes.at("cy"));
    EXPECT_NEAR((x - 72) / (560 - 72) * widest, found.points[i].bytes_per_token, widest * 1e-4);
    EXPECT_NEAR((316 - y) / (316 - 16) * highest, value(found.points[i]), highest * 1e-4);
  }
}

TEST(FrontierPage, ShowsErrorsOverBytes) {
  expect_points_on_page(true);
}
TEST(FrontierPage, ShowsMassesWhereThereAreNoErrors) {
  expect_points_on_page(false);
}

}  // namespace
}  // namespace kvplan::frontier
