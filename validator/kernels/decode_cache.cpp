#include "validator/kernels/decode_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "simulator/base/random.h"

namespace kvplan::validator {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

/// The pages in random order, or in ascending order, as the case says.
std::vector<std::int32_t> page_order(std::int64_t pages, const Case& of) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
  std::iota(order.begin(), order.end(), 0);
  if (!of.shuffled) return order;
  Random random(of.seed, "pages");
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::vector<std::int32_t> kept_of(const Case& of, std::size_t reader, std::int64_t length) {
  std::vector<std::int32_t> kept;
  for (std::int64_t t = 0; t < length; ++t) {
    bool keep = true;
    if (of.window > 0) keep = t < of.sinks || t >= length - of.window;
    if (of.retained != Retained::kAll)
      keep = static_cast<std::int32_t>(mix(of.seed ^ mix((reader << 32) + static_cast<std::uint64_t>(t))) %
                                       1000) < of.kept_of_1000;
    if (keep) kept.push_back(static_cast<std::int32_t>(t));
  }
  return kept;
}

std::int64_t kept_by_window(const Case& of, std::int64_t length) {
  return of.window > 0 ? std::min(length, of.sinks + of.window) : length;
}

std::int64_t pages_for(std::int64_t tokens, const Case& of) {
  return (tokens + of.page_tokens - 1) / of.page_tokens;
}

/// Fills tables, lists and masks.
void place(const Case& of, DecodeCache& cache) {
  const bool own_pages = of.retained == Retained::kCompacted;  // each KV head has its own pages
  std::int64_t wanted = 0;
  for (std::size_t r = 0; r < cache.readers.size(); ++r) {
    DecodeReader& reader = cache.readers[r];
    const std::int64_t length = of.lengths[static_cast<std::size_t>(reader.sequence)];
    const std::int64_t kept = cache.kept_tokens[r];
    if (!own_pages && reader.kv_head > 0) {
      reader.table = cache.readers[r - 1].table;
    } else {
      reader.table = static_cast<std::int32_t>(wanted);
      wanted += pages_for(own_pages ? kept : length, of);
    }
    reader.tokens = static_cast<std::int32_t>(of.retained == Retained::kMask ? length : kept);
    if (of.window > 0 && kept < length) {
      reader.sinks = static_cast<std::int32_t>(of.sinks);
      reader.skip = static_cast<std::int32_t>(length - kept);
    }
    if (of.retained == Retained::kList) {
      reader.first = static_cast<std::int64_t>(cache.list.size());
      cache.list.insert(cache.list.end(), cache.kept[r].begin(), cache.kept[r].end());
    }
    if (of.retained == Retained::kMask) {
      reader.first = static_cast<std::int64_t>(cache.mask.size());
      cache.mask.resize(cache.mask.size() + static_cast<std::size_t>(length + 31) / 32);
      for (const std::int32_t t : cache.kept[r])
        cache.mask[static_cast<std::size_t>(reader.first + t / 32)] |= 1U << (t % 32);
    }
  }
  cache.pages = wanted + std::max<std::int64_t>(1, wanted / 16);  // and some that belong to no sequence
  cache.table = page_order(cache.pages, of);
  cache.table.resize(static_cast<std::size_t>(wanted));
  cache.page_shift = std::countr_zero(static_cast<std::uint32_t>(of.page_tokens));
  cache.page_rows = own_pages ? of.page_tokens : of.kv_heads * of.page_tokens;
  cache.head_rows = own_pages ? 0 : of.page_tokens;
  cache.pool_rows = cache.pages * cache.page_rows;
}

void put(std::vector<std::byte>& pool, std::int64_t row, const std::uint16_t* bits, const Case& of) {
  const auto width = static_cast<std::size_t>(bytes_of(of.stored)),
             size = static_cast<std::size_t>(of.head_size);
  std::byte* const to = pool.data() + static_cast<std::size_t>(row) * size * width;
  for (std::size_t d = 0; d < size; ++d) std::memcpy(to + d * width, bits + d, width);
}

void fill(const Case& of, DecodeCache& cache) {
  const auto size = static_cast<std::size_t>(of.head_size);
  const auto pool_bytes = static_cast<std::size_t>(cache.pool_rows * bytes_of(of.stored)) * size;
  cache.k_pool.assign(pool_bytes, std::byte{0xFF});
  cache.v_pool.assign(pool_bytes, std::byte{0xFF});
  const MadeUp keys{.seed = of.seed * 2, .stored = of.stored, .row = of.head_size, .outliers = of.outliers};
  const MadeUp values{.seed = of.seed * 2 + 1, .stored = of.stored, .row = of.head_size};
  for (std::size_t r = 0; r < cache.readers.size(); ++r) {
    const DecodeReader& reader = cache.readers[r];
    const std::int64_t length = of.lengths[static_cast<std::size_t>(reader.sequence)];
    cache.first_token.push_back(static_cast<std::int64_t>(cache.k_bits.size() / size));
    const std::size_t begin = cache.k_bits.size();
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(length) * size; ++i) {
      cache.k_bits.push_back(static_cast<std::uint16_t>(made_up_bits(keys, i)));
      cache.v_bits.push_back(static_cast<std::uint16_t>(made_up_bits(values, i)));
    }
    const auto store = [&](std::int64_t place, std::int64_t token) {
      const std::int64_t row = cache.row_of(reader, place);
      const std::size_t at = begin + static_cast<std::size_t>(token) * size;
      put(cache.k_pool, row, cache.k_bits.data() + at, of);
      put(cache.v_pool, row, cache.v_bits.data() + at, of);
    };
    // Tokens that a window has left behind, or that a list drops, stay NaN, so that reading one is noticed. Masked
    // tokens are read, so they are numbers.
    const auto& kept = cache.kept[r];
    if (of.retained == Retained::kCompacted) {
      for (std::size_t i = 0; i < kept.size(); ++i) store(static_cast<std::int64_t>(i), kept[i]);
    } else if (of.retained == Retained::kMask) {
      for (std::int64_t t = 0; t < length; ++t) store(t, t);
    } else {
      for (const std::int32_t t : kept) store(t, t);
    }
  }
}

