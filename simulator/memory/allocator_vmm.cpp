// Pages of virtual memory (Prabhu et al., vAttention, ASPLOS 2025, arXiv 2405.04437; microsoft/vattention, commit
// ef3fff25db): the keys and the values of each layer are one contiguous tensor per request, under which pages are
// mapped as it grows.
//
// A request of n tokens needs ceil(n x row bytes / page bytes) pages under each tensor: the row of a token may begin in
// one page and end in the next (vAttention itself rounds the tokens of a page down). One grant is one page under each
// of the tensors with equal rows, two for each layer of most models; if rows differ, the number of pages in a grant is
// the greatest common divisor of the numbers of tensors of each kind.
//
// Pages that stay mapped under a slot without being needed (page_slots.h) count as free: any request that lacks pages
// can have them.
//
// Time: mapping and unmapping take a time for each page. With overlap, a thread maps the pages that decoding requests
// need for the next step while this step computes (the paper: memory allocation is overlapped with compute); it also
// unmaps pages for that, and the pages of requests that end with this step. Only time beyond the step's own delays the
// next step. Pages for prompts, and what is unmapped for them, delay it by their whole time. vAttention also maps some
// tokens ahead if pages are left, and frees idle pages one by one if it does not defer. Neither is modelled, nor is the
// watermark of its own scheduler.
//
// Published costs (A100; as recalled from the paper's table and read in notes on it): map with access rights 8, 8.5 and
// 9 us for 64, 128 and 256 KiB pages of the patched driver, 40 us for 2 MiB pages of CUDA; unmap 2, 3 and 4 us, and
// 34 us.
#include <algorithm>
#include <numeric>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/core/latency.h"
#include "simulator/core/table_bytes.h"
#include "simulator/memory/page_slots.h"
#include "simulator/memory/token_rows.h"

namespace kvplan::memory::allocator_vmm {
namespace {

using core::MemoryLayout;

constexpr std::int64_t kMostAllocUnits = std::int64_t{1} << 25;

struct PageCosts {
  std::int64_t map_ticks{0}, unmap_ticks{0};  ///< ticks of an allocation unit
  bool overlap{true};
};

template <class Slots>
class VmmAllocator final : public core::Allocator, public core::Placing {
 public:
  VmmAllocator(const MemoryLayout& layout, const PageCosts& costs, bool deferred,
               const core::Workload& workload, core::RequestColumn<std::int32_t> places)
      : layout_(layout),
        workload_(workload),
        costs_(costs),
        slots_(layout.alloc_units, deferred),
        slot_of_(std::move(places)) {}

  const MemoryLayout& layout() const override { return layout_; }
  core::PoolCounts counts() const override {
    return {.free = layout_.alloc_units - held_, .cached = 0, .held = held_, .distinct_names = 0};
  }
  core::Placing* placing() override {
    return costs_.map_ticks > 0 || costs_.unmap_ticks > 0 ? this : nullptr;
  }
  std::int64_t growth_tokens() const override { return -1; }
  std::int64_t next_growth(RequestId r) const override {
    return core::tokens_over(layout_, table(r).alloc_units);
  }
  bool fits_empty(RequestId r) const override {
    return core::pages_under(layout_, workload_.final_tokens(r)) <= layout_.alloc_units;
  }

  bool admit(RequestId r, const core::PrefixHit& /*found*/, std::int64_t tokens,
             std::int64_t /*goal*/) override {
    KVPLAN_CHECK(slot(r) < 0, r);
    const std::int64_t alloc_units = core::pages_under(layout_, tokens);
    if (held_ + alloc_units > layout_.alloc_units) return false;
    const std::int64_t prompt = std::max<std::int64_t>(tokens, workload_.input[index(r)]);
    PageCalls calls;
    slot(r) = static_cast<std::int32_t>(slots_.take(core::pages_under(layout_, prompt), alloc_units, calls));
    held_ += alloc_units;
    add(calls, delay_ticks_);
    return true;
  }
  bool grow(RequestId r, std::int64_t tokens) override {
    const std::int64_t had = table(r).alloc_units;
    const std::int64_t alloc_units = core::pages_under(layout_, tokens);
    if (alloc_units <= had) return true;
    if (held_ + alloc_units - had > layout_.alloc_units) return false;
    const bool decodes = tokens > workload_.input[index(r)] && tokens == core::tokens_over(layout_, had) + 1;
    PageCalls calls;
    slots_.need(slot(r), alloc_units, calls);
    held_ += alloc_units - had;
    add(calls, decodes && costs_.overlap ? beside_ticks_ : delay_ticks_);
    return true;
  }
  Ticks take_delay(std::int64_t /*copied_tokens*/, Ticks computed) override {
    const std::int64_t left = std::max<std::int64_t>(std::exchange(beside_ticks_, 0) - computed.count, 0);
    return {std::min(std::exchange(delay_ticks_, 0) + left, core::kLongestStepTicks)};
  }
  void release(RequestId r, std::int64_t /*written*/) override {
    held_ -= table(r).alloc_units;
    PageCalls calls;
    slots_.give_back(std::exchange(slot(r), -1), calls);
    add(calls, costs_.overlap ? beside_ticks_ : delay_ticks_);
  }
  core::BlockTable table(RequestId r) const override {
    const std::int32_t slot = slot_of_[r];
    if (slot < 0) return {};
    const std::span<const BlockId> pages = slots_.pages(slot);
    return {pages, static_cast<std::int64_t>(pages.size())};
  }

