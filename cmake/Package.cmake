# Lets programs find the installed libmuster, with find_package(Muster COMPONENTS torch mpi) or pkg-config's muster. Both
# still work after the folder was moved. `cmake --install BUILD --component libmuster` installs without the command.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Each MPI ABI has a plugin, which libmuster loads.
set(muster_mpi_plugins "")
foreach(plugin muster_mpi_openmpi muster_mpi_mpich)
  if(TARGET ${plugin})
    list(APPEND muster_mpi_plugins ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/muster COMPONENT libmuster)
  endif()
endforeach()

set(muster_package ${CMAKE_INSTALL_LIBDIR}/cmake/Muster)
string(REGEX REPLACE "\\.[0-9]+$" "" muster_pytorch_minor ${muster_pytorch_version})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/MusterConfig.cmake.in ${PROJECT_BINARY_DIR}/MusterConfig.cmake
  INSTALL_DESTINATION ${muster_package} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR muster_torch_installed)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MusterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MusterConfig.cmake ${PROJECT_BINARY_DIR}/MusterConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/PyTorch.cmake DESTINATION ${muster_package} COMPONENT libmuster)

file(RELATIVE_PATH muster_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" muster_prefix_from_pc ${muster_prefix_from_pc})
set(muster_torch_from_pc ${muster_torch_installed})
if(NOT IS_ABSOLUTE ${muster_torch_installed})
  set(muster_torch_from_pc "\${prefix}/${muster_torch_installed}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/muster.pc.in ${PROJECT_BINARY_DIR}/muster.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/muster.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libmuster)
