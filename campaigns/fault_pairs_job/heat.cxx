// Diffuses heat along a ring of ranks, like an ordinary MPI program. It does not use muster.
#include <mpi.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "grid.h"
}

namespace {

int rank = 0;
int ranks = 1;

// Reads one key and value per line.
std::map<std::string, std::string> read_settings(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "heat: cannot open %s: %s\n", path.c_str(), std::strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  std::map<std::string, std::string> settings;
  for (std::string key, value; file >> key >> value;) settings[key] = value;
  return settings;
}

void write_result(const std::string& path, const std::vector<double>& cells) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr &&
                       std::fwrite(cells.data(), sizeof(double), cells.size(), file) == cells.size() &&
                       std::fflush(file) == 0;
  if (!written) {
    std::fprintf(stderr, "heat: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
    std::_Exit(4);
  }
  std::fclose(file);
}

void exchange(std::vector<double>& cells, int halo) {
  std::vector<double> from_left(halo);
  MPI_Sendrecv(cells.data() + cells.size() - halo, halo, MPI_DOUBLE, grid_right(rank, ranks), 0,
               from_left.data(), halo, MPI_DOUBLE, grid_left(rank, ranks), 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  cells[0] = (cells[0] + from_left[halo - 1]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 20;
  int pause_ms = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--steps=", 0) == 0) {
      steps = std::atoi(word.c_str() + 8);
    } else if (word.rfind("--pause=", 0) == 0) {
      pause_ms = std::atoi(word.c_str() + 8);
    } else {
      std::fprintf(stderr, "heat: unknown option '%s'; usage: heat [--steps=N] [--pause=MS]\n", word.c_str());
      return 2;
    }
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  auto settings = read_settings("data/grid-" + std::to_string(rank) + ".txt");
  std::vector<double> cells(std::stoull(settings["cells"]), 1.0);
  const int halo = std::stoi(settings["halo"]);
  const long source = std::stol(settings["source"]);
  double* heater = &cells[0] + source;
  *heater += std::stod(settings["power"]);
  write_result("out/heat-" + std::to_string(rank) + ".bin", cells);
  for (int step = 0; step < steps; ++step) {
    exchange(cells, halo);
    double total = 0;
    for (double cell : cells) total += cell;
    if (!std::isfinite(total)) {
      std::fprintf(stderr, "heat: rank %d: the temperature is not finite at step %d\n", rank, step);
      MPI_Abort(MPI_COMM_WORLD, 7);
    }
    double sum = 0;
    MPI_Allreduce(&total, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::printf("step %d heat %.3f\n", step, sum), std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
  write_result("out/heat-" + std::to_string(rank) + ".bin", cells);
  MPI_Finalize();
  return 0;
}
