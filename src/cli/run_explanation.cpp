#include "cli/run_explanation.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/size_text.hpp"
#include "catalogue/catalogue.hpp"
#include "checks/finding.hpp"
#include "run/about.hpp"
#include "run/log_limit.hpp"
#include "sys/file.hpp"

namespace muster::cli {
namespace {

// How much of each file is read if there is no time for everything.
constexpr off_t kFirstBytes = off_t{1} << 20;
constexpr off_t kLastBytes = off_t{3} << 20;
constexpr std::chrono::seconds kReadingTakes{2};  // at most, for all files
// Bytes at the beginning and at the end of each file that are read even after kReadingTakes. On a
// busy machine, waiting for a CPU can take longer than reading a short log.
constexpr off_t kAlwaysRead = off_t{1} << 18;

// Reads files, or only the beginning and the end of long ones, until the time is over.
class EndsReader {
 public:
  EndsReader(std::chrono::steady_clock::time_point end, bool reads_all)
      : end_(end), reads_all_(reads_all) {}
  // Reads a file of a run's folder.
  Result<void> read(explain::Scan& scan, const std::string& folder, const std::string& name) {
    run::StoredFile file(folder, name);
    struct stat status{};
    if (!file.open() || ::fstat(file.descriptor(), &status) != 0) {
      return unexpected(system_error("cannot read the log", folder + "/" + name));
    }
    file.move_to(run::log_begin(folder, name));
    const off_t size = status.st_size - static_cast<off_t>(file.position());
    scan.begin(name);
    const bool is_short = reads_all_ || size <= kFirstBytes + kLastBytes;
    bool is_read = read_part(scan, file, is_short ? size : kFirstBytes);
    if (!is_short) {
      scan.skip();
      file.move_to(static_cast<std::uint64_t>(status.st_size - kLastBytes));
      is_read = read_part(scan, file, kLastBytes) && is_read;
    }
    if (!is_short || !is_read) note(name, size, is_read);
    return {};
  }
  void note(const std::string& name, off_t size, bool is_read) {
    left_out_ += fmt::format("{}{} of {} ({})", left_out_.empty() ? "" : ", ",
                             is_read ? "the middle" : "most", name,
                             file_size_text(static_cast<std::uint64_t>(size)));
  }
  [[nodiscard]] bool has_time() const { return std::chrono::steady_clock::now() <= end_; }
  [[nodiscard]] const std::string& left_out() const { return left_out_; }

 private:
  // Returns whether the part was read completely. Reads at most `most` bytes, because the file may
  // have grown since its size was read.
  bool read_part(explain::Scan& scan, run::StoredFile& file, off_t most) {
    std::array<char, 65536> part{};
    for (off_t left = most; left > 0;) {
      if (most - left >= kAlwaysRead && !has_time()) return false;
      const std::uint64_t dropped = file.dropped();
      const ssize_t count =
          file.read(part.data(), static_cast<std::size_t>(std::min<off_t>(left, part.size())));
      if (count <= 0) return count == 0;
      if (file.dropped() != dropped) scan.skip();
      scan.take({part.data(), static_cast<std::size_t>(count)});
      left -= count;
    }
    return true;
  }

