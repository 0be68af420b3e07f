// cluster.toml -> ClusterSpec and back (docs/formats/cluster.md).
#include <array>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "base/fail.hpp"
#include "base/text_file.hpp"
#include "base/units.hpp"
#include "testbed/cluster_spec.hpp"
#include "toml_dots.hpp"

namespace railwave::testbed {
namespace {

/// Far more than [node.0] ... and [rail.0] ... of the largest cluster need.
constexpr std::size_t kMostDots = 4'000;
/// The largest cluster with a home rail for every rank, rates and bridges has 12 MiB.
constexpr std::size_t kMostBytes = 16 << 20;

/// The whole numbers that a setting takes.
struct Range {
  int least = 0;
  int most = 0;
};

/// Reads tables and remembers the file's name, so that every error can tell its place.
class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}
  Result<ClusterSpec> read(const toml::table& root);

 private:
  [[nodiscard]] tl::unexpected<Error> wrong(const toml::source_region& at, std::string_view field,
                                            std::string_view what) const {
    return fail(ErrorCode::InvalidArgument, std::string(field),
                fmt::format("{}:{}:{}: {}", source_, at.begin.line, at.begin.column, what));
  }
  [[nodiscard]] Status known_keys(const toml::table& table,
                                  std::initializer_list<std::string_view> keys) const;
  [[nodiscard]] Result<int> integer(const toml::node& node, std::string_view field,
                                    Range range) const;
  [[nodiscard]] Result<std::int64_t> quantity(
      const toml::node& node, std::string_view field,
      Result<std::int64_t> (*parse)(std::string_view, std::string_view)) const;
  [[nodiscard]] Result<std::vector<int>> integers(const toml::node& node, std::string_view field,
                                                  std::size_t count, Range range) const;
  /// A rate in range. `whose` begins the sentence when it is not: "node 1, rail 2: ".
  [[nodiscard]] Result<std::int64_t> rate(const toml::node& node, std::string_view whose) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> rates(const toml::node& node,
                                                        std::size_t index) const;
  Status counts(const toml::table& root);
  Status speeds(const toml::table& root);
  Status rail_tables(const toml::table& root);
  Status node_tables(const toml::table& root);
  Status one_node(std::size_t index, const toml::table& table);
  Status missing_rails(std::size_t index, const toml::node& node);
  /// The index of a table [node.2] or [rail.3].
  [[nodiscard]] Result<std::size_t> index_of(const toml::key& key, const toml::node& value,
                                             std::string_view kind, std::size_t count) const;

  std::string source_;
  ClusterSpec spec_;
  [[nodiscard]] std::size_t n() const { return spec_.ranks_per_node.size(); }
  [[nodiscard]] std::size_t r() const { return static_cast<std::size_t>(spec_.rails); }
};

Status Reader::known_keys(const toml::table& table,
                          std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : table) {
    if (std::find(keys.begin(), keys.end(), key.str()) == keys.end()) {
      return wrong(key.source(), key.str(),
                   fmt::format("unknown key '{}'; known here: {}", key.str(),
                               fmt::join(keys.begin(), keys.end(), ", ")));
    }
  }
  return {};
}

Result<int> Reader::integer(const toml::node& node, std::string_view field, Range range) const {
  const auto value = node.value_exact<std::int64_t>();
  if (value && *value >= range.least && *value <= range.most) return static_cast<int>(*value);
  return wrong(
      node.source(), field,
      fmt::format("{} must be a whole number between {} and {}", field, range.least, range.most));
}

Result<std::int64_t> Reader::quantity(const toml::node& node, std::string_view field,
                                      Result<std::int64_t> (*parse)(std::string_view,
                                                                    std::string_view)) const {
  const auto text = node.value_exact<std::string_view>();
  if (!text) return wrong(node.source(), field, fmt::format("{} must be a string", field));
  auto value = parse(*text, field);
  if (!value) return wrong(node.source(), field, value.error().message);
  return value;
}

Result<std::vector<int>> Reader::integers(const toml::node& node, std::string_view field,
                                          std::size_t count, Range range) const {
  const auto* array = node.as_array();
  if (array == nullptr || array->size() != count) {
    return wrong(node.source(), field,
                 fmt::format("{} must be a list of {} whole numbers", field, count));
  }
  std::vector<int> out;
  for (const auto& element : *array) {
    auto value = integer(element, field, range);
    if (!value) return fail(value.error());
    out.push_back(*value);
  }
  return out;
}

