# A room is one static library with its own include directory. A room sees another room's headers
# only by linking it, so the arrows of the design are the link lines of src/*/CMakeLists.txt.

add_library(railwave_flags INTERFACE)
target_compile_options(railwave_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror
                       -ffp-contract=off -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's stable_sort uses what clang 19 calls deprecated.
  target_compile_options(railwave_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(RAILWAVE_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc's own instrumentation makes it see uninitialised optionals that are not.
    target_compile_options(railwave_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_options(railwave_flags INTERFACE -fsanitize=${RAILWAVE_SANITIZE}
                         -fno-sanitize-recover=all)
  target_link_options(railwave_flags INTERFACE -fsanitize=${RAILWAVE_SANITIZE})
endif()

# Tests and the command line: most of their compile time goes into optimising, describing and checking
# templates of test libraries and CLI11, so they get line numbers only and, of the sanitizers, not the
# undefined one. The rooms under them get everything.
add_library(railwave_cold_flags INTERFACE)
target_compile_options(railwave_cold_flags INTERFACE -O1 -g1)
if(RAILWAVE_SANITIZE MATCHES "undefined")
  target_compile_options(railwave_cold_flags INTERFACE -fno-sanitize=undefined)
endif()

# railwave_room(NAME SOURCES ... ROOMS ... LIBRARIES ...)
#   ROOMS      the rooms whose headers this room may include
#   LIBRARIES  third-party targets, private to the room
function(railwave_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  set(target railwave_${name})
  add_library(${target} STATIC ${ROOM_SOURCES})
  target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  list(TRANSFORM ROOM_ROOMS PREPEND railwave_)
  target_link_libraries(${target} PUBLIC railwave_face ${ROOM_ROOMS} ${ROOM_PUBLIC_LIBRARIES}
                        PRIVATE railwave_flags ${ROOM_LIBRARIES})
endfunction()

# railwave_test(NAME SOURCES ... ROOMS ... LIBRARIES ... [LABELS ...] [TIMEOUT s] [PROCESSORS n])
#   One GoogleTest executable, registered as one CTest test of the same name (scripts/test and
#   scripts/test_summary rely on it). LABELS: see CONTRIBUTING.md.
function(railwave_test name)
  cmake_parse_arguments(T "" "TIMEOUT;PROCESSORS" "SOURCES;ROOMS;LIBRARIES;LABELS;ARGS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  if(NOT T_PROCESSORS)
    set(T_PROCESSORS 1)
  endif()
  list(APPEND T_LABELS ${RAILWAVE_ROOM_LABELS})
  list(REMOVE_DUPLICATES T_LABELS)
  list(TRANSFORM T_ROOMS PREPEND railwave_)
  add_executable(${name} ${T_SOURCES})
  target_precompile_headers(${name} REUSE_FROM railwave_test_libraries)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${T_ROOMS} ${T_LIBRARIES} GTest::gtest_main GTest::gmock
                        rapidcheck rapidcheck_gtest railwave_flags railwave_cold_flags)
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}"
                       PROCESSORS ${T_PROCESSORS} ENVIRONMENT
                       "${RAILWAVE_TEST_ENVIRONMENT};GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test-results/${name}.xml")
endfunction()

# The headers of the test libraries, which cost seconds in every file, precompiled. The executable is
# never run.
function(railwave_test_libraries)
  add_executable(railwave_test_libraries ${CMAKE_SOURCE_DIR}/tests/libraries_pch.cpp)
  target_link_libraries(railwave_test_libraries PRIVATE GTest::gtest rapidcheck rapidcheck_gtest
                        railwave_flags railwave_cold_flags)
  target_precompile_headers(railwave_test_libraries PRIVATE <gtest/gtest.h> <rapidcheck/gtest.h>)
endfunction()

# What every test that may load UCX or hwloc needs (reasons: docs/third_party.md).
set(RAILWAVE_TEST_ENVIRONMENT
    "UCX_MEM_EVENTS=n;UCX_VFS_ENABLE=n;UCX_HANDLE_ERRORS=none;UCX_LOG_FILE=stderr;HWLOC_COMPONENTS=-pci")
