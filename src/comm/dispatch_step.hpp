// Dispatch, step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <railwave/communicator.hpp>

#include "exec/dispatch.hpp"
#include "exec/dispatch_reader.hpp"
#include "exec/handle_state.hpp"
#include "step.hpp"

namespace railwave::comm {

class DispatchStep : public StepOf<Received> {
 public:
  /// `arguments` and what they point to are borrowed until the step is over.
  DispatchStep(Group& group, const DispatchArguments& arguments, Status own);
  ~DispatchStep() override { let_go(); }
  [[nodiscard]] const char* name() const override { return "dispatch"; }

 private:
  void begun() override;
  Status agreed(const std::vector<exec::StepHeader>& headers) override;
  Result<bool> move() override;

  /// What all ranks will do: the handle without what only the moved rows tell.
  Result<std::shared_ptr<exec::HandleState>> plan(const std::vector<exec::StepHeader>& headers);
  [[nodiscard]] exec::NodeRows::Setup own_rows();
  void fill_context();
  exec::ReceiveBuffers make_room(std::int64_t rows);
  void count_experts();
  void finish();

  const DispatchArguments& arguments_;
  std::shared_ptr<exec::HandleState> fresh_;  // null when an earlier dispatch is repeated
  std::shared_ptr<const exec::HandleState> handle_;
  exec::DispatchContext context_;
  exec::OwnPlaces places_;
  std::optional<exec::DispatchSource> source_;
  std::optional<exec::DispatchReader> reader_;
  Received received_;
  double pack_s_ = 0;
};

}  // namespace railwave::comm
