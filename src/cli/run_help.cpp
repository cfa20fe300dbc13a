#include "cli/run_help.hpp"

namespace muster::cli {

const char* run_footer() {
  return "Without -H, --hostfile or muster.yaml the job runs on this machine. Many flags of "
         "torchrun, mpirun and srun work too; for the others, muster tells you its own flag.\n\n"
         "Exit code: 0 if all ranks succeeded; if one failed, the exit code of the first that did "
         "(128+N for signal N). It is 123 if the checks found an error, 124 if a time limit "
         "passed, 125 if a host was lost or muster failed, 126 or 127 if the program could not be "
         "started, and 130 after Ctrl-C. If it is not 0, the last line says where it comes "
         "from.\n\n"
         "Examples:\n"
         "  muster run -n 2 train.py --epochs 3\n"
         "  muster run -H node1,node2 --nproc-per-node 4 --timeout 2h train.py";
}

}  // namespace muster::cli
