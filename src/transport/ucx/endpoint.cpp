#include "ucx/endpoint.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::transport::ucx {

Send* SendPool::take(Endpoint* endpoint, std::uint64_t token) {
  Send* send = nullptr;
  if (free_.empty()) {
    send = &all_.emplace_back();
  } else {
    send = free_.back();
    free_.pop_back();
  }
  send->endpoint = endpoint;
  send->token = token;
  return send;
}

Status Endpoint::connect(ucp_worker_h worker, std::span<const std::byte> address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {on_error, this};
  const ucs_status_t status = ucp_ep_create(worker, &params, &ep_);
  if (status == UCS_OK) return {};
  ep_ = nullptr;
  const bool exhausted = status == UCS_ERR_NO_MEMORY || status == UCS_ERR_NO_RESOURCE;
  return fail(exhausted ? ErrorCode::ResourceExhausted : ErrorCode::LinkDown, peer_, "connect",
              fmt::format("no endpoint to rank {}: {}", peer_.value, ucs_status_string(status)));
}

Status Endpoint::send(const FrameHeader& frame, std::span<const std::byte> payload,
                      std::uint64_t token) {
  if (lost_) return fail(failure(UCS_ERR_CONNECTION_RESET));
  Send* send = outbox_.sends.take(this, token);
  send->header = encode(frame);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = on_sent;
  param.user_data = send;
  ++in_flight_;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(ep_, kFrameAm, send->header.data(), send->header.size(), payload.data(),
                      payload.size(), &param);
  if (UCS_PTR_IS_ERR(request)) {
    --in_flight_;
    outbox_.sends.give(send);
    lose(UCS_PTR_STATUS(request));
    return fail(failure(UCS_PTR_STATUS(request)));
  }
  if (request == nullptr) completed(send, UCS_OK);
  return {};
}

void Endpoint::completed(Send* send, ucs_status_t status) {
  const std::uint64_t token = send->token;
  outbox_.sends.give(send);
  --in_flight_;
  ++completed_;
  if (status != UCS_OK) lose(status);
  if (lost_) {
    outbox_.events.emplace_back(Sent{token});
    return;
  }
  release_tail();
  tail_ = token;
  note_quiet();
}

void Endpoint::note_quiet() {
  if (in_flight_ != 0 || !tail_ || chasing_ || std::exchange(listed_, true)) return;
  outbox_.quiet.push_back(this);
}

void Endpoint::chase() {
  listed_ = false;
  if (in_flight_ != 0 || !tail_ || chasing_ || lost_) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = on_chased;
  param.user_data = this;
  chaser_covers_ = completed_;
  const ucs_status_ptr_t request = ucp_am_send_nbx(ep_, kChaserAm, nullptr, 0, nullptr, 0, &param);
  chasing_ = UCS_PTR_IS_PTR(request);
  if (!chasing_) chased(UCS_PTR_STATUS(request));
}

void Endpoint::chased(ucs_status_t status) {
  chasing_ = false;
  if (status != UCS_OK) {
    lose(status);
  } else if (chaser_covers_ == completed_) {
    release_tail();
  }
  note_quiet();
}

void Endpoint::release_tail() {
  if (tail_) outbox_.events.emplace_back(Sent{*std::exchange(tail_, std::nullopt)});
}

void Endpoint::lose(ucs_status_t status) {
  if (std::exchange(lost_, true)) return;
  release_tail();
  outbox_.events.emplace_back(Lost{peer_, failure(status)});
}

Error Endpoint::failure(ucs_status_t status) const {
  return Error{
      ErrorCode::PeerFailed, peer_.value, "peer",
      fmt::format("the connection to rank {} is lost: {}", peer_.value, ucs_status_string(status))};
}

void Endpoint::close() {
  if (ep_ == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = ucp_ep_close_nbx(std::exchange(ep_, nullptr), &param);
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
}

void Endpoint::on_error(void* self, ucp_ep_h, ucs_status_t status) {
  static_cast<Endpoint*>(self)->lose(status);
}

void Endpoint::on_sent(void* request, ucs_status_t status, void* send) {
  auto* sent = static_cast<Send*>(send);
  sent->endpoint->completed(sent, status);
  ucp_request_free(request);
}

void Endpoint::on_chased(void* request, ucs_status_t status, void* self) {
  static_cast<Endpoint*>(self)->chased(status);
  ucp_request_free(request);
}

}  // namespace railwave::transport::ucx
