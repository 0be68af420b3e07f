railwave_test(random_phases_test SOURCES random_phases_test.cpp ROOMS comm
              LABELS loopback TIMEOUT 300 PROCESSORS 2)
# Sanitizers slow the phases down ten times.
set(random_phases 1000)
if(RAILWAVE_SANITIZE)
  set(random_phases 30)
endif()
target_compile_definitions(random_phases_test
                           PRIVATE RAILWAVE_RANDOM_PHASES_BY_DEFAULT=${random_phases})
railwave_test(group_edges_test SOURCES group_edges_test.cpp ROOMS comm LABELS loopback)
railwave_test(group_ends_test SOURCES group_ends_test.cpp ROOMS base comm LABELS loopback)
railwave_test(revoked_rows_test SOURCES revoked_rows_test.cpp ROOMS comm LABELS loopback)
railwave_test(async_test SOURCES async_test.cpp ROOMS base comm LABELS loopback)
# Not under sanitizers, whose own operator new it is, and under which no memory is kept.
if(NOT RAILWAVE_SANITIZE)
  railwave_test(allocations_test SOURCES allocations_test.cpp counted_new.cpp ROOMS base comm
                LABELS loopback)
endif()
