#include <fmt/format.h>

#include "base/fail.hpp"
#include "comm/bootstrap.hpp"
#include "tcp_guest.hpp"
#include "tcp_host.hpp"
#include "tcp_reception.hpp"

namespace railwave::comm {
namespace {

Status check(const LaunchIdentity& identity) {
  if (identity.world_size < 1) {
    return fail(ErrorCode::InvalidArgument, "world_size",
                fmt::format("a group of {} ranks", identity.world_size));
  }
  if (identity.rank < 0 || identity.rank >= identity.world_size) {
    return fail(ErrorCode::InvalidArgument, "rank",
                fmt::format("rank {} of {}", identity.rank, identity.world_size));
  }
  if (identity.world_size > 1 && identity.port == 0) {
    return fail(ErrorCode::InvalidArgument, "port", "port 0; all ranks must know the same port");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<AllGather>> meet_over_tcp(const TcpBootstrapOptions& options) {
  RAILWAVE_TRY(check(options.identity));
  if (options.identity.rank != 0) return visit_rank_0(options);
  if (options.identity.world_size == 1) return make_tcp_host(std::vector<Channel>(1));
  auto members = receive_ranks(options);
  if (!members) return fail(members.error());
  return make_tcp_host(std::move(*members));
}

}  // namespace railwave::comm
