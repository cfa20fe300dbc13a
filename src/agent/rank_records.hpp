// The records that the shims of one run write, read as they come.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "agent/record.hpp"
#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

class RankRecords {
 public:
  // Watches the run's folder from now on.
  [[nodiscard]] Result<void> watch(const std::string& folder);

  // Readable when there may be news.
  [[nodiscard]] int descriptor() const { return inotify_.get(); }

  // The events that are new since the last call, in the order of each rank's file.
  [[nodiscard]] std::vector<Event> news();

 private:
  struct File {
    std::size_t read = 0;  // bytes of whole lines
  };

  void drain_notices();
  void read_new_lines(const std::string& name, File& file, std::vector<Event>& events) const;

  std::string folder_;
  sys::Fd inotify_;
  std::map<std::string, File> files_;
};

}  // namespace muster::agent
