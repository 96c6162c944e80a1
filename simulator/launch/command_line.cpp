#include "simulator/launch/command_line.h"

#include <algorithm>
#include <array>
#include <span>

#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"

namespace kvplan::launch {
namespace {

using scheduling::ServerCommand;

/// The pieces of a text between separators; empty ones are left out.
std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

enum class Form : std::uint8_t { kValue, kSwitch, kOn, kMaybe, kList };

/// A flag that the parser knows.
struct KnownFlag {
  std::string_view first;  ///< its first spelling
  std::string spelling;
  Form form{Form::kValue};
  bool negated{false};
};

std::vector<KnownFlag> known_flags(const ServerCommand& server) {
  std::vector<KnownFlag> out;
  const std::array<std::pair<std::string_view, Form>, 5> lists{{{server.values, Form::kValue},
                                                                {server.switches, Form::kSwitch},
                                                                {server.ons, Form::kOn},
                                                                {server.maybes, Form::kMaybe},
                                                                {server.lists, Form::kList}}};
  for (const auto& [list, form] : lists) {
    for (const std::string_view spellings : pieces(list, ' ')) {
      const auto each = pieces(spellings, '|');
      for (const std::string_view spelling : each) out.push_back({each.front(), std::string(spelling), form});
      if (form == Form::kSwitch && each.front().starts_with("--"))
        out.push_back({each.front(), "--no-" + std::string(each.front().substr(2)), form, true});
    }
  }
  return out;
}

/// Finds a flag as the parsers do: underscores count as dashes, and the beginning of a flag's name is enough.
const KnownFlag* find_flag(const std::vector<KnownFlag>& known, std::string name) {
  if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
  const KnownFlag* begun = nullptr;
  bool ambiguous = false;
  for (const KnownFlag& each : known) {
    if (each.spelling == name) return &each;
    if (!name.starts_with("--") || !each.spelling.starts_with(name)) continue;
    ambiguous = ambiguous || (begun != nullptr && begun->first != each.first);
    begun = &each;
  }
  return ambiguous ? nullptr : begun;
}

bool is_flag(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' || (word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z');
}

/// Index of the first argument of the server among the words; nothing: the command starts another program.
std::optional<std::size_t> arguments_of(const ServerCommand& server, const std::vector<std::string>& words) {
  for (const std::string_view program : pieces(server.programs, '|')) {
    const auto parts = pieces(program, ' ');
    const auto at = std::search(words.begin(), words.end(), parts.begin(), parts.end());
    if (at != words.end()) return static_cast<std::size_t>(at - words.begin()) + parts.size();
  }
  if (!server.image_command.empty()) return std::nullopt;
  // docker run ... IMAGE:TAG arguments
  const std::string_view image = server.image.substr(0, server.image.find(':'));
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == image || words[i].starts_with(std::string(image) + ":")) return i + 1;
  return std::nullopt;
}

/// NAME=VALUE among the words before a command, also after -e of a container.
std::vector<std::pair<std::string, std::string>> variables_of(std::span<const std::string> words) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::string_view word : words) {
    if (word.starts_with("--env=")) word.remove_prefix(6);
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (equals == std::string_view::npos || name.empty() || (name[0] >= '0' && name[0] <= '9')) continue;
    const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    });
    if (is_name) out.emplace_back(name, word.substr(equals + 1));
  }
  return out;
}

class Reader {
 public:
  /// `begin`: index of the first argument of the server.
  Reader(const ServerCommand& server, const std::vector<std::string>& words, std::size_t begin)
      : known_(known_flags(server)), words_(words), at_(begin) {
    out_.server = &server;
    out_.variables = variables_of(std::span(words).first(begin));
  }

  Result<CommandLine> take() {
    while (at_ < words_.size()) {
      if (is_flag(words_[at_])) {
        KVPLAN_TRY_DO(read_flag());
      } else if (out_.model.empty() && out_.server->model_flag.empty()) {
        out_.model = words_[at_++];
      } else {
        return bad_input("expected a flag, found an argument that belongs to none").at_field(words_[at_]);
      }
    }
    return std::move(out_);
  }

