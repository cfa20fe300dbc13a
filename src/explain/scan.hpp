// Reads logs of any length in bounded memory, and keeps what may explain a failure: lines that the
// catalogue knows, exceptions, and a few lines that look like errors. Pure but for its state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "explain/matcher.hpp"
#include "explain/parting_words.hpp"
#include "explain/place.hpp"
#include "explain/source_label.hpp"
#include "explain/traceback.hpp"

namespace muster::explain {

// One line that shows a failure of the catalogue.
struct Sighting {
  Place place;
  Origin origin;
  std::string text;                           // printable, without labels
  std::map<std::string, std::string> values;  // by the pattern's names: "port" -> "29500"
};

struct SeenFailure {
  const catalogue::Failure* failure = nullptr;
  std::uint64_t count = 0;           // lines
  std::uint64_t order = 0;           // of the first, among all lines that were read
  std::set<int> ranks = {};          // that printed one
  std::set<std::string> hosts = {};  // likewise
  std::vector<Sighting> first = {};  // of the first few origins
};

struct SeenException {
  Exception exception;  // of the first
  Place place;
  std::uint64_t order = 0;
  std::uint64_t last_order = 0;  // of the last one in the same file
  std::uint64_t count = 0;
  std::set<int> ranks = {};
  std::set<std::string> hosts = {};
  // What the catalogue knows of its message; nullptr: nothing.
  const catalogue::Failure* failure = nullptr;
  std::map<std::string, std::string> values = {};  // by that pattern's names
};

// A line that nothing above explains.
struct Oddity {
  Place place;
  Origin origin;
  std::string text;
  std::uint64_t order = 0;
  std::uint64_t count = 0;  // lines that differ from it in numbers only
};

// How many are chosen.
constexpr std::size_t kShownOddities = 5;
// In the folder of a run, with the standard error of all ranks. It is read first.
constexpr const char* kErrorFile = "err";

struct Evidence {
  std::vector<SeenFailure> failures = {};        // in the order of their first lines
  std::vector<SeenException> exceptions = {};    // likewise
  std::vector<Oddity> oddities = {};             // the rarest and last ones
  std::vector<PartingWords> parting_words = {};  // of ranks whose failure nothing above explains
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

class Scan {
 public:
  // The matcher outlives the scan. `ranks`: how many the job has, 0: unknown.
  explicit Scan(const Matcher& matcher, int ranks = 0);
  ~Scan();

  // What follows belongs to this file. `origin` is who wrote its lines, if they have no label.
  void begin(const std::string& file, const Origin& origin = {}, bool has_labels = true);
  // The next bytes of the file; they may end anywhere.
  void take(std::string_view bytes);
  // A part of the file is left out here. What follows may begin in the middle of a line.
  void skip();
  [[nodiscard]] Evidence finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::explain
