# The C interface, through the shared library that users link.
foreach(test results structs cluster_shape)
  railwave_test(c_api_${test}_test SOURCES c_api/${test}_test.cpp ROOMS comm LIBRARIES railwave_c)
endforeach()
foreach(test steps tickets)
  railwave_test(c_api_${test}_test SOURCES c_api/${test}_test.cpp ROOMS comm testbed
                LIBRARIES railwave_c comm_cases LABELS cluster PROCESSORS 2)
endforeach()
# Not under sanitizers, which take address space of their own.
if(NOT RAILWAVE_SANITIZE)
  railwave_test(c_api_memory_test SOURCES c_api/memory_test.cpp ROOMS comm LIBRARIES railwave_c)
endif()
