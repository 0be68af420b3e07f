# One token at a time, very many rows at a time, and one group for a long time. The same test twice:
# a short form, and the full one for those who ask for long tests.
railwave_test(one_token_test SOURCES one_token_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases fmt::fmt LABELS cluster PROCESSORS 2)

railwave_test(large_rows_test SOURCES large_rows_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases fmt::fmt LABELS cluster TIMEOUT 120)
target_compile_definitions(large_rows_test PRIVATE RAILWAVE_LARGE_TOKENS=4096)
railwave_test(large_rows_long_test SOURCES large_rows_test.cpp ROOMS comm testbed
              LIBRARIES comm_cases fmt::fmt LABELS cluster long TIMEOUT 600 PROCESSORS 2)
target_compile_definitions(large_rows_long_test PRIVATE RAILWAVE_LARGE_TOKENS=149797)

# Not under sanitizers, whose own memory would be counted.
if(NOT RAILWAVE_SANITIZE)
  railwave_test(soak_test SOURCES soak_test.cpp ROOMS base comm testbed
                LIBRARIES comm_cases fmt::fmt LABELS cluster TIMEOUT 300)
  target_compile_definitions(soak_test PRIVATE RAILWAVE_SOAK_SECONDS_BY_DEFAULT=60)
  railwave_test(soak_long_test SOURCES soak_test.cpp ROOMS base comm testbed
                LIBRARIES comm_cases fmt::fmt LABELS cluster long TIMEOUT 4000 PROCESSORS 2)
  target_compile_definitions(soak_long_test PRIVATE RAILWAVE_SOAK_SECONDS_BY_DEFAULT=1800)
endif()