Result<std::int64_t> Reader::rate(const toml::node& node, std::string_view whose) const {
  auto value = quantity(node, "rate", parse_rate);
  if (!value) return fail(value.error());
  if (auto valid = check_rate(*value); !valid) {
    return wrong(node.source(), "rate", fmt::format("{}{}", whose, valid.error().message));
  }
  return value;
}

Result<std::vector<std::int64_t>> Reader::rates(const toml::node& node, std::size_t index) const {
  const auto* array = node.as_array();
  if (array == nullptr) {
    auto one = rate(node, fmt::format("node {}: ", index));
    if (!one) return fail(one.error());
    return std::vector<std::int64_t>(r(), *one);
  }
  if (array->size() != r()) {
    return wrong(node.source(), "rate", fmt::format("rate must be one rate or a list of {}", r()));
  }
  std::vector<std::int64_t> out;
  for (const auto& element : *array) {
    auto value = rate(element, fmt::format("node {}, rail {}: ", index, out.size()));
    if (!value) return fail(value.error());
    out.push_back(*value);
  }
  return out;
}

Status Reader::counts(const toml::table& root) {
  int nodes = 4;
  if (const auto* node = root.get("nodes")) {
    auto value = integer(*node, "nodes", {1, kMostNodes});
    if (!value) return fail(value.error());
    nodes = *value;
  }
  spec_.ranks_per_node.assign(static_cast<std::size_t>(nodes), 8);
  if (const auto* node = root.get("rails")) {
    auto value = integer(*node, "rails", {1, kMostRails});
    if (!value) return fail(value.error());
    spec_.rails = *value;
  }
  const auto* ranks = root.get("ranks_per_node");
  if (ranks == nullptr) return {};
  if (ranks->is_array()) {
    auto values = integers(*ranks, "ranks_per_node", n(), {1, kMostRanksPerNode});
    if (!values) return fail(values.error());
    spec_.ranks_per_node = *values;
    return {};
  }
  auto value = integer(*ranks, "ranks_per_node", {1, kMostRanksPerNode});
  if (!value) return fail(value.error());
  spec_.ranks_per_node.assign(n(), *value);
  return {};
}

