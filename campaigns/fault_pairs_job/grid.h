int grid_left(int rank, int ranks);
int grid_right(int rank, int ranks);
