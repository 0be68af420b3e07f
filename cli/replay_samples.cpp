#include "replay_samples.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "report/quantiles.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {
namespace {

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) put(value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  void get(T& value) {
    if (rest_.size() < sizeof(T)) {
      cut_ = true;
      return;
    }
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
  }
  template <class T>
  void get_all(std::vector<T>& values) {
    std::uint64_t size = 0;
    get(size);
    if (size > rest_.size() / sizeof(T)) cut_ = true;
    for (std::uint64_t i = 0; i < size && !cut_; ++i) get(values.emplace_back());
  }
  [[nodiscard]] bool more() const { return !cut_ && !rest_.empty(); }
  [[nodiscard]] bool cut() const { return cut_; }

 private:
  std::span<const std::byte> rest_;
  bool cut_ = false;
};

/// Calls `field` with every part of a report, for writing and for reading.
template <class Report, class Field>
void each_number(Report& r, Field&& field) {
  field(r.header_s), field(r.plan_s), field(r.pack_s), field(r.relocate_s), field(r.wire_s);
  field(r.reorder_s), field(r.total_s), field(r.max_fan_in), field(r.overlap_bytes);
  field(r.overlap_total);
}

template <class Sample, class Field>
void each_number_of_sample(Sample& s, Field&& field) {
  field(s.path), field(s.layer), field(s.repeat), field(s.dispatch_s), field(s.combine_s);
  field(s.wrong), field(s.bits);
}

void put(Writer& out, const PhaseReport& r) {
  each_number(r, [&](const auto& value) { out.put(value); });
  out.put_all(r.sent_bytes);
  out.put_all(r.received_bytes);
  out.put_all(r.intervals);
}

void get(Reader& in, PhaseReport& r) {
  each_number(r, [&](auto& value) { in.get(value); });
  in.get_all(r.sent_bytes);
  in.get_all(r.received_bytes);
  in.get_all(r.intervals);
}

}  // namespace

std::vector<std::byte> to_bytes(std::span<const RankSample> samples) {
  Writer out;
  for (const RankSample& sample : samples) {
    each_number_of_sample(sample, [&](const auto& value) { out.put(value); });
    put(out, sample.dispatch);
    put(out, sample.combine);
  }
  return out.take();
}

Result<std::vector<RankSample>> samples_from(std::span<const std::byte> bytes) {
  std::vector<RankSample> samples;
  Reader in(bytes);
  while (in.more()) {
    RankSample& sample = samples.emplace_back();
    each_number_of_sample(sample, [&](auto& value) { in.get(value); });
    get(in, sample.dispatch);
    get(in, sample.combine);
  }
  if (in.cut()) {
    return fail(ErrorCode::ProtocolViolation, "samples", "a rank's samples are cut short");
  }
  return samples;
}

namespace {

/// One sample of all ranks.
using Together = std::vector<const RankSample*>;

/// Most source nodes active at once at one (node, rail), over all drivers of the rail.
int fan_in(const Topology& topology, const Together& ranks, PhaseReport RankSample::*phase) {
  struct Edge {
    std::int64_t at;
    int change;
    NodeId source;
  };
  std::map<std::pair<NodeId, RailId>, std::vector<Edge>> edges;
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    const NodeId node = topology.node_of(RankId(p));
    for (const SenderInterval& interval : (ranks[p]->*phase).intervals) {
      auto& at = edges[{node, interval.rail}];
      at.push_back({interval.first_ns, 1, interval.source});
      at.push_back({interval.last_ns, -1, interval.source});
    }
  }
  int most = 0;
  for (auto& [where, list] : edges) {
    std::sort(list.begin(), list.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.at, a.change) < std::tie(b.at, b.change);
    });
    std::map<NodeId, int> active;
    for (const Edge& edge : list) {
      if ((active[edge.source] += edge.change) == 0) active.erase(edge.source);
      most = std::max(most, static_cast<int>(active.size()));
    }
  }
  return most;
}

/// Collects what becomes one path's row.
class PathGathering {
 public:
  PathGathering(Path path, const Topology& topology, int layers)
      : topology_(topology),
        tx_(static_cast<std::size_t>(topology.rails()), 0.0),
        rx_(tx_),
        parts_(static_cast<std::size_t>(layers)),
        bits_(static_cast<std::size_t>(layers)) {
    out_.name = to_string(path);
    out_.samples.resize(static_cast<std::size_t>(layers));
    out_.max_fan_in = 0;
    out_.overlap_bytes = 0;
  }

