#include "facts/nvidia_smi.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/pseudo_file.hpp"
#include "facts/vendor_tool.hpp"

namespace muster::facts {
namespace {

using std::chrono::milliseconds;
using SmiClock = std::chrono::steady_clock;

constexpr const char* kTool = "nvidia-smi";
constexpr const char* kCsv = "--format=csv,noheader,nounits";
constexpr int kMostRefusals = 6;
constexpr milliseconds kLeastTime{300};

ToolArguments gpu_question(const SmiFields& fields) {
  return {fmt::format("--query-gpu={}", fmt::join(fields, ",")), kCsv};
}

// The rest of the deadline, but at least enough time for a tool that works.
milliseconds time_left(SmiClock::time_point end) {
  return std::max(std::chrono::duration_cast<milliseconds>(end - SmiClock::now()), kLeastTime);
}

std::string said_by(const Result<sys::Ended>& ended) {
  return ended ? ended->out + "\n" + ended->err : std::string();
}

// Asks again without the fields that this driver does not know.
Result<sys::Ended> ask_known_fields(const std::string& tool, Result<sys::Ended> answer,
                                    SmiClock::time_point end, SmiFields& fields) {
  for (int i = 0; i < kMostRefusals; ++i) {
    const std::string refused = refused_field(said_by(answer));
    const SmiFields fewer = without_field(fields, refused);
    if (refused.empty() || fewer == fields || SmiClock::now() >= end) break;
    fields = fewer;
    const ToolArguments question = gpu_question(fields);
    answer = std::move(ask_tool(tool, {&question, 1}, time_left(end)).front());
  }
  return answer;
}

void take_rows(const SmiFields& fields, const Result<sys::Ended>& answer, NvidiaSmi& smi) {
  if (!answer) return;
  for (SmiRow& row : parse_smi_rows(fields, answer->out)) {
    smi.driver = row.driver;
    smi.gpus.push_back(std::move(row.gpu));
  }
  smi.lost = parse_lost_gpus(said_by(answer));
}

void take_processes(const Result<sys::Ended>& answer, NvidiaSmi& smi) {
  if (!answer || !answer->ok()) return;
  for (const SmiProcess& one : parse_smi_processes(answer->out)) {
    for (Gpu& gpu : smi.gpus) {
      if (gpu.pci == one.pci) gpu.processes.push_back(one.process);
    }
  }
}

// Asks what only some drivers and GPUs support.
void ask_the_rest(const std::string& tool, const SmiFields& fields, SmiClock::time_point end,
                  NvidiaSmi& smi) {
  std::vector<ToolArguments> questions;
  const bool has_remaps =
      std::find(fields.begin(), fields.end(), "remapped_rows.pending") != fields.end();
  const bool has_mig = std::any_of(smi.gpus.begin(), smi.gpus.end(),
                                   [](const Gpu& gpu) { return gpu.mig.value_or(false); });
  if (!has_remaps) {
    questions.push_back(
        {"--query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure", kCsv});
  }
  if (has_mig) questions.push_back({"-L"});
  if (questions.empty()) return;
  const milliseconds left = time_left(end);
  const auto answers = ask_tool(tool, questions, left);
  if (!has_remaps && answers.front() && answers.front()->ok()) {
    take_remapped_rows(answers.front()->out, smi.gpus);
  }
  if (!has_mig) return;
  const std::string why = tool_failure(kTool, answers.back(), left);
  if (why.empty()) {
    take_mig_devices(answers.back()->out, smi.gpus);
  } else {
    smi.not_seen.push_back({.what = "gpus.mig_devices", .why = why});
  }
}

}  // namespace

NvidiaSmi ask_nvidia_smi(const std::string& tool, milliseconds deadline) {
  NvidiaSmi smi;
  const auto end = SmiClock::now() + deadline;
  SmiFields fields = wanted_fields();
  const ToolArguments questions[] = {gpu_question(fields),
                                     {"--query-compute-apps=gpu_bus_id,pid,used_memory", kCsv},
                                     {"nvlink", "-s"}};
  auto answers = ask_tool(tool, questions, deadline);
  const auto about_gpus = ask_known_fields(tool, std::move(answers[0]), end, fields);
  take_rows(fields, about_gpus, smi);
  std::string failure = tool_failure(kTool, about_gpus, deadline);
  // A Slurm step without GPUs, which is not a failure.
  if (failure.find("No devices were found") != std::string::npos) failure.clear();
  smi.answered = failure.empty() || !smi.gpus.empty();
  if (!failure.empty() && smi.lost.empty()) {
    smi.not_seen.push_back({.what = "gpus.nvidia-smi", .why = failure});
  }
  if (!smi.answered) return smi;
  take_processes(answers[1], smi);
  if (const std::string why = tool_failure(kTool, answers[1], deadline); !why.empty()) {
    smi.not_seen.push_back({.what = "gpus.processes", .why = why});
  }
  if (answers[2] && answers[2]->ok()) take_nvlinks(answers[2]->out, smi.gpus);
  ask_the_rest(tool, fields, end, smi);
  return smi;
}

}  // namespace muster::facts
