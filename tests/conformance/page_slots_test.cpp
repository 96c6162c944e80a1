// Pages under tensors that are contiguous in virtual memory: how many pages tokens need, which slot a request gets,
// which pages stay mapped and which are taken away.
#include "simulator/memory/page_slots.h"

#include <gtest/gtest.h>

#include "simulator/core/table_bytes.h"
#include "simulator/memory/allocators.h"
#include "simulator/model/kv_format.h"
#include "simulator/modelfile/catalogue.h"
#include "tests/support/ids.h"

namespace kvplan::memory {
namespace {

using test::operator""_r;

PageCalls calls(std::int64_t mapped, std::int64_t unmapped) {
  return {mapped, unmapped};
}

TEST(PageSlots, DeferredPagesServeTheNextRequestOfTheSlot) {
  PageSlots slots(10, true);
  PageCalls c;
  EXPECT_EQ(slots.take(3, 3, c), 0);
  EXPECT_EQ(slots.take(2, 2, c), 1);
  EXPECT_EQ(c, calls(5, 0));
  slots.need(0, 4, c);
  slots.give_back(0, c);
  EXPECT_EQ(c, calls(6, 0));
  EXPECT_EQ(slots.mapped(0), 4);
  EXPECT_EQ(slots.unmapped(), 4);
  EXPECT_EQ(slots.take(3, 3, c), 0);  // mapped already
  slots.need(0, 4, c);
  EXPECT_EQ(c, calls(6, 0));
  slots.need(0, 5, c);
  EXPECT_EQ(c, calls(7, 0));
}

TEST(PageSlots, TheLowestIdleSlotUnlessAHigherOneFitsBetter) {
  PageSlots slots(100, true);
  PageCalls c;
  for (const std::int64_t alloc_units : {8, 3, 6, 5}) slots.take(alloc_units, alloc_units, c);
  for (std::int64_t slot = 0; slot < 4; ++slot) slots.give_back(slot, c);
  EXPECT_EQ(slots.take(4, 4, c), 3);  // 8 pages at first, then 6, then 5: enough and fewer; 3 is too few
  slots.give_back(3, c);
  slots.take(7, 7, c);                // slot 0
  EXPECT_EQ(slots.take(4, 4, c), 1);  // the lowest idle slot has 3 pages: a slot with more never replaces it
  EXPECT_EQ(slots.mapped(1), 4);
}

TEST(PageSlots, ShortOfPagesTheHighestSlotIsStrippedFirst) {
  PageSlots slots(10, true);
  PageCalls c;
  for (int i = 0; i < 3; ++i) slots.take(3, 3, c);
  slots.give_back(0, c);
  slots.give_back(2, c);
  c = {};
  slots.need(1, 6, c);  // 1 page must be unmapped: all pages of slot 2 are, not only the missing number
  EXPECT_EQ(c, calls(3, 3));
  EXPECT_EQ(slots.mapped(0), 3);
  EXPECT_EQ(slots.mapped(2), 0);
  EXPECT_EQ(slots.unmapped(), 1);
  slots.need(1, 10, c);
  EXPECT_EQ(c, calls(7, 6));
}

TEST(PageSlots, EagerPagesGoAtOnce) {
  PageSlots slots(10, false);
  PageCalls c;
  slots.take(3, 3, c);
  slots.give_back(0, c);
  EXPECT_EQ(c, calls(3, 3));
  EXPECT_EQ(slots.unmapped(), 10);
}

core::MemoryLayout pages_of(std::int64_t page_bytes, std::vector<core::TokenRow> rows, std::int64_t tensors) {
  core::MemoryLayout layout;
  layout.form = core::TableForm::kPages;
  layout.tensors = {
      .alloc_unit_bytes = page_bytes * tensors, .page_bytes = page_bytes, .rows = std::move(rows)};
  return layout;
}

TEST(TableBytes, RowsStraddlePages) {
  // Rows of 10 bytes in pages of 64: 6.4 tokens to a page, in 2 tensors.
  const core::MemoryLayout layout = pages_of(64, {{10, 1}}, 2);
  EXPECT_EQ(core::pages_under(layout, 6), 1);
  EXPECT_EQ(core::pages_under(layout, 7), 2);
  EXPECT_EQ(core::tokens_over(layout, 1), 6);
  EXPECT_EQ(core::tokens_over(layout, 2), 12);
  EXPECT_EQ(core::tokens_over(layout, 5), 32);  // 320 bytes: a page border that is also a token border
  // A request of 9 tokens with one page of each: 64 bytes that it will write, among them 4 of its seventh token.
  EXPECT_EQ(core::table_bytes(layout, 9, 1, 0), (core::TableBytes{.reserved = 128}));
  EXPECT_EQ(core::table_bytes(layout, 9, 2, 0), (core::TableBytes{.reserved = 180, .tail = 76}));
}

TEST(TableBytes, RowsOfSeveralLengths) {
  // Rows of 10 in three tensors and of 32 in one: 6.4 and 2 tokens to a page.
  const core::MemoryLayout layout = pages_of(64, {{10, 3}, {32, 1}}, 1);
  for (const auto& [tokens, alloc_units] :
       {std::pair{1, 4}, {2, 4}, {3, 5}, {5, 6}, {6, 6}, {7, 10}, {13, 16}})
    EXPECT_EQ(core::pages_under(layout, tokens), alloc_units) << tokens;
  EXPECT_EQ(core::tokens_over(layout, 4), 2);
  EXPECT_EQ(core::tokens_over(layout, 6), 6);
  EXPECT_EQ(core::tokens_over(layout, 7), -1);  // no number of tokens needs exactly seven
  EXPECT_EQ(core::table_bytes(layout, 5, 6, 0), (core::TableBytes{.reserved = 5 * 62, .tail = 6 * 64 - 310}));
  // Compared with counting every byte.
  for (std::int64_t tokens = 1; tokens <= 60; ++tokens) {
    const std::int64_t alloc_units = core::pages_under(layout, tokens);
    const std::int64_t most = core::tokens_over(layout, alloc_units);
    EXPECT_GE(most, tokens);
    EXPECT_EQ(core::pages_under(layout, most), alloc_units);
    EXPECT_GT(core::pages_under(layout, most + 1), alloc_units);
    for (const std::int64_t last : {std::int64_t{7}, tokens, tokens + 1, tokens + 9}) {
      core::TableBytes counted;
      for (const core::TokenRow& row : layout.tensors.rows)
        for (std::int64_t byte = 0; byte < ceil_div(tokens * row.bytes, 64) * 64; ++byte)
          (byte < last * row.bytes ? counted.reserved : counted.tail) += row.alloc_units;
      EXPECT_EQ(core::table_bytes(layout, last, alloc_units, 0), counted) << tokens << " of " << last;
    }
  }
}

TEST(TableBytes, Tensors) {
  core::MemoryLayout layout;
  layout.form = core::TableForm::kTensors;
  layout.token_bytes = 100;
  layout.tensors.alloc_unit_bytes = 512;
  EXPECT_EQ(core::table_bytes(layout, 7, 4, 16),
            (core::TableBytes{.reserved = 700, .internal = 900, .padding = 4 * 512 - 1600}));
}

/// Tokens per page group as the paper states them: 32 for Llama-3-8B and 64 KiB, 1024 for 2 MiB.
TEST(VmmAllocator, TokensToAPage) {
  struct Known {
    const char* model;
    const char* page;
    std::int64_t tokens, tensors;
  };
  core::Workload workload;
  workload.arrival.assign(1, SimTime{});
  workload.input = {5000};
  workload.output = {2};
  for (const Known& known :
       {Known{"llama-3-8b", "64", 32, 64}, Known{"llama-3-8b", "2048", 1024, 64},
        Known{"qwen3-8b", "128", 64, 72},
        // 10 KiB rows: 6.4 tokens per page, six of them complete
        Known{"opt-13b", "64", 6, 80},
        // A latent vector of 576 elements: one tensor for each layer, 56.9 tokens per page
        Known{"deepseek-v3", "64", 56, 61}}) {
    const model::ModelShape* const shape = model::find_model(known.model).value();
    const Choice choice =
        parse_component("vmm:page_kib=" + std::string(known.page), "allocator", allocator_descriptors())
            .value();
    const AllocatorRequest request{.workload = &workload,
                                   .pool = {.bytes = std::int64_t{8} << 30},
                                   .token_bytes = shape->kv_token_bytes(),
                                   .model = shape};
    const auto allocator = allocator_entry(choice).make(choice, request).value();
    EXPECT_EQ(core::tokens_over(allocator->layout(), 1), known.tokens) << known.model;
    EXPECT_EQ(allocator->layout().alloc_unit_bytes(),
              known.tensors * parse_integer(known.page).value() * 1024)
        << known.model;
    EXPECT_EQ(allocator->layout().padding_bytes(),
              (std::int64_t{8} << 30) % allocator->layout().alloc_unit_bytes());
  }
}

/// Rows by format, rank and stage, by hand; the first page (64 KiB) of each tensor has `tokens` complete tokens.
TEST(ByteAllocators, RowsAreThoseOfTheRankInItsFormat) {
  struct Known {
    const char* model;
    const char* format;
    std::int64_t ranks, first, layers;
    std::vector<core::TokenRow> rows;
    std::int64_t tensors, tokens, token_bytes;
  };
  core::Workload workload;
  workload.arrival.assign(1, SimTime{});
  workload.input = {5000};
  workload.output = {2};
  for (const Known& known : {// 8 heads of 128: 1024 bytes
                             Known{"llama-3-8b", "fp8", 1, 0, 32, {{1024, 1}}, 64, 64, 65536},
                             // 2 heads of 128 in 2 bytes
                             Known{"llama-3-8b", "native", 4, 0, 32, {{512, 1}}, 64, 128, 32768},
                             // fewer heads than ranks: each rank has one head
                             Known{"llama-3-8b", "bf16", 16, 0, 32, {{256, 1}}, 64, 256, 16384},
                             // 512 bytes of elements, and 4 for each group of 32: 8 heads x 4 groups
                             Known{"llama-3-8b", "int4", 1, 0, 32, {{640, 1}}, 64, 102, 40960},
                             // 512 and a byte for each 16, on half of the heads of a stage of 8 layers
                             Known{"llama-3-8b", "fp4", 2, 8, 8, {{288, 1}}, 16, 227, 4608},
                             // 656 bytes in this layout; whole on every rank
                             Known{"deepseek-v3", "fp8_ds_mla", 8, 31, 30, {{656, 1}}, 30, 99, 19680}}) {
    SCOPED_TRACE(std::string(known.model) + " " + known.format);
    const model::ModelShape* const shape = model::find_model(known.model).value();
    const model::KvFormat format =
        parse_component(known.format, "format", model::format_descriptors()).value();
    AllocatorRequest request{.workload = &workload,
                             .pool = {.bytes = std::int64_t{1} << 30},
                             .token_bytes = known.token_bytes,
                             .model = shape,
                             .format = &format,
                             .tensor_ranks = known.ranks,
                             .first_layer = known.first,
                             .layers = known.layers};
    const Choice vmm = parse_component("vmm:page_kib=64", "allocator", allocator_descriptors()).value();
    const auto pages = allocator_entry(vmm).make(vmm, request);
    ASSERT_TRUE(pages.ok()) << pages.error().to_string();
    EXPECT_EQ(pages.value()->layout().tensors.rows, known.rows);
    EXPECT_EQ(pages.value()->layout().alloc_unit_bytes(), known.tensors * 65536);
    EXPECT_EQ(core::tokens_over(pages.value()->layout(), 1), known.tokens);
    const Choice caching =
        parse_component("caching:reserve=oracle", "allocator", allocator_descriptors()).value();
    const auto tensors = allocator_entry(caching).make(caching, request);
    ASSERT_TRUE(tensors.ok());
    EXPECT_EQ(tensors.value()->layout().tensors.rows,
              (std::vector<core::TokenRow>{{known.rows.front().bytes, known.tensors}}));
  }
}

/// The data that a token policy stores for each cell has no place in the tensors.
TEST(ByteAllocators, RefuseCellsThatTheModelDoesNotHave) {
  core::Workload workload;
  const model::ModelShape* const shape = model::find_model("llama-3-8b").value();
  for (const char* name : {"vmm", "caching"}) {
    const Choice choice = parse_component(name, "allocator", allocator_descriptors()).value();
    const AllocatorRequest request{.workload = &workload,
                                   .pool = {.bytes = std::int64_t{8} << 30},
                                   .token_bytes = shape->kv_token_bytes() / 2,
                                   .model = shape};
    for (const auto make : {allocator_entry(choice).make, allocator_entry(choice).make_model}) {
      const auto refused = make(choice, request);
      ASSERT_FALSE(refused.ok()) << name;
      EXPECT_EQ(
          refused.error().to_string(),
          "memory.allocator: this allocator stores keys and values of each layer in separate tensors, "
          "together with the scales of their format: 131072 bytes per token. This run needs 65536 bytes, "
          "because a token policy or sparse attention stores data with each token, or because keys and "
          "values "
          "share a byte. This allocator cannot store that");
    }
  }
}

/// One request by hand: which mappings delay the step, with and without overlap, and the cost of unmapping.
TEST(VmmAllocator, TimeOfMapsAndUnmaps) {
  core::Workload workload;
  workload.arrival.assign(2, SimTime{});
  workload.input = {40, 10};
  workload.output = {30, 20};
  const auto make = [&](const std::string& params) {
    const Choice choice = parse_component("vmm:page_kib=64,map_us=3,unmap_us=0.5" + params, "allocator",
                                          allocator_descriptors())
                              .value();
    // 16 tokens per page, 5 pages.
    const AllocatorRequest request{
        .workload = &workload, .pool = {.bytes = 5 * 65536}, .token_bytes = 4096, .block_ids = false};
    return allocator_entry(choice).make(choice, request).value();
  };
  const auto ticks = [](std::int64_t half_us) { return ticks_from_ns(half_us * 500); };
  for (const bool overlap : {true, false}) {
    const auto a = make(overlap ? "" : ",overlap=false");
    ASSERT_TRUE(a->admit(0_r, {}, 40, 40));  // 3 pages
    EXPECT_EQ(a->next_growth(0_r), 48);
    EXPECT_EQ(a->placing()->take_delay(0, ticks(1000)), ticks(18));
    EXPECT_EQ(a->placing()->take_delay(0, ticks(1000)), ticks(0));
    ASSERT_TRUE(a->grow(0_r, 49));  // decoding
    // The step before computed for 2 us, which hide 2 of the 3 us.
    EXPECT_EQ(a->placing()->take_delay(0, ticks(4)), ticks(overlap ? 2 : 6));
    EXPECT_EQ(a->placing()->take_delay(0, ticks(4)), ticks(0));
    a->release(0_r, 49);
    EXPECT_EQ(a->placing()->take_delay(0, ticks(1000)), ticks(0));
    ASSERT_TRUE(a->admit(1_r, {}, 10, 10));  // its slot has 4 pages
    EXPECT_EQ(a->placing()->take_delay(0, ticks(1000)), ticks(0));
    EXPECT_EQ(a->counts().held, 1);
    EXPECT_EQ(a->counts().free, 4);
    ASSERT_TRUE(a->admit(0_r, {}, 50, 50));  // one page is left, and three stand idle under the other's slot
    EXPECT_EQ(a->placing()->take_delay(0, ticks(1000)), ticks(4 * 6 + 3));
    EXPECT_FALSE(a->grow(0_r, 65));
    EXPECT_FALSE(a->grow(1_r, 17));
    const auto eager = make(std::string(",reclaim=eager") + (overlap ? "" : ",overlap=false"));
    ASSERT_TRUE(eager->admit(0_r, {}, 40, 40));
    eager->release(0_r, 40);
    // A step always waits for the pages of a prompt; unmapping three takes 1.5 us, of which 1 us is hidden.
    EXPECT_EQ(eager->placing()->take_delay(0, ticks(2)), ticks(18 + (overlap ? 1 : 3)));
    ASSERT_TRUE(eager->admit(0_r, {}, 48, 48));
    ASSERT_TRUE(eager->grow(0_r, 49));
    eager->release(0_r, 49);  // 4 pages: a map of 3 us and unmaps of 2 share the thread
    EXPECT_EQ(eager->placing()->take_delay(0, ticks(6)), ticks(18 + (overlap ? 4 : 10)));
    ASSERT_TRUE(eager->admit(0_r, {}, 48, 48));
    eager->release(0_r, 48);
    EXPECT_EQ(eager->placing()->take_delay(0, ticks(3)), ticks(18 + (overlap ? 0 : 3)))
        << "as long as it takes";
  }
}

TEST(VmmAllocator, RefusesWhatItCannotTell) {
  core::Workload workload;
  const auto error = [&](const std::string& component, const PoolSize& pool) {
    const Choice choice = parse_component(component, "allocator", allocator_descriptors()).value();
    const AllocatorRequest request{.workload = &workload, .pool = pool, .token_bytes = 4096};
    const auto made = allocator_entry(choice).make(choice, request);
    return made ? std::string() : made.error().to_string();
  };
  EXPECT_EQ(error("vmm", {.blocks = 7}),
            "memory.pool_blocks: this allocator has no blocks of tokens: use memory.pool_bytes or "
            "memory.pool_tokens");
  EXPECT_EQ(
      error("vmm", {.bytes = 2097151}),
      "memory: expected room for 1 to 2^25 pages of 2048 KiB for each of 1 tensors, found 2097151 bytes");
  EXPECT_EQ(error("vmm", {.bytes = 2097152}), "");
  EXPECT_EQ(error("vmm:map_us=-1", {.bytes = 2097152}),
            "memory.allocator.map_us: expected \"published\" or microseconds from 0 to 1000000 without an "
            "exponent, found \"-1\"");
  EXPECT_EQ(error("vmm:unmap_us=1e3", {.bytes = 2097152}),
            "memory.allocator.unmap_us: expected \"published\" or microseconds from 0 to 1000000 without an "
            "exponent, found \"1e3\"");
  EXPECT_EQ(error("caching", {.bytes = 511}),
            "memory: expected a pool of 512 bytes to 256 GiB, found 511 bytes");
  EXPECT_EQ(error("caching", {.bytes = (std::int64_t{1} << 38) + 512}),
            "memory: expected a pool of 512 bytes to 256 GiB, found 274877907456 bytes");
  EXPECT_EQ(
      error("caching:max_split_size_mb=20", {.bytes = 1 << 30}),
      "memory.allocator.max_split_size_mb: expected \"unlimited\" or a whole number above 20, found \"20\"");
}

}  // namespace
}  // namespace kvplan::memory
