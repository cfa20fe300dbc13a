// What rank 0 writes down and shows while a job trains.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "programs/train/plot.hpp"

namespace muster::programs {

struct StepMetrics {
  int64_t step = 0;  // that are done
  int64_t steps = 0;
  int64_t epoch = 0;  // counted from 1
  int64_t epochs = 0;
  float loss = 0;
  double lr = 0;
  double images_per_s = 0;
  double data_share = 0;  // of the time, waiting for data
  double left_s = 0;
};

struct EvaluationMetrics {
  int64_t step = 0;
  int64_t epoch = 0;
  double accuracy = 0;
  int64_t correct = 0;
  int64_t count = 0;
  double loss = 0;
};

// JSON lines. What an interrupted job wrote beyond its last checkpoint is dropped: there is one
// line a step.
class MetricsFile {
 public:
  MetricsFile(const std::string& path, int64_t steps_done);

  void write(const std::string& json);  // a line
  void write(const StepMetrics& metrics);
  void write(const EvaluationMetrics& metrics);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void complain();

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  bool complained_ = false;
};

// The curves that such a file holds.
[[nodiscard]] Curves read_curves(const std::string& path);

// One line that is written anew on a terminal, else a line each time.
class StatusLine {
 public:
  // Never anew where a launcher stands between: Open MPI gives ranks a terminal that nobody sees.
  explicit StatusLine(bool launched);
  void show(const StepMetrics& metrics);
  void say(const std::string& line);  // which stays
  void accuracy(double value) { accuracy_ = value; }

 private:
  bool terminal_;
  double accuracy_ = -1;
  size_t shown_ = 0;
};

}  // namespace muster::programs