Status wrong(const char* field, const std::string& message) {
  return bad_input(message).at_field(field);
}

}  // namespace

std::int64_t DecodeCache::row_of(const DecodeReader& reader, std::int64_t place) const {
  const std::int64_t page = table[static_cast<std::size_t>(reader.table + (place >> page_shift))];
  return page * page_rows + std::int64_t{reader.kv_head} * head_rows + (place & ((1 << page_shift) - 1));
}

std::int64_t DecodeCache::tokens_read() const {
  std::int64_t tokens = 0;
  for (const DecodeReader& reader : readers) tokens += reader.tokens;
  return tokens;
}

Status check_shape(const Case& of) {
  if (of.lengths.empty()) return wrong("lengths", "no sequences");
  if (of.kv_heads < 1 || of.query_heads < 1 || of.query_heads % of.kv_heads != 0)
    return wrong("query_heads", std::to_string(of.query_heads) + " is no multiple of " +
                                    std::to_string(of.kv_heads) + " KV heads");
  if (of.head_size != 64 && of.head_size != 128)
    return wrong("head_size", std::to_string(of.head_size) + ", expected 64 or 128");
  if (of.page_tokens < 1 || of.page_tokens > 256 ||
      !std::has_single_bit(static_cast<std::uint32_t>(of.page_tokens)))
    return wrong("page_tokens", std::to_string(of.page_tokens) + ", expected a power of two from 1 to 256");
  std::int64_t tokens = 0;
  for (const std::int64_t length : of.lengths) {
    if (length < 0 || length >= kMostRows)
      return wrong("lengths", std::to_string(length) + ", expected 0 to 2147483647");
    tokens += length + of.page_tokens;
  }
  if (tokens * of.kv_heads > kMostRows / 2)
    return wrong("lengths",
                 std::to_string(tokens) + " tokens in total, more than one memory region can hold");
  if (of.window < 0 || of.sinks < 0) return wrong("window", "below 0");
  if (of.window > 0 && of.retained != Retained::kAll)
    return wrong("window", "a window and a retained set at once");
  if (of.kept_of_1000 < 0 || of.kept_of_1000 > 1000)
    return wrong("kept_of_1000", std::to_string(of.kept_of_1000) + ", expected 0 to 1000");
  return Done{};
}

Result<DecodeCache> make_decode_cache(const Case& of, Purpose purpose) {
  KVPLAN_TRY_DO(check_shape(of));
  DecodeCache cache;
  cache.read_by = of.retained == Retained::kMask   ? ReadBy::kMask
                  : of.retained == Retained::kList ? ReadBy::kList
                                                   : ReadBy::kPlace;
  for (std::size_t b = 0; b < of.lengths.size(); ++b)
    for (std::int32_t h = 0; h < of.kv_heads; ++h) {
      const bool sparse = of.retained != Retained::kAll;
      cache.kept.emplace_back();
      if (sparse || purpose == Purpose::kCheck)
        cache.kept.back() = kept_of(of, cache.readers.size(), of.lengths[b]);
      cache.kept_tokens.push_back(sparse ? static_cast<std::int64_t>(cache.kept.back().size())
                                         : kept_by_window(of, of.lengths[b]));
      cache.readers.push_back({.sequence = static_cast<std::int32_t>(b), .kv_head = h});
    }
  place(of, cache);
  if (purpose == Purpose::kCheck) fill(of, cache);
  return cache;
}

}  // namespace kvplan::validator
