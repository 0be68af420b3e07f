#include "transport/ucx_rail.hpp"

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "send_check.hpp"
#include "ucx/address.hpp"
#include "ucx/endpoint.hpp"
#include "ucx/process.hpp"
#include "ucx/settings.hpp"
#include "ucx/worker.hpp"

namespace railwave::transport {
namespace {

using ucx::Endpoint;

/// UCX's progress calls in one progress(), so that a busy rail can not starve its neighbours.
constexpr int kRounds = 64;
/// For UCX to let go of closed endpoints. It takes microseconds, unless peers send all the time.
constexpr std::chrono::seconds kClosing{1};

class UcxRail final : public Rail {
 public:
  UcxRail(UcxRailOptions options, ucx::Worker worker)
      : options_(std::move(options)),
        segments_(ucx::segments(options_)),
        worker_(std::move(worker)) {}
  UcxRail(const UcxRail&) = delete;
  UcxRail& operator=(const UcxRail&) = delete;
  ~UcxRail() override;

  Status listen();

  [[nodiscard]] std::vector<std::byte> address() const override {
    return ucx::seal({worker_.address, segments_.receive});
  }
  void set_sink(RailSink* sink) override { sink_ = sink; }
  Status connect(RankId peer, std::span<const std::byte> address) override;
  Status send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
              std::uint64_t token) override;
  Status progress() override;
  [[nodiscard]] int wait_fd() const override { return worker_.wait_fd; }
  bool arm() override;
  [[nodiscard]] std::uint64_t refused() const override { return refused_; }

 private:
  /// A rendezvous that is being read into its place.
  struct Fetch {
    UcxRail* rail = nullptr;
    FrameHeader frame;
  };

  static ucs_status_t on_frame(void* self, const void* header, std::size_t header_length,
                               void* payload, std::size_t length, const ucp_am_recv_param_t* param);
  static ucs_status_t on_chaser(void*, const void*, std::size_t, void*, std::size_t,
                                const ucp_am_recv_param_t*) {
    return UCS_OK;
  }
  static void on_fetched(void* request, ucs_status_t status, std::size_t length, void* fetch);

  Status handle(unsigned id, ucp_am_recv_callback_t callback);
  std::optional<FrameHeader> accept(std::span<const std::byte> header, std::size_t length);
  std::optional<std::span<std::byte>> place(const FrameHeader& frame);
  ucs_status_t fetch(const FrameHeader& frame, void* descriptor, std::span<std::byte> place);
  void fetched(Fetch* fetch, ucs_status_t status);

  void tell();
  void tell(const ucx::Arrived& event) { sink_->arrived(event.frame); }
  void tell(const ucx::Sent& event) { sink_->sent(event.token); }
  void tell(const ucx::Lost& event);
  void chase_tails();
  void ring();
  [[nodiscard]] bool idle() const { return outbox_.events.empty() && outbox_.quiet.empty(); }

  UcxRailOptions options_;
  ucx::Segments segments_;
  ucx::Worker worker_;
  ucx::Outbox outbox_;
  // Kept for their memory: what is being told, who is being chased, and room for fetches.
  std::vector<ucx::Event> telling_;
  std::vector<Endpoint*> chasing_;
  std::deque<Fetch> fetches_;
  std::vector<Fetch*> idle_fetches_;
  std::map<RankId, Endpoint> endpoints_;
  RailSink* sink_ = nullptr;
  bool progressing_ = false;
  bool rung_ = false;
  std::optional<Error> broken_;
  std::uint64_t refused_ = 0;
};

UcxRail::~UcxRail() {
  sink_ = nullptr;
  // UCX completes what is in flight in here, so the endpoints must outlive the worker.
  for (auto& [peer, endpoint] : endpoints_) endpoint.close();
  ucx::drain(worker_, Clock::now() + kClosing);
  worker_.worker.reset();
}

Status UcxRail::listen() {
  RAILWAVE_TRY(handle(ucx::kFrameAm, on_frame));
  return handle(ucx::kChaserAm, on_chaser);
}

Status UcxRail::handle(unsigned id, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                     UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = id;
  param.flags = UCP_AM_FLAG_WHOLE_MSG;
  param.cb = callback;
  param.arg = this;
  const auto status = ucp_worker_set_am_recv_handler(worker_.worker.get(), &param);
  if (status == UCS_OK) return {};
  return fail(ErrorCode::Internal, options_.self, "ucp_worker_set_am_recv_handler",
              ucs_status_string(status));
}

Status UcxRail::connect(RankId peer, std::span<const std::byte> address) {
  RAILWAVE_CHECK(sink_ != nullptr, "set_sink() comes before connect()");
  auto there = ucx::unseal(peer, address);
  if (!there) return fail(there.error());
  if (there->receive_segment > 0 && segments_.send > there->receive_segment) {
    return fail(ErrorCode::InvalidArgument, peer, "segment_bytes",
                fmt::format("segments of {} bytes are sent here, rank {} accepts {}; set "
                            "UCX_TCP_TX_SEG_SIZE and UCX_TCP_RX_SEG_SIZE alike on all hosts",
                            segments_.send, peer.value, there->receive_segment));
  }
  const auto [at, made] = endpoints_.try_emplace(peer, peer, outbox_);
  if (!made) {
    return fail(ErrorCode::InvalidArgument, peer, "peer",
                fmt::format("rank {} is connected already", peer.value));
  }
  Status connected = at->second.connect(worker_.worker.get(), there->worker);
  if (!connected) endpoints_.erase(at);
  return connected;
}

Status UcxRail::send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
                     std::uint64_t token) {
  const auto found = endpoints_.find(peer);
  RAILWAVE_TRY(check_send(found != endpoints_.end(), peer, frame, payload));
  Status accepted = found->second.send(frame, payload, token);
  if (!progressing_ && !idle()) ring();
  return accepted;
}

