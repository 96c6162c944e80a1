// kvplan latency: how long kernels take, from measured tables where there are some.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "simulator/base/json_writer.h"
#include "simulator/base/number_input.h"
#include "simulator/base/suggest.h"
#include "simulator/cli/command.h"
#include "simulator/cli/decode_rows.h"
#include "simulator/cli/keyed_rows.h"
#include "simulator/cli/outputs.h"
#include "simulator/io/device_file.h"
#include "simulator/io/measured_kernels.h"
#include "simulator/kernels/attention_roofline.h"
#include "simulator/kernels/decode_times.h"
#include "simulator/kernels/kernel_kind.h"
#include "simulator/modelfile/device_text.h"
#include "traces/io/input.h"

namespace kvplan::cli {
namespace {

constexpr std::string_view kDecodeAttention = "decode-attention";

struct LatencyOptions {
  std::string kernel, gpu, engine, engine_version, calibration, input, output;
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

/// How the rows of one kernel are read: the header, then a time for each row.
struct RowReader {
  std::function<Status(std::string_view header)> open;
  std::function<Result<kernels::SourcedTime>(std::string_view line)> time;
};

Status add_times(traces::Input& input, const RowReader& reader, const ByteSink& sink) {
  const auto here = [&](const Error& error) {
    return Error(error).at_file(input.path()).at_line(input.line_number());
  };
  std::string_view line;
  if (!input.next_line(line))
    return input.failed() ? Error(input.error())
                          : bad_input("expected a header line, found an empty file").at_file(input.path());
  if (const Status opened = reader.open(line); !opened.ok()) return here(opened.error());
  constexpr std::size_t kPiece = 1 << 16;
  std::string text = std::string(line) + ",predicted_us,source\n";
  while (input.next_line(line)) {
    if (line.empty()) continue;
    const Result<kernels::SourcedTime> time = reader.time(line);
    if (!time.ok()) return here(time.error());
    text += line;
    text += "," + us_text(time.value().us) + ",";
    text += kernels::source_name(time.value().source);
    text += '\n';
    if (text.size() < kPiece) continue;
    if (interrupted()) return interrupted_error();
    KVPLAN_TRY_DO(sink(text));
    text.clear();
  }
  if (input.failed()) return Error(input.error());
  return sink(text);
}

/// Writes the rows with their times.
Status write_times(const LatencyOptions& options, const RowReader& reader) {
  KVPLAN_TRY(const std::unique_ptr<traces::Input> input, traces::Input::open(options.input));
  return write_pieces(options.output, [&](const ByteSink& sink) { return add_times(*input, reader, sink); });
}

Status decode_attention(const LatencyOptions& options, const model::DeviceShape& device) {
  Times times(options, device);
  std::optional<DecodeRows> rows;
  KVPLAN_TRY_DO(write_times(options, {.open = [&](std::string_view header) -> Status {
                                        KVPLAN_TRY(rows, DecodeRows::open(header));
                                        return Done{};
                                      },
                                      .time = [&](std::string_view line) -> Result<kernels::SourcedTime> {
                                        KVPLAN_TRY(const DecodeRow row, rows->read(line));
                                        return times(row);
                                      }}));
  print_warnings(times.warnings());
  return Done{};
}

/// Times of a calibration, whatever GPU and engine the rows name.
Status calibrated_attention(const LatencyOptions& options) {
  KVPLAN_TRY(const runs::MeasuredKernels measured, io::open_measured_kernels(options.calibration));
  const kernels::KernelTable& first = measured.tables.front();
  const kernels::DecodeTimes times(measured.tables, {{first.gpu}, first.engine, {}});
  std::optional<DecodeRows> rows;
  KVPLAN_TRY_DO(write_times(options, {.open = [&](std::string_view header) -> Status {
                                        KVPLAN_TRY(rows, DecodeRows::open(header));
                                        return Done{};
                                      },
                                      .time = [&](std::string_view line) -> Result<kernels::SourcedTime> {
                                        KVPLAN_TRY(const DecodeRow row, rows->read(line));
                                        if (const auto time = times(row.call)) return *time;
                                        return bad_input("the calibration has no call like this one");
                                      }}));
  return Done{};
}

Status other_kernel(const LatencyOptions& options, const kernels::KernelKind& kind,
                    const model::DeviceShape& device) {
  const kernels::KindTimes times(kind, device, options.engine, options.engine_version);
  std::vector<std::string_view> names = kernels::column_names(kind);
  names.push_back(kind.axis);
  std::optional<KeyedRows> rows;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  KVPLAN_TRY_DO(
      write_times(options, {.open = [&](std::string_view header) -> Status {
                              auto opened = KeyedRows::open(header, names, {"predicted_us", "source"});
                              if (!opened.ok()) return std::move(opened).error();
                              rows = std::move(opened).value();
                              return Done{};
                            },
                            .time = [&](std::string_view line) -> Result<kernels::SourcedTime> {
                              KVPLAN_TRY(std::vector<std::string> key, rows->read(line));
                              const auto at = read_whole_number(key.back(), {1, kMost});
                              if (!at.ok()) return Error(at.error()).at_field(kind.axis);
                              key.pop_back();
                              if (const Status checked = kernels::check_key(kind, key); !checked.ok())
                                return Error(checked.error());
                              return times({key, kernels::numbers_in(key), static_cast<double>(at.value())});
                            }}));
  if (!times.has_table())
    print_warnings({"no table has " + options.kernel + " of \"" + options.engine + "\" on " + device.name +
                    ": times are a roofline of the device's figures, not measured"});
  else if (!options.engine_version.empty() && options.engine_version != times.engine_version())
    print_warnings({"no table of " + options.engine + " " + options.engine_version + " on " + device.name +
                    ": times are those of " + times.engine_version()});
  return Done{};
}

Status latency(const LatencyOptions& options) {
  const kernels::KernelKind* const kind = kernels::find_kernel_kind(options.kernel);
  if (options.kernel != kDecodeAttention && kind == nullptr) {
    std::vector<std::string_view> names{kDecodeAttention};
    for (const kernels::KernelKind* each : kernels::kernel_kinds()) names.push_back(each->name);
    return bad_input(unknown_name("kernel", options.kernel, names)).at_field("--kernel");
  }
  if (!options.calibration.empty()) {
    if (kind != nullptr)
      return bad_input("calibrations have times of decode-attention only").at_field("--calibration");
    if (!options.gpu.empty() || !options.engine.empty() || !options.engine_version.empty())
      return bad_input("expected no --gpu, --engine and --engine-version: the calibration is of one device")
          .at_field("--calibration");
    KVPLAN_TRY_DO(check_apart({options.input, options.calibration}, {options.output}));
    return calibrated_attention(options);
  }
  for (const auto& [value, name] : {std::pair(&options.gpu, "--gpu"), std::pair(&options.engine, "--engine")})
    if (value->empty()) return bad_input(std::string(name) + " is required (see --help)");
  const auto device = [&]() -> Result<std::shared_ptr<const model::DeviceShape>> {
    KVPLAN_TRY(const std::string text, io::device_text(options.gpu));
    return model::any_device(text);
  }();
  if (!device.ok()) return Error(device.error()).at_field("--gpu");
  KVPLAN_TRY_DO(check_apart({options.input}, {options.output}));
  return kind != nullptr ? other_kernel(options, *kind, *device.value())
                         : decode_attention(options, *device.value());
}

}  // namespace

void add_latency(Command& app, Outcome& outcome) {
  Command* const command =
      app.add_subcommand("latency", "Predict kernel times, one per row, and say where each comes from");
  command->footer(
      "Rows of decode-attention are CSV with the columns gpu, engine, engine_version, kernel, batch, kv_len "
      "(with the "
      "new\ntoken), q_heads, kv_heads, head_dim, window (0: none) and kv_elem_bytes. The output has the "
      "same\nrows in the same order, and adds predicted_us (microseconds per layer) and source:\n  table     "
      "    this call was measured\n  interpolated  between measured calls\n  extrapolated  beyond the "
      "measured calls, or from similar ones\n  roofline      from the device's figures: no table has this "
      "engine on this GPU\nThe options choose GPU, engine, version and kernel; the values in the rows are "
      "only copied.\nColumns of the other kernels:\n  gemm               gemm_dtype, n, k, m\n  moe          "
      "      "
      "moe_dtype, hidden_size, inter_size, topk, num_experts, moe_tp_size, moe_ep_size,\n                    "
      " "
      "tokens\n  all-reduce         kernel_source, num_gpus, message_size (elements of 16 bits)\n  "
      "prefill-attention  attn_dtype, kv_cache_dtype, head_dim, window_size, num_heads,\n                    "
      " "
      "num_key_value_heads, batch_size, tokens (of each prompt)");
  auto options = std::make_shared<LatencyOptions>();
  command
      ->add_option("--kernel", options->kernel,
                   "Kernel: all-reduce, decode-attention, gemm, moe or prefill-attention")
      ->required();
  command->add_option("--gpu", options->gpu, "GPU, by its name or an alias (kvplan list device)");
  command->add_option("--engine", options->engine,
                      "Engine that the kernels belong to: vllm, sglang, trtllm, ...");
  command->add_option("--engine-version", options->engine_version,
                      "Engine version (default: the version of the tables)");
  command->add_option(
      "--calibration", options->calibration,
      "Predict from this calibration (kvplan-validate calibrate), instead of --gpu and --engine");
  command->add_option("--csv", options->input, "CSV file with the rows to predict")->required();
  command
      ->add_option("--out", options->output,
                   "CSV file for the rows with their times, or - for standard output")
      ->required();
  run_as(*command, outcome, [options] { return latency(*options); });
}

}  // namespace kvplan::cli
