#include "tests/unit/formats/naive.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"
#include "tests/unit/formats/nearest.h"

namespace kvplan::formats::test {
namespace {

const std::vector<double>& halves() {
  static const std::vector<double> kValues = values_of(kBinary16);
  return kValues;
}
double half(double number) {
  return nearest(halves(), number);
}
double single(double number) {
  return static_cast<double>(static_cast<float>(number));
}

/// The whole number in [low, high] that is nearest to `ratio`; between two, the even one.
double code_of(double ratio, double low, double high) {
  double best = low;
  for (double code = low; code <= high; ++code) {
    const double now = std::fabs(ratio - code);
    const double before = std::fabs(ratio - best);
    if (now < before || (now == before && std::fmod(code, 2) == 0)) best = code;
  }
  return best;
}

/// A group, quantised between its least and greatest number.
Vector between(const Vector& x, int bits) {
  const double steps = std::pow(2, bits) - 1;
  const double least = *std::min_element(x.begin(), x.end());
  const double greatest = *std::max_element(x.begin(), x.end());
  const double scale = half((greatest - least) / steps);
  const double zero = half(least);
  Vector out;
  for (const double v : x)
    out.push_back(scale > 0 ? code_of((v - zero) / scale, 0, steps) * scale + zero : zero);
  return out;
}

double most_of(const Vector& x) {
  double out = 0;
  for (const double v : x) out = std::max(out, std::fabs(v));
  return out;
}

std::vector<Vector> groups_of(const Vector& x, std::size_t group) {
  std::vector<Vector> out;
  for (std::size_t at = 0; at < x.size(); at += group)
    out.emplace_back(x.begin() + static_cast<std::ptrdiff_t>(at),
                     x.begin() + static_cast<std::ptrdiff_t>(at + group));
  return out;
}

template <class Encode>
Vector by_groups(const Vector& x, std::size_t group, Encode encode) {
  Vector out;
  for (const Vector& each : groups_of(x, group == 0 ? x.size() : group))
    for (const double v : encode(each)) out.push_back(v);
  return out;
}

/// Channels of tokens [begin, end), each between its least and greatest number.
void by_channel(Rows& rows, std::size_t begin, std::size_t end, int bits) {
  for (std::size_t c = 0; c < rows.front().size(); ++c) {
    Vector column;
    for (std::size_t i = begin; i < end; ++i) column.push_back(rows[i][c]);
    column = between(column, bits);
    for (std::size_t i = begin; i < end; ++i) rows[i][c] = column[i - begin];
  }
}

class Model {
 public:
  explicit Model(const NaiveInput& input) : in_(input), tokens_(input.heads.front().size()) {
    state_.stored = input.heads;
    size_ = input.heads.front().front().size();
  }

  NaiveState run() {
    if (in_.format == "full") {
      exact(tokens_);
    } else if (in_.format == "int-token") {
      int_token();
    } else if (in_.format == "int-channel") {
      int_channel();
    } else if (in_.format == "kivi") {
      kivi();
    } else if (in_.format == "mixed") {
      mixed();
    } else if (in_.format == "int-tensor") {
      int_tensor();
    } else if (in_.format == "fp8") {
      fp8();
    } else if (in_.format == "nvfp4" || in_.format == "mxfp4") {
      four_bit();
    } else if (in_.format == "sparse") {
      sparse();
    } else {
      KVPLAN_CHECK(false);
    }
    return std::move(state_);
  }

 private:
  [[nodiscard]] std::size_t number(const std::string& name) const {
    return static_cast<std::size_t>(std::stoll(in_.params.at(name)));
  }
  [[nodiscard]] bool is(const std::string& name, const std::string& value) const {
    return in_.params.at(name) == value;
  }
  [[nodiscard]] std::int64_t heads() const { return static_cast<std::int64_t>(in_.heads.size()); }

  // Bytes of `tokens` exact tokens in each head.
  void exact(std::size_t tokens) {
    state_.bytes.exact += heads() * static_cast<std::int64_t>(tokens * size_ * 2);
  }
  void codes(std::size_t tokens, std::size_t bits) {
    code_bits_ += static_cast<std::size_t>(heads()) * tokens * size_ * bits;
    state_.bytes.codes = static_cast<std::int64_t>((code_bits_ + 7) / 8);
  }
  void scales(std::size_t numbers, bool zeros) {
    const auto bytes = heads() * static_cast<std::int64_t>(2 * numbers);
    state_.bytes.scales += bytes;
    if (zeros) state_.bytes.zeros += bytes;
  }

