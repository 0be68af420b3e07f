railwave_test(random_phases_test SOURCES random_phases_test.cpp ROOMS comm
              LABELS loopback TIMEOUT 300 PROCESSORS 2)
# Sanitizers slow the phases down ten times.
target_compile_definitions(random_phases_test PRIVATE
  RAILWAVE_RANDOM_PHASES_BY_DEFAULT=$<IF:$<BOOL:${RAILWAVE_SANITIZE}>,30,250>)
railwave_test(group_edges_test SOURCES group_edges_test.cpp ROOMS comm LABELS loopback)