  std::chrono::steady_clock::time_point end_;
  bool reads_all_;
  std::string left_out_;
};

constexpr std::size_t kMostFindings = 1000;

// How the first failed rank ended, if a signal or a lack of memory ended it.
std::optional<explain::FatalSignal> fatal_signal(const run::Summary& summary) {
  if (!summary.first_end) return std::nullopt;
  const run::FirstEnd& end = *summary.first_end;
  const int signal = WIFSIGNALED(end.status) && !end.by_engine ? WTERMSIG(end.status) : 0;
  if (signal == 0 && !end.memory_ran_out) return std::nullopt;
  const std::string memory =
      end.memory_ran_out ? ", just after the kernel had killed a process there for memory" : "";
  return explain::FatalSignal{
      .signal = signal,
      .memory_ran_out = end.memory_ran_out,
      .text = fmt::format("rank {} ended with {}{}; it had used up to {}", summary.failed_rank,
                          run::describe_status(end.status), memory,
                          memory_text(end.max_rss_kb * 1024))};
}

std::vector<explain::CheckFinding> findings_in(const std::string& folder) {
  std::vector<explain::CheckFinding> findings;
  std::istringstream lines(sys::read_file(folder + "/findings.jsonl").value_or(std::string()));
  for (std::string line; findings.size() < kMostFindings && std::getline(lines, line);) {
    const auto finding = checks::parse_finding(line);
    if (!finding || finding->severity == checks::Severity::kNote) continue;
    findings.push_back({.id = finding->id,
                        .hosts = finding->hosts,
                        .what = finding->what,
                        .is_error = finding->severity == checks::Severity::kError});
  }
  return findings;
}

struct KernelLogs {
  explain::Evidence of_host;
  explain::Evidence of_others;
};

// Each line of the file is a host's name, a blank and a message of its kernel. The lines of `host`
// are always read, because each agent sends only a few.
KernelLogs read_kernel_logs(const explain::Matcher& matcher, const std::string& folder,
                            const std::string& host, EndsReader& ends) {
  const std::string text = sys::read_file(folder + "/" + kKernelFile).value_or(std::string());
  explain::Scan of_host(matcher);
  explain::Scan of_others(matcher);
  std::istringstream lines(text);
  std::string current;
  bool is_read = true;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, blank);
    if (name != host && !ends.has_time()) {
      is_read = false;
      continue;
    }
    explain::Scan& scan = name == host ? of_host : of_others;
    if (name != current) scan.begin("kernel log of " + name, {.host = name}, false);
    current = name;
    scan.take(line.substr(std::min(blank + 1, line.size())) + "\n");
  }
  if (!is_read) ends.note(kKernelFile, static_cast<off_t>(text.size()), false);
  return {.of_host = of_host.finish(), .of_others = of_others.finish()};
}

// What the run's files contain besides its output.
explain::RunKnowledge knowledge_of(const run::Summary& summary, const std::string& folder,
                                   const explain::Matcher& matcher, EndsReader& ends) {
  KernelLogs kernels = read_kernel_logs(matcher, folder, summary.failed_host, ends);
  return {.first_failed_rank = summary.failed_rank,
          .first_failed_host = summary.failed_host,
          .first_failed_pid = summary.first_end ? summary.first_end->pid : 0,
          .verdict = summary.text,
          .hosts = summary.hosts,
          .fatal_signal = fatal_signal(summary),
          .gave_up_ranks = summary.gave_up_ranks,
          .ended_by_muster = summary.ended_by_muster && summary.failed_rank < 0,
          .findings = findings_in(folder),
          .kernel = std::move(kernels.of_host),
          .other_kernels = std::move(kernels.of_others)};
}

}  // namespace

Result<void> scan_file(explain::Scan& scan, const std::string& path, const std::string& name) {
  const bool is_stdin = path == "-";
  const sys::Fd opened(is_stdin ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int file = is_stdin ? STDIN_FILENO : opened.get();
  if (file < 0) return unexpected(system_error("cannot read the log", path));
  scan.begin(printable(name));
  const bool is_read = sys::read_pieces(file, [&](std::string_view piece) {
    scan.take(piece);
    return true;
  });
  if (!is_read) return unexpected(system_error("cannot read the log", path));
  return {};
}

Result<ExplainedRun> explain_folder(const std::string& folder,
                                    const std::optional<run::Summary>& summary, Reading reading) {
  const auto about = run::read_about(folder);
  const explain::Matcher matcher(catalogue::failures());
  explain::Scan scan(matcher, about ? about->rank_end : 0);
  using Clock = std::chrono::steady_clock;
  EndsReader ends(
      reading == Reading::kEnds ? Clock::now() + kReadingTakes : Clock::time_point::max(),
      reading != Reading::kEnds);
  for (const char* const file : {explain::kErrorFile, "engine", "out"}) {
    if (!sys::exists(folder + "/" + file)) continue;
    MUSTER_CHECK(ends.read(scan, folder, file));
  }
  const auto known =
      summary ? knowledge_of(*summary, folder, matcher, ends) : explain::RunKnowledge{};
  return ExplainedRun{.explanation = explain::explain(scan.finish(), known),
                      .left_out = ends.left_out()};
}

}  // namespace muster::cli