  void int_token() {
    const auto bits = static_cast<int>(number("bits"));
    const std::size_t group = number("group");
    const bool symmetric = is("symmetric", "true");
    for (Rows& rows : state_.stored)
      for (Vector& row : rows)
        row = by_groups(row, group, [&](const Vector& x) {
          if (!symmetric) return between(x, bits);
          const double most = std::pow(2, bits - 1) - 1;
          const double scale = half(most_of(x) / most);
          Vector out;
          for (const double v : x)
            out.push_back(scale > 0 ? code_of(v / scale, -most - 1, most) * scale : 0.0);
          return out;
        });
    codes(tokens_, number("bits"));
    scales(tokens_ * (group == 0 ? 1 : size_ / group), !symmetric);
  }

  void int_channel() {
    const std::size_t group = number("group");
    const std::size_t whole = tokens_ / group;
    for (Rows& rows : state_.stored)
      for (std::size_t j = 0; j < whole; ++j)
        by_channel(rows, j * group, (j + 1) * group, static_cast<int>(number("bits")));
    codes(whole * group, number("bits"));
    scales(whole * size_, true);
    exact(tokens_ - whole * group);
  }

  void kivi() {
    const std::size_t group = number("group");
    const std::size_t residual = number("residual");
    const auto bits = static_cast<int>(number("bits"));
    std::size_t encoded = tokens_ / residual * residual;
    if (!in_.keys) encoded = tokens_ > residual ? tokens_ - residual : 0;
    for (Rows& rows : state_.stored) {
      for (std::size_t at = 0; in_.keys && at < encoded; at += group) by_channel(rows, at, at + group, bits);
      for (std::size_t i = 0; !in_.keys && i < encoded; ++i)
        rows[i] = by_groups(rows[i], group, [&](const Vector& x) { return between(x, bits); });
    }
    codes(encoded, number("bits"));
    scales(encoded * size_ / group, true);
    exact(tokens_ - encoded);
  }

  /// A token's tier at the end of the prompt decides from which numbers it was encoded.
  void mixed() {
    const std::size_t recent = number("recent");
    const std::size_t middle = number("middle");
    const std::size_t group = number("group");
    const auto encode = [&](const Vector& x, const char* bits) {
      return by_groups(x, group,
                       [&](const Vector& each) { return between(each, static_cast<int>(number(bits))); });
    };
    std::array<std::size_t, 3> counts{};
    for (Rows& rows : state_.stored) {
      counts = {};
      for (std::size_t i = 0; i < tokens_; ++i) {
        const std::size_t age = tokens_ - 1 - i;
        const std::size_t tier = age < recent ? 0 : age < recent + middle ? 1 : 2;
        ++counts[tier];
        if (tier == 1) rows[i] = encode(rows[i], "middle_bits");
        if (tier != 2) continue;
        const auto prompt = static_cast<std::size_t>(in_.prompt);
        const bool old_at_once = middle == 0 || i + recent + middle < prompt;
        rows[i] = encode(old_at_once ? rows[i] : encode(rows[i], "middle_bits"), "bits");
      }
    }
    exact(counts[0]);
    codes(counts[1], number("middle_bits"));
    codes(counts[2], number("bits"));
    scales((counts[1] + counts[2]) * (group == 0 ? 1 : size_ / group), true);
  }

  [[nodiscard]] double most_of_tokens(std::size_t begin, std::size_t end) const {
    double out = 0;
    for (const Rows& rows : in_.heads)
      for (std::size_t i = begin; i < end; ++i) out = std::max(out, most_of(rows[i]));
    return out;
  }

