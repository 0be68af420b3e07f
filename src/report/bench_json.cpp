#include <type_traits>
#include <utility>

#include "base/fail.hpp"
#include "json_fields.hpp"
#include "replay_fields.hpp"
#include "report/bench_result.hpp"

namespace railwave::report {

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, BenchRounds> {
  a("iterations", v.iterations);
  a("warmups", v.warmups);
  a("check", v.check);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, BenchWorkload> {
  a("experts", v.experts);
  a("top_k", v.top_k);
  a("dtype", v.dtype);
  a("hidden", v.hidden);
  a("row_bytes", v.row_bytes);
}

/// Named where they are used, beside the fields of their owner.
template <class Archive, class T>
void time_fields(Archive& a, T& v) {
  a("p50_s", v.p50_s);
  a("min_s", v.min_s);
  a("max_s", v.max_s);
  a("p99_s", v.p99_s);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, BenchSize> {
  a("size_bytes", v.size_bytes);
  a("tokens", v.tokens);
  a("logical_bytes", v.logical_bytes);
  a("wire_bytes", v.wire_bytes);
  time_fields(a, v.time);
  a("algbw_byte_s", v.algbw_byte_s);
  a("busbw_byte_s", v.busbw_byte_s);
  a("bound_s", v.bound_s);
  a("ratio_to_bound", v.ratio_to_bound);
  a("wrong", v.wrong);
  a("bits", v.bits);
  a("breakdown", v.breakdown);
  a("samples", v.samples);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, BenchPath> {
  a("name", v.name);
  a("sizes", v.sizes);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, BenchResult> {
  a("operation", v.operation);
  a("cluster", v.cluster);
  a("environment", v.environment);
  a("workload", v.workload);
  a("rounds", v.rounds);
  a("paths", v.paths);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, NetworkSize> {
  a("size_bytes", v.size_bytes);
  time_fields(a, v.time);
  a("bit_s", v.bit_s);
  a("fraction", v.fraction);
  a("wrong", v.wrong);
  a("samples", v.samples);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, NetworkRail> {
  a("rail", v.rail);
  a("route", v.route);
  a("senders", v.senders);
  a("nominal_bit_s", v.nominal_bit_s);
  a("sizes", v.sizes);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, NetworkResult> {
  a("operation", v.operation);
  a("cluster", v.cluster);
  a("environment", v.environment);
  a("rounds", v.rounds);
  a("rails", v.rails);
}

namespace {

constexpr std::string_view kWhole = "result";

template <class T>
Result<std::string> text_of(const T& result, std::string_view schema) {
  Walk walk{schema, kWhole};
  Json object = Json::object();
  object["schema"] = schema;
  object.update(write(result, walk));
  if (walk.error) return fail(*walk.error);
  return json_text(object);
}

template <class T>
Result<T> result_from(std::string_view text, std::string_view schema) {
  const auto json = parse_json(text);
  if (!json) return fail(json.error());
  return read_object<T>(*json, schema, kWhole);
}

}  // namespace

Result<std::string> to_json(const BenchResult& result) { return text_of(result, kBenchSchema); }
Result<std::string> to_json(const NetworkResult& result) { return text_of(result, kNetworkSchema); }

Result<BenchResult> bench_from_json(std::string_view text) {
  return result_from<BenchResult>(text, kBenchSchema);
}
Result<NetworkResult> network_from_json(std::string_view text) {
  return result_from<NetworkResult>(text, kNetworkSchema);
}

}  // namespace railwave::report
