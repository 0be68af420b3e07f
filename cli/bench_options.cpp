#include "bench_options.hpp"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/units.hpp"
#include "dtype_option.hpp"
#include "limits.hpp"
#include "number_options.hpp"
#include "row_bytes.hpp"

namespace railwave::cli {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

template <class T>
CLI::Option* add(CLI::App& verb, const char* name, T& value, const char* text, const char* type) {
  return verb.add_option(name, value, text)->type_name(type)->capture_default_str();
}

void add_rounds(CLI::App& verb, BenchOptions& o) {
  add_whole(verb, {"-n,--iters", "timed rounds of each size", "N"}, {1, kMostRounds}, o.iterations);
  add_whole(verb, {"-w,--warmup", "rounds before them", "N"}, {0, kMostRounds}, o.warmups);
  add_whole(verb, {"-c,--check", "1: compare every byte of every round; 0: none", "0|1"}, {0, 1},
            o.check);
  add_seed(verb, "of routing and contents", o.seed);
  add(verb, "--json", o.json, "write the result (docs/bench.md)", "FILE");
}

void add_sizes(CLI::App& verb, BenchOptions& o, const char* what) {
  add(verb, "-b,--begin", o.begin, what, "SIZE");
  add(verb, "-e,--end", o.end,
      is_network(o) ? "largest such size; otherwise 1mb, or begin where that is more"
                    : "largest such size; otherwise 512kb, or begin where that is more",
      "SIZE");
  add_whole(verb, {"-f,--factor", "from one size to the next", "N"}, {2, 1 << 20}, o.factor);
}

void add_run(CLI::App& verb, BenchOptions& o) {
  verb.add_flag("--no-gate", o.no_gate, "do not check first whether the rails are the limit");
  add_real(verb, {"--timeout", "end the run after this many seconds", "S"}, kTimeoutSeconds,
           o.timeout);
}

}  // namespace

void add_peer_options(CLI::App& verb, BenchOptions& o) {
  add_whole(verb, {"--experts", "experts, dealt out contiguously", "E"}, {1, kMostExperts},
            o.experts);
  add_whole(verb, {"--top-k", "different experts of each token", "K"}, {1, kMostExperts}, o.top_k);
  add_whole(verb, {"--hidden", "elements of a row", "H"}, kFromOne, o.hidden);
  add(verb, "--dtype", o.dtype, "element type", "NAME")->check(CLI::IsMember({"bf16", "fp32"}));
  add_whole(verb, {"--tokens", "one size: so many tokens a rank, instead of -b, -e and -f", "T"},
            kFromOne, o.tokens);
  add_rounds(verb, o);
}

void add_exchange_options(CLI::App& verb, BenchOptions& o) {
  add_cluster_options(verb, o.cluster);
  add_sizes(verb, o, "least size: the rows of a rank's own tokens, powers of 1,024");
  add_peer_options(verb, o);
  for (const char* name : {"--begin", "--end", "--factor"}) {
    verb.get_option("--tokens")->excludes(verb.get_option(name));
  }
  verb.add_option("--paths", o.paths,
                  "separated by commas; otherwise all four, inside one node native")
      ->type_name("NAMES")
      ->delimiter(',');
  add(verb, "--rows", o.rows, "in-place: in the group's memory, where the node reads them; copied",
      "WHERE")
      ->check(CLI::IsMember({"in-place", "copied"}));
  add_run(verb, o);
}

void add_network_options(CLI::App& verb, BenchOptions& o) {
  o.begin = "256kb";
  add_cluster_options(verb, o.cluster);
  add_sizes(verb, o, "least size: what each sender sends, powers of 1,024");
  if (o.operation == "p2p") {
    o.receiver = 1;
    add_whole(verb, {"--sender", "the node that sends", "NODE"}, {0, kMostNodes - 1}, o.sender);
  }
  if (o.operation != "permute") {
    add_whole(verb, {"--receiver", "the node that receives", "NODE"}, {0, kMostNodes - 1},
              o.receiver);
  }
  add_rounds(verb, o);
  add_run(verb, o);
}

bool is_network(const BenchOptions& options) {
  return options.operation == "p2p" || options.operation == "incast" ||
         options.operation == "permute";
}

