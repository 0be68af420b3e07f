// The library's version. The header's must be the project's, which the build gives.
#include <string_view>

#include <railwave/railwave.h>

#define RAILWAVE_TEXT_OF(number) #number
#define RAILWAVE_VERSION_OF(major, minor, patch) \
  RAILWAVE_TEXT_OF(major) "." RAILWAVE_TEXT_OF(minor) "." RAILWAVE_TEXT_OF(patch)

static_assert(std::string_view(RAILWAVE_VERSION_OF(RAILWAVE_VERSION_MAJOR, RAILWAVE_VERSION_MINOR,
                                                   RAILWAVE_VERSION_PATCH)) ==
                  RAILWAVE_PROJECT_VERSION,
              "railwave.h and CMakeLists.txt disagree about the version");

const char* railwave_version(void) { return RAILWAVE_PROJECT_VERSION; }

int32_t railwave_version_number(void) { return RAILWAVE_VERSION_NUMBER; }
