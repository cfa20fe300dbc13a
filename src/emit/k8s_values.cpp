#include "emit/k8s_values.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace muster::emit {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestTag = 128;
constexpr std::size_t kLongestInterface = 15;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower_or_digit(char c) {
  return is_lower(c) || is_digit(c);
}
bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

// Returns the first character that `is_good` rejects and `others` does not contain; 0 if there is
// none.
template <typename IsGood>
char first_bad(std::string_view text, IsGood is_good, std::string_view others) {
  const auto bad = std::find_if(text.begin(), text.end(), [&](char c) {
    return !is_good(c) && others.find(c) == std::string_view::npos;
  });
  return bad == text.end() ? '\0' : *bad;
}

std::string shown(char c) {
  return printable(std::string_view(&c, 1));
}

Refusal refuse_length(std::string_view text, std::size_t most) {
  if (text.empty()) return "it is empty";
  if (text.size() <= most) return std::nullopt;
  return fmt::format("it has {} characters, and Kubernetes allows {}", text.size(), most);
}

// Whether the first part of an image's name is a registry: HOST or HOST:PORT.
bool is_registry(std::string_view part) {
  return part == "localhost" || part.find_first_of(".:") != std::string_view::npos;
}

Refusal refuse_tag(std::string_view tag) {
  if (tag.empty()) return "nothing follows its ':'";
  if (tag.size() > kLongestTag)
    return fmt::format("its tag has more than {} characters", kLongestTag);
  const char bad = first_bad(tag, is_letter_or_digit, "_.-");
  if (bad != '\0') return fmt::format("its tag has the character '{}'", shown(bad));
  if (tag.front() == '.' || tag.front() == '-') return "its tag begins with '.' or '-'";
  return std::nullopt;
}

Refusal refuse_digest(std::string_view digest) {
  constexpr std::string_view kAlgorithm = "sha256:";
  constexpr std::size_t kDigits = 64;
  const auto is_hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  if (digest.starts_with(kAlgorithm) && digest.size() == kAlgorithm.size() + kDigits &&
      std::all_of(digest.begin() + kAlgorithm.size(), digest.end(), is_hex)) {
    return std::nullopt;
  }
  return "what follows its '@' is not sha256: and 64 hexadecimal digits";
}

Refusal refuse_repository(std::string_view repository) {
  bool is_first = true;
  while (true) {
    const std::size_t slash = repository.find('/');
    const std::string_view part = repository.substr(0, slash);
    const bool is_last = slash == std::string_view::npos;
    if (part.empty()) return "a part of its path is empty";
    const bool is_host = is_first && !is_last && is_registry(part);
    const char bad = is_host ? first_bad(part, is_letter_or_digit, ".:-")
                             : first_bad(part, is_lower_or_digit, "._-");
    if (is_letter(bad)) {
      return fmt::format("'{}' has capital letters, which only its tag may have", printable(part));
    }
    if (bad != '\0') return fmt::format("it has the character '{}'", shown(bad));
    if (!is_letter_or_digit(part.front()) || !is_letter_or_digit(part.back())) {
      return fmt::format("'{}' does not begin and end with a letter or digit", printable(part));
    }
    if (is_last) return std::nullopt;
    repository.remove_prefix(slash + 1);
    is_first = false;
  }
}

Refusal refuse_network(std::string_view one) {
  const std::size_t at = one.find('@');
  if (at != std::string_view::npos) {
    if (auto bad = refuse_interface(one.substr(at + 1))) return bad;
  }
  std::string_view name = one.substr(0, at);
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    if (auto bad = refuse_label(name.substr(0, slash))) return bad;
    name.remove_prefix(slash + 1);
  }
  return refuse_subdomain(name);
}

}  // namespace

Refusal refuse_label(std::string_view name) {
  if (auto bad = refuse_length(name, kLongestLabel)) return bad;
  const char bad = first_bad(name, is_lower_or_digit, "-");
  if (bad != '\0') {
    return fmt::format("it has the character '{}'; Kubernetes allows a-z, 0-9 and '-'", shown(bad));
  }
  if (name.front() == '-' || name.back() == '-') return "it begins or ends with '-'";
  return std::nullopt;
}

