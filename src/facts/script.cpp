#include "facts/script.hpp"

#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "facts/python_imports.hpp"
#include "sys/file.hpp"
#include "sys/hash.hpp"

namespace muster::facts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // for all files together

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

bool is_folder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(path, failed);
}

// Reads files in one folder and follows their imports. All paths are relative to the folder.
class Reader {
 public:
  Reader(fs::path folder, Script& script) : folder_(std::move(folder)), script_(script) {}

  void add(const fs::path& file) {
    if (script_.files.contains(file.native())) return;
    if (script_.files.size() >= kMostFiles) {
      script_.complete = false;
      return;
    }
    if (leads_out(file)) return;
    script_.files.emplace(file.native(), "");
    to_read_.push_back(file);
  }

  // Adds the files that `import a.b.c` loads, searching from `base`, and those of `names` that are
  // modules. Returns whether the last part was found.
  bool add_module(fs::path base, std::span<const std::string> parts,
                  std::span<const std::string> names) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const fs::path module = base / (parts[i] + ".py");
      base /= parts[i];
      if (is_file(folder_ / base / "__init__.py")) {
        add(base / "__init__.py");
      } else if (is_file(folder_ / module)) {
        add(module);
        return i + 1 == parts.size();
      } else if (!is_folder(folder_ / base)) {
        return false;
      }
    }
    for (const std::string& name : names) add_module(base, {&name, 1}, {});
    return true;
  }

  // Reads all added files and, recursively, the files that they import.
  void follow() {
    while (!to_read_.empty()) {
      const fs::path file = std::move(to_read_.back());
      to_read_.pop_back();
      const std::size_t left = kMostBytes - bytes_;
      std::error_code failed;
      if (fs::file_size(folder_ / file, failed) > left && !failed) {
        script_.files.erase(file.native());
        script_.complete = false;
        continue;
      }
      const auto text = sys::read_file(folder_ / file, left);
      if (!text) continue;
      bytes_ += text->size();
      script_.files[file.native()] = sys::hash_text(*text);
      follow_imports(file, *text);
    }
  }

 private:
  [[nodiscard]] bool leads_out(const fs::path& file) const {
    std::error_code failed;
    const fs::path real = fs::canonical(folder_ / file, failed);
    return failed || *real.lexically_relative(folder_).begin() == "..";
  }

  void follow_imports(const fs::path& file, std::string_view text) {
    for (const Import& one : python_imports(text)) {
      fs::path base;
      if (one.dots > 0) {
        base = file.parent_path();
        int above = one.dots - 1;
        for (; above > 0 && !base.empty(); --above) base = base.parent_path();
        if (above > 0) continue;
      }
      add_module(base, one.module, one.names);
    }
  }

  fs::path folder_;  // canonical
  Script& script_;
  std::vector<fs::path> to_read_;
  std::size_t bytes_ = 0;
};

void read_module(const fs::path& folder, Script& script) {
  const std::vector<std::string> parts = module_parts(script.name);
  const std::string main = "__main__";
  Reader reader(folder, script);
  if (parts.empty() || !reader.add_module("", parts, {&main, 1})) return;
  script.path = folder;
  reader.follow();
}

}  // namespace

Script read_script(const std::string& name, bool is_module, const std::string& folder) {
  Script script{.name = name};
  std::error_code failed;
  if (is_module) {
    const fs::path real = fs::canonical(folder, failed);
    if (!failed) read_module(real, script);
    return script;
  }
  fs::path path = fs::path(folder) / name;
  if (is_folder(path)) path /= "__main__.py";
  const fs::path real = fs::canonical(path, failed);
  if (failed || !is_file(real)) return script;
  script.path = path;
  // If the script is a link, Python looks for modules next to the link's target.
  Reader reader(real.parent_path(), script);
  reader.add(real.filename());
  reader.follow();
  auto own = script.files.extract(real.filename().native());
  if (!own.empty()) {
    own.key() = path.filename().native();
    script.files.insert(std::move(own));
  }
  return script;
}

}  // namespace muster::facts
