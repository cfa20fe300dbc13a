// Writes the metrics of a training to a file and shows its status, on rank 0.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "programs/train/plot.hpp"

namespace muster::programs {

struct StepMetrics {
  int64_t step = 0;  // completed steps
  int64_t steps = 0;
  int64_t epoch = 0;  // counted from 1
  int64_t epochs = 0;
  float loss = 0;
  double lr = 0;
  double images_per_s = 0;
  double data_share = 0;  // share of the time spent waiting for data
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

// A file with one JSON object per line. The constructor removes lines that an interrupted job wrote
// after its last checkpoint (step `steps_done`), so that no step is there twice.
class MetricsFile {
 public:
  MetricsFile(const std::string& path, int64_t steps_done);

  void write(const std::string& json);  // appends a line
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

// Reads the curves from such a file.
[[nodiscard]] Curves read_curves(const std::string& path);

// Prints the status: on a terminal in one line that it redraws, elsewhere in a new line each time.
class StatusLine {
 public:
  // `launched`: whether a launcher started this rank. Then a line is never redrawn, because Open
  // MPI gives ranks a terminal that nobody sees.
  explicit StatusLine(bool launched);
  void show(const StepMetrics& metrics);
  void say(const std::string& line);  // prints a line that stays
  void accuracy(double value) { accuracy_ = value; }

 private:
  bool terminal_;
  double accuracy_ = -1;
  size_t shown_ = 0;
};

}  // namespace muster::programs
