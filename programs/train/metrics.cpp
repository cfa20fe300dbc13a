#include "programs/train/metrics.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/json.hpp"

namespace muster::programs {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Returns a JSON number, or null for infinity and NaN, which JSON lacks.
std::string number(double value, const char* format = "%.6g") {
  return std::isfinite(value) ? formatted(format, value) : "null";
}

std::string left_text(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 90) return formatted("%.0f s", seconds);
  if (seconds < 5400) return formatted("%.0f min", seconds / 60);
  return formatted("%.1f h", seconds / 3600);
}

// Parses a line. Returns null if the line is incomplete.
nlohmann::json parsed(const std::string& line) {
  return parse_json(line).value_or(nlohmann::json());
}

int64_t step_in(const nlohmann::json& line) {
  const auto step = line.find("step");
  return step != line.end() && step->is_number_integer() ? step->get<int64_t>() : 0;
}

void drop_beyond(const std::string& path, int64_t steps_done) {
  std::ifstream old(path);
  if (!old) return;
  const std::string unfinished = path + ".new";
  std::ofstream kept(unfinished, std::ios::trunc);
  for (std::string line; std::getline(old, line);) {
    const auto json = parsed(line);
    if (steps_done > 0 && json.is_object() && step_in(json) <= steps_done) kept << line << "\n";
  }
  kept.close();
  std::error_code error;
  if (kept) std::filesystem::rename(unfinished, path, error);
  if (kept && !error) return;
  std::filesystem::remove(unfinished, error);
  std::fprintf(
      stderr,
      "muster-train: %s will contain some steps twice, because there was no space to rewrite it\n",
      path.c_str());
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, int64_t steps_done) : path_(path) {
  drop_beyond(path, steps_done);
  file_.reset(std::fopen(path.c_str(), "ae"));
  if (!file_) complain();
}

// A failure to write metrics must not end the training.
void MetricsFile::complain() {
  if (std::exchange(complained_, true)) return;
  std::fprintf(stderr, "muster-train: cannot write %s: %s; the training continues\n", path_.c_str(),
               std::strerror(errno));
}

void MetricsFile::write(const std::string& json) {
  const std::string line = json + "\n";
  if (!file_) return;
  if (std::fputs(line.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) {
    complain();
    std::clearerr(file_.get());
  }
}

void MetricsFile::write(const StepMetrics& metrics) {
  // Nine digits distinguish any two floats.
  write(
      formatted("{\"step\": %lld, \"epoch\": %lld, \"loss\": %s, \"lr\": %s, \"images_per_s\": %s, "
                "\"data_share\": %s, \"time\": %lld}",
                static_cast<long long>(metrics.step), static_cast<long long>(metrics.epoch),
                number(metrics.loss, "%.9g").c_str(), number(metrics.lr, "%.17g").c_str(),
                number(metrics.images_per_s).c_str(), number(metrics.data_share, "%.4f").c_str(),
                static_cast<long long>(std::time(nullptr))));
}

void MetricsFile::write(const EvaluationMetrics& metrics) {
  write(
      formatted("{\"event\": \"evaluation\", \"step\": %lld, \"epoch\": %lld, \"accuracy\": %s, "
                "\"correct\": %lld, \"count\": %lld, \"test_loss\": %s, \"time\": %lld}",
                static_cast<long long>(metrics.step), static_cast<long long>(metrics.epoch),
                number(metrics.accuracy).c_str(), static_cast<long long>(metrics.correct),
                static_cast<long long>(metrics.count), number(metrics.loss).c_str(),
                static_cast<long long>(std::time(nullptr))));
}

Curves read_curves(const std::string& path) {
  Curves curves;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = parsed(line);
    if (!json.is_object()) continue;
    const auto step = static_cast<double>(step_in(json));
    if (json.contains("loss") && json["loss"].is_number()) {
      curves.loss.push_back({step, json["loss"].get<double>()});
    }
    if (json.contains("accuracy") && json["accuracy"].is_number()) {
      curves.accuracy.push_back({step, json["accuracy"].get<double>()});
    }
  }
  return curves;
}

StatusLine::StatusLine(bool launched) : terminal_(!launched && ::isatty(STDOUT_FILENO) == 1) {}

void StatusLine::show(const StepMetrics& metrics) {
  std::string line = formatted(
      "epoch %lld/%lld  step %lld/%lld  loss %.4f  accuracy %s  %.0f images/s  data %.1f %%  left "
      "%s",
      static_cast<long long>(metrics.epoch), static_cast<long long>(metrics.epochs),
      static_cast<long long>(metrics.step), static_cast<long long>(metrics.steps),
      static_cast<double>(metrics.loss),
      accuracy_ < 0 ? "-" : formatted("%.2f %%", 100 * accuracy_).c_str(), metrics.images_per_s,
      100 * metrics.data_share, left_text(metrics.left_s).c_str());
  if (!terminal_) return say(line);
  const size_t length = line.size();
  if (length < shown_) line.append(shown_ - length, ' ');
  shown_ = length;
  std::printf("\r%s", line.c_str());
  (void)std::fflush(stdout);
}

void StatusLine::say(const std::string& line) {
  if (shown_ > 0) std::printf("\n");
  shown_ = 0;
  std::printf("%s\n", line.c_str());
  (void)std::fflush(stdout);
}

}  // namespace muster::programs