  void int_tensor() {
    const auto bits = number("bits");
    const double most = std::pow(2, bits - 1) - 1;
    const auto prompt = static_cast<std::size_t>(in_.prompt);
    const auto code = [&](double x, double scale) {
      if (scale == 0) return 0.0;
      if (is("rounding", "even")) return code_of(x / scale, -most - 1, most);
      return std::clamp(x / scale < 0 ? std::ceil(x / scale) : std::floor(x / scale), -most - 1, most);
    };
    std::vector<double> scale{single(most_of_tokens(0, prompt) / most)};  // of each append
    for (std::size_t t = prompt; t < tokens_; ++t) {
      const double fresh = single(most_of_tokens(t, t + 1) / most);
      scale.push_back(is("scale", "chunk")    ? fresh
                      : is("scale", "static") ? scale.back()
                                              : std::max(fresh, scale.back()));
    }
    for (std::size_t h = 0; h < in_.heads.size(); ++h)
      for (std::size_t i = 0; i < tokens_; ++i) {
        const std::size_t append = i < prompt ? 0 : i - prompt + 1;
        for (std::size_t c = 0; c < size_; ++c) {
          double now = scale[append];
          double found = code(in_.heads[h][i][c], now);
          for (std::size_t later = append + 1; is("scale", "running") && later < scale.size(); ++later)
            if (scale[later] > now) {
              found = code_of(found * now / scale[later], -most - 1, most);
              now = scale[later];
            }
          state_.stored[h][i][c] = found * now;
        }
      }
    codes(tokens_, bits);
    state_.bytes.scales = is("scale", "chunk") ? 4 * static_cast<std::int64_t>(scale.size()) : 4;
  }

  void fp8() {
    const SmallFloat& type = is("type", "e4m3") ? kE4m3 : kE5m2;
    const auto values = values_of(type);
    const auto prompt = static_cast<std::size_t>(in_.prompt);
    const bool scaled = is("scale", "amax");
    for (std::size_t h = 0; h < in_.heads.size(); ++h) {
      double most = 0;
      for (std::size_t i = 0; i < prompt; ++i) most = std::max(most, most_of(in_.heads[h][i]));
      if (is("per", "tensor")) most = most_of_tokens(0, prompt);
      const double scale = scaled && most > 0 ? single(most / type.largest) : 1.0;
      for (Vector& row : state_.stored[h])
        for (double& v : row) v = nearest(values, v / scale) * scale;
    }
    codes(tokens_, 8);
    state_.bytes.scales = scaled ? 4 * (is("per", "head") ? heads() : 1) : 0;
  }

  void four_bit() {
    const bool nv = in_.format == "nvfp4";
    const auto small = values_of(kE2m1);
    const auto scales_of = values_of(kE4m3);
    const double most = most_of_tokens(0, static_cast<std::size_t>(in_.prompt));
    const double tensor = most > 0 ? single(most / 2688) : 1.0;
    for (Rows& rows : state_.stored)
      for (Vector& row : rows)
        row = by_groups(row, nv ? 16 : 32, [&](const Vector& x) {
          double scale = std::pow(2, -127);
          if (nv) {
            scale = nearest(scales_of, most_of(x) / (6 * tensor)) * tensor;
          } else if (most_of(x) > 0) {
            scale = 1;
            while (scale > most_of(x)) scale /= 2;
            while (2 * scale <= most_of(x)) scale *= 2;
            scale /= 4;
          }
          Vector out;
          for (const double v : x) out.push_back(scale > 0 ? nearest(small, v / scale) * scale : 0.0);
          return out;
        });
    codes(tokens_, 4);
    state_.bytes.scales =
        heads() * static_cast<std::int64_t>(tokens_ * size_ / (nv ? 16 : 32)) + (nv ? 4 : 0);
  }

  void sparse() {
    const auto kept =
        static_cast<std::size_t>(std::ceil(std::stod(in_.params.at("density")) * static_cast<double>(size_)));
    for (Rows& rows : state_.stored)
      for (Vector& row : rows) {
        const Vector was = row;
        for (std::size_t c = 0; c < size_; ++c) {
          std::size_t before = 0;  // elements before these
          for (std::size_t other = 0; other < size_; ++other)
            if (std::fabs(was[other]) > std::fabs(was[c]) ||
                (std::fabs(was[other]) == std::fabs(was[c]) && other < c))
              ++before;
          if (before >= kept) row[c] = 0;
        }
      }
    std::size_t id_bits = 0;
    while ((std::size_t{1} << id_bits) < size_) ++id_bits;
    const auto vectors = heads() * static_cast<std::int64_t>(tokens_);
    state_.bytes.codes = vectors * static_cast<std::int64_t>(2 * kept);
    state_.bytes.index = vectors * static_cast<std::int64_t>((std::min(kept * id_bits, size_) + 7) / 8);
  }

  const NaiveInput& in_;
  std::size_t tokens_;
  std::size_t size_{0};
  std::size_t code_bits_{0};
  NaiveState state_;
};

}  // namespace

NaiveState naive_state(const NaiveInput& input) {
  return Model(input).run();
}

}  // namespace kvplan::formats::test
