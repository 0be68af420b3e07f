#include <cstdio>

#include "answers.hpp"

int main() {
  std::fputs(railwave::select::answers().c_str(), stdout);
  return 0;
}
