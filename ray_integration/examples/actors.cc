// State that lives somewhere: a ledger, into which many tasks write.
//
// An actor is an object in a process of its own. Whoever has an ActorRef may
// call its methods, and may hand the ActorRef on to tasks. One call runs at a
// time, so the object needs no lock; the calls of one caller run in order.

#include <iostream>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hoplite/base/status_macros.h"
#include "ray_integration/api/task.h"

namespace {

namespace task = hoplite::task;

class Ledger {
 public:
  explicit Ledger(int balance) : balance_(balance) {}

  int Deposit(int amount) {
    if (amount > largest_) largest_ = amount;
    return balance_ += amount;
  }
  int largest() const { return largest_; }

 private:
  int balance_;
  int largest_ = 0;
};

std::unique_ptr<Ledger> OpenLedger(int balance) {
  return std::make_unique<Ledger>(balance);
}

// A task, of which several write at the same time.
absl::Status DepositOften(task::ActorRef<Ledger> ledger, int amount,
                          int times) {
  std::vector<task::ObjectRef<int>> balances;
  for (int i = 0; i < times; ++i) {
    balances.push_back(ledger.Remote(&Ledger::Deposit, amount));
  }
  return task::Get(balances).status();
}

HOPLITE_REMOTE(OpenLedger, DepositOften, &Ledger::Deposit, &Ledger::largest);

absl::Status Run() {
  const auto ledger = task::RemoteActor(OpenLedger, 1000);
  for (const auto& done : {task::Remote(DepositOften, ledger, 1, 100),
                           task::Remote(DepositOften, ledger, 2, 100),
                           task::Remote(DepositOften, ledger, 3, 100)}) {
    HOPLITE_RETURN_IF_ERROR(task::Get(done, absl::Seconds(30)));
  }

  HOPLITE_ASSIGN_OR_RETURN(
      const int balance,
      task::Get(ledger.Remote(&Ledger::Deposit, 0), absl::Seconds(30)));
  HOPLITE_ASSIGN_OR_RETURN(
      const int largest,
      task::Get(ledger.Remote(&Ledger::largest), absl::Seconds(30)));
  std::cout << "after 300 deposits of at most " << largest << " the balance is "
            << balance << "\n";
  if (balance != 1600 || largest != 3) {
    return absl::InternalError("a deposit was lost, or made twice");
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  absl::Status status = task::Init(argc, argv);
  if (status.ok()) status = Run();
  task::Shutdown();
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
