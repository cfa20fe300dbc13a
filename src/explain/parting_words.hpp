// The last line that each rank printed before it called MPI_Abort or ended. In this line, programs
// say why they give up, in words that no catalogue can contain. Pure, apart from its state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "explain/place.hpp"
#include "explain/source_label.hpp"

namespace muster::explain {

struct PartingWords {
  Place place;
  Origin origin;
  std::string text;
  std::uint64_t order = 0;    // position among all lines that were read
  bool before_abort = false;  // the rank called MPI_Abort right after it
  bool is_labelled = true;    // false: another rank may have printed it
};

class PartingWordsOfRanks {
 public:
  // What the catalogue knows about a line.
  enum class Meaning {
    kUnknown,
    kHarmless,
    kCause,        // explains the end of this rank
    kConsequence,  // this rank failed because of another one
  };
  void take(const Origin& origin, std::string_view text, Meaning meaning, const Place& place,
            std::uint64_t order);
  // Takes a line that says that a rank called MPI_Abort: `rank`, or if the line does not name it
  // (-1), the rank of `origin`. If both are unknown, it is whoever printed the last line without a
  // label.
  void take_abort(const Origin& origin, int rank);
  // Ends a file. Ranks that printed something in it are ignored in later files: stderr is read
  // first and says more about failures than stdout.
  void end_file();
  // Returns the last lines of ranks whose end nothing else explains, in the order in which they
  // were read. Resets this object.
  [[nodiscard]] std::vector<PartingWords> finish();

 private:
  struct Seen {
    PartingWords last;  // has an empty text if there is no line yet
    bool is_explained = false;
    bool is_over = false;  // ignore further lines
  };
  Seen* seen_of(const Origin& origin);

  std::map<int, Seen> of_ranks_;
  std::map<std::string, Seen> of_nobody_;    // lines that name no rank, by host
  std::vector<PartingWords> before_aborts_;  // such lines of earlier files
};

}  // namespace muster::explain
