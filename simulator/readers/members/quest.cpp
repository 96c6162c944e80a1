// Quest: pages are ranked by an upper bound of the query's product with any key inside.
#include <algorithm>
#include <array>
#include <string>

#include "simulator/attention/selection.h"
#include "simulator/readers/page_bounds.h"
#include "simulator/readers/reader.h"

namespace kvplan::readers::quest {
namespace {

constexpr std::array<std::string_view, 2> kForms{"evaluation", "kernels"};
constexpr std::array kParams{
    attention::tokens_param("budget", "Tokens in the pages that each query head reads; pages are read whole",
                            1),
    Param{.name = "page",
          .help = "Tokens per page",
          .unit = Unit::kTokens,
          .fallback = "16",
          .low = 1,
          .high = attention::kMaxTokens},
    Param{.name = "form",
          .help = "evaluation: at least three pages, and the newest page competes with the others. kernels: "
                  "the newest page is always read, within the budget",
          .kind = ParamKind::kText,
          .fallback = "evaluation",
          .choices = kForms},
    kShareParam, dense_layers_param("2")};

constexpr std::int64_t kLeastPages = 3;  ///< for the form `evaluation`

/// Number of pages that a query head reads.
std::int64_t pages_of(const Choice& choice) {
  const std::int64_t pages = choice.integer("budget") / choice.integer("page");
  return choice.text("form") == "kernels" ? pages : std::max(kLeastPages, pages);
}
/// Bounds of a page: the least and the greatest of each channel.
std::int64_t bound_bytes(std::int64_t key_size, std::int64_t element_bytes) {
  return 2 * key_size * element_bytes;
}

class Quest final : public LayerReader {
 public:
  explicit Quest(const ReaderInput& input)
      : in_(input.tensors),
        page_(input.choice.integer("page")),
        kernels_(input.choice.text("form") == "kernels"),
        share_(input.choice.text("share")),
        bound_bytes_(bound_bytes(input.tensors.key_size, input.element_bytes)),
        bounds_(static_cast<std::size_t>(in_.kv_heads), PageBounds(page_, in_.key_size)) {
    budget_ = pages_of(input.choice);
    for (std::int64_t t = 0; t < input.prompt; ++t) append(t);
  }

  void append(std::int64_t t) override {
    for (std::int32_t h = 0; h < in_.kv_heads; ++h)
      bounds_[static_cast<std::size_t>(h)].add(key_of(in_, h, t));
  }

  void read(std::int64_t t, const attention::LayerRows& /*rows*/, std::span<ReadSet> sets) override {
    const std::int64_t first = in_.first_seen(t) / page_;
    const std::int64_t pages = bounds_.front().pages() - first;
    ranked_ = 0;
    if (pages <= budget_) {
      for (ReadSet& set : sets) append_range(in_.first_seen(t), t + 1, set);
      return;
    }
    ranked_ = kernels_ ? pages - 1 : pages;
    const std::int32_t group = group_of(in_);
    std::vector<std::vector<double>> scores;
    std::vector<std::int32_t> chosen;
    for (std::int32_t h = 0; h < in_.kv_heads; ++h) {
      scores.assign(static_cast<std::size_t>(group), {});
      for (std::int32_t q = 0; q < group; ++q)
        for (std::int64_t p = first; p < first + ranked_; ++p)
          scores[static_cast<std::size_t>(q)].push_back(
              bounds_[static_cast<std::size_t>(h)].bound(p, query_of(in_, h * group + q, t)));
      share_scores(share_, scores);
      for (std::int32_t q = 0; q < group; ++q) {
        const auto& of_head = scores[scores.size() == 1 ? 0 : static_cast<std::size_t>(q)];
        chosen.clear();
        attention::highest(of_head, static_cast<std::int32_t>(kernels_ ? budget_ - 1 : budget_), chosen);
        if (kernels_) chosen.push_back(static_cast<std::int32_t>(ranked_));
        ReadSet& set =
            sets[static_cast<std::size_t>(h) * static_cast<std::size_t>(group) + static_cast<std::size_t>(q)];
        for (const std::int32_t p : chosen)
          append_range(std::max(in_.first_seen(t), (first + p) * page_),
                       std::min(t + 1, (first + p + 1) * page_), set);
      }
    }
  }

  [[nodiscard]] std::int64_t kept_metadata_bytes(std::int32_t head) const override {
    return bounds_[static_cast<std::size_t>(head)].pages() * bound_bytes_;
  }
  [[nodiscard]] std::int64_t read_metadata_bytes(std::int32_t /*head*/) const override {
    return ranked_ * bound_bytes_;
  }

 private:
  const attention::LayerTensors& in_;
  std::int64_t page_;
  bool kernels_;
  std::string share_;
  std::int64_t bound_bytes_;        ///< bytes of the bounds of a page
  std::vector<PageBounds> bounds_;  ///< [KV head]
  std::int64_t budget_{0};          ///< pages
  std::int64_t ranked_{0};          ///< pages ranked in the latest step
};

Status check_pages(const Choice& choice) {
  if (choice.text("form") == "kernels" && choice.integer("budget") < choice.integer("page"))
    return wrong_param(choice, "budget",
                       "at least a page of " + std::to_string(choice.integer("page")) + " tokens");
  return Done{};
}
Status check(const ReaderInput& input) {
  return check_pages(input.choice);
}

/// A page that is not full counts by its tokens: as fetched, even if it is not, and with its share of the bounds.
Result<CountedReads> counted(const UnrecordedHead& head) {
  KVPLAN_TRY_DO(check_pages(head.choice));
  const std::int64_t page = head.choice.integer("page");
  const std::int64_t tokens = pages_of(head.choice) * page;
  const std::int64_t lists = head.choice.text("share") == kShares.front() ? head.query_heads : 1;
  return CountedReads{.rule = {.fetched = lists * tokens, .ranked_beyond = tokens},
                      .metadata_bytes = bound_bytes(head.key_size, head.element_bytes),
                      .metadata_tokens = page,
                      .at_most = lists > 1};
}

std::unique_ptr<LayerReader> make(const ReaderInput& input) {
  return std::make_unique<Quest>(input);
}

}  // namespace

extern const ReaderKind kMember;
const ReaderKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "quest",
         .summary = "Reads the pages with the largest upper bound of the query-key product, from the minimum "
                    "and maximum of each key channel",
         .source = "arXiv 2406.10774 (Quest), mit-han-lab/Quest@24c9c6f (evaluation), @ade6f7c (kernels)",
         .params = kParams,
         .divergences =
             "The authors' evaluation code takes the top max(3, budget / page) pages and may skip the page "
             "of the query itself. Their kernels always read the newest page, as part of the budget. The "
             "evaluation code limits the budget to the existing tokens, so an unlimited budget still skips a "
             "page if the last page is incomplete; in kvplan a budget of all pages reads all. The kernels "
             "also store bounds in dense layers, and do not read bounds if all pages fit. In kvplan dense "
             "layers store none, and bounds are read only for ranking. Ranking for all query heads of a KV "
             "head together (share) is kvplan's addition."},
    .budget = "budget",
    .dense_layers = true,
    .check = check,
    .counted = counted,
    .make = make};

}  // namespace kvplan::readers::quest
