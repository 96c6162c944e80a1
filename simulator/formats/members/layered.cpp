// Layered cache: the newest tokens are exact; when there are too many, the oldest of them become a low-rank chunk.
#include <array>

#include "simulator/formats/formats.h"
#include "simulator/formats/low_rank.h"

namespace kvplan::formats::layered {
namespace {

constexpr std::array kParams{
    Param{.name = "window",
          .help = "Number of exact tokens at which a chunk is built",
          .unit = Unit::kTokens,
          .fallback = "128",
          .low = 0,
          .high = kMostTokens},
    Param{.name = "rank", .help = "Rank of a chunk", .fallback = "32", .low = 1, .high = kMostChannels},
    Param{.name = "keep_recent",
          .help = "Newest tokens that stay exact when a chunk is built",
          .unit = Unit::kTokens,
          .fallback = "0",
          .low = 0,
          .high = kMostTokens},
    Param{.name = "factor_v",
          .help = "Factorise the values of a chunk too; otherwise they stay exact",
          .kind = ParamKind::kFlag,
          .fallback = "false"}};

struct Windows {
  std::int64_t window;
  std::int64_t rank;
  std::int64_t keep_recent;
  bool factor_values;
};

class Layered final : public LowRankCodec {
 public:
  Layered(const Shape& shape, const Windows& windows) : LowRankCodec(shape), windows_(windows) {
    for (auto& of_side : ranks_) of_side.resize(static_cast<std::size_t>(shape.kv_heads));
  }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out;
    out.exact = exact_bytes(side);
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      const Plane& plane = this->plane(side, h);
      const auto& ranks = ranks_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)];
      for (std::int32_t chunk = 0; chunk < plane.blocks(); ++chunk)
        if (plane.members(chunk) > 0)
          out.factors +=
              ranks[static_cast<std::size_t>(chunk)] * (plane.members(chunk) + plane.size() + 1) * kBytes;
    }
    return out;
  }

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override { make_chunks(); }
  void on_step_end() override { make_chunks(); }

 private:
  void make_chunks() {
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      // Keys show which tokens are waiting, because values may stay exact.
      const Plane& keys = plane(Side::kKeys, h);
      const std::int64_t pending = keys.exact_tokens();
      if (pending <= windows_.window) continue;
      const auto begin = static_cast<std::int32_t>(keys.tokens() - pending);
      const auto end = static_cast<std::int32_t>(keys.tokens() - windows_.keep_recent);
      for (const Side side : kSides) {
        if (side == Side::kValues && !windows_.factor_values) continue;
        ranks_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)].push_back(
            truncate(plane_of(side, h), begin, end, windows_.rank));
      }
    }
  }

  Windows windows_;
  std::array<std::vector<std::vector<std::int64_t>>, 2> ranks_;  ///< [side][KV head][chunk]
};

Status check(const Choice& choice, const Shape& /*shape*/, std::int64_t /*prompt*/) {
  if (choice.integer("keep_recent") > choice.integer("window"))
    return wrong_param(choice, "keep_recent", "at most window = " + std::to_string(choice.integer("window")));
  return Done{};
}

Windows windows_of(const Choice& choice) {
  return {.window = choice.integer("window"),
          .rank = choice.integer("rank"),
          .keep_recent = choice.integer("keep_recent"),
          .factor_values = choice.flag("factor_v")};
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Layered>(shape, windows_of(choice));
}

/// A chunk of the prompt, if it is longer than the window; later a chunk whenever there is one token too many. Later
/// chunks have equal sizes.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const Windows w = windows_of(choice);
  if (side == Side::kValues && !w.factor_values)
    return split_bytes(shape, side, {.exact = lengths.stored()}, 0);
  const std::int64_t first = lengths.prompt > w.window ? lengths.prompt - w.keep_recent : 0;
  const std::int64_t later = w.window + 1 - w.keep_recent;
  const std::int64_t pending = lengths.prompt + encoding_steps(lengths, w.window + 1) - first;
  const std::int64_t chunks = pending > w.window ? (pending - w.window - 1) / later + 1 : 0;
  const std::int64_t end = first + chunks * later;
  const std::int64_t size = shape.size(side);
  const Left left(lengths);
  Regions out = split_bytes(shape, side, {.exact = lengths.stored() - left.tokens(0, end)}, 0);
  /// Chunks made of `of` tokens keep their rank until their last token is dropped.
  const auto add_chunks = [&](std::int64_t begin, std::int64_t until, std::int64_t of) {
    if (until == begin) return;
    const std::int64_t rank = std::min({w.rank, of, size});
    out.factors +=
        shape.kv_heads * rank * (left.tokens(begin, until) + left.groups(begin, until, of) * (size + 1)) * 2;
  };
  add_chunks(0, first, first);
  add_chunks(first, end, later);
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "layered",
                   .summary = "Newest tokens are exact; older ones become low-rank chunks",
                   .source = "kvplan's design notes on KV caches (layered cache)",
                   .params = kParams,
                   .divergences =
                       "The design notes leave the values of a chunk uncompressed, and keep no exact token "
                       "right after building one; factor_v and keep_recent change that."},
    .golden_name = "layered",
    .exactness = Exactness::kTolerance,
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .by_position = always_by_position}};

}  // namespace kvplan::formats::layered
