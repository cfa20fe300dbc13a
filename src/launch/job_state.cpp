#include "launch/job_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace muster::launch {
namespace {

// Returns the value in NAME=value. The values read here contain no blanks.
std::string_view field(std::string_view line, std::string_view name) {
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const std::size_t value = at + name.size();
    const bool begins = at == 0 || line[at - 1] == ' ';
    if (!begins || value >= line.size() || line[value] != '=') continue;
    const std::string_view rest = line.substr(value + 1);
    return rest.substr(0, rest.find_first_of(" \n"));
  }
  return {};
}

// Reasons of a pending job that do not go away by waiting. Limits of accounting (AssocGrp...,
// QOSMax...) are not among them, because they may allow the job when other jobs end.
constexpr std::array<std::string_view, 8> kLasting = {
    "AccountNotAllowed", "BadConstraints",     "DependencyNeverSatisfied", "InvalidAccount",
    "InvalidQOS",        "PartitionNodeLimit", "PartitionTimeLimit",       "QOSNotAllowed"};

constexpr int kCannotExecute = 126;  // a shell's exit code for a command that cannot be executed
constexpr int kNotFound = 127;

}  // namespace

JobState parse_job_state(std::string_view line) {
  JobState job{.state = std::string(field(line, "JobState")),
               .reason = std::string(field(line, "Reason")),
               .host = std::string(field(line, "BatchHost"))};
  const std::string_view code = field(line, "ExitCode");  // "127:0"; the second number is a signal
  (void)std::from_chars(code.data(), code.data() + code.size(), job.exit_code);
  return job;
}

Prospect prospect(const JobState& job) {
  if (job.state == "PENDING") {
    const bool lasts = std::find(kLasting.begin(), kLasting.end(), job.reason) != kLasting.end();
    if (lasts) return Prospect::kNever;
    return job.reason == "None" || job.reason.empty() ? Prospect::kUnknown : Prospect::kGood;
  }
  if (job.state == "FAILED") {
    const bool not_run = job.exit_code == kCannotExecute || job.exit_code == kNotFound;
    return not_run ? Prospect::kBroken : Prospect::kGood;
  }
  const bool beginning = job.state.empty() || job.state == "CONFIGURING" ||
                         job.state == "RUNNING" || job.state == "COMPLETING";
  return beginning ? Prospect::kUnknown : Prospect::kGood;
}

}  // namespace muster::launch
