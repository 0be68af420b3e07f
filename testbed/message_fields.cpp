#include <cstring>

#include "base/checked.hpp"
#include "message.hpp"

namespace railwave::testbed {

void FieldWriter::put(std::int64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void FieldWriter::put(double value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void FieldWriter::put(std::string_view text) {
  put(static_cast<std::int64_t>(text.size()));
  bytes_.append(text);
}

void FieldWriter::put(const std::vector<std::string>& texts) {
  put(static_cast<std::int64_t>(texts.size()));
  for (const auto& text : texts) put(std::string_view(text));
}

void FieldWriter::put(const Error& error) {
  put(static_cast<std::int64_t>(error.code));
  put(static_cast<std::int64_t>(error.rank));
  put(std::string_view(error.field));
  put(std::string_view(error.message));
}

void FieldWriter::put(const Counters& counters) {
  put(static_cast<std::int64_t>(counters.rails.size()));
  for (std::size_t n = 0; n < counters.rails.size(); ++n) {
    put(counters.tcp_retransmissions[n]);
    put(static_cast<std::int64_t>(counters.rails[n].size()));
    for (const auto& rail : counters.rails[n]) {
      put(rail.tx_bytes);
      put(rail.rx_bytes);
      put(rail.nic_drops);
      put(rail.port_drops);
    }
  }
}

void FieldWriter::put(const GateResult& gate) {
  put(static_cast<std::int64_t>(gate.flows.size()));
  for (const auto& flow : gate.flows) {
    for (const int id :
         {flow.source.value, flow.egress.value, flow.destination.value, flow.ingress.value}) {
      put(static_cast<std::int64_t>(id));
    }
    put(flow.share);
  }
  put(gate.lowest_share);
  put(gate.lone_time);
  put(gate.retransmissions);
  put(static_cast<std::int64_t>(gate.machine_is_limit));
  put(static_cast<std::int64_t>(gate.shaping_works));
}

void FieldWriter::put(const RunOutcome& outcome) {
  put(static_cast<std::int64_t>(outcome.exit_status));
  put(static_cast<std::int64_t>(outcome.failed_rank.value));
  put(static_cast<std::int64_t>(outcome.timed_out));
  put(static_cast<std::int64_t>(outcome.cancelled));
  put(std::string_view(outcome.message));
  put(static_cast<std::int64_t>(outcome.statuses.size()));
  for (const int status : outcome.statuses) put(static_cast<std::int64_t>(status));
  put(outcome.seconds);
  put(outcome.traffic);
}

void FieldReader::take_raw(void* to, std::size_t size) {
  RAILWAVE_CHECK(size <= rest_.size(), "field of %zu bytes, %zu left", size, rest_.size());
  std::memcpy(to, rest_.data(), size);
  rest_.remove_prefix(size);
}

void FieldReader::take(std::int64_t& value) { take_raw(&value, sizeof value); }

void FieldReader::take(double& value) { take_raw(&value, sizeof value); }

std::int64_t FieldReader::take_integer() {
  std::int64_t value = 0;
  take(value);
  return value;
}

void FieldReader::take(std::string& text) {
  const auto size = static_cast<std::size_t>(take_integer());
  RAILWAVE_CHECK(size <= rest_.size(), "text of %zu bytes, %zu left", size, rest_.size());
  text = rest_.substr(0, size);
  rest_.remove_prefix(size);
}

void FieldReader::take(std::vector<std::string>& texts) {
  texts.resize(static_cast<std::size_t>(take_integer()));
  for (auto& text : texts) take(text);
}

void FieldReader::take(Error& error) {
  error.code = static_cast<ErrorCode>(take_integer());
  error.rank = static_cast<std::int32_t>(take_integer());
  take(error.field);
  take(error.message);
}

void FieldReader::take(Counters& counters) {
  const auto nodes = static_cast<std::size_t>(take_integer());
  counters.rails.resize(nodes);
  counters.tcp_retransmissions.resize(nodes);
  for (std::size_t n = 0; n < nodes; ++n) {
    take(counters.tcp_retransmissions[n]);
    counters.rails[n].resize(static_cast<std::size_t>(take_integer()));
    for (auto& rail : counters.rails[n]) {
      take(rail.tx_bytes);
      take(rail.rx_bytes);
      take(rail.nic_drops);
      take(rail.port_drops);
    }
  }
}

void FieldReader::take(GateResult& gate) {
  gate.flows.resize(static_cast<std::size_t>(take_integer()));
  for (auto& flow : gate.flows) {
    for (auto* id :
         {&flow.source.value, &flow.egress.value, &flow.destination.value, &flow.ingress.value}) {
      *id = static_cast<std::int32_t>(take_integer());
    }
    take(flow.share);
  }
  take(gate.lowest_share);
  take(gate.lone_time);
  take(gate.retransmissions);
  gate.machine_is_limit = take_integer() != 0;
  gate.shaping_works = take_integer() != 0;
}

void FieldReader::take(RunOutcome& outcome) {
  outcome.exit_status = static_cast<int>(take_integer());
  outcome.failed_rank = RankId(static_cast<std::int32_t>(take_integer()));
  outcome.timed_out = take_integer() != 0;
  outcome.cancelled = take_integer() != 0;
  take(outcome.message);
  outcome.statuses.resize(static_cast<std::size_t>(take_integer()));
  for (auto& status : outcome.statuses) status = static_cast<int>(take_integer());
  take(outcome.seconds);
  take(outcome.traffic);
}

}  // namespace railwave::testbed
