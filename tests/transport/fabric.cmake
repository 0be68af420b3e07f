railwave_test(fabric_thread_test SOURCES fabric_thread_test.cpp ROOMS base transport LABELS fabric)
railwave_test(fabric_memfd_test SOURCES fabric_memfd_test.cpp ROOMS base transport LABELS fabric)
railwave_test(fabric_process_test SOURCES fabric_process_test.cpp ROOMS base transport LABELS fabric)
railwave_test(fabric_segment_test SOURCES fabric_segment_test.cpp ROOMS base transport LABELS fabric)
# The parts behind the fabric have no public header.
target_include_directories(fabric_segment_test PRIVATE ${CMAKE_SOURCE_DIR}/src/transport)
