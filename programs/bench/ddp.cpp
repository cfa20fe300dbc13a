#include <nlohmann/json.hpp>

#include "programs/bench/measure.hpp"
#include "programs/bench/modules.hpp"

namespace muster::programs::bench {

void measure_training(const TrainingRequest& request, const Lines& lines) {
  const Training made =
      train(request, [&](const std::string& what, int done, int of, double left_s) {
        lines.progress(what, done, of, left_s);
      });
  lines.print("training", {{"model", request.model},
                           {"backend", request.backend},
                           {"hosts", request.hosts > 0 ? request.hosts : request.world.hosts},
                           {"ranks", request.world.size},
                           {"steps", made.steps},
                           {"samples", made.samples},
                           {"step_s", made.step_s},
                           {"compute_s", made.compute_s},
                           {"backward_s", made.backward_s},
                           {"parameters", made.parameters},
                           {"gradient_bytes", made.gradient_bytes}});
  lines.print("end", Json::object());
}

}  // namespace muster::programs::bench
