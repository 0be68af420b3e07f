// cluster.toml. The input is the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <railwave/topology.hpp>

#include "base/checked.hpp"
#include "expect_place.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::testbed {
namespace {

/// "c.toml:LINE:COLUMN: sentence"
void expect_refusal(const Error& error) {
  RAILWAVE_CHECK(error.code == ErrorCode::InvalidArgument);
  const std::string& message = error.message;
  RAILWAVE_CHECK(message.starts_with("c.toml:"), "%s", message.c_str());
  RAILWAVE_CHECK(begins_with_line_and_column(std::string_view(message).substr(7)), "%s",
                 message.c_str());
}

/// A cluster that is accepted can be written, read again and made a topology of, unless two nodes
/// share no rail.
void expect_sound(const ClusterSpec& spec) {
  RAILWAVE_CHECK(validate(spec));
  const auto again = parse_cluster(format_cluster(spec), "again.toml");
  RAILWAVE_CHECK(again, "%s", again.error().message.c_str());
  RAILWAVE_CHECK(*again == spec);
  if (spec.nodes() > 8 || spec.ranks() > 256) return;  // takes long, and shows nothing new
  const auto topology = Topology::create(topology_options(spec));
  RAILWAVE_CHECK(topology || topology.error().code == ErrorCode::LinkDown, "%s",
                 topology.error().message.c_str());
}

}  // namespace
}  // namespace railwave::testbed

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railwave::testbed;
  const auto spec = parse_cluster({reinterpret_cast<const char*>(data), size}, "c.toml");
  if (spec) {
    expect_sound(*spec);
  } else {
    expect_refusal(spec.error());
  }
  return 0;
}
