#include "hoplite/runtime/membership_observer.h"

namespace hoplite {

absl::string_view HostOf(absl::string_view address) {
  const std::size_t colon = address.rfind(':');
  absl::string_view host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

}  // namespace hoplite
