// The cases with which decode attention is checked, calibrated, predicted and tuned.
#include <algorithm>

#include "validator/kernels/decode_attention.h"
#include "validator/kernels/decode_plan.h"

namespace kvplan::validator {
namespace {

Case shape(Stored stored, std::int32_t query_heads, std::int32_t kv_heads,
           std::vector<std::int64_t> lengths) {
  Case of{.stored = stored, .query_heads = query_heads, .kv_heads = kv_heads};
  of.lengths = std::move(lengths);
  return of;
}

constexpr Stored kAllStored[] = {Stored::kBf16, Stored::kFp16, Stored::kFp8};

std::vector<Case> check_cases(const MachineFacts& machine) {
  std::vector<Case> cases;
  const auto add = [&](Case of) {
    of.seed = cases.size() + 1;
    cases.push_back(std::move(of));
  };
  const std::vector<std::int64_t> ragged{1, 700, 15, 333, 0, 64};
  for (const Stored stored : kAllStored) {
    add(shape(stored, 32, 8, {1024, 1024}));
    add(shape(stored, 8, 8, ragged));
    Case sharp = shape(stored, 16, 2, {2100});
    sharp.peaked = true;
    sharp.outliers = 12;
    add(sharp);
    Case small = shape(stored, 24, 3, ragged);
    small.head_size = 64;
    add(small);
    for (const std::int32_t page : {1, 8, 32, 64, 128, 256}) {
      Case paged = shape(stored, 16, 4, {500, 77});
      paged.page_tokens = page;
      add(paged);
    }
    for (const Retained retained : {Retained::kMask, Retained::kList, Retained::kCompacted})
      for (const std::int32_t kept : {500, 20, 0}) {
        Case holes = shape(stored, 16, 4, ragged);
        holes.retained = retained;
        holes.kept_of_1000 = kept;
        add(holes);
      }
    for (const std::int64_t window : {1, 100, 512}) {
      Case sliding = shape(stored, 16, 4, {40, 512, 1300});
      sliding.window = window;
      sliding.sinks = window == 100 ? 4 : 0;
      add(sliding);
    }
    add(shape(stored, 48, 2, {600, 31}));  // a group of 24: two pieces over the same tokens
    Case unsplit = shape(stored, 16, 4, {900, 5});
    unsplit.rule = 99;
    add(unsplit);
    for (const std::int32_t variant : {0, 1, 2, 3}) {
      if (machine.shared_bytes > 0 && machine.shared_bytes < kDecodeShared[variant]) continue;
      Case split = shape(stored, 16, 4, {2000, 5});
      split.rule = 100 * variant + 8;
      add(split);
    }
  }
  return cases;
}

/// Heads of one device of well-known models: Llama 3 8B (32 on 8), one of 8 devices of its 70B (8 on 1), 8 heads of a
/// model without groups.
struct Heads {
  std::int32_t query, kv;
};

std::int64_t kv_bytes(const Case& of) {
  std::int64_t tokens = 0;
  for (const std::int64_t length : of.lengths) tokens += length;
  return 2 * tokens * of.kv_heads * of.head_size * bytes_of(of.stored);
}

/// The most bytes that one case may read: more would show nothing new, and filling memory takes time.
std::int64_t most_bytes(const MachineFacts& machine) {
  const std::int64_t enough = machine.toolkit.empty() ? std::int64_t{48} << 20 : std::int64_t{9} << 30;
  return std::min(enough, machine.memory_bytes / 5);
}

void add_product(std::vector<Case>& cases, const MachineFacts& machine, Stored stored, Heads heads,
                 std::initializer_list<std::int64_t> batches, std::initializer_list<std::int64_t> lengths) {
  for (const std::int64_t batch : batches)
    for (const std::int64_t length : lengths) {
      Case of = shape(stored, heads.query, heads.kv, equal_lengths(batch, length));
      if (kv_bytes(of) <= most_bytes(machine)) cases.push_back(std::move(of));
    }
}

/// Reorders cases so that a grid that is cut short still spans its range: first every eighth case, then the rest.
std::vector<Case> spread(std::vector<Case> cases) {
  std::vector<Case> out;
  for (std::size_t begin = 0; begin < 8; ++begin)
    for (std::size_t i = begin; i < cases.size(); i += 8) out.push_back(std::move(cases[i]));
  return out;
}

/// Lengths of a batch: they rise with the square of the index, up to `most`.
std::vector<std::int64_t> ragged_lengths(std::int64_t batch, std::int64_t most) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < batch; ++i)
    lengths.push_back(std::max<std::int64_t>(1, most * (i + 1) * (i + 1) / (batch * batch)));
  return lengths;
}

std::vector<Case> coarse_cases(const MachineFacts& machine) {
  std::vector<Case> cases;
  const bool host = machine.toolkit.empty();
  if (host) {
    add_product(cases, machine, Stored::kBf16, {8, 2}, {1, 4, 16}, {64, 256, 1024, 4096});
    add_product(cases, machine, Stored::kFp8, {8, 2}, {1, 4, 16}, {64, 256, 1024, 4096});
    return cases;
  }
  for (const Stored stored : {Stored::kBf16, Stored::kFp8})
    for (const Heads heads : {Heads{32, 8}, Heads{8, 1}})
      add_product(cases, machine, stored, heads, {1, 4, 16, 64, 256}, {128, 512, 2048, 8192, 32768, 131072});
  return cases;
}

