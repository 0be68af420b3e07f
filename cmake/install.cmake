# What `cmake --install` puts in place: the command with its tables, the C library for pkg-config and
# CMake, and the C++ interface as a static library (component cpp). docs/c_api.md shows the use.
include(CMakePackageConfigHelpers)

# The rooms behind the C++ headers in one archive.
set(rooms base model plan select sched transport exec comm)
add_library(railwave_cpp STATIC)
foreach(room IN LISTS rooms)
  target_sources(railwave_cpp PRIVATE $<TARGET_OBJECTS:railwave_${room}>)
endforeach()
set_target_properties(railwave_cpp PROPERTIES EXPORT_NAME cpp LINKER_LANGUAGE CXX
                      ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_compile_features(railwave_cpp INTERFACE cxx_std_20)
target_include_directories(railwave_cpp INTERFACE
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/railwave/rooms>)
target_link_libraries(railwave_cpp PUBLIC tl::expected Boost::headers
                      PRIVATE fmt::fmt Threads::Threads PkgConfig::ucx PkgConfig::xxhash)

install(TARGETS railwave RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS railwave_c EXPORT railwave LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS railwave_cpp EXPORT railwave_cpp ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/railwave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The rooms that decide, as functions; base/memory.hpp is all that their headers need of others.
foreach(room model plan select)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/${room}/include/${room}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/railwave/rooms)
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/src/base/include/base/memory.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/railwave/rooms/base)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/share/railwave DESTINATION ${CMAKE_INSTALL_DATADIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/railwave)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/railwave)
foreach(part railwave railwave_cpp)
  install(EXPORT ${part} FILE ${part}-targets.cmake NAMESPACE railwave:: DESTINATION ${package_dir})
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/railwaveConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/package/railwaveConfig.cmake
                              INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor release may change the interface.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/railwaveConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/railwaveConfig.cmake
        ${CMAKE_BINARY_DIR}/package/railwaveConfigVersion.cmake DESTINATION ${package_dir})

# Relative to the .pc file, so that an installed tree can be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_PREFIX}/${pc_dir} ${CMAKE_INSTALL_PREFIX}/)
configure_file(${CMAKE_CURRENT_LIST_DIR}/railwave.pc.in ${CMAKE_BINARY_DIR}/package/railwave.pc
               @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/railwave.pc DESTINATION ${pc_dir})
