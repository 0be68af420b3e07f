// Combine, step by step.
#pragma once

#include <optional>
#include <vector>

#include <railwave/communicator.hpp>

#include "exec/combine.hpp"
#include "step.hpp"

namespace railwave::comm {

class CombineStep : public StepOf<PhaseReport> {
 public:
  /// `arguments` and what they point to are borrowed until the step is over.
  CombineStep(Group& group, const CombineArguments& arguments, Status own);
  ~CombineStep() override { let_go(); }
  [[nodiscard]] const char* name() const override { return "combine"; }

 private:
  Status agreed(const std::vector<exec::StepHeader>& headers) override;
  Result<bool> move() override;

  [[nodiscard]] exec::NodeRows::Setup expert_rows();
  void fill_context();
  void finish();

  const CombineArguments& arguments_;
  exec::CombineContext context_;
  std::optional<exec::CombineSource> source_;
  std::optional<exec::CombineReader> reader_;
  PhaseReport report_;
};

}  // namespace railwave::comm
