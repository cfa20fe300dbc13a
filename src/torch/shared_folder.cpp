#include "torch/shared_folder.hpp"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include <unistd.h>

#include "torch/durable_file.hpp"
#include "torch/exchange.hpp"

namespace muster {
namespace {

// The lowest rank whose probe file is in the folder; -1 if there is none.
int lowest_seen(const std::string& folder, const std::string& prefix) {
  int lowest = -1;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const int rank = std::stoi(name.substr(prefix.size()));
    if (lowest < 0 || rank < lowest) lowest = rank;
  }
  return lowest;
}

// Removes the file on destruction.
class ProbeFile {
 public:
  explicit ProbeFile(std::string path) : path_(std::move(path)) {}
  ~ProbeFile() { ::unlink(path_.c_str()); }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  void write() const { NewFile(path_).sync(); }

 private:
  std::string path_;
};

}  // namespace

std::vector<int> find_folder_mates(const Job& job, c10d::ProcessGroup& group,
                                   const std::string& folder, const std::string& mark) {
  const std::string prefix = kProbePrefix + mark + "-";
  const ProbeFile own(folder + "/" + prefix + std::to_string(job.rank));
  act_together(group, [&] {
    make_folder(folder);
    if (job.local_rank == 0) own.write();
  });
  int lowest = -1;
  act_together(group, [&] {
    lowest = lowest_seen(folder, prefix);
    if (lowest < 0) {
      throw std::runtime_error(
          folder + ": a file that the first rank of this host wrote is not visible here");
    }
  });
  std::vector<int> mates;
  for (const std::string& text : gather_texts(group, std::to_string(lowest))) {
    mates.push_back(std::stoi(text));
  }
  return mates;
}

}  // namespace muster
