#include "torch/model_agreement.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "torch/exchange.hpp"

namespace muster {
namespace {

constexpr size_t kModelsCompared = 8;  // different models, at most; each costs a broadcast
constexpr size_t kLinesShown = 10;

std::string bracketed(at::IntArrayRef numbers) {
  std::ostringstream text;
  text << numbers;
  return text.str();
}

std::string description(const at::Tensor& tensor, bool parameter) {
  if (!tensor.defined()) return "undefined";
  std::string text(c10::getDtypeNames(tensor.scalar_type()).first);
  text += " " + bracketed(tensor.sizes());
  if (tensor.layout() == at::kStrided && !tensor.is_contiguous()) {
    text += " with strides " + bracketed(tensor.strides());
  }
  if (parameter && !tensor.requires_grad()) text += " without gradient";
  return text;
}

int64_t hash(const Manifest& lines) {
  uint64_t value = 14695981039346656037U;  // FNV-1a
  for (const std::string& line : lines) {
    for (const unsigned char c : line + "\n") value = (value ^ c) * 1099511628211U;
  }
  return static_cast<int64_t>(value);
}

bool all_equal(c10d::ProcessGroup& group, int64_t value) {
  // The maximum of ~value belongs to the smallest value, so one reduction finds both extremes.
  std::vector<at::Tensor> extremes{
      at::tensor({value, ~value}, at::TensorOptions(at::kLong).device(device_of(group)))};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  group.allreduce(extremes, options)->wait();
  const at::Tensor found = extremes[0].cpu();
  return found[0].item<int64_t>() == ~found[1].item<int64_t>();
}

Manifest broadcast_lines(c10d::ProcessGroup& group, const Manifest& mine, int root) {
  std::string text;
  for (const std::string& line : mine) text += line + "\n";
  std::istringstream lines(broadcast_text(group, text, root));
  Manifest found;
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  return found;
}

// For example "rank 1" or "ranks 0,2-3".
std::string rank_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (first > 0) text += ",";
    text += std::to_string(ranks[first]);
    if (last > first) text += (last == first + 1 ? "," : "-") + std::to_string(ranks[last]);
    first = last + 1;
  }
  return text;
}

struct Line {
  std::string tensor;
  std::string description;
};

Line split(const std::string& line) {
  const size_t tab = line.find('\t');
  return {line.substr(0, tab), line.substr(tab + 1)};
}

// The tensors of all models, each once, ordered as in the first model that has it.
std::vector<std::string> all_tensors(const std::vector<RankedManifest>& models) {
  std::vector<std::string> names;
  std::map<std::string, bool> seen;
  for (const RankedManifest& model : models) {
    for (const std::string& line : model.lines) {
      if (const auto name = split(line).tensor; !seen[name]) {
        seen[name] = true;
        names.push_back(name);
      }
    }
  }
  return names;
}

struct Variant {
  std::string description;
  std::vector<int> ranks;
};

std::vector<Variant> variants(const std::string& tensor,
                              const std::vector<std::map<std::string, std::string>>& by_name,
                              const std::vector<RankedManifest>& models) {
  std::vector<Variant> found;
  for (size_t i = 0; i < models.size(); ++i) {
    const auto it = by_name[i].find(tensor);
    const std::string text = it == by_name[i].end() ? "absent" : it->second;
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const Variant& v) { return v.description == text; });
    if (same == found.end()) same = found.insert(same, Variant{text, {}});
    same->ranks.insert(same->ranks.end(), models[i].ranks.begin(), models[i].ranks.end());
  }
  return found;
}

// Describes the first difference between models that have the same tensors but registered them in
// different orders. "" if there is none.
std::string order_difference(const std::vector<RankedManifest>& models) {
  for (size_t at = 0; at < models[0].lines.size(); ++at) {
    for (size_t other = 1; other < models.size(); ++other) {
      const std::string first = split(models[0].lines[at]).tensor;
      const std::string second = split(models[other].lines[at]).tensor;
      if (first == second) continue;
      return "\n  number " + std::to_string(at + 1) + " is " + first + " on " +
             rank_text(models[0].ranks) + ", " + second + " on " + rank_text(models[other].ranks) +
             ": the tensors are the same, but they are registered in a different order";
    }
  }
  return "";
}

}  // namespace

Manifest manifest(const std::vector<NamedTensor>& parameters,
                  const std::vector<NamedTensor>& buffers) {
  Manifest lines;
  for (const auto& [name, tensor] : parameters) {
    lines.push_back("parameter " + name + "\t" + description(tensor, true));
  }
  for (const auto& [name, tensor] : buffers) {
    lines.push_back("buffer " + name + "\t" + description(tensor, false));
  }
  return lines;
}

std::string differences(const std::vector<RankedManifest>& models) {
  std::vector<std::map<std::string, std::string>> by_name(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    for (const std::string& line : models[i].lines) {
      const auto [tensor, text] = split(line);
      by_name[i][tensor] = text;
    }
  }
  std::string text;
  size_t count = 0;
  for (const std::string& tensor : all_tensors(models)) {
    const auto found = variants(tensor, by_name, models);
    if (found.size() < 2 || ++count > kLinesShown) continue;
    text += "\n  " + tensor + ":";
    for (size_t i = 0; i < found.size(); ++i) {
      text += (i > 0 ? ", " : " ") + found[i].description + " on " + rank_text(found[i].ranks);
    }
  }
  if (count > kLinesShown) {
    text += "\n  and " + std::to_string(count - kLinesShown) + " more";
  }
  return count > 0 ? text : order_difference(models);
}

void check_agreement(c10d::ProcessGroup& group, const Manifest& mine) {
  const int64_t mine_hashed = hash(mine);
  if (group.getSize() == 1 || all_equal(group, mine_hashed)) return;
  std::map<std::string, std::vector<int>> ranks_of;
  std::vector<std::string> in_order;
  const auto hashes = gather_texts(group, std::to_string(mine_hashed));
  for (int rank = 0; rank < group.getSize(); ++rank) {
    auto& ranks = ranks_of[hashes[rank]];
    if (ranks.empty()) in_order.push_back(hashes[rank]);
    ranks.push_back(rank);
  }
  std::vector<RankedManifest> models;
  for (size_t i = 0; i < std::min(in_order.size(), kModelsCompared); ++i) {
    const auto& ranks = ranks_of[in_order[i]];
    models.push_back({broadcast_lines(group, mine, ranks[0]), ranks});
  }
  std::string text = "DistributedDataParallel: the model is not the same on all ranks:";
  text += differences(models);
  if (in_order.size() > kModelsCompared) {
    text += "\n  and " + std::to_string(in_order.size() - kModelsCompared) +
            " more versions of the model, which were not compared";
  }
  throw std::runtime_error(text + "\n  Build the model with the same arguments on every rank.");
}

}  // namespace muster