Refusal refuse_service_name(std::string_view name) {
  if (auto bad = refuse_label(name)) return bad;
  if (is_digit(name.front()))
    return "it begins with a digit; it also names a service, and Kubernetes wants a letter there";
  return std::nullopt;
}

Refusal refuse_subdomain(std::string_view name, std::size_t most) {
  if (auto bad = refuse_length(name, most)) return bad;
  while (true) {
    const std::size_t dot = name.find('.');
    if (auto bad = refuse_label(name.substr(0, dot))) return bad;
    if (dot == std::string_view::npos) return std::nullopt;
    name.remove_prefix(dot + 1);
  }
}

Refusal refuse_image(std::string_view image) {
  if (image.empty()) return "it is empty";
  const std::size_t at = image.find('@');
  if (at != std::string_view::npos) {
    if (auto bad = refuse_digest(image.substr(at + 1))) return bad;
    image = image.substr(0, at);
  }
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos) {
    if (auto bad = refuse_tag(image.substr(colon + 1))) return bad;
    image = image.substr(0, colon);
  }
  return refuse_repository(image);
}

Refusal refuse_resource_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    return "it has no '/'; resources of devices are named DOMAIN/NAME, such as nvidia.com/gpu";
  }
  const std::string_view domain = name.substr(0, slash);
  const std::string_view own = name.substr(slash + 1);
  if (auto bad = refuse_subdomain(domain)) return bad;
  if (domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")) {
    return "kubernetes.io is reserved for Kubernetes itself";
  }
  if (auto bad = refuse_length(own, kLongestLabel)) return bad;
  const char bad = first_bad(own, is_letter_or_digit, "-_.");
  if (bad != '\0') return fmt::format("it has the character '{}'", shown(bad));
  if (!is_letter_or_digit(own.front()) || !is_letter_or_digit(own.back())) {
    return "its name does not begin and end with a letter or digit";
  }
  return std::nullopt;
}

Refusal refuse_variable_name(std::string_view name) {
  if (name.empty()) return "it has no name before '='";
  const char bad = first_bad(name, is_letter_or_digit, "_");
  if (bad != '\0' || is_digit(name.front())) {
    return "names of variables have letters, digits and '_', and begin with no digit";
  }
  constexpr std::array kOurs = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"};
  if (name.starts_with("PET_") || std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end()) {
    return "it tells muster which pod it is in, and is set for each pod";
  }
  return std::nullopt;
}

Refusal refuse_mount_path(std::string_view path) {
  if (!path.starts_with('/')) return "the path in the container does not begin with '/'";
  if (path == "/") return "a volume cannot replace the whole file system of the container";
  if (path.find(':') != std::string_view::npos) return "the path in the container has a ':'";
  return refuse_text(path);
}

Refusal refuse_networks(std::string_view list) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (auto bad = refuse_network(list.substr(0, comma))) return bad;
    if (comma == std::string_view::npos) return std::nullopt;
    list.remove_prefix(comma + 1);
  }
}

Refusal refuse_interface(std::string_view name) {
  if (name.empty()) return "the name of the interface is empty";
  if (name.size() > kLongestInterface) {
    return fmt::format("Linux allows {} characters in the name of an interface", kLongestInterface);
  }
  const char bad = first_bad(name, is_letter_or_digit, "-_.");
  if (bad != '\0') return fmt::format("it has the character '{}'", shown(bad));
  return std::nullopt;
}

Refusal refuse_text(std::string_view text) {
  std::string without_tabs(text);
  std::replace(without_tabs.begin(), without_tabs.end(), '\t', ' ');
  if (printable_lines(without_tabs) == without_tabs) return std::nullopt;
  return "it has control characters or is not UTF-8, which YAML cannot carry";
}

}  // namespace muster::emit
