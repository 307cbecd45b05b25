/* Repeats an all-reduce of 256 floats as often as asked, to measure its cost under SimGrid's SMPI.
 * MPI_Wtime is simulated time there. So the caller takes the wall time of the whole process, for
 * two numbers of repetitions. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 256 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  long repetitions = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  float mine[COUNT];
  float sum[COUNT];
  for (int i = 0; i < COUNT; ++i) mine[i] = (float)(rank + i);
  for (long i = 0; i < repetitions; ++i)
    MPI_Allreduce(mine, sum, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);

  float expected = (float)ranks * (float)(ranks - 1) / 2;
  int wrong = repetitions > 0 && sum[0] != expected;
  if (wrong) fprintf(stderr, "rank %d: expected a sum of %g, got %g\n", rank, expected, sum[0]);
  MPI_Finalize();
  return wrong;
}