  Status add(const Together& ranks) {
    const RankSample& first = *ranks.front();
    const auto layer = static_cast<std::size_t>(first.layer);
    double dispatch_s = 0;
    double combine_s = 0;
    report::Breakdown parts;
    std::vector<std::uint64_t> bits;
    for (const RankSample* rank : ranks) {
      dispatch_s = std::max(dispatch_s, rank->dispatch_s);
      combine_s = std::max(combine_s, rank->combine_s);
      out_.wrong += rank->wrong;
      bits.push_back(rank->bits);
      add_phases(*rank, parts);
    }
    out_.samples[layer].push_back(dispatch_s + combine_s);
    parts_[layer].push_back(parts);
    for (const auto phase : {&RankSample::dispatch, &RankSample::combine}) {
      out_.max_fan_in = std::max(*out_.max_fan_in, fan_in(topology_, ranks, phase));
    }
    const std::uint64_t hash = workload::hash_of_hashes(bits);
    if (bits_[layer] && *bits_[layer] != hash) {
      return fail(
          ErrorCode::IntegrityError, "bits",
          fmt::format("two samples of layer {} on path {} gave different bits", layer, out_.name));
    }
    bits_[layer] = hash;
    return {};
  }

  report::PathResult finish() {
    out_.rail_share_tx = shares(tx_);
    out_.rail_share_rx = shares(rx_);
    report::Breakdown sum;
    for (const auto& samples : parts_) {
      for (const auto part : {&report::Breakdown::header_s, &report::Breakdown::plan_s,
                              &report::Breakdown::pack_s, &report::Breakdown::relocate_s,
                              &report::Breakdown::wire_s, &report::Breakdown::reorder_s}) {
        std::vector<double> values;
        for (const report::Breakdown& sample : samples) values.push_back(sample.*part);
        if (values.empty()) continue;
        std::sort(values.begin(), values.end());
        sum.*part += values[(values.size() - 1) / 2];
      }
    }
    out_.breakdown = sum;
    std::vector<std::uint64_t> layers;
    for (const auto& layer : bits_) layers.push_back(layer.value_or(0));
    out_.bits = report::format_bits(workload::hash_of_hashes(layers));
    return std::move(out_);
  }

 private:
  void add_phases(const RankSample& rank, report::Breakdown& slowest) {
    report::Breakdown own;
    for (const PhaseReport* phase : {&rank.dispatch, &rank.combine}) {
      own.header_s += phase->header_s;
      own.plan_s += phase->plan_s;
      own.pack_s += phase->pack_s;
      own.relocate_s += phase->relocate_s;
      own.wire_s += phase->wire_s;
      own.reorder_s += phase->reorder_s;
      out_.overlap_bytes = std::max(*out_.overlap_bytes, phase->overlap_bytes);
      for (std::size_t r = 0; r < tx_.size(); ++r) {
        tx_[r] += static_cast<double>(phase->sent_bytes[r]);
        rx_[r] += static_cast<double>(phase->received_bytes[r]);
      }
    }
    for (const auto part : {&report::Breakdown::header_s, &report::Breakdown::plan_s,
                            &report::Breakdown::pack_s, &report::Breakdown::relocate_s,
                            &report::Breakdown::wire_s, &report::Breakdown::reorder_s}) {
      slowest.*part = std::max(slowest.*part, own.*part);
    }
  }

  static std::vector<double> shares(const std::vector<double>& bytes) {
    double total = 0;
    for (const double value : bytes) total += value;
    std::vector<double> out;
    for (const double value : bytes) out.push_back(total > 0 ? value / total : 0);
    return out;
  }

  const Topology& topology_;
  report::PathResult out_;
  std::vector<double> tx_;
  std::vector<double> rx_;
  std::vector<std::vector<report::Breakdown>> parts_;  // [L][samples] slowest rank of each part
  std::vector<std::optional<std::uint64_t>> bits_;     // [L]
};

}  // namespace

Result<report::PathResult> path_result(Path path, const Topology& topology, int layers,
                                       const std::vector<std::vector<RankSample>>& by_rank) {
  PathGathering gathering(path, topology, layers);
  for (std::size_t i = 0; i < by_rank.front().size(); ++i) {
    if (by_rank.front()[i].path != path) continue;
    Together ranks;
    for (const auto& samples : by_rank) ranks.push_back(&samples[i]);
    if (Status added = gathering.add(ranks); !added) return fail(std::move(added).error());
  }
  return gathering.finish();
}

}  // namespace railwave::cli
