#include "ray_integration/worker/task.h"

#include <utility>

namespace hoplite::task {

// A recipe holds those of its arguments, and so on: a chain as long as the
// program. It is let go link by link, and not by recursion.
Task::~Task() {
  if (lineage_bytes != nullptr) *lineage_bytes -= recipe_bytes;
  std::vector<TaskPtr> left = std::move(recipes);
  while (!left.empty()) {
    const TaskPtr last = std::move(left.back());
    left.pop_back();
    if (last == nullptr || last.use_count() > 1) continue;
    for (TaskPtr& recipe : last->recipes) left.push_back(std::move(recipe));
    last->recipes.clear();
  }
}

}  // namespace hoplite::task
