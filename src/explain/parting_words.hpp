// What each rank printed last, before it called MPI_Abort or ended: there, programs say why they
// give up, in words that no catalogue can know. Pure but for its state.
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
  std::uint64_t order = 0;    // among all lines that were read
  bool before_abort = false;  // the rank then called MPI_Abort
  bool is_labelled = true;    // else another rank may have printed them
};

class PartingWordsOfRanks {
 public:
  // What the catalogue says of a line.
  enum class Meaning {
    kUnknown,
    kHarmless,
    kCause,        // nothing else need be said of this rank
    kConsequence,  // the rank failed because of another
  };
  void take(const Origin& origin, std::string_view text, Meaning meaning, const Place& place,
            std::uint64_t order);
  // "MPI_Abort was called": by the rank that the line names (-1: it names none), or else by the
  // one that printed the line before.
  void take_abort(const Origin& origin, int rank);
  // A rank that has said something in this file is not listened to in later ones: its stderr, which
  // is read first, tells more than its stdout.
  void end_file();
  // Those of ranks that nothing else explains, in the order of the lines. Forgets everything.
  [[nodiscard]] std::vector<PartingWords> finish();

 private:
  struct Seen {
    PartingWords last;  // text empty: none
    bool is_explained = false;
    bool is_over = false;  // takes no more words
  };
  Seen* seen_of(const Origin& origin);

  std::map<int, Seen> of_ranks_;
  std::map<std::string, Seen> of_nobody_;    // by host: lines that name no rank
  std::vector<PartingWords> before_aborts_;  // of such lines, in earlier files
};

}  // namespace muster::explain
