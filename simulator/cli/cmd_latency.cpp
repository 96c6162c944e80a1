// kvplan latency: how long kernels take, from measured tables where there are some.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "simulator/base/json_writer.h"
#include "simulator/base/suggest.h"
#include "simulator/cli/command.h"
#include "simulator/cli/decode_rows.h"
#include "simulator/cli/outputs.h"
#include "simulator/kernels/attention_roofline.h"
#include "simulator/kernels/decode_times.h"
#include "simulator/modelfile/device_catalogue.h"
#include "traces/io/input.h"

namespace kvplan::cli {
namespace {

constexpr std::string_view kDecodeAttention = "decode-attention";

struct LatencyOptions {
  std::string kernel, gpu, engine, engine_version, input, output;
};

/// Times of one GPU and engine, and what is counted about the rows that ask for them.
class Times {
 public:
  Times(const LatencyOptions& options, const model::DeviceShape& device)
      : options_(options), device_(device), gpu_names_(device.aliases), tables_({}, {}) {
    gpu_names_.push_back(device.name);
    tables_ =
        kernels::DecodeTimes(kernels::kernel_tables(), {gpu_names_, options.engine, options.engine_version});
  }

  kernels::SourcedTime operator()(const DecodeRow& row) {
    count(row.names);
    if (const auto time = tables_(row.call)) return *time;
    return kernels::attention_roofline(row.call, device_);
  }

  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> out;
    if (tables_.empty()) {
      out.push_back(
          "there is no table of decode attention for engine \"" + options_.engine + "\" on " + device_.name +
          ": times are a roofline estimate from the device's figures (measured tables: " + known() + ")");
    } else if (!options_.engine_version.empty() && options_.engine_version != tables_.engine_version()) {
      out.push_back("no table of " + options_.engine + " " + options_.engine_version + " on " + device_.name +
                    ": times come from tables of version " + tables_.engine_version());
    }
    const auto other = [&](std::int64_t rows, const std::string& what, const std::string& used) {
      if (rows > 0)
        out.push_back(std::to_string(rows) + (rows == 1 ? " row names" : " rows name") + " another " + what +
                      "; times are for " + used);
    };
    other(other_gpu_, "GPU", "--gpu " + options_.gpu);
    other(other_engine_, "engine", "--engine " + options_.engine);
    if (!tables_.empty()) {
      other(other_version_, "engine version", tables_.engine_version());
      std::string kernels;
      for (const std::string& name : tables_.kernels()) kernels += (kernels.empty() ? "" : ", ") + name;
      other(other_kernel_, "kernel", kernels);
    }
    return out;
  }

 private:
  void count(const DecodeRowNames& names) {
    const auto among = [](const std::vector<std::string>& known, const std::string& name) {
      return std::find(known.begin(), known.end(), name) != known.end();
    };
    if (!among(gpu_names_, names.gpu)) ++other_gpu_;
    if (names.engine != options_.engine) {
      ++other_engine_;
      return;
    }
    if (names.engine_version != tables_.engine_version()) ++other_version_;
    if (!among(tables_.kernels(), names.kernel)) ++other_kernel_;
  }

  static std::string known() {
    std::vector<std::string> pairs;
    for (const kernels::KernelTable& table : kernels::kernel_tables())
      pairs.push_back(table.gpu + " " + table.engine + " " + table.engine_version);
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    std::string out;
    for (const std::string& pair : pairs) out += (out.empty() ? "" : ", ") + pair;
    return out;
  }

  const LatencyOptions& options_;
  const model::DeviceShape& device_;
  std::vector<std::string> gpu_names_;
  kernels::DecodeTimes tables_;
  std::int64_t other_gpu_{0}, other_engine_{0}, other_version_{0}, other_kernel_{0};
};

/// Microseconds with at most four decimals: measured ones have two.
std::string us_text(double us) {
  constexpr double kSteps = 1e4;
  return shortest(std::round(us * kSteps) / kSteps);
}

Status add_times(traces::Input& input, Times& times, const ByteSink& sink) {
  const auto here = [&](const Error& error) {
    return Error(error).at_file(input.path()).at_line(input.line_number());
  };
  std::string_view line;
  if (!input.next_line(line))
    return input.failed() ? Error(input.error())
                          : bad_input("expected a header line, found an empty file").at_file(input.path());
  auto rows = DecodeRows::open(line);
  if (!rows.ok()) return here(rows.error());
  constexpr std::size_t kPiece = 1 << 16;
  std::string text = std::string(line) + ",predicted_us,source\n";
  while (input.next_line(line)) {
    if (line.empty()) continue;
    const auto row = rows.value().read(line);
    if (!row.ok()) return here(row.error());
    const kernels::SourcedTime time = times(row.value());
    text += line;
    text += "," + us_text(time.us) + ",";
    text += kernels::source_name(time.source);
    text += '\n';
    if (text.size() < kPiece) continue;
    if (interrupted()) return interrupted_error();
    KVPLAN_TRY_DO(sink(text));
    text.clear();
  }
  if (input.failed()) return Error(input.error());
  return sink(text);
}

Status latency(const LatencyOptions& options) {
  if (options.kernel != kDecodeAttention) {
    constexpr std::array<std::string_view, 1> kKernels{kDecodeAttention};
    return bad_input(unknown_name("kernel", options.kernel, kKernels)).at_field("--kernel");
  }
  const auto device = model::find_device(options.gpu);
  if (!device.ok()) return Error(device.error()).at_field("--gpu");
  KVPLAN_TRY_DO(check_apart({options.input}, {options.output}));
  Times times(options, *device.value());
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(options.input));
  KVPLAN_TRY_DO(
      write_pieces(options.output, [&](const ByteSink& sink) { return add_times(*input, times, sink); }));
  print_warnings(times.warnings());
  return Done{};
}

}  // namespace

void add_latency(Command& app, Outcome& outcome) {
  Command* const command =
      app.add_subcommand("latency", "Predict kernel times, one per row, and say where each comes from");
  command->footer(
      "Rows are CSV with the columns gpu, engine, engine_version, kernel, batch, kv_len (with the "
      "new\ntoken), q_heads, kv_heads, head_dim, window (0: none) and kv_elem_bytes. The output has the "
      "same\nrows in the same order, and adds predicted_us (microseconds per layer) and source:\n  table     "
      "    this call was measured\n  interpolated  between measured calls\n  extrapolated  beyond the "
      "measured calls, or from similar ones\n  roofline      from the device's figures: no table has this "
      "engine on this GPU\nThe options choose GPU, engine, version and kernel; the values in the rows are "
      "only copied.");
  auto options = std::make_shared<LatencyOptions>();
  command->add_option("--kernel", options->kernel, "Kernel: decode-attention")->required();
  command->add_option("--gpu", options->gpu, "GPU, by its name or an alias (kvplan list device)")->required();
  command
      ->add_option("--engine", options->engine,
                   "Engine that the kernels belong to: vllm, sglang, trtllm, ...")
      ->required();
  command->add_option("--engine-version", options->engine_version,
                      "Engine version (default: the version of the tables)");
  command->add_option("--csv", options->input, "CSV file with the rows to predict")->required();
  command
      ->add_option("--out", options->output,
                   "CSV file for the rows with their times, or - for standard output")
      ->required();
  run_as(*command, outcome, [options] { return latency(*options); });
}

}  // namespace kvplan::cli
