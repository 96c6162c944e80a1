#include "traces/io/text_export.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace kvplan::traces {
namespace {

template <class Number>
void put_number(std::string& out, Number value) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

/// Nanoseconds as milliseconds, exactly: 1500000 is 1.5, 1000000 is 1.
void put_ms(std::string& out, std::int64_t ns) {
  std::uint64_t magnitude = static_cast<std::uint64_t>(ns);
  if (ns < 0) {
    out += '-';
    magnitude = 0 - magnitude;
  }
  put_number(out, magnitude / 1'000'000);
  std::uint64_t rest = magnitude % 1'000'000;
  if (rest == 0) return;
  out += '.';
  for (std::uint64_t place = 100'000; rest != 0; place /= 10) {
    out += static_cast<char>('0' + rest / place);
    rest %= place;
  }
}

void put_csv_text(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void put_json_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += static_cast<unsigned char>(c) < 0x10 ? '0' : '1';
      out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

class TextWriter {
 public:
  explicit TextWriter(TextFormat format) : format_(format) {}

  /// The rows of a piece as text; the first call also returns the header.
  Result<std::string> rows(const Trace& piece) {
    sessions_.insert(sessions_.end(), piece.session_names.begin(), piece.session_names.end());
    tenants_.insert(tenants_.end(), piece.tenant_names.begin(), piece.tenant_names.end());
    std::string out;
    for (std::size_t k = 0; k < piece.waits.size(); ++k)
      if (piece.waits.before[k] > piece.waits.request[k])
        return bad_input("request " + std::to_string(piece.waits.request[k]) + " waits for request " +
                         std::to_string(piece.waits.before[k]) +
                         ", which comes later in the file; only a .kvt can store that");
    wait_ = 0;
    if (format_ == TextFormat::kJsonLines) {
      for (std::size_t i = 0; i < piece.arrival_ns.size(); ++i) json_row(piece, i, out);
      rows_before_ += piece.size();
      return out;
    }
    const unsigned columns = columns_of(piece);
    if (!header_done_) {
      header_done_ = true;
      columns_ = columns;
      out = "arrival_ns,input_tokens,output_tokens";
      for (unsigned c = 0; c < kColumnNames.size(); ++c)
        if ((columns_ >> c & 1) != 0) out += kColumnNames[c];
      out += '\n';
    }
    if ((columns & ~columns_) != 0)
      return bad_input(
          "an optional column begins after the header was written: write a .kvt or .jsonl instead");
    for (std::size_t i = 0; i < piece.arrival_ns.size(); ++i) csv_row(piece, i, out);
    rows_before_ += piece.size();
    return out;
  }

 private:
  static constexpr std::array<const char*, 8> kColumnNames{
      ",session", ",tenant", ",max_tokens", ",ttft_ns", ",e2e_ns", ",think_ns", ",after", ",priority"};

  static unsigned columns_of(const Trace& piece) {
    return (piece.session.empty() ? 0U : 1U) | (piece.tenant.empty() ? 0U : 2U) |
           (piece.max_tokens.empty() ? 0U : 4U) | (piece.ttft_ns.empty() ? 0U : 8U) |
           (piece.e2e_ns.empty() ? 0U : 16U) | (piece.think_ns.empty() ? 0U : 32U) |
           (piece.waits.empty() ? 0U : 64U) | (piece.priority.empty() ? 0U : 128U);
  }

  /// Writes the requests that row i waits for, separated by `separator`. Rows must be requested in ascending order.
  void put_waits(const Trace& piece, std::size_t i, const char* separator, std::string& out) {
    const std::int64_t row = rows_before_ + static_cast<std::int64_t>(i);
    for (bool first = true; wait_ < piece.waits.size() && piece.waits.request[wait_] == row; ++wait_) {
      if (!first) out += separator;
      first = false;
      put_number(out, piece.waits.before[wait_]);
    }
  }

  void csv_row(const Trace& piece, std::size_t i, std::string& out) {
    put_number(out, piece.arrival_ns[i]);
    out += ',';
    put_number(out, piece.input_tokens[i]);
    out += ',';
    put_number(out, piece.output_tokens[i]);
    const auto name = [&](unsigned bit, const std::vector<std::int32_t>& column,
                          const std::vector<std::string>& names) {
      if ((columns_ & bit) == 0) return;
      out += ',';
      if (i < column.size() && column[i] >= 0) put_csv_text(out, names[static_cast<std::size_t>(column[i])]);
    };
    const auto number = [&](unsigned bit, const auto& column) {
      if ((columns_ & bit) == 0) return;
      out += ',';
      if (i < column.size() && column[i] >= 0) put_number(out, column[i]);
    };
    name(1, piece.session, sessions_);
    name(2, piece.tenant, tenants_);
    number(4, piece.max_tokens);
    number(8, piece.ttft_ns);
    number(16, piece.e2e_ns);
    number(32, piece.think_ns);
    if ((columns_ & 64U) != 0) {
      out += ',';
      put_waits(piece, i, " ", out);
    }
    number(128, piece.priority);
    out += '\n';
  }

  /// Writes rows in Mooncake's form if there are prefix ids. Without them, its names would leave the unit of time
  /// unclear, so the names are then those of the CSV, which include it.
  void json_row(const Trace& piece, std::size_t i, std::string& out) {
    if (!piece.prefix.present()) return plain_json_row(piece, i, out);
    out += "{\"timestamp\": ";
    put_ms(out, piece.arrival_ns[i]);
    out += ", \"input_length\": ";
    put_number(out, piece.input_tokens[i]);
    out += ", \"output_length\": ";
    put_number(out, piece.output_tokens[i]);
    bool later_in_session = false;
    if (i < piece.session.size() && piece.session[i] >= 0) {
      later_in_session = piece.session[i] < sessions_begun_;
      sessions_begun_ = std::max(sessions_begun_, piece.session[i] + 1);
      out += ", \"session_id\": ";
      put_json_text(out, sessions_[static_cast<std::size_t>(piece.session[i])]);
    }
    // A later row of a session without stated waits would be read as waiting for the row before it.
    if (later_in_session || (wait_ < piece.waits.size() &&
                             piece.waits.request[wait_] == rows_before_ + static_cast<std::int64_t>(i))) {
      out += ", \"wait_for\": [";
      put_waits(piece, i, ", ", out);
      out += ']';
    }
    if (i < piece.think_ns.size() && piece.think_ns[i] >= 0) {
      out += ", \"delay\": ";
      put_ms(out, piece.think_ns[i]);
    }
    if (i < piece.max_tokens.size() && piece.max_tokens[i] >= 0) {
      out += ", \"max_tokens\": ";
      put_number(out, piece.max_tokens[i]);
    }
    out += ", \"hash_ids\": [";
    for (std::uint64_t at = piece.prefix.offsets[i]; at < piece.prefix.offsets[i + 1]; ++at) {
      if (at > piece.prefix.offsets[i]) out += ", ";
      put_number(out, piece.prefix.ids[at]);
    }
    out += "]}\n";
  }

  void plain_json_row(const Trace& piece, std::size_t i, std::string& out) {
    out += "{\"arrival_ns\": ";
    put_number(out, piece.arrival_ns[i]);
    out += ", \"input_tokens\": ";
    put_number(out, piece.input_tokens[i]);
    out += ", \"output_tokens\": ";
    put_number(out, piece.output_tokens[i]);
    const auto name = [&](const char* key, const std::vector<std::int32_t>& column,
                          const std::vector<std::string>& names) {
      if (i >= column.size() || column[i] < 0) return;
      out += key;
      put_json_text(out, names[static_cast<std::size_t>(column[i])]);
    };
    const auto number = [&](const char* key, const auto& column) {
      if (i >= column.size() || column[i] < 0) return;
      out += key;
      put_number(out, column[i]);
    };
    name(", \"session\": ", piece.session, sessions_);
    name(", \"tenant\": ", piece.tenant, tenants_);
    number(", \"max_tokens\": ", piece.max_tokens);
    number(", \"ttft_ns\": ", piece.ttft_ns);
    number(", \"e2e_ns\": ", piece.e2e_ns);
    number(", \"think_ns\": ", piece.think_ns);
    number(", \"priority\": ", piece.priority);
    if (wait_ < piece.waits.size() &&
        piece.waits.request[wait_] == rows_before_ + static_cast<std::int64_t>(i)) {
      out += ", \"after\": [";
      put_waits(piece, i, ", ", out);
      out += ']';
    }
    out += "}\n";
  }

  TextFormat format_;
  bool header_done_{false};
  unsigned columns_{0};
  std::int64_t rows_before_{0};  ///< in earlier pieces
  std::size_t wait_{0};          ///< of the piece, the next one to write
  std::vector<std::string> sessions_;
  std::vector<std::string> tenants_;
  std::int32_t sessions_begun_{0};  ///< numbers of sessions with a row
};

}  // namespace

bool text_format_from(const std::string& path, TextFormat& format) {
  std::string_view name = path;
  for (const std::string_view ending : {".gz", ".zst"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  if (name.ends_with(".csv")) {
    format = TextFormat::kCsv;
    return true;
  }
  format = TextFormat::kJsonLines;
  return name.ends_with(".jsonl");
}

Status write_text_trace(TraceStream& stream, TextFormat format, const std::string& path, bool (*stop)()) {
  KVPLAN_TRY(const std::unique_ptr<Output> output, create_output(path));
  TextWriter writer(format);
  Trace piece;
  for (;;) {
    if (stop()) return interrupted_error();
    KVPLAN_TRY(const bool more, stream.next(piece));
    if (!more) break;
    KVPLAN_TRY(const std::string text, writer.rows(piece));
    KVPLAN_TRY_DO(output->write(text));
  }
  return output->commit();
}

}  // namespace kvplan::traces
