// Keeps the first and the newest tokens, by position alone: window, streaming-llm, and policies with tables that say
// which heads keep everything. No recording is needed.
//
// If all layers keep the same tokens and evicted tokens leave holes, one keep rule serves all requests, and blocks may
// be shared. Otherwise (slots are used again, a budget, tables of heads or layers) requests follow courses.
#pragma once

#include "simulator/base/check.h"
#include "simulator/retention/retention.h"

namespace kvplan::runs {

class KeepByRule final : public Retention {
 public:
  explicit KeepByRule(const core::KeepRule& rule) : rule_(rule) {}
  [[nodiscard]] core::KeepRule keep_rule() const override { return rule_; }
  [[nodiscard]] bool follows_courses() const override { return false; }
  Result<CoursePtr> course(const CourseAsked& /*asked*/, CourseInputs& /*inputs*/) const override {
    check_failed("requests follow courses", __FILE__, __LINE__);
  }
  [[nodiscard]] PrefixRule prefix_rule(bool asked) const override { return {.finds = asked}; }

 private:
  core::KeepRule rule_;
};

class KeepInterval final : public KeepsByPolicy {
 public:
  using KeepsByPolicy::KeepsByPolicy;
  Result<CoursePtr> course(const CourseAsked& asked, CourseInputs& inputs) const override;

 protected:
  [[nodiscard]] bool may_differ() const override;
};

}  // namespace kvplan::runs
