// A fixed basis for keys and one for values, learnt from the prompt: each token is stored as its coordinates.
#include <array>

#include "simulator/base/random.h"
#include "simulator/formats/formats.h"
#include "simulator/formats/low_rank.h"

namespace kvplan::formats::eigen {
namespace {

constexpr std::array<std::string_view, 2> kBases{"k", "kq"};
constexpr std::array<std::string_view, 2> kMethods{"exact", "random"};
constexpr std::array kParams{
    Param{.name = "rank",
          .help = "Vectors in the basis of the keys",
          .fallback = "64",
          .low = 1,
          .high = kMostChannels},
    Param{.name = "rank_v",
          .help = "Vectors in the basis of the values",
          .fallback = "64",
          .low = 1,
          .high = kMostChannels},
    Param{.name = "basis",
          .help = "Learn the basis of the keys from keys alone, or from keys and queries",
          .kind = ParamKind::kText,
          .fallback = "k",
          .choices = kBases},
    Param{.name = "method",
          .help = "How a basis is computed: eigenvectors of the second-moment matrix (exact), or the span of "
                  "this matrix times random signs (random)",
          .kind = ParamKind::kText,
          .fallback = "exact",
          .choices = kMethods},
    Param{.name = "oversample",
          .help = "Oversampling: additional vectors in a random basis",
          .fallback = "0",
          .low = 0,
          .high = kMostChannels},
    Param{.name = "seed",
          .help = "Seed of the random signs",
          .fallback = "0",
          .low = 0,
          .high = 9007199254740992.0}};

struct BasisOptions {
  std::int64_t rank;
  std::int64_t rank_v;
  bool queries;
  bool random;
  std::int64_t oversample;
  std::uint64_t seed;
};

/// Stream i of a seed.
Random stream(std::uint64_t seed, std::uint64_t i) {
  return Random(seed + 0x9E3779B97F4A7C15ULL * (1 + i));
}

/// Number of vectors of a basis.
std::int64_t vectors_of(const BasisOptions& options, const Shape& shape, Side side) {
  const std::int64_t rank = side == Side::kKeys ? options.rank : options.rank_v;
  return std::min<std::int64_t>(rank + (options.random ? options.oversample : 0), shape.size(side));
}

class Eigen final : public LowRankCodec {
 public:
  Eigen(const Shape& shape, const BasisOptions& options) : LowRankCodec(shape), options_(options) {
    for (auto& of_side : bases_) of_side.resize(static_cast<std::size_t>(shape.kv_heads));
  }

  [[nodiscard]] Regions regions(Side side) const override {
    Regions out;
    out.exact = exact_bytes(side);
    for (const Plane& plane : planes(side)) {
      const std::int64_t coded = plane.tokens() - plane.exact_tokens();
      if (coded > 0) out.factors += vectors(side) * (coded + plane.size()) * kBytes;
    }
    return out;
  }