std::vector<Case> unseen_cases(const MachineFacts& machine) {
  std::vector<Case> cases;
  const bool host = machine.toolkit.empty();
  if (host) {
    for (const Stored stored : {Stored::kBf16, Stored::kFp8}) {
      add_product(cases, machine, stored, {8, 2}, {2, 7, 12}, {100, 600, 1500, 3000});
      for (const std::int64_t most : {900, 3500})
        cases.push_back(shape(stored, 8, 2, ragged_lengths(8, most)));
    }
    return cases;
  }
  for (const Stored stored : {Stored::kBf16, Stored::kFp8})
    for (const Heads heads : {Heads{32, 8}, Heads{8, 1}}) {
      add_product(cases, machine, stored, heads, {1, 3, 11, 40, 100, 200},
                  {300, 1000, 3000, 5000, 20000, 70000});
      for (const std::int64_t most : {1500, 6000, 24000})
        for (const std::int64_t batch : {12, 48}) {
          Case of = shape(stored, heads.query, heads.kv, ragged_lengths(batch, most));
          if (kv_bytes(of) <= most_bytes(machine)) cases.push_back(std::move(of));
        }
    }
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].seed = 100 + i;
  return spread(std::move(cases));
}

std::vector<Case> fine_cases(const MachineFacts& machine) {
  std::vector<Case> cases;
  if (machine.toolkit.empty()) {
    add_product(cases, machine, Stored::kFp16, {8, 2}, {1, 4, 16}, {64, 256, 1024, 4096});
    return cases;
  }
  for (const Stored stored : {Stored::kBf16, Stored::kFp8})
    for (const Heads heads : {Heads{32, 8}, Heads{8, 1}})
      add_product(cases, machine, stored, heads, {2, 8, 32, 128}, {256, 1024, 4096, 16384, 65536});
  add_product(cases, machine, Stored::kFp16, {32, 8}, {1, 4, 16, 64, 256}, {128, 512, 2048, 8192, 32768});
  add_product(cases, machine, Stored::kBf16, {8, 8}, {1, 4, 16, 64, 256}, {128, 512, 2048, 8192, 32768});
  for (const std::int32_t page : {1, 8, 32, 64, 256})
    for (const std::int64_t length : {2048, 32768}) {
      Case of = shape(Stored::kBf16, 32, 8, equal_lengths(16, length));
      of.page_tokens = page;
      cases.push_back(std::move(of));
    }
  for (const Retained retained : {Retained::kMask, Retained::kList, Retained::kCompacted}) {
    Case of = shape(Stored::kBf16, 32, 8, equal_lengths(16, 16384));
    of.retained = retained;
    of.kept_of_1000 = 500;
    cases.push_back(std::move(of));
  }
  for (const std::int64_t window : {1024, 4096}) {
    Case of = shape(Stored::kBf16, 32, 8, equal_lengths(64, 16384));
    of.window = window;
    of.sinks = 4;
    cases.push_back(std::move(of));
  }
  return spread(std::move(cases));
}

std::vector<Case> sanitize_cases() {
  std::vector<Case> cases;
  for (const Stored stored : kAllStored)
    for (const Retained retained : {Retained::kAll, Retained::kMask, Retained::kList, Retained::kCompacted}) {
      Case of = shape(stored, 16, 4, {150, 1, 0, 40});
      of.retained = retained;
      of.kept_of_1000 = retained == Retained::kAll ? 1000 : 400;
      of.seed = cases.size() + 1;
      cases.push_back(of);
      of.rule = 8;
      cases.push_back(std::move(of));
    }
  return cases;
}

}  // namespace

std::vector<Case> decode_attention_cases(CaseSet set, const MachineFacts& machine) {
  switch (set) {
    case CaseSet::kCheck:
      return check_cases(machine);
    case CaseSet::kSanitize:
      return sanitize_cases();
    case CaseSet::kCoarse:
      return spread(coarse_cases(machine));
    case CaseSet::kFine:
      return fine_cases(machine);
    case CaseSet::kUnseen:
      return unseen_cases(machine);
  }
  return {};
}

std::vector<Case> tuning_cases(const MachineFacts& machine) {
  std::vector<Case> cases;
  const bool host = machine.toolkit.empty();
  const auto add = [&](Stored stored, Heads heads, std::int64_t batch, std::int64_t length) {
    Case of = shape(stored, heads.query, heads.kv, equal_lengths(batch, host ? length / 256 : length));
    for (const std::int32_t variant : {0, 1, 2, 3}) {
      if (machine.shared_bytes > 0 && machine.shared_bytes < kDecodeShared[variant]) continue;
      for (const std::int32_t waves : {0, 1, 2, 4, 99}) {
        of.rule = 100 * variant + waves;
        cases.push_back(of);
      }
    }
  };
  for (const std::int64_t scale : {4, 1, 8}) {  // 2 GiB, 0.5 GiB, 4 GiB
    add(Stored::kBf16, {32, 8}, 16, 8192 * scale);
    add(Stored::kFp8, {32, 8}, 16, 16384 * scale);
  }
  add(Stored::kBf16, {8, 1}, 64, 65536);
  add(Stored::kBf16, {32, 8}, 1, 262144);
  return cases;
}

}  // namespace kvplan::validator