 private:
  std::int32_t& slot(RequestId r) { return slot_of_[r]; }
  void add(const PageCalls& calls, std::int64_t& ticks) const {
    const Wide more = Wide{calls.mapped} * costs_.map_ticks + Wide{calls.unmapped} * costs_.unmap_ticks;
    ticks = static_cast<std::int64_t>(std::min<Wide>(core::kLongestStepTicks, ticks + more));
  }

  MemoryLayout layout_;
  const core::Workload& workload_;
  PageCosts costs_;
  Slots slots_;
  core::RequestColumn<std::int32_t> slot_of_;  // by request
  std::int64_t held_{0};
  std::int64_t delay_ticks_{0};   // time for which steps wait
  std::int64_t beside_ticks_{0};  // work done while the previous step computed, as far as that is long enough
};

/// Slow obvious model of the slots: everything is found by checking all slots, and a page knows its slot.
class PageSlotsModel {
 public:
  PageSlotsModel(std::int64_t alloc_units, bool deferred)
      : deferred_(deferred), slot_of_page_(static_cast<std::size_t>(alloc_units), -1) {
    for (std::int64_t page = alloc_units; page-- > 0;) unmapped_.push_back(id_at<BlockId>(page));
  }

  std::int64_t take(std::int64_t prompt_alloc_units, std::int64_t alloc_units, PageCalls& calls) {
    std::int64_t chosen = -1;
    for (std::int64_t s = 0; s <= static_cast<std::int64_t>(slots_.size()); ++s) {
      const bool untouched = s == static_cast<std::int64_t>(slots_.size());
      if (!untouched && slots_[at(s)].needed >= 0) continue;
      if (chosen < 0 || (!untouched && mapped(s) >= prompt_alloc_units && mapped(s) < mapped(chosen)))
        chosen = s;
      if (untouched && chosen == s) slots_.emplace_back();
      if (untouched) break;
    }
    slots_[at(chosen)].needed = 0;
    need(chosen, alloc_units, calls);
    return chosen;
  }
  void need(std::int64_t slot, std::int64_t alloc_units, PageCalls& calls) {
    slots_[at(slot)].needed = alloc_units;
    for (std::int64_t s = static_cast<std::int64_t>(slots_.size()) - 1; s >= 0; --s)
      if (static_cast<std::int64_t>(unmapped_.size()) < alloc_units - mapped(slot))
        strip(s, std::max<std::int64_t>(slots_[at(s)].needed, 0), calls);
    while (mapped(slot) < alloc_units) {
      const BlockId page = unmapped_.back();
      unmapped_.pop_back();
      KVPLAN_CHECK(slot_of_page_[index(page)] < 0, page);
      slot_of_page_[index(page)] = slot;
      slots_[at(slot)].pages.push_back(page);
      ++calls.mapped;
    }
  }
  void give_back(std::int64_t slot, PageCalls& calls) {
    slots_[at(slot)].needed = -1;
    if (!deferred_) strip(slot, 0, calls);
  }
  [[nodiscard]] std::span<const BlockId> pages(std::int64_t slot) const {
    return std::span<const BlockId>(slots_[at(slot)].pages).first(at(slots_[at(slot)].needed));
  }

 private:
  struct Slot {
    std::vector<BlockId> pages;
    std::int64_t needed{-1};  // -1: idle
  };
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::int64_t mapped(std::int64_t slot) const {
    return static_cast<std::int64_t>(slots_[at(slot)].pages.size());
  }
  void strip(std::int64_t slot, std::int64_t alloc_units, PageCalls& calls) {
    auto& pages = slots_[at(slot)].pages;
    while (static_cast<std::int64_t>(pages.size()) > alloc_units) {
      slot_of_page_[index(pages.back())] = -1;
      unmapped_.push_back(pages.back());
      pages.pop_back();
      ++calls.unmapped;
    }
  }