namespace {

Status check_nodes(const BenchOptions& o, int nodes) {
  if (nodes < 2) {
    return fail(ErrorCode::InvalidArgument, "--nodes",
                "one node has no rails: expected at least 2 nodes");
  }
  for (const auto& [name, node] :
       {std::pair{"--sender", o.sender}, std::pair{"--receiver", o.receiver}}) {
    if (node >= 0 && node < nodes) continue;
    return fail(ErrorCode::InvalidArgument, name,
                fmt::format("node {}: expected 0 to {}", node, nodes - 1));
  }
  if (o.operation == "p2p" && o.sender == o.receiver) {
    return fail(ErrorCode::InvalidArgument, "--receiver",
                fmt::format("node {} would send to itself", o.receiver));
  }
  return {};
}

/// begin, begin * factor, ... up to end.
Result<std::vector<std::int64_t>> sizes_of(const BenchOptions& o) {
  const auto begin = parse_size(o.begin, "--begin");
  if (!begin) return fail(begin.error());
  const std::int64_t otherwise = std::int64_t{is_network(o) ? 1024 : 512} << 10;
  const auto end = o.end.empty() ? Result<std::int64_t>(std::max(*begin, otherwise))
                                 : parse_size(o.end, "--end");
  if (!end) return fail(end.error());
  if (*begin < 1 || *begin > *end || *end > kMostBytes) {
    return fail(ErrorCode::InvalidArgument, *begin < 1 ? "--begin" : "--end",
                fmt::format("sizes from {} to {} bytes: expected 1 <= begin <= end <= {}", *begin,
                            *end, kMostBytes));
  }
  std::vector<std::int64_t> out;
  for (std::int64_t size = *begin; size <= *end; size *= o.factor) out.push_back(size);
  return out;
}

Result<std::vector<Path>> paths_of(const BenchOptions& o, int nodes) {
  std::vector<Path> out;
  for (const std::string& name : o.paths) {
    const auto path = path_from_string(name);
    if (!path) {
      return fail(ErrorCode::InvalidArgument, "--paths",
                  fmt::format("'{}' is none of native, rail_only, permutation_only, joint, nor of "
                              "the planners of others: birkhoff, linear, pairwise, spray",
                              name));
    }
    out.push_back(*path);
  }
  if (!out.empty()) return out;
  // Inside one node no rail is used: the paths are the same work.
  if (nodes == 1) return std::vector<Path>{Path::Native};
  out.assign(kAllPaths.begin(), kAllPaths.end());
  return out;
}

/// Whole rows, at least one, each number once.
std::vector<std::int64_t> tokens_of(const std::vector<std::int64_t>& sizes,
                                    std::int64_t row_bytes) {
  std::vector<std::int64_t> out;
  for (const std::int64_t size : sizes) {
    const std::int64_t tokens = std::max<std::int64_t>(size / row_bytes, 1);
    if (out.empty() || out.back() != tokens) out.push_back(tokens);
  }
  return out;
}

}  // namespace

Result<BenchRequest> understand(const BenchOptions& o, int nodes) {
  BenchRequest request;
  request.timed = {o.operation != "combine", o.operation != "dispatch"};
  request.dtype = dtype_named(o.dtype);
  const auto row = row_bytes(o.hidden, request.dtype);
  if (!row) return fail(row.error());
  if (*row > kMostBytes) {
    return fail(ErrorCode::InvalidArgument, "--hidden",
                fmt::format("{} elements a row are too many", o.hidden));
  }
  request.row_bytes = *row;
  if (o.top_k > o.experts) {
    return fail(ErrorCode::InvalidArgument, "--top-k",
                fmt::format("{} different experts of {}: expected at most as many as --experts",
                            o.top_k, o.experts));
  }
  if (o.tokens > kMostBytes / *row) {
    return fail(ErrorCode::InvalidArgument, "--tokens",
                fmt::format("{} rows of {} bytes are too many", o.tokens, *row));
  }
  if (is_network(o)) RAILWAVE_TRY(check_nodes(o, nodes));
  auto paths = paths_of(o, nodes);
  if (!paths) return fail(std::move(paths).error());
  request.paths = *std::move(paths);
  if (!is_network(o) && o.tokens > 0) {
    request.tokens = {o.tokens};
    return request;
  }
  auto sizes = sizes_of(o);
  if (!sizes) return fail(std::move(sizes).error());
  if (is_network(o)) {
    request.bytes = *std::move(sizes);
  } else {
    request.tokens = tokens_of(*sizes, *row);
  }
  return request;
}

}  // namespace railwave::cli
