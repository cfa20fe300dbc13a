#include "inspect/stack_texts.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::inspect {
namespace {

constexpr std::size_t kLongestText = 400;
constexpr std::size_t kLongestFunction = 120;
constexpr std::size_t kLongestSignature = std::size_t{64} << 10;

std::string shown(std::string_view text) {
  return printable(text.substr(0, kLongestText));
}

std::string string_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  return shown(found->get_ref<const std::string&>());
}

std::int64_t integer_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  const auto value = found->get<std::uint64_t>();
  return value > INT32_MAX ? 0 : static_cast<std::int64_t>(value);
}

// Parses "  File "/a/train.py", line 57 in load_shard".
std::optional<Frame> parse_python_line(std::string_view line) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  constexpr std::string_view kIn = " in ";
  if (!line.starts_with(kFile)) return std::nullopt;
  line.remove_prefix(kFile.size());
  // Searches from the right, because the name of a file may contain anything.
  const std::size_t file_end = line.rfind(kLine);
  if (file_end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(file_end + kLine.size());
  const std::size_t in = rest.find(kIn);
  if (in == std::string_view::npos) return std::nullopt;
  return Frame{.function = shown(rest.substr(in + kIn.size())),
               .file = shown(line.substr(0, file_end)),
               .line = std::max(0, facts::number<int>(rest.substr(0, in)).value_or(0))};
}

bool begins_thread(std::string_view line) {
  return (line.starts_with("Thread 0x") || line.starts_with("Current thread 0x")) &&
         line.find("most recent call first") != std::string_view::npos;
}

// Parses "#3  0x00007f453856984b c10d::Work::wait(...)". The name may be missing.
std::optional<Frame> parse_native_line(std::string_view line) {
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_of(" \t"), line.size()));
  line = facts::trimmed(line);
  if (!line.starts_with("0x")) return std::nullopt;
  line.remove_prefix(std::min(line.find(' '), line.size()));
  line = facts::trimmed(line);
  return Frame{.function = line.empty() ? "?" : short_function(line)};
}

// The position after the bracket that closes the one at `from`. Inside parentheses, '<' and '>' may
// be operators.
std::size_t behind_bracket(std::string_view text, std::size_t from) {
  std::string open;
  for (std::size_t i = from; i < text.size(); ++i) {
    const bool is_arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
    if (text[i] == '<' || text[i] == '(') open += text[i];
    if (text[i] == '>' && !is_arrow && open.back() == '<') open.pop_back();
    if (text[i] == ')') open.resize(std::min(open.rfind('('), open.size() - 1));
    if (open.empty()) return i + 1;
  }
  return text.size();
}

// The position after the name of the operator at `from`. Its '<' and '(' are not brackets.
std::size_t behind_operator(std::string_view text, std::size_t from) {
  constexpr std::string_view kSigns = "<>=!+-*/%^&|~[],";
  std::size_t end = from + std::string_view("operator").size();
  if (text.substr(end).starts_with("()")) return end + 2;
  while (end < text.size() && kSigns.find(text[end]) != std::string_view::npos) ++end;
  return end;
}

bool is_word_start(std::string_view text, std::size_t at) {
  return at == 0 || text[at - 1] == ' ' || text[at - 1] == ':';
}

// Files of the standard library and of packages. Some tools give such a file only relative to the
// folder in which Python found it.
constexpr auto kStandardFiles = std::to_array<std::string_view>(
    {"threading.py",  "queue.py",     "selectors.py",   "subprocess.py", "socket.py",
     "ssl.py",        "pdb.py",       "bdb.py",         "cmd.py",        "runpy.py",
     "contextlib.py", "functools.py", "genericpath.py", "posixpath.py",  "os.py",
     "pathlib.py",    "random.py",    "pickle.py",      "gzip.py",       "zipfile.py",
     "tarfile.py",    "shutil.py",    "csv.py",         "tempfile.py",   "signal.py",
     "code.py",       "codecs.py",    "copy.py",        "glob.py",       "fnmatch.py",
     "inspect.py",    "traceback.py", "_bootstrap.py"});
