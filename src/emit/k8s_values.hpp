// Checks whether Kubernetes accepts names, images and paths. Each function returns nothing if the
// text is valid, otherwise the reason why Kubernetes would reject it, as the end of a sentence.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::emit {

using Refusal = std::optional<std::string>;

// Accepts a DNS label that begins with a letter, as required for services.
[[nodiscard]] Refusal refuse_service_name(std::string_view name);
// Accepts a DNS label, as required for namespaces: at most 63 of a-z, 0-9 and '-'.
[[nodiscard]] Refusal refuse_label(std::string_view name);
// Accepts DNS labels joined by dots, at most `most` characters.
[[nodiscard]] Refusal refuse_subdomain(std::string_view name, std::size_t most = 253);
// Accepts REPOSITORY[:TAG][@DIGEST].
[[nodiscard]] Refusal refuse_image(std::string_view image);
// Accepts VENDOR-DOMAIN/NAME, the form of device plugins' resources.
[[nodiscard]] Refusal refuse_resource_name(std::string_view name);
[[nodiscard]] Refusal refuse_variable_name(std::string_view name);
[[nodiscard]] Refusal refuse_mount_path(std::string_view path);
// Accepts the value of Multus' annotation: [NAMESPACE/]NAME[@INTERFACE], separated by commas.
[[nodiscard]] Refusal refuse_networks(std::string_view list);
[[nodiscard]] Refusal refuse_interface(std::string_view name);
// Accepts text that YAML can contain: UTF-8 without control characters, except newlines and tabs.
[[nodiscard]] Refusal refuse_text(std::string_view text);

}  // namespace muster::emit
