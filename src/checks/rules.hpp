// The rules, each of which finds one kind of trouble; judge.cpp has the list. None is quadratic in
// hosts.
#pragma once

#include <vector>

#include "checks/finding.hpp"

namespace muster::checks {

using Findings = std::vector<Finding>;

[[nodiscard]] Findings find_unreachable(const Scene& scene);
[[nodiscard]] Findings find_ssh_modes(const Scene& scene);

[[nodiscard]] Findings find_own_name(const Scene& scene);
[[nodiscard]] Findings find_no_subnet(const Scene& scene);
[[nodiscard]] Findings find_no_way_back(const Scene& scene);
[[nodiscard]] Findings find_interfaces(const Scene& scene);
[[nodiscard]] Findings find_interface_variables(const Scene& scene);
[[nodiscard]] Findings find_same_address(const Scene& scene);
[[nodiscard]] Findings find_port(const Scene& scene);
[[nodiscard]] Findings find_rdma(const Scene& scene);

[[nodiscard]] Findings find_engine(const Scene& scene);
[[nodiscard]] Findings find_libmpi(const Scene& scene);
[[nodiscard]] Findings find_torch(const Scene& scene);
[[nodiscard]] Findings find_program(const Scene& scene);
[[nodiscard]] Findings find_script(const Scene& scene);
[[nodiscard]] Findings find_folder(const Scene& scene);
[[nodiscard]] Findings find_activation(const Scene& scene);
[[nodiscard]] Findings find_environment(const Scene& scene);

[[nodiscard]] Findings find_cpu(const Scene& scene);
[[nodiscard]] Findings find_oversubscription(const Scene& scene);
[[nodiscard]] Findings find_shm(const Scene& scene);
[[nodiscard]] Findings find_nofile(const Scene& scene);
[[nodiscard]] Findings find_memlock(const Scene& scene);
[[nodiscard]] Findings find_clock(const Scene& scene);
[[nodiscard]] Findings find_not_seen(const Scene& scene);

}  // namespace muster::checks
