// The texts of the parts of a synthetic trace: an accepted text gives a well-formed stream, any other gives a one-line
// error. Parts that read files are left out. Also a ServeGen pool: any rows and tables as files of an archive, and any
// archive.
#include <cstdlib>

#include "tests/fuzz/fuzz.h"
#include "traces/synth/client_pool.h"
#include "traces/synth/synth.h"

using namespace kvplan;
using namespace kvplan::traces;

namespace {

constexpr char kPool = 'P';     // then the rows of a client, a zero byte, its tables
constexpr char kArchive = 'A';  // then an archive

void expect_one_line(const Error& error) {
  if (error.to_string().find('\n') != std::string::npos) std::abort();
}

/// A file of a tar archive, header and padding included.
std::string tar_file(const std::string& name, std::string_view bytes) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  const auto octal = [&](std::size_t at, std::size_t digits, std::size_t value) {
    for (std::size_t i = 0; i < digits; ++i, value /= 8)
      header[at + digits - 1 - i] = static_cast<char>('0' + value % 8);
  };
  octal(124, 11, bytes.size());
  header[156] = '0';
  header.replace(257, 8, std::string("ustar\00000", 8));
  header.replace(148, 8, "        ");
  std::size_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  octal(148, 7, sum);
  std::string out = header + std::string(bytes);
  out.resize((out.size() + 511) / 512 * 512, '\0');
  return out;
}

void read_archive(std::string_view bytes) {
  auto source = open_memory(bytes, "p");
  if (!source.ok()) return;
  Input input(std::move(source).value(), "p");
  const Result<ClientPool> pool = read_client_pool(input);
  if (!pool.ok()) return expect_one_line(pool.error());
  for (const PoolClient& client : pool.value().clients) {
    if (client.windows.size() < 2 || !(client.requests() >= 0)) std::abort();
    Random random(1, "fuzz");
    if (client.requests() > 0 && client.lengths_at(0).input.draw(random) < 0) std::abort();
  }
}

void make(const std::string& text) {
  std::string_view rest = text;
  const auto line = [&] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string out(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return out;
  };
  SynthOptions options;
  options.arrivals = line();
  options.lengths = line();
  options.prefixes = line();
  options.turns = line();
  options.requests = 200;
  options.seed = 7;
  auto stream = make_synth(options);
  if (!stream.ok()) return expect_one_line(stream.error());
  const Result<Trace> trace = collect(*stream.value());
  if (!trace.ok()) return expect_one_line(trace.error());
  const Trace& made = trace.value();
  if (made.size() != options.requests) std::abort();
  std::uint32_t next = 0;
  for (const std::uint32_t id : made.prefix.ids) {
    if (id > next) std::abort();
    if (id == next) ++next;
  }
  for (std::size_t i = 0; i < made.arrival_ns.size(); ++i) {
    if (made.input_tokens[i] < 0 || made.output_tokens[i] < 0) std::abort();
    if (made.arrival_ns[i] < (i == 0 ? 0 : made.arrival_ns[i - 1])) std::abort();
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  const std::string rows = "0,2,1,Gamma,1,0.5\n10,0,0,,0,0\n20,1,1.5,Weibull,0.7,1\n";
  const std::string tables =
      R"({"0": {"input_tokens": "{10: 0.25, 20: 0.75}", "output_tokens": "{3: 1.0}"}})";
  return {"poisson:rate_per_s=5\nfixed:input=10,output=5\nnone\nsingle",
          "gamma:rate_per_s=5,cv=2\nlognormal:input_mean=100,input_p50=50,output_mean=9\ngroups:groups=3,"
          "tokens=40\n"
          "sessions:turns=3",
          "batched:rate_per_s=5,batch=3,gaps=constant\nuniform:input_max=9,output_max=9\ngroups:tokens=9,"
          "length=included,"
          "zipf=0\nsessions:turns=3,count=fixed,think_s=1,token_s=0.1,context=99",
          "constant:rate_per_s=0.5\nzipf:input_max=9,output_max=9,input_exponent=2\nnone\nsingle",
          kPool + rows + '\0' + tables,
          kArchive + tar_file("chunk-1-trace.csv", rows) + tar_file("chunk-1-dataset.json", tables)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with(kPool)) {
    const std::size_t zero = std::min(text.find('\0'), text.size());
    read_archive(
        tar_file("a/chunk-1-trace.csv", std::string_view(text).substr(1, zero > 0 ? zero - 1 : 0)) +
        tar_file("chunk-1-dataset.json", std::string_view(text).substr(std::min(zero + 1, text.size()))));
  } else if (text.starts_with(kArchive)) {
    read_archive(std::string_view(text).substr(1));
  } else if (text.find("file=") == std::string::npos && text.find("pool=") == std::string::npos) {
    make(text);
  }
  return 0;
}
