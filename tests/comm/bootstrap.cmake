railwave_test(bootstrap_environment_test SOURCES bootstrap_environment_test.cpp
              ROOMS base comm LIBRARIES PkgConfig::xxhash)
railwave_test(bootstrap_thread_test SOURCES bootstrap_thread_test.cpp ROOMS base comm
              LABELS loopback)
railwave_test(bootstrap_tcp_test SOURCES bootstrap_tcp_test.cpp ROOMS base comm LIBRARIES fmt::fmt
              LABELS loopback)
railwave_test(bootstrap_strangers_test SOURCES bootstrap_strangers_test.cpp
              ROOMS base comm LIBRARIES fmt::fmt LABELS loopback)
railwave_test(bootstrap_wire_test SOURCES bootstrap_wire_test.cpp ROOMS base comm LABELS loopback)
# The parts behind the bootstrap have no public header.
target_include_directories(bootstrap_wire_test PRIVATE ${CMAKE_SOURCE_DIR}/src/comm)
