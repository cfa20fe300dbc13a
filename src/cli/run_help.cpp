#include "cli/run_help.hpp"

namespace muster::cli {

const char* run_footer() {
  return "Without -H, --hostfile or muster.yaml the job runs on this machine. Many flags of "
         "torchrun, mpirun and srun work too; for the others, muster tells you its own flag.\n\n"
         "Exit code: 0 if all ranks succeeded, else that of the first rank that failed (128+N for "
         "signal N); 123 if the checks found an error, 124 if a time limit passed, 125 if a host "
         "was lost or muster failed, 126 or 127 if the program could not be started, 130 after "
         "Ctrl-C. If it is not 0, the last line says whose it is.\n\n"
         "Examples:\n"
         "  muster run -n 2 train.py --epochs 3\n"
         "  muster run -H node1,node2 --nproc-per-node 4 --timeout 2h train.py";
}

}  // namespace muster::cli