  bool deferred_;
  std::vector<std::int64_t> slot_of_page_;
  std::vector<BlockId> unmapped_;  // the last one is mapped next
  std::vector<Slot> slots_;
};

// ---- the descriptor ----

constexpr std::array<std::string_view, 4> kPageSizes{"2048", "256", "128", "64"};
constexpr std::array<std::string_view, 2> kReclaims{"deferred", "eager"};
constexpr std::array<std::string_view, 4> kMapUs{"40", "9", "8.5", "8"};
constexpr std::array<std::string_view, 4> kUnmapUs{"34", "4", "3", "2"};
constexpr std::string_view kPublished = "published";
constexpr std::array<Param, 5> kParams{{
    {.name = "page_kib",
     .help = "Physical page size in KiB: 2048 with unmodified CUDA, smaller sizes with vAttention's driver",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = "2048",
     .choices = kPageSizes},
    {.name = "reclaim",
     .help = "When the pages of a finished request are unmapped: when another request needs pages, or "
             "immediately",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = "deferred",
     .choices = kReclaims},
    {.name = "overlap",
     .help = "Whether the pages for the next token of decoding requests are mapped during the previous step",
     .kind = ParamKind::kFlag,
     .unit = Unit::kNone,
     .fallback = "true"},
    {.name = "map_us",
     .help = "Microseconds to map one page and set its access rights: a number, or \"published\" for 40, 9, "
             "8.5 or 8 by page size (the paper's figures, quoted from memory)",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = kPublished},
    {.name = "unmap_us",
     .help = "Microseconds to unmap one page: a number, or \"published\" for 34, 4, 3 or 2 by page size (the "
             "paper's figures, quoted from memory)",
     .kind = ParamKind::kText,
     .unit = Unit::kNone,
     .fallback = kPublished},
}};

/// Ticks of a cost parameter for one page.
Result<std::int64_t> page_ticks(const Choice& choice, std::string_view param,
                                const std::array<std::string_view, 4>& published) {
  constexpr int kTicksOfNs = 10;  // 2^10
  std::string text = choice.text(param);
  if (text == kPublished)
    text = published[static_cast<std::size_t>(
        std::find(kPageSizes.begin(), kPageSizes.end(), choice.text("page_kib")) - kPageSizes.begin())];
  const auto number = parse_decimal(text);
  const bool plain = text.find_first_of("eE") == std::string::npos;
  const auto ticks = plain ? decimal_times_power_of_two(text + "e3", kTicksOfNs) : std::nullopt;
  if (!number || *number < 0 || *number > 1e6 || !ticks)
    return bad_input(
               "expected \"published\" or microseconds from 0 to 1000000 without an exponent, found \"" +
               text + "\"")
        .at_field("memory.allocator." + std::string(param));
  return *ticks;
}

Result<MemoryLayout> vmm_layout(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const std::vector<TensorRows> tensors, token_rows(request));
  KVPLAN_TRY(MemoryLayout layout, byte_layout(request));
  const std::int64_t page_bytes = parse_integer(choice.text("page_kib")).value_or(0) * 1024;
  std::vector<core::TokenRow> rows;
  for (const TensorRows& t : tensors) {
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const core::TokenRow& row) { return row.bytes == t.row_bytes; });
    if (same == rows.end()) {
      rows.push_back({t.row_bytes, t.tensors});
    } else {
      same->alloc_units += t.tensors;
    }
  }
  std::int64_t alike = 0;
  for (const core::TokenRow& row : rows) alike = std::gcd(alike, row.alloc_units);
  for (core::TokenRow& row : rows) row.alloc_units /= alike;
  layout.form = core::TableForm::kPages;
  layout.tensors = {
      .alloc_unit_bytes = page_bytes * alike, .page_bytes = page_bytes, .rows = std::move(rows)};
  layout.alloc_units = layout.capacity_bytes / layout.alloc_unit_bytes();
  if (layout.alloc_units < 1 || layout.alloc_units > kMostAllocUnits)
    return bad_input("expected room for 1 to 2^25 pages of " + std::to_string(page_bytes / 1024) +
                     " KiB for each of " + std::to_string(alike) + " tensors, found " +
                     std::to_string(layout.capacity_bytes) + " bytes")
        .at_field("memory");
  return layout;
}

template <class Slots>
Result<std::unique_ptr<core::Allocator>> make_vmm(const Choice& choice, const AllocatorRequest& request) {
  KVPLAN_TRY(const MemoryLayout layout, vmm_layout(choice, request));
  const std::int64_t pages = layout.tensors.alloc_unit_bytes / layout.tensors.page_bytes;
  KVPLAN_TRY(const std::int64_t map_ticks, page_ticks(choice, "map_us", kMapUs));
  KVPLAN_TRY(const std::int64_t unmap_ticks, page_ticks(choice, "unmap_us", kUnmapUs));
  return std::unique_ptr<core::Allocator>(std::make_unique<VmmAllocator<Slots>>(
      layout, PageCosts{map_ticks * pages, unmap_ticks * pages, choice.flag("overlap")},
      choice.text("reclaim") == "deferred", *request.workload, request.places()));
}

}  // namespace

extern const AllocatorEntry kMember;
const AllocatorEntry kMember{
    .descriptor =
        {.family = "allocator",
         .name = "vmm",
         .summary = "Each tensor is contiguous in virtual memory, and physical pages are mapped under it as "
                    "it grows.",
         .source =
             "Prabhu et al., vAttention, ASPLOS 2025 (arXiv 2405.04437); microsoft/vattention ef3fff25db",
         .params = kParams,
         .spans = "One page id covers one page of each layer's keys and values for all KV heads. Eviction "
                  "frees nothing before the request ends."},
    .make = make_vmm<PageSlots>,
    .make_model = make_vmm<PageSlotsModel>,
    .shares_prefixes = false};

}  // namespace kvplan::memory::allocator_vmm