 private:
  Status read_flag() {
    const std::string word = words_[at_++];
    const std::size_t equals = word.find('=');
    GivenFlag flag;
    flag.written = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    // --compilation-config.level 3 sets a part of a value.
    const std::size_t dot = flag.written.find('.');
    const KnownFlag* const known = find_flag(known_, flag.written.substr(0, dot));
    flag.known = known != nullptr;
    flag.name = known != nullptr ? std::string(known->first) : flag.written;
    flag.negated = known != nullptr && known->negated;
    if (known == nullptr) {
      flag.hint = similar(flag.written);
      if (value) flag.values.push_back(*value);
      // The words after it are taken as its values, since nothing else is known about it.
      while (!value && at_ < words_.size() && !is_flag(words_[at_]) && out_.server != nullptr)
        flag.values.push_back(words_[at_++]);
    } else {
      KVPLAN_TRY_DO(read_values(dot == std::string::npos ? known->form : Form::kValue, value, flag));
    }
    out_.flags.push_back(std::move(flag));
    return Done{};
  }

  Status read_values(Form form, const std::optional<std::string>& value, GivenFlag& flag) {
    if (value) {
      flag.values.push_back(*value);
      return Done{};
    }
    const auto next = [&] { return at_ < words_.size() && !is_flag(words_[at_]); };
    switch (form) {
      case Form::kSwitch:
      case Form::kOn:
        return Done{};
      case Form::kValue:
        if (!next()) return bad_input("expected a value").at_field(flag.written);
        flag.values.push_back(words_[at_++]);
        return Done{};
      case Form::kMaybe:
        if (next()) flag.values.push_back(words_[at_++]);
        return Done{};
      case Form::kList:
        while (next()) flag.values.push_back(words_[at_++]);
        return Done{};
    }
    return Done{};
  }

  [[nodiscard]] std::string similar(const std::string& written) const {
    std::vector<std::string_view> names;
    for (const KnownFlag& each : known_) names.push_back(each.spelling);
    return std::string(nearest_name(written, names));
  }

  std::vector<KnownFlag> known_;
  const std::vector<std::string>& words_;
  std::size_t at_;
  CommandLine out_;
};

}  // namespace

Result<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool open = false;  // true: a word has begun, which may be empty
  const auto end_word = [&] {
    if (open) out.push_back(std::move(word));
    word.clear();
    open = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      ++i;
      if (text[i] == '\r' && i + 1 < text.size()) ++i;
      if (text[i] == '\n') continue;
      word += text[i];
      open = true;
    } else if (c == '\'' || c == '"') {
      open = true;
      const std::size_t begin = i++;
      for (; i < text.size() && text[i] != c; ++i) {
        if (c == '"' && text[i] == '\\' && i + 1 < text.size() &&
            (text[i + 1] == '"' || text[i + 1] == '\\' || text[i + 1] == '$'))
          ++i;
        word += text[i];
      }
      if (i >= text.size())
        return bad_input("expected a quote that ends, found one that begins at character " +
                         std::to_string(begin + 1));
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      end_word();
    } else if (c == '#' && !open) {
      i = std::min(text.find('\n', i), text.size() - 1);
    } else if (c == '&' || c == '|' || c == ';' || c == '>' || c == '<') {
      break;
    } else {
      word += c;
      open = true;
    }
  }
  end_word();
  return out;
}

Result<CommandLine> parse_command(std::string_view text) {
  KVPLAN_TRY(const std::vector<std::string> words, shell_words(text));
  for (const ServerCommand* server : scheduling::server_commands())
    if (const auto begin = arguments_of(*server, words)) return Reader(*server, words, *begin).take();
  std::string programs;
  for (const ServerCommand* server : scheduling::server_commands())
    programs += (programs.empty() ? "" : " or ") + std::string(server->program);
  return not_expected("a command with " + programs, words.empty() ? "" : words.front());
}

}  // namespace kvplan::launch
