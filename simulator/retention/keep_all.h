// Every token stays until its request ends.
#pragma once

#include "simulator/base/check.h"
#include "simulator/retention/retention.h"

namespace kvplan::runs {

class KeepAll final : public Retention {
 public:
  [[nodiscard]] bool follows_courses() const override { return false; }
  Result<CoursePtr> course(const CourseAsked& /*asked*/, CourseInputs& /*inputs*/) const override {
    check_failed("requests follow courses", __FILE__, __LINE__);
  }
  [[nodiscard]] PrefixRule prefix_rule(bool asked) const override { return {.finds = asked}; }
};

}  // namespace kvplan::runs
