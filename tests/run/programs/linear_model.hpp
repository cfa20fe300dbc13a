// What the training programs share: a linear model, data that depend on the rank, and the output
// that the tests read.
//
// The data are small integers and the learning rate is a power of two, so that every sum is exact
// in a double. So the weights are equal to the last bit, no matter in which order an engine adds
// the gradients.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace linear_model {

using Vector = std::array<double, 3>;

constexpr int kSteps = 5;    // more steps would exceed the precision of a double
constexpr int kSamples = 4;  // per rank
constexpr double kRate = 1.0 / 64;
constexpr Vector kTruth = {1, -2, 3};

inline double feature(int rank, int sample, int column) {
  return (7 * rank + 3 * sample + 5 * column * column + sample * column) % 5 - 2;
}

// The gradient of half the squared error over the rank's own data.
inline Vector gradient(int rank, const Vector& weights) {
  Vector sum{};
  for (int sample = 0; sample < kSamples; ++sample) {
    double error = 0;
    for (int column = 0; column < 3; ++column) {
      error += (weights[column] - kTruth[column]) * feature(rank, sample, column);
    }
    for (int column = 0; column < 3; ++column) sum[column] += error * feature(rank, sample, column);
  }
  return sum;
}

struct Place {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
};

// Tasks from the command line, besides training:
//   show NAME ...                 each rank prints these environment variables
//   forever                       train until a signal ends it; prints "up" after the first step
//   fail RANK CODE [RANK CODE]    like forever, but at step 20 these ranks exit with the code;
//                                 a code of -11 means: by signal 11
//   abort RANK CODE [MESSAGE]     the same, but the rank prints the message to standard error and
//                                 ends all ranks, as MPI_Abort does
struct Wishes {
  bool forever = false;
  bool abort = false;
  std::string last_words = {};
  std::vector<std::string> shown = {};
  std::vector<std::pair<int, int>> failing = {};  // rank, code
};

inline Wishes read_wishes(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Wishes wishes;
  if (words.empty()) return wishes;
  if (words[0] == "show") wishes.shown.assign(words.begin() + 1, words.end());
  wishes.abort = words[0] == "abort";
  wishes.forever = words[0] == "forever" || words[0] == "fail" || wishes.abort;
  for (std::size_t i = 1; words[0] == "fail" && i + 1 < words.size(); i += 2) {
    wishes.failing.emplace_back(std::stoi(words[i]), std::stoi(words[i + 1]));
  }
  if (wishes.abort) wishes.failing.emplace_back(std::stoi(words.at(1)), std::stoi(words.at(2)));
  if (wishes.abort && words.size() > 3) wishes.last_words = words[3];
  return wishes;
}

inline void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

inline void show(const Wishes& wishes, const Place& place) {
  for (const std::string& name : wishes.shown) {
    const char* value = std::getenv(name.c_str());
    say("rank " + std::to_string(place.rank) + " has " + name + "=" +
        (value == nullptr ? "" : value));
  }
}

inline void print_weights(const Place& place, const Vector& weights) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::printf("rank %d of %d on %s local %d weights %.9f %.9f %.9f\n", place.rank, place.ranks,
              host, place.local_rank, weights[0], weights[1], weights[2]);
  std::fflush(stdout);
}

inline void fail_if_wished(const Wishes& wishes, const Place& place, void (*end_all)(int)) {
  for (const auto& [rank, code] : wishes.failing) {
    if (rank != place.rank) continue;
    if (!wishes.last_words.empty()) std::fprintf(stderr, "%s\n", wishes.last_words.c_str());
    if (wishes.abort) end_all(code);
    if (code >= 0) std::_Exit(code);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(-code, SIG_DFL);
    std::raise(-code);
  }
}

// `sum_up` adds the vectors of all ranks; every rank calls it once per step. `end_all` ends all
// ranks with an exit code.
template <class SumUp>
void train(
    const Wishes& wishes, const Place& place, SumUp sum_up,
    void (*end_all)(int) = [](int code) { std::_Exit(code); }) {
  constexpr int kFailingStep = 20;
  show(wishes, place);
  Vector weights{};
  for (int step = 0; wishes.forever || step < kSteps; ++step) {
    const Vector sum = sum_up(gradient(place.rank, weights));
    if (wishes.forever) {
      if (step == 0) say("up");
      if (step == kFailingStep) fail_if_wished(wishes, place, end_all);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    for (int column = 0; column < 3; ++column) weights[column] -= kRate * sum[column];
  }
  print_weights(place, weights);
}

}  // namespace linear_model