Status UcxRail::progress() {
  if (broken_) return fail(*broken_);
  progressing_ = true;
  rung_ = false;
  bool busy = true;
  for (int round = 0; busy && round < kRounds; ++round) {
    busy = ucp_worker_progress(worker_.worker.get()) != 0;
    chase_tails();
    busy = busy || !idle();
    tell();
  }
  progressing_ = false;
  if (busy) ring();
  return {};
}

/// Makes the sink's calls. Their own sends may add events: those wait for the next round.
void UcxRail::tell() {
  telling_.swap(outbox_.events);
  for (const auto& event : telling_) std::visit([this](const auto& what) { tell(what); }, event);
  telling_.clear();
}

void UcxRail::tell(const ucx::Lost& event) {
  sink_->lost(event.peer, event.why);
  endpoints_.at(event.peer).close();
}

void UcxRail::chase_tails() {
  chasing_.swap(outbox_.quiet);
  for (Endpoint* endpoint : chasing_) endpoint->chase();
  chasing_.clear();
}

bool UcxRail::arm() {
  if (!idle() || rung_ || broken_) return false;
  const ucs_status_t status = ucp_worker_arm(worker_.worker.get());
  if (status != UCS_OK && status != UCS_ERR_BUSY) {
    broken_ =
        Error{ErrorCode::Internal, options_.self.value, "ucp_worker_arm",
              fmt::format("UCX on device '{}': {}", options_.device, ucs_status_string(status))};
  }
  return status == UCS_OK;
}

/// Makes wait_fd() readable for what UCX itself does not count as an event.
void UcxRail::ring() {
  if (!std::exchange(rung_, true)) ucp_worker_signal(worker_.worker.get());
}

ucs_status_t UcxRail::on_frame(void* self, const void* header, std::size_t header_length,
                               void* payload, std::size_t length,
                               const ucp_am_recv_param_t* param) {
  auto& rail = *static_cast<UcxRail*>(self);
  const auto frame = rail.accept({static_cast<const std::byte*>(header), header_length}, length);
  if (!frame) return UCS_OK;
  std::span<std::byte> place;
  if (length > 0) {
    const auto found = rail.place(*frame);
    if (!found) return UCS_OK;
    place = *found;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      return rail.fetch(*frame, payload, place);
    }
    std::memcpy(place.data(), payload, length);
  }
  rail.outbox_.events.emplace_back(ucx::Arrived{*frame});
  return UCS_OK;
}

/// The frame, unless it must be dropped.
std::optional<FrameHeader> UcxRail::accept(std::span<const std::byte> header, std::size_t length) {
  const auto frame = decode(header);
  if (!frame || frame->bytes != length || sink_ == nullptr) {
    ++refused_;
    return std::nullopt;
  }
  const auto source = endpoints_.find(RankId(static_cast<std::int32_t>(frame->source)));
  if (source != endpoints_.end() && source->second.lost()) return std::nullopt;
  return *frame;
}

std::optional<std::span<std::byte>> UcxRail::place(const FrameHeader& frame) {
  const auto place = sink_->place(frame);
  if (place.size() == frame.bytes) return place;
  ++refused_;
  return std::nullopt;
}

ucs_status_t UcxRail::fetch(const FrameHeader& frame, void* descriptor,
                            std::span<std::byte> place) {
  Fetch* pending = idle_fetches_.empty() ? &fetches_.emplace_back() : idle_fetches_.back();
  if (!idle_fetches_.empty()) idle_fetches_.pop_back();
  *pending = {this, frame};
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = on_fetched;
  param.user_data = pending;
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(worker_.worker.get(), descriptor, place.data(), place.size(), &param);
  if (!UCS_PTR_IS_PTR(request)) fetched(pending, UCS_PTR_STATUS(request));
  return UCS_INPROGRESS;
}

void UcxRail::fetched(Fetch* fetch, ucs_status_t status) {
  idle_fetches_.push_back(fetch);
  // A failed fetch needs no word of its own: lost() tells of the peer.
  if (status == UCS_OK) outbox_.events.emplace_back(ucx::Arrived{fetch->frame});
}

void UcxRail::on_fetched(void* request, ucs_status_t status, std::size_t, void* fetch) {
  auto* pending = static_cast<Fetch*>(fetch);
  pending->rail->fetched(pending, status);
  ucp_request_free(request);
}

}  // namespace

Result<std::unique_ptr<Rail>> open_ucx_rail(const UcxRailOptions& options) {
  ucx::tame_process();
  auto worker = ucx::open_worker(options);
  if (!worker) return fail(worker.error());
  auto rail = std::make_unique<UcxRail>(options, std::move(*worker));
  RAILWAVE_TRY(rail->listen());
  return rail;
}

}  // namespace railwave::transport