Status Reader::speeds(const toml::table& root) {
  struct Setting {
    std::string_view name;
    std::int64_t* value;
    Result<std::int64_t> (*parse)(std::string_view, std::string_view);
  };
  std::int64_t rto_min = spec_.rto_min.count();
  if (const auto* node = root.get("rate")) {
    auto value = rate(*node, "");
    if (!value) return fail(value.error());
    spec_.rate = *value;
  }
  const std::array<Setting, 4> settings{{{"buffer", &spec_.buffer, parse_size},
                                         {"nic_queue", &spec_.nic_queue, parse_size},
                                         {"burst", &spec_.burst, parse_size},
                                         {"rto_min", &rto_min, parse_milliseconds}}};
  for (const auto& setting : settings) {
    const auto* node = root.get(setting.name);
    if (node == nullptr) continue;
    auto value = quantity(*node, setting.name, setting.parse);
    if (!value) return fail(value.error());
    *setting.value = *value;
  }
  spec_.rto_min = std::chrono::milliseconds(rto_min);
  if (const auto* node = root.get("mtu")) {
    auto value = integer(*node, "mtu", {576, 65'000});
    if (!value) return fail(value.error());
    spec_.mtu = *value;
  }
  if (const auto* node = root.get("congestion")) {
    const auto text = node->value_exact<std::string>();
    if (!text) return wrong(node->source(), "congestion", "congestion must be a string");
    spec_.congestion = *text;
  }
  return {};
}

Result<std::size_t> Reader::index_of(const toml::key& key, const toml::node& value,
                                     std::string_view kind, std::size_t count) const {
  const auto text = key.str();
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool number = code == std::errc{} && end == text.data() + text.size();
  if (!number || index >= count || !value.is_table()) {
    return wrong(
        key.source(), kind,
        fmt::format("[{}.{}] must be a table numbered from 0 to {}", kind, text, count - 1));
  }
  return index;
}

Status Reader::rail_tables(const toml::table& root) {
  const auto* rails = root.get("rail");
  if (rails == nullptr) return {};
  if (!rails->is_table()) return wrong(rails->source(), "rail", "write [rail.0], [rail.1], ...");
  for (const auto& [key, value] : *rails->as_table()) {
    const auto index = index_of(key, value, "rail", r());
    if (!index) return fail(index.error());
    RAILWAVE_TRY(known_keys(*value.as_table(), {"rate"}));
    const auto* node = value.as_table()->get("rate");
    if (node == nullptr) continue;
    const auto all_nodes = rate(*node, fmt::format("rail {}: ", *index));
    if (!all_nodes) return fail(all_nodes.error());
    if (spec_.rail_rate.empty()) spec_.rail_rate.assign(n(), std::vector(r(), spec_.rate));
    for (auto& row : spec_.rail_rate) row[*index] = *all_nodes;
  }
  return {};
}

Status Reader::missing_rails(std::size_t index, const toml::node& node) {
  const auto* array = node.as_array();
  const std::size_t count = array == nullptr ? r() + 1 : array->size();
  if (count > r()) return wrong(node.source(), "missing_rails", "missing_rails must list rails");
  auto values = integers(node, "missing_rails", count, {0, spec_.rails - 1});
  if (!values) return fail(values.error());
  if (spec_.live.empty()) spec_.live.assign(n(), std::vector<bool>(r(), true));
  for (const int rail : *values) spec_.live[index][static_cast<std::size_t>(rail)] = false;
  return {};
}

Status Reader::one_node(std::size_t index, const toml::table& table) {
  RAILWAVE_TRY(known_keys(table, {"ranks", "home_rail", "bridges", "missing_rails", "rate"}));
  if (const auto* node = table.get("home_rail")) {
    const auto count = static_cast<std::size_t>(spec_.ranks_per_node[index]);
    auto values = integers(*node, "home_rail", count, {0, spec_.rails - 1});
    if (!values) return fail(values.error());
    spec_.home_rail[index] = *values;
  }
  if (const auto* node = table.get("bridges")) {
    auto values = integers(*node, "bridges", r(), {0, spec_.rails - 1});
    if (!values) return fail(values.error());
    std::vector<bool> taken(r(), false);
    for (const int bridge : *values) {
      if (taken[static_cast<std::size_t>(bridge)]) {
        return wrong(node->source(), "bridges",
                     fmt::format("bridge {} is named twice; each node plugs one rail into each "
                                 "bridge",
                                 bridge));
      }
      taken[static_cast<std::size_t>(bridge)] = true;
    }
    spec_.bridges[index] = *values;
  }
  if (const auto* node = table.get("missing_rails")) {
    RAILWAVE_TRY(missing_rails(index, *node));
  }
  if (const auto* node = table.get("rate")) {
    auto values = rates(*node, index);
    if (!values) return fail(values.error());
    if (spec_.rail_rate.empty()) spec_.rail_rate.assign(n(), std::vector(r(), spec_.rate));
    spec_.rail_rate[index] = *values;
  }
  return {};
}

bool any_has(const toml::table& tables, std::string_view key) {
  for (const auto& [name, value] : tables) {
    if (value.is_table() && value.as_table()->contains(key)) return true;
  }
  return false;
}

Status Reader::node_tables(const toml::table& root) {
  const auto* nodes = root.get("node");
  if (nodes == nullptr) return {};
  if (!nodes->is_table()) return wrong(nodes->source(), "node", "write [node.0], [node.1], ...");
  const auto& tables = *nodes->as_table();
  for (const auto& [key, value] : tables) {
    const auto index = index_of(key, value, "node", n());
    if (!index) return fail(index.error());
    const auto* ranks = value.as_table()->get("ranks");
    if (ranks == nullptr) continue;
    const auto count = integer(*ranks, "ranks", {1, kMostRanksPerNode});
    if (!count) return fail(count.error());
    spec_.ranks_per_node[*index] = *count;
  }
  if (any_has(tables, "home_rail")) {
    for (const int ranks : spec_.ranks_per_node) {
      auto& row = spec_.home_rail.emplace_back();
      for (int local = 0; local < ranks; ++local) row.push_back(local * spec_.rails / ranks);
    }
  }
  if (any_has(tables, "bridges")) {
    std::vector<int> identity(r());
    std::iota(identity.begin(), identity.end(), 0);
    spec_.bridges.assign(n(), identity);
  }
  for (const auto& [key, value] : tables) {
    const auto index = index_of(key, value, "node", n());
    if (!index) return fail(index.error());
    RAILWAVE_TRY(one_node(*index, *value.as_table()));
  }
  return {};
}

Result<ClusterSpec> Reader::read(const toml::table& root) {
  const auto steps = [&]() -> Status {
    RAILWAVE_TRY(
        known_keys(root, {"nodes", "ranks_per_node", "rails", "rate", "buffer", "nic_queue",
                          "burst", "mtu", "congestion", "rto_min", "rail", "node"}));
    RAILWAVE_TRY(counts(root));
    RAILWAVE_TRY(speeds(root));
    RAILWAVE_TRY(rail_tables(root));
    return node_tables(root);
  };
  RAILWAVE_TRY(steps());
  if (auto valid = validate(spec_); !valid) {
    const auto* node = root.get(valid.error().field);
    // A default that does not fit: to a frame of this MTU.
    if (node == nullptr) node = root.get("mtu");
    return wrong(node != nullptr ? node->source() : root.source(), valid.error().field,
                 valid.error().message);
  }
  return spec_;
}

std::string node_table(const ClusterSpec& spec, std::size_t index) {
  std::string out;
  const NodeId node(index);
  if (!spec.home_rail.empty()) {
    out += fmt::format("home_rail = [{}]\n", fmt::join(spec.home_rail[index], ", "));
  }
  if (!spec.bridges.empty()) {
    out += fmt::format("bridges = [{}]\n", fmt::join(spec.bridges[index], ", "));
  }
  std::vector<int> missing;
  std::vector<std::string> rates;
  for (int rail = 0; rail < spec.rails; ++rail) {
    if (!spec.has_rail(node, RailId(rail))) missing.push_back(rail);
    rates.push_back(fmt::format("\"{}bit\"", spec.rate_of(node, RailId(rail))));
  }
  if (!spec.live.empty()) out += fmt::format("missing_rails = [{}]\n", fmt::join(missing, ", "));
  if (!spec.rail_rate.empty()) out += fmt::format("rate = [{}]\n", fmt::join(rates, ", "));
  return out.empty() ? out : fmt::format("[node.{}]\n{}", index, out);
}

}  // namespace

Result<std::int64_t> parse_milliseconds(std::string_view text, std::string_view field) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && std::string_view(end, text.data() + text.size()) == "ms") return value;
  return fail(ErrorCode::InvalidArgument, std::string(field),
              fmt::format("'{}' is not understood; write it like 5ms", text));
}

