// Solves the heat equation on a bar that is divided among the ranks (plain MPI).
//   mpirun -n 4 ./heat --steps 2000
#include <mpi.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

struct Options {
  int steps = 2000;
  int cells = 4096;
  int check_every = 10;
  int steady_rank = -1;       // the rank that decides from its own cells alone that it is done
  int material_rank = -1;     // waits for a table of materials before it starts
  bool report_each_step = false;
  std::string viewer;         // RANK:STEP at which a viewer is started that reads a named pipe
  bool shared_log = false;    // the ranks of a host write to one log
  double pause = 0;           // seconds of other work per step
  double seconds = 0;         // compute for this long, instead of a number of steps
  int refine_rank = -1;       // the rank whose cells need a finer grid
  double refine_seconds = 0;
};

static Options options;
static int rank_, size_;
static double started_;

static void onset() {
  std::puts("ONSET");
  std::fflush(stdout);
}

static void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

static void load_materials() {
  if (rank_ != options.material_rank) return;
  onset();
  while (access("/tmp/materials.table", R_OK) != 0) rest(0.5);
}

static void exchange_halo(std::vector<double>& u) {
  const int left = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL;
  const int right = rank_ < size_ - 1 ? rank_ + 1 : MPI_PROC_NULL;
  const int n = static_cast<int>(u.size());
  MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, 0, &u[n - 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[n - 2], 1, MPI_DOUBLE, right, 1, &u[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double local_step(std::vector<double>& u) {
  std::vector<double> next = u;
  double change = 0;
  for (size_t i = 1; i + 1 < u.size(); ++i) {
    next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    change += std::fabs(next[i] - u[i]);
  }
  u.swap(next);
  return change;
}

static bool converged(double change, int step) {
  if (rank_ == options.steady_rank && step > 100) {
    onset();
    MPI_Barrier(MPI_COMM_WORLD);  // wait for the others before the output
    return true;
  }
  if (options.seconds > 0) {
    int over = MPI_Wtime() - started_ > options.seconds;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over != 0;
  }
  double total = 0;
  MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total < 1e-12;
}

// Solves this rank's part on finer and finer grids.
static void refine(const std::vector<double>& u) {
  onset();
  std::vector<double> fine(u.size() * 8, 0.0);
  for (size_t i = 0; i < fine.size(); ++i) fine[i] = u[i / 8];
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < options.refine_seconds) local_step(fine);
}

static void start_viewer(const std::string& pipe) {
  onset();
  mkfifo(pipe.c_str(), 0600);
  const pid_t child = vfork();
  if (child == 0) {
    const int from = open(pipe.c_str(), O_RDONLY);
    dup2(from, 0);
    execlp("cat", "cat", static_cast<char*>(nullptr));
    _exit(127);
  }
}

static void write_log(int step) {
  if (options.shared_log == false || step != 200) return;
  const int log = open("/tmp/heat.log", O_CREAT | O_RDWR | O_APPEND, 0600);
  if (rank_ % 2 == 1) {
    rest(1);
    onset();
  }
  if (lockf(log, F_LOCK, 0) != 0) std::perror("heat.log");
  dprintf(log, "rank %d step %d\n", rank_, step);
  MPI_Barrier(MPI_COMM_WORLD);  // all ranks have written
  close(log);
}

static void parse(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return i + 1 < count ? words[++i] : "0"; };
    if (word == "--steps") options.steps = std::atoi(value());
    else if (word == "--cells") options.cells = std::atoi(value());
    else if (word == "--check-every") options.check_every = std::atoi(value());
    else if (word == "--steady-rank") options.steady_rank = std::atoi(value());
    else if (word == "--material-rank") options.material_rank = std::atoi(value());
    else if (word == "--viewer") options.viewer = value();
    else if (word == "--shared-log") options.shared_log = true;
    else if (word == "--report-each-step") options.report_each_step = true;
    else if (word == "--seconds") options.seconds = std::atof(value());
    else if (word == "--refine-rank") options.refine_rank = std::atoi(value());
    else if (word == "--refine-seconds") options.refine_seconds = std::atof(value());
    else if (word == "--pause") options.pause = std::atof(value());
  }
}

int main(int count, char** words) {
  alarm(300);
  parse(count, words);
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  std::vector<double> u(static_cast<size_t>(options.cells) + 2, 0.0);
  if (rank_ == 0) u[0] = 1.0;
  load_materials();
  started_ = MPI_Wtime();
  if (options.seconds > 0) {
    options.steps = 1 << 30;
    if (rank_ == 0) onset();
  }
  for (int step = 0; step < options.steps; ++step) {
    exchange_halo(u);
    const double change = local_step(u);
    if (options.pause > 0) rest(options.pause);
    if (options.viewer == std::to_string(rank_) + ":" + std::to_string(step)) start_viewer("/tmp/heat.view." + std::to_string(getpid()));
    if (rank_ == options.refine_rank && step == 150) refine(u);
    write_log(step);
    if (step % options.check_every == 0 && converged(change, step)) break;
    if (options.report_each_step && rank_ == 0) {
      std::printf("STEP %d\n", step);
      std::fflush(stdout);
    }
  }
  if (rank_ == 0) std::printf("heat: done, u[1] = %g\n", u[1]);
  MPI_Finalize();
  return 0;
}
