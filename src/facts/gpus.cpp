#include "facts/gpus.hpp"

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

std::string nvidia_model(const std::string& information) {
  const std::string text = read_start(information).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    constexpr std::string_view kModel = "Model:";
    if (line.starts_with(kModel)) return std::string(trimmed(line.substr(kModel.size())));
  }
  return "NVIDIA GPU";
}

}  // namespace

std::vector<std::string> read_gpus(const std::string& nvidia, const std::string& amd) {
  std::vector<std::string> gpus;
  for (const std::string& name : names_in(nvidia)) {
    gpus.push_back(nvidia_model(nvidia + "/" + name + "/information"));
  }
  for (const std::string& node : names_in(amd)) {
    const std::string id = first_line(amd + "/" + node + "/gpu_id");
    if (id.empty() || id == "0") continue;  // a node of processors
    const std::string name = first_line(amd + "/" + node + "/name");
    gpus.push_back(name.empty() ? "AMD GPU" : "AMD " + name);
  }
  return gpus;
}

}  // namespace muster::facts
