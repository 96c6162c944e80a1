#include "simulator/bench/trace_peers.h"

#include <simdjson.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <istream>
#include <streambuf>
#include <string_view>
#include <unordered_map>

#include "simulator/base/random.h"
#include "traces/record/digest.h"

namespace kvplan::traces::bench {
namespace {

std::int64_t ns_of(int day, int hour, int minute, int second, std::int64_t ns) {
  // 2023-11-01 is day 19662 of the Unix epoch.
  return ((((19661LL + day) * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000'000LL + ns;
}

/// Lines are taken from the bytes where they are: `std::istringstream` would copy all of them first.
class Bytes : public std::streambuf {
 public:
  explicit Bytes(const std::string& text) {
    char* const begin = const_cast<char*>(text.data());  // setg asks for it; nothing is written
    setg(begin, begin, begin + text.size());
  }
};

void put(Trace& trace, std::int64_t ns, int input, int output) {
  trace.arrival_ns.push_back(ns);
  trace.input_tokens.push_back(input);
  trace.output_tokens.push_back(output);
}

}  // namespace

std::string make_csv(int rows) {
  Random random(1, "csv");
  std::string out = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  std::int64_t us = 0;
  for (int i = 0; i < rows; ++i) {
    us += static_cast<std::int64_t>(random.below(360'000));
    char line[80];
    const auto day = static_cast<int>(us / 86'400'000'000);
    const auto second = static_cast<int>(us / 1'000'000 % 86'400);
    std::snprintf(line, sizeof line, "2023-11-%02d %02d:%02d:%02d.%06d0,%d,%d\n", 1 + day % 28, second / 3600,
                  second / 60 % 60, second % 60, static_cast<int>(us % 1'000'000),
                  static_cast<int>(random.below(4000)), static_cast<int>(random.below(1000)));
    out += line;
  }
  return out;
}

std::string make_jsonl(int rows, std::optional<int> ids_per_row) {
  Random random(2, "jsonl");
  std::string out;
  std::int64_t next = 1000;
  for (int i = 0; i < rows; ++i) {
    const auto count =
        static_cast<int>(random.below(static_cast<std::uint64_t>(2 * ids_per_row.value_or(0)) + 1));
    const std::int64_t input =
        ids_per_row ? std::int64_t{count} * 512 : static_cast<std::int64_t>(random.below(30'000));
    out += "{\"timestamp\": " + std::to_string(i * 3) + ", \"input_length\": " + std::to_string(input) +
           ", \"output_length\": " + std::to_string(random.below(1000));
    if (ids_per_row) out += ", \"hash_ids\": [";
    for (int k = 0; k < count; ++k) out += (k == 0 ? "" : ", ") + std::to_string(k < count / 2 ? k : next++);
    out += ids_per_row ? "]}\n" : "}\n";
  }
  out.reserve(out.size() + simdjson::SIMDJSON_PADDING);
  return out;
}

std::string digest_of(PeerTrace peer, std::int64_t block_tokens) {
  std::unordered_map<std::uint64_t, std::uint32_t> dense;
  if (block_tokens > 0) {
    peer.trace.prefix.block_tokens = block_tokens;
    for (const std::uint64_t id : peer.ids)
      peer.trace.prefix.ids.push_back(
          dense.try_emplace(id, static_cast<std::uint32_t>(dense.size())).first->second);
  }
  TraceDigest digest;
  digest.add(peer.trace);
  StreamSummary summary;
  summary.block_tokens = block_tokens;
  return digest.finish(summary);
}

PeerTrace csv_sscanf(const std::string& text) {
  Bytes bytes(text);
  std::istream in(&bytes);
  std::string line;
  std::getline(in, line);
  PeerTrace out;
  while (std::getline(in, line)) {
    int year, month, day, hour, minute, second, fraction, input, output;
    // The peer is what one would write in a hurry.
    // NOLINTNEXTLINE(cert-err34-c,bugprone-unchecked-string-to-number-conversion)
    if (std::sscanf(line.c_str(), "%d-%d-%d %d:%d:%d.%d,%d,%d", &year, &month, &day, &hour, &minute, &second,
                    &fraction, &input, &output) != 9)
      std::abort();
    put(out.trace, ns_of(day, hour, minute, second, std::int64_t{fraction} * 100), input, output);
  }
  return out;
}

PeerTrace csv_from_chars(const std::string& text) {
  Bytes bytes(text);
  std::istream in(&bytes);
  std::string line;
  std::getline(in, line);
  PeerTrace out;
  const auto number = [&](std::size_t from, std::size_t to) {
    int value = 0;
    std::from_chars(line.data() + from, line.data() + to, value);
    return value;
  };
  while (std::getline(in, line)) {
    const std::size_t a = line.find(',');
    const std::size_t b = line.find(',', a + 1);
    put(out.trace,
        ns_of(number(8, 10), number(11, 13), number(14, 16), number(17, 19),
              std::int64_t{number(20, a)} * 100),
        number(a + 1, b), number(b + 1, line.size()));
  }
  return out;
}

PeerTrace jsonl_sscanf(const std::string& text, bool with_ids) {
  Bytes bytes(text);
  std::istream in(&bytes);
  std::string line;
  PeerTrace out;
  out.trace.prefix.offsets.push_back(0);
  while (std::getline(in, line)) {
    long long ms = 0;
    int input = 0, output = 0, list = -1;
    // NOLINTNEXTLINE
    if (std::sscanf(line.c_str(),
                    with_ids
                        ? R"({"timestamp": %lld, "input_length": %d, "output_length": %d, "hash_ids": [%n)"
                        : R"({"timestamp": %lld, "input_length": %d, "output_length": %d})",
                    &ms, &input, &output, &list) != 3)
      std::abort();
    put(out.trace, ms * 1'000'000, input, output);
    if (!with_ids) continue;
    // Not sscanf: each call would measure the rest of the line first.
    for (char* at = line.data() + list; *at != ']'; at += *at == ',' ? 1 : 0)
      out.ids.push_back(std::strtoull(at, &at, 10));
    out.trace.prefix.offsets.push_back(out.ids.size());
  }
  return out;
}

PeerTrace jsonl_simdjson(const std::string& text, bool with_ids) {
  simdjson::ondemand::parser parser;
  PeerTrace out;
  out.trace.prefix.offsets.push_back(0);
  simdjson::ondemand::document_stream rows;
  if (parser.iterate_many(text.data(), text.size(), std::size_t{1} << 24).get(rows) != simdjson::SUCCESS)
    std::abort();
  for (auto row : rows) {
    auto object = row.get_object();
    const std::int64_t ms = object.find_field("timestamp").get_int64().value();
    const std::int64_t input = object.find_field("input_length").get_int64().value();
    const std::int64_t output = object.find_field("output_length").get_int64().value();
    put(out.trace, ms * 1'000'000, static_cast<int>(input), static_cast<int>(output));
    if (!with_ids) continue;
    for (auto id : object.find_field("hash_ids").get_array()) out.ids.push_back(id.get_uint64().value());
    out.trace.prefix.offsets.push_back(out.ids.size());
  }
  return out;
}

}  // namespace kvplan::traces::bench
