/* The library libgrid.so that the program heat needs. */
#include "grid.h"
int grid_left(int rank, int ranks) { return (rank + ranks - 1) % ranks; }
int grid_right(int rank, int ranks) { return (rank + 1) % ranks; }
