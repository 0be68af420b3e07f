// Two micro-batches whose phases overlap: while the experts of one compute, the rows of the next
// and the results of the last are on their way. Run it on every rank, for example
//   railwave emulate --nodes 2 --ranks-per-node 2 --rails 2 -- micro_batches
// Every expert doubles its rows, so each token, which has one expert, comes back as twice itself.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <railwave/railwave.hpp>

namespace {

using namespace railwave;

constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kHidden = 16;
constexpr int kBatches = 4;

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

/// What a phase borrows must stay where it is until the phase is over.
struct Batch {
  Batch(int number, int rank, int ranks) {
    for (int token = 0; token < kTokens; ++token) {
      topk_idx.push_back((rank + token + number) % ranks);  // one expert a rank
      x.insert(x.end(), kHidden, static_cast<float>(100 * number + 10 * rank + token));
    }
    out.resize(x.size());
  }
  std::vector<std::int64_t> topk_idx;
  std::vector<float> x;
  std::vector<float> out;
  Received received;
};

Result<Ticket<Received>> send(Communicator& group, const Batch& batch) {
  DispatchArguments in;
  in.x = batch.x.data();
  in.tokens = kTokens;
  in.hidden = kHidden;
  in.dtype = DType::FP32;
  in.top_k = 1;
  in.topk_idx = batch.topk_idx;
  return group.dispatch_async(in);
}

Result<Ticket<PhaseReport>> bring_back(Communicator& group, Batch& batch) {
  CombineArguments back;
  back.handle = batch.received.handle;
  back.x = batch.received.x;
  back.rows = batch.received.rows;
  back.hidden = kHidden;
  back.dtype = DType::FP32;
  back.out = std::as_writable_bytes(std::span(batch.out));
  return group.combine_async(back);
}

void compute(Received& received) {
  auto* rows = reinterpret_cast<float*>(received.x);
  for (std::int64_t i = 0; i < received.rows * kHidden; ++i) rows[i] *= 2;
}

/// Every rank makes the same calls in the same order.
Status run(Communicator& group, std::vector<Batch>& batches) {
  auto next = send(group, batches[0]);
  std::vector<Ticket<PhaseReport>> on_their_way;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (!next) return tl::unexpected(next.error());
    auto received = next->wait();
    if (!received) return tl::unexpected(received.error());
    batches[i].received = *std::move(received);
    if (i + 1 < batches.size()) next = send(group, batches[i + 1]);
    compute(batches[i].received);
    auto back = bring_back(group, batches[i]);
    if (!back) return tl::unexpected(back.error());
    on_their_way.push_back(std::move(*back));
  }
  for (auto& back : on_their_way) {
    const auto report = back.wait();
    if (!report) return tl::unexpected(report.error());
  }
  return {};
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
  const auto placement = Placement::contiguous(ranks, ranks);
  if (!topology) return fail_with(topology.error());
  if (!placement) return fail_with(placement.error());
  CommunicatorOptions options;
  options.self = RankId(rank);
  options.max_tokens_per_rank = kTokens;
  options.max_recv_rows = kTokens * ranks;
  options.max_hidden = kHidden;
  options.widest_dtype = DType::FP32;
  options.phases_in_flight = 2;
  auto group = Communicator::create(*topology, *placement, options, devices);
  if (!group) return fail_with(group.error());

  std::vector<Batch> batches;
  for (int number = 0; number < kBatches; ++number) batches.emplace_back(number, rank, ranks);
  if (const Status status = run(*group, batches); !status) return fail_with(status.error());
  for (const Batch& batch : batches) {
    for (std::size_t i = 0; i < batch.out.size(); ++i) {
      if (batch.out[i] == 2 * batch.x[i]) continue;
      std::fprintf(stderr, "rank %d: element %zu is wrong\n", rank, i);
      return 1;
    }
  }
  std::printf("rank %d: %d micro-batches came back right\n", rank, kBatches);
  return 0;
}
