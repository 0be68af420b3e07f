// One dispatch and one combine. Run it on every rank, for example
//   railwave emulate --nodes 2 --ranks-per-node 2 --rails 2 -- round_trip
// Each rank has three tokens for two experts each; every expert returns the row it got, so each
// token comes back as twice itself.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <railwave/railwave.hpp>

namespace {

using namespace railwave;

int variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

/// "rail0,rail1" -> one device a rail.
std::vector<std::string> rail_devices() {
  const char* text = std::getenv("RAILWAVE_RAILS");
  std::istringstream list(text != nullptr ? text : "");
  std::vector<std::string> devices;
  for (std::string device; std::getline(list, device, ',');) devices.push_back(device);
  return devices;
}

int fail_with(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

}  // namespace

int main() {
  const int rank = variable("RANK");
  const int ranks = variable("WORLD_SIZE");
  const int per_node = variable("LOCAL_WORLD_SIZE");
  const std::vector<std::string> devices = rail_devices();
  if (ranks < 1 || per_node < 1 || devices.empty()) {
    std::fprintf(stderr,
                 "run this under railwave emulate or a launcher that sets RANK, WORLD_SIZE, "
                 "LOCAL_WORLD_SIZE and RAILWAVE_RAILS\n");
    return 2;
  }
  const auto topology =
      Topology::uniform(ranks / per_node, per_node, static_cast<int>(devices.size()));
  const int experts = 2 * ranks;
  const auto placement = Placement::contiguous(experts, ranks);
  if (!topology) return fail_with(topology.error());
  if (!placement) return fail_with(placement.error());

  constexpr std::int64_t kTokens = 3;
  constexpr std::int64_t kHidden = 16;
  CommunicatorOptions options;
  options.self = RankId(rank);
  options.max_tokens_per_rank = kTokens;
  options.max_recv_rows = kTokens * ranks;  // enough for any routing
  options.max_hidden = kHidden;
  options.widest_dtype = DType::FP32;
  options.max_top_k = 2;
  auto group = Communicator::create(*topology, *placement, options, devices);
  if (!group) return fail_with(group.error());

  std::vector<float> x(kTokens * kHidden);
  std::vector<std::int64_t> topk_idx;
  for (int token = 0; token < kTokens; ++token) {
    for (int h = 0; h < kHidden; ++h) x[token * kHidden + h] = static_cast<float>(rank * 8 + token);
    // The experts of two other ranks, so that nothing is summed before it leaves the rank.
    topk_idx.push_back(2 * ((rank + token + 1) % ranks));
    topk_idx.push_back(2 * ((rank + token + 2) % ranks) + 1);
  }
  DispatchArguments in;
  in.x = x.data();
  in.tokens = kTokens;
  in.hidden = kHidden;
  in.dtype = DType::FP32;
  in.top_k = 2;
  in.topk_idx = topk_idx;
  in.path = Path::Joint;
  const auto received = group->dispatch(in);
  if (!received) return fail_with(received.error());

  std::vector<float> out(x.size());
  CombineArguments back;
  back.handle = received->handle;
  back.x = received->x;  // the experts change nothing
  back.rows = received->rows;
  back.hidden = kHidden;
  back.dtype = DType::FP32;
  back.out = std::as_writable_bytes(std::span(out));
  const auto report = group->combine(back);
  if (!report) return fail_with(report.error());

  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != 2 * x[i]) {
      std::fprintf(stderr, "rank %d: element %zu is wrong\n", rank, i);
      return 1;
    }
  }
  std::printf("rank %d: received %lld rows, %lld tokens came back right\n", rank,
              static_cast<long long>(received->rows), static_cast<long long>(kTokens));
  return 0;
}
