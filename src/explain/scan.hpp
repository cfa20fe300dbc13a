// Reads logs of any length in bounded memory, and keeps what may explain a failure: lines that the
// catalogue knows, exceptions, and a few lines that look like errors. Pure, apart from its state.
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

// A log line that matches a pattern of one of the catalogue's failures.
struct Sighting {
  Place place;
  Origin origin;
  std::string text;  // printable, without labels
  // Values of the pattern's named groups: "port" -> "29500".
  std::map<std::string, std::string> values;
};

struct SeenFailure {
  const catalogue::Failure* failure = nullptr;
  std::uint64_t count = 0;           // number of lines
  std::uint64_t order = 0;           // position of the first line among all lines that were read
  std::set<int> ranks = {};          // ranks that printed such a line
  std::set<std::string> hosts = {};  // hosts that printed such a line
  std::vector<Sighting> first = {};  // one line for each of the first few origins
};

struct SeenException {
  Exception exception;  // the first of equal exceptions
  Place place;
  std::uint64_t order = 0;
  std::uint64_t last_order = 0;  // position of the last equal one in the file
  std::uint64_t count = 0;
  std::set<int> ranks = {};
  std::set<std::string> hosts = {};
  // The failure that the message shows; nullptr if the catalogue does not know it.
  const catalogue::Failure* failure = nullptr;
  // Values of the named groups in that failure's pattern.
  std::map<std::string, std::string> values = {};
};

// An unusual line that neither a failure nor an exception explains.
struct Oddity {
  Place place;
  Origin origin;
  std::string text;
  std::uint64_t order = 0;
  std::uint64_t count = 0;  // lines that differ from it only in numbers
};

// How many unusual lines an explanation shows.
constexpr std::size_t kShownOddities = 5;
// The file in a run's folder with the standard error of all ranks. It is read first.
constexpr const char* kErrorFile = "err";

struct Evidence {
  std::vector<SeenFailure> failures = {};        // in the order of their first lines
  std::vector<SeenException> exceptions = {};    // in the order in which they were first raised
  std::vector<Oddity> oddities = {};             // the rarest ones; of those, the last
  std::vector<PartingWords> parting_words = {};  // of ranks whose failure nothing else explains
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
};

class Scan {
 public:
  // The matcher must outlive the scan. `ranks` is the size of the job, or 0 if unknown.
  explicit Scan(const Matcher& matcher, int ranks = 0);
  ~Scan();

  // Begins a file. `origin` is assumed for lines without a label.
  void begin(const std::string& file, const Origin& origin = {}, bool has_labels = true);
  // Takes the next bytes of the file, which may end in the middle of a line.
  void take(std::string_view bytes);
  // Tells the scan that a part of the file is left out. The next bytes may begin in the middle of a
  // line.
  void skip();
  [[nodiscard]] Evidence finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::explain
