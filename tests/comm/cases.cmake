# The cases' bodies and their two ways to run, each once.
add_library(comm_cases STATIC cases/rank.cpp cases/step.cpp cases/token_cases.cpp
            cases/handle_cases.cpp cases/limit_cases.cpp cases/agreement_cases.cpp cases/shape_cases.cpp cases/replica_cases.cpp cases/odd_row_cases.cpp
            cases/bit_cases.cpp cases/special_value_cases.cpp cases/on_threads.cpp cases/on_cluster.cpp)
target_include_directories(comm_cases PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(comm_cases PUBLIC railwave_comm railwave_testbed GTest::gtest
                      PRIVATE fmt::fmt railwave_flags)

railwave_test(cases_loopback_test SOURCES cases_loopback_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases LABELS loopback TIMEOUT 240 PROCESSORS 2)
railwave_test(cases_cluster_test SOURCES cases_cluster_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases LABELS cluster brief TIMEOUT 300 PROCESSORS 2)
railwave_test(random_phases_cluster_test SOURCES random_phases_cluster_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases fmt::fmt LABELS cluster TIMEOUT 300 PROCESSORS 2)

# The same test twice: waits of 3 s, and of 10 s for those who ask for long tests.
railwave_test(waiting_test SOURCES waiting_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases fmt::fmt LABELS cluster TIMEOUT 120 PROCESSORS 2)
target_compile_definitions(waiting_test PRIVATE RAILWAVE_WAIT_SECONDS=3)
railwave_test(waiting_long_test SOURCES waiting_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases fmt::fmt LABELS cluster long TIMEOUT 180 PROCESSORS 2)
target_compile_definitions(waiting_long_test PRIVATE RAILWAVE_WAIT_SECONDS=10)
railwave_test(workspace_test SOURCES workspace_test.cpp ROOMS comm LABELS loopback)
# Not under sanitizers, whose own memory would be counted.
if(NOT RAILWAVE_SANITIZE)
  railwave_test(workspace_cluster_test SOURCES workspace_cluster_test.cpp ROOMS comm testbed
                LIBRARIES comm_cases fmt::fmt LABELS cluster PROCESSORS 2)
endif()
railwave_test(corrupt_records_test SOURCES corrupt_records_test.cpp ROOMS comm
              LIBRARIES comm_cases LABELS loopback)
