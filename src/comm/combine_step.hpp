// Combine, step by step.
#pragma once

#include <optional>
#include <vector>

#include <railwave/communicator.hpp>

#include "comm/pending.hpp"
#include "exec/combine.hpp"
#include "exec/own_rows.hpp"
#include "step.hpp"

namespace railwave::comm {

class CombineStep : public Step, public Pending<PhaseReport> {
 public:
  /// `arguments` and what they point to are borrowed until the step is over.
  CombineStep(Group& group, const CombineArguments& arguments, Status own);
  ~CombineStep() override { let_go(); }
  void end(const Error& error) override;
  [[nodiscard]] const char* name() const override { return "combine"; }
  void complete() override { completion().complete(); }
  void wait() override { completion().wait(); }

 private:
  Status agreed(const std::vector<exec::StepHeader>& headers) override;
  Result<bool> move() override;

  [[nodiscard]] exec::NodeRows::Setup expert_rows();
  void fill_context();
  void finish();

  const CombineArguments& arguments_;
  std::optional<exec::NodeRows> rows_;
  exec::CombineContext context_;
  std::optional<exec::CombineSource> source_;
  std::optional<exec::CombineReader> reader_;
  PhaseReport report_;
};

}  // namespace railwave::comm
