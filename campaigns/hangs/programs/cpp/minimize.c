/* Minimises a function of many variables; each rank owns some of them (plain MPI, C).
 *   mpirun -n 2 ./minimize [--bad-start RANK:ITERATION] [--odd-share RANK] [--rotate ITERATION] [--late RANK]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static int share = 100000;

static void onset(void) {
  puts("ONSET");
  fflush(stdout);
}

static double value(const double* x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

/* Halves the step until the value decreases enough. */
static double line_search(const double* x, const double* g, double* trial, int n) {
  const double before = value(x, n);
  double step = 1;
  for (;;) {
    for (int i = 0; i < n; ++i) trial[i] = x[i] - step * g[i];
    if (value(trial, n) <= before) return step;
    step *= 0.5;
  }
}

static double iterate(double* x, double* g, double* trial, int n) {
  for (int i = 0; i < n; ++i) g[i] = 1.5 * x[i];
  double step = line_search(x, g, trial, n);
  double smallest;
  MPI_Allreduce(&step, &smallest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) x[i] -= smallest * g[i];
  return smallest;
}

/* Sums a histogram over all ranks. */
static void sum_histogram(int buckets) {
  double* mine = calloc((size_t)buckets, sizeof(double));
  double* all = calloc((size_t)buckets, sizeof(double));
  MPI_Allreduce(mine, all, buckets, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(mine);
  free(all);
}

/* Every rank passes its variables to the next one. */
static void rotate(double* x, double* trial, int n) {
  MPI_Send(x, n, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD);
  MPI_Recv(trial, n, MPI_DOUBLE, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  memcpy(x, trial, (size_t)n * sizeof(double));
}

static int env_rank(void) {
  const char* names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"};
  for (int i = 0; i < 4; ++i)
    if (getenv(names[i])) return atoi(getenv(names[i]));
  return 0;
}

/* Waits for the input, which comes from another job. */
static void wait_for_input_deck(void) {
  onset();
  while (access("/tmp/minimize.deck", R_OK) != 0) sleep(1);
}

int main(int count, char** words) {
  int bad_rank = -1, bad_iteration = -1, odd = -1, rotate_at = -1, late = -1, quits = -1, ends = -1, buckets = 1 << 20;
  alarm(300);
  for (int i = 1; i + 1 < count; i += 2) {
    if (!strcmp(words[i], "--bad-start")) sscanf(words[i + 1], "%d:%d", &bad_rank, &bad_iteration);
    if (!strcmp(words[i], "--odd-share")) odd = atoi(words[i + 1]);
    if (!strcmp(words[i], "--rotate")) rotate_at = atoi(words[i + 1]);
    if (!strcmp(words[i], "--late")) late = atoi(words[i + 1]);
    if (!strcmp(words[i], "--few-iterations")) sscanf(words[i + 1], "%d:%d", &quits, &ends);
    if (!strcmp(words[i], "--buckets")) buckets = atoi(words[i + 1]);
  }
  if (late == env_rank()) wait_for_input_deck();
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* x = malloc((size_t)share * sizeof(double));
  double* g = malloc((size_t)share * sizeof(double));
  double* trial = malloc((size_t)share * sizeof(double));
  for (int i = 0; i < share; ++i) x[i] = 1.0 + i % 7;
  int iterations = rank == quits ? ends : 400;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    if (rank == bad_rank && iteration == bad_iteration) {
      x[0] = NAN;
      onset();
    }
    iterate(x, g, trial, share);
    if (iteration == rotate_at) {
      onset();
      rotate(x, trial, share);
    }
    if (odd >= 0 && iteration == 100) {
      if (rank == odd) onset();
      sum_histogram(rank == odd ? buckets / 64 : buckets);
    }
  }
  if (rank == quits) onset();
  if (rank == 0) printf("minimize: value %g\n", value(x, share));
  MPI_Finalize();
  return 0;
}