 protected:
  void on_append() override {
    if (!in_prompt()) encode();
  }
  void on_prompt_end(const PromptQueries& queries) override {
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h)
        bases_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)] = learn(side, h, queries);
    encode();
  }

 private:
  [[nodiscard]] std::int64_t vectors(Side side) const { return vectors_of(options_, shape(), side); }

  /// All rows from which the basis is learnt.
  [[nodiscard]] Matrix rows(Side side, std::int32_t head, const PromptQueries& queries) const {
    Matrix out = rows_of(plane(side, head), 0, plane(side, head).tokens());
    if (side == Side::kValues || !options_.queries) return out;
    const std::int32_t group = shape().group();
    const auto count = static_cast<std::size_t>(queries.tokens * shape().key_size);
    for (std::int32_t q = head * group; q < (head + 1) * group; ++q) {
      const auto& of_head = queries.heads[static_cast<std::size_t>(q)];
      out.data.insert(out.data.end(), of_head.begin(), of_head.begin() + static_cast<std::ptrdiff_t>(count));
      out.rows += static_cast<std::size_t>(queries.tokens);
    }
    return out;
  }

  [[nodiscard]] Matrix learn(Side side, std::int32_t head, const PromptQueries& queries) const {
    const Matrix all = rows(side, head, queries);
    const auto wanted = static_cast<std::size_t>(vectors(side));
    if (options_.random) return random_basis(all, wanted, 2 * head + (side == Side::kValues ? 1 : 0));
    // Eigenvectors of the sum of outer products of rows are their right singular vectors.
    Matrix found = right_singular(all).vectors;
    found.rows = std::min(found.rows, wanted);
    found.data.resize(found.rows * found.columns);
    return found;
  }

  [[nodiscard]] Matrix random_basis(const Matrix& all, std::size_t wanted, std::int32_t number) const {
    Matrix signs(all.columns, wanted);
    Random draws = stream(options_.seed, static_cast<std::uint64_t>(number));
    for (double& sign : signs.data) sign = (draws.next() >> 63) != 0 ? -1.0 : 1.0;
    // (rows^T (rows signs))^T: the columns to be spanned, as rows.
    Matrix spanned(wanted, all.columns);
    std::vector<double> products(wanted);
    for (std::size_t r = 0; r < all.rows; ++r) {
      std::fill(products.begin(), products.end(), 0.0);
      for (std::size_t c = 0; c < all.columns; ++c)
        for (std::size_t w = 0; w < wanted; ++w) products[w] += all.at(r, c) * signs.at(c, w);
      for (std::size_t w = 0; w < wanted; ++w)
        for (std::size_t c = 0; c < all.columns; ++c) spanned.at(w, c) += products[w] * all.at(r, c);
    }
    return orthonormal_rows(std::move(spanned));
  }

  /// Encodes all exact tokens.
  void encode() {
    for (const Side side : kSides)
      for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
        Plane& plane = plane_of(side, h);
        const Matrix& basis = bases_[static_cast<std::size_t>(side)][static_cast<std::size_t>(h)];
        if (plane.blocks() == 0) plane.begin_block(0);
        for (auto i = static_cast<std::int32_t>(plane.tokens() - plane.exact_tokens()); i < plane.tokens();
             ++i) {
          project(basis, basis.rows, plane.stored(i));
          plane.join(i, 0);
        }
      }
  }

  BasisOptions options_;
  std::array<std::vector<Matrix>, 2> bases_;  ///< [side][KV head], vectors as rows
};

BasisOptions options_of(const Choice& choice) {
  return {.rank = choice.integer("rank"),
          .rank_v = choice.integer("rank_v"),
          .queries = choice.text("basis") == "kq",
          .random = choice.text("method") == "random",
          .oversample = choice.integer("oversample"),
          .seed = static_cast<std::uint64_t>(choice.integer("seed"))};
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<Eigen>(shape, options_of(choice));
}

/// A basis, and for each token a coordinate for each of its vectors.
Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  const std::int64_t vectors = vectors_of(options_of(choice), shape, side);
  Regions out;
  out.factors = shape.kv_heads * vectors * (lengths.stored() + shape.size(side)) * 2;
  return out;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "eigen",
         .summary = "Coordinates in a low-rank basis that is learnt from the prompt and then fixed",
         .source = "arXiv 2408.05646 (Eigen Attention); kvplan's design notes on KV caches (random basis)",
         .params = kParams,
         .divergences =
             "The paper learns bases offline and folds them into the weights; kvplan learns them from the "
             "sequence's own prompt and stores them with it. The matrix shapes in the design notes do not "
             "fit together; in kvplan the random basis spans channels, and values have their own basis."},
    .golden_name = "eigen",
    .exactness = Exactness::kTolerance,
    .make = make,
    .lengths = {.regions = bytes_of, .by_count = always_by_count}};

}  // namespace kvplan::formats::eigen