constexpr auto kPackages = std::to_array<std::string_view>(
    {"torch/",      "torchvision/", "numpy/",        "multiprocessing/", "concurrent/",
     "asyncio/",    "importlib/",   "json/",         "logging/",         "email/",
     "http/",       "urllib/",      "muster_torch/", "mpi4py/",          "pandas/",
     "scipy/",      "PIL/",         "transformers/", "datasets/",        "lightning/",
     "accelerate/", "filelock/",    "encodings/",    "collections/",     "ctypes/"});
}  // namespace

std::vector<Frame> parse_pyspy(std::string_view json, pid_t pid) {
  const auto threads = parse_json(json, {.bytes = std::size_t{8} << 20, .depth = 16});
  std::vector<Frame> frames;
  if (!threads || !threads->is_array()) return frames;
  for (const auto& thread : *threads) {
    if (!thread.is_object() || integer_member(thread, "os_thread_id") != pid) continue;
    const auto list = thread.find("frames");
    if (list == thread.end() || !list->is_array()) continue;
    for (const auto& frame : *list) {
      if (!frame.is_object() || frames.size() == kMostFrames) break;
      frames.push_back({.function = string_member(frame, "name"),
                        .file = string_member(frame, "filename"),
                        .line = static_cast<int>(integer_member(frame, "line"))});
    }
    return frames;
  }
  return frames;
}

std::vector<Frame> parse_faulthandler(std::string_view text) {
  std::vector<Frame> frames;
  for (const std::string_view line : facts::split(text, '\n')) {
    if (begins_thread(line)) frames.clear();
    const auto frame = parse_python_line(line);
    if (frame && frames.size() < kMostFrames) frames.push_back(*frame);
  }
  return frames;
}

std::vector<Frame> parse_eu_stack(std::string_view text) {
  std::vector<Frame> frames;
  for (const std::string_view line : facts::split(text, '\n')) {
    const auto frame = parse_native_line(line);
    if (frame && frames.size() < kMostFrames) frames.push_back(*frame);
  }
  return frames;
}

std::string short_function(std::string_view demangled) {
  constexpr std::string_view kNoName = "(anonymous namespace)";
  demangled = demangled.substr(0, std::min(demangled.find('@'), kLongestSignature));
  std::string kept;
  for (std::size_t i = 0; i < demangled.size();) {
    const std::string_view rest = demangled.substr(i);
    if (rest.starts_with(kNoName)) {
      kept += "{anonymous}";
      i += kNoName.size();
    } else if (rest.starts_with("operator") && is_word_start(demangled, i)) {
      const std::size_t end = behind_operator(demangled, i);
      kept += demangled.substr(i, end - i);
      i = end;
    } else if (rest.starts_with(" [")) {  // such as "[clone .cold]"
      break;
    } else if (rest.front() == '<') {
      i = behind_bracket(demangled, i);
    } else if (rest.front() == '(') {
      i = behind_bracket(demangled, i);
      // A function nested in this one may follow. Ignore everything else, such as "const".
      const std::size_t inner = demangled.substr(i).find("::");
      const std::size_t blank = demangled.substr(i).find_first_of(" [<(");
      if (inner == 0 || (inner != std::string_view::npos && inner < blank)) continue;
      if (!demangled.substr(i).starts_with('#')) break;
    } else {
      kept += rest.front();
      ++i;
    }
  }
  kept = facts::trimmed(kept);
  // The name of a template is preceded by its return type.
  const std::size_t blank = kept.rfind(' ', kept.find("operator"));
  if (blank != std::string::npos) kept.erase(0, blank + 1);
  if (kept.empty()) return "?";
  return printable(std::string_view(kept).substr(0, kLongestFunction));
}

bool is_of_library(std::string_view file) {
  if (file.empty() || file == "???") return true;
  // Code of `python -c` belongs to the user. "<frozen os>" and "<__array_function__ internals>" do
  // not.
  if (file.starts_with('<')) return file != "<string>" && file != "<stdin>";
  for (const std::string_view part :
       {"/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3", "/lib/pypy3"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  if (std::ranges::find(kStandardFiles, file) != std::end(kStandardFiles)) return true;
  return std::ranges::any_of(kPackages,
                             [&](std::string_view package) { return file.starts_with(package); });
}

std::string users_place(std::span<const Frame> frames) {
  for (const Frame& frame : frames) {
    if (is_of_library(frame.file)) continue;
    return fmt::format("{}:{} {}", frame.file.substr(frame.file.rfind('/') + 1), frame.line,
                       frame.function);
  }
  return {};
}

}  // namespace muster::inspect
