// One config: the object that describes the language model, and the values read from it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/number_input.h"
#include "simulator/base/result.h"

namespace simdjson::dom {
class object;
}

namespace kvplan::model {

// Beyond what any model has by orders of magnitude; so small that no product of them overflows 64 bits.
inline constexpr std::int64_t kMostLayers = 4096;
inline constexpr std::int64_t kMostHeads = 4096;
inline constexpr std::int64_t kMostHeadSize = 8192;
inline constexpr std::int64_t kMostWidth = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostFeedForward = std::int64_t{1} << 22;
inline constexpr std::int64_t kMostVocabulary = std::int64_t{1} << 24;
inline constexpr std::int64_t kMostExperts = std::int64_t{1} << 16;
inline constexpr std::int64_t kMostWindow = std::int64_t{1} << 40;

using Keys = std::initializer_list<const char*>;

class Config {
 public:
  /// `part`: "text_config." or the like, before keys in errors. `beside`: from another file, how weights are quantised.
  Config(const simdjson::dom::object& top, const simdjson::dom::object& text, std::string part,
         const std::string& file, const simdjson::dom::object* beside = nullptr);

  [[nodiscard]] Error wrong(std::string message, std::string_view key) const;
  /// The first of these synonymous keys that is present and not null.
  [[nodiscard]] const char* present(Keys keys) const;
  /// Returns nothing if the keys are absent or null. Errors: synonymous keys with different numbers.
  [[nodiscard]] Result<std::optional<std::int64_t>> maybe(Keys keys, WholeRange range) const;
  [[nodiscard]] Result<std::int64_t> whole(Keys keys, std::int64_t most) const;
  /// For a key that may be left out.
  [[nodiscard]] Result<std::int64_t> whole_or(Keys keys, WholeRange range, std::int64_t fallback) const;
  [[nodiscard]] Result<std::optional<bool>> flag(const char* key, bool in_top = false) const;
  /// A list of whole numbers; empty if the key is absent or null.
  [[nodiscard]] Result<std::vector<std::int64_t>> numbers(const char* key, WholeRange range) const;
  /// A list of texts; empty if the key is absent or null.
  [[nodiscard]] Result<std::vector<std::string>> texts(const char* key) const;
  /// The first of these keys with a number, also with decimals.
  [[nodiscard]] std::optional<double> number(Keys keys) const;
  /// True where the value is a list.
  [[nodiscard]] bool is_list(const char* key) const;
  /// A text; empty if the key is absent.
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string own_text(const char* key) const;
  /// An object inside this one, read in the same way; nothing if there is none.
  [[nodiscard]] std::optional<Config> inside(const char* key) const;
  /// The whole file.
  [[nodiscard]] const simdjson::dom::object& top() const;
  /// The language model's part of it.
  [[nodiscard]] const simdjson::dom::object& object() const;
  /// The quantisation of the checkpoint that the config belongs to; null: it is not quantised.
  [[nodiscard]] const simdjson::dom::object* quantisation() const;

  /// Marks the keys as read: this family's layers depend on them.
  void claim(Keys keys) const { claimed_.insert(keys.begin(), keys.end()); }
  /// The first attention key that is set (not null, false, 0 or empty), neither understood nor claimed.
  [[nodiscard]] std::optional<std::string> unknown_attention_key() const;

  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
  std::string part_;
  const std::string& file_;
  mutable std::set<std::string_view> claimed_;
};

}  // namespace kvplan::model