Result<ClusterSpec> parse_cluster(std::string_view text, std::string_view source) {
  if (const auto place = too_many_dots(text, kMostDots)) {
    return fail(ErrorCode::InvalidArgument, "cluster",
                fmt::format("{}:{}:{}: expected at most {} dots in keys and numbers", source,
                            place->line, place->column, kMostDots));
  }
  try {
    return Reader(source).read(toml::parse(text, source));
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::InvalidArgument, "cluster",
                fmt::format("{}:{}:{}: {}", source, error.source().begin.line,
                            error.source().begin.column, error.description()));
  }
}

Result<ClusterSpec> read_cluster(const std::string& path) {
  const auto text = read_text_file(path, "cluster", kMostBytes);
  if (!text) return fail(text.error());
  return parse_cluster(*text, path);
}

std::string format_cluster(const ClusterSpec& spec) {
  std::string out = fmt::format(
      "nodes = {}\nranks_per_node = [{}]\nrails = {}\nrate = \"{}bit\"\nbuffer = \"{}b\"\n"
      "nic_queue = \"{}b\"\nburst = \"{}b\"\nmtu = {}\ncongestion = \"{}\"\nrto_min = \"{}ms\"\n",
      spec.nodes(), fmt::join(spec.ranks_per_node, ", "), spec.rails, spec.rate, spec.buffer,
      spec.nic_queue, spec.burst, spec.mtu, spec.congestion, spec.rto_min.count());
  for (std::size_t n = 0; n < spec.ranks_per_node.size(); ++n) out += node_table(spec, n);
  return out;
}

Result<std::optional<ClusterSpec>> cluster_from_environment() {
  const char* text = std::getenv("RAILWAVE_CLUSTER");
  if (text == nullptr) return std::optional<ClusterSpec>();
  auto spec = parse_cluster(text, "RAILWAVE_CLUSTER");
  if (!spec) return fail(spec.error());
  return std::optional<ClusterSpec>(*std::move(spec));
}

}  // namespace railwave::testbed
