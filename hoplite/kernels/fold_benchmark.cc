// What Fold costs, beside memcpy.
//
//   bazel run --config=bench //hoplite/kernels:fold_benchmark
//
// SumOf64MiB adds one object of f32 to another in place, which reads two bytes
// and writes one for each byte of the object, and copies as much with memcpy,
// which reads one and writes one; the two take turns, so that both see the
// same machine. Counters: bytes read and written a second by each, and their
// ratio. The rest fold two frames of 64 KiB from cache; bytes_per_second
// counts what they read and write, items_per_second the elements.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "hoplite/base/reduction.h"
#include "hoplite/kernels/fold.h"

namespace hoplite {
namespace {

using Frame = std::vector<std::byte>;

// Ones, so that no sum or product overflows however often it is repeated.
Frame MakeFrame(DataType type, std::size_t size) {
  Frame frame(size);
  const float single = 1;
  const double wide = 1;
  const std::uint16_t half = type == DataType::kF16 ? 0x3c00 : 0x3f80;
  const std::uint64_t integer = 1;
  const void* one = &integer;
  if (type == DataType::kF32) one = &single;
  if (type == DataType::kF64) one = &wide;
  if (type == DataType::kF16 || type == DataType::kBF16) one = &half;
  for (std::size_t i = 0; i < size; i += SizeOf(type)) {
    std::memcpy(frame.data() + i, one, SizeOf(type));
  }
  return frame;
}

template <typename Action>
double Seconds(Action action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  benchmark::ClobberMemory();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(end - start).count();
}

void SumOf64MiB(benchmark::State& state) {
  constexpr std::size_t kSize = std::size_t{64} << 20;
  Frame total = MakeFrame(DataType::kF32, kSize);
  const Frame addend = MakeFrame(DataType::kF32, kSize);
  const Frame source = MakeFrame(DataType::kF32, kSize);
  Frame target = MakeFrame(DataType::kF32, kSize);
  const std::span<const std::byte> inputs[] = {total, addend};
  const FoldSpec spec{.op = ReduceOp::kSum, .type = DataType::kF32};
  double fold_seconds = 0;
  double copy_seconds = 0;
  for (auto _ : state) {
    copy_seconds +=
        Seconds([&] { std::memcpy(target.data(), source.data(), kSize); });
    const double seconds = Seconds([&] { Fold(spec, total, inputs); });
    fold_seconds += seconds;
    state.SetIterationTime(seconds);
  }
  const double bytes = static_cast<double>(kSize * state.iterations());
  const double fold_rate = 3 * bytes / fold_seconds;
  const double copy_rate = 2 * bytes / copy_seconds;
  state.counters["fold_bytes/s"] = fold_rate;
  state.counters["memcpy_bytes/s"] = copy_rate;
  state.counters["ratio"] = fold_rate / copy_rate;
}
BENCHMARK(SumOf64MiB)->UseManualTime()->Unit(benchmark::kMillisecond);

void FoldFrames(benchmark::State& state, FoldSpec spec) {
  constexpr std::size_t kSize = 64 << 10;
  const Frame first = MakeFrame(spec.type, kSize);
  const Frame second = MakeFrame(spec.type, kSize);
  Frame output(kSize);
  const std::span<const std::byte> inputs[] = {first, second};
  for (auto _ : state) {
    Fold(spec, output, inputs);
    benchmark::ClobberMemory();
  }
  const auto iterations = static_cast<std::int64_t>(state.iterations());
  const auto size = static_cast<std::int64_t>(kSize);
  const auto width = static_cast<std::int64_t>(SizeOf(spec.type));
  state.SetBytesProcessed(iterations * size * 3);
  state.SetItemsProcessed(iterations * size / width);
}

void CopyFrame(benchmark::State& state) {
  constexpr std::size_t kSize = 64 << 10;
  const Frame source = MakeFrame(DataType::kU8, kSize);
  Frame target(kSize);
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), kSize);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kSize) * 2);
}
BENCHMARK(CopyFrame);

const bool registered = [] {
  for (std::size_t type = 0; type < kDataTypeCount; ++type) {
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin,
                        ReduceOp::kMax, ReduceOp::kAverage}) {
      const FoldSpec spec{.op = op,
                          .type = static_cast<DataType>(type),
                          .divisor = op == ReduceOp::kAverage ? 3u : 1u};
      const std::string name =
          absl::StrCat("FoldFrames/", ToString(op), "/", ToString(spec.type));
      benchmark::RegisterBenchmark(
          name.c_str(),
          [spec](benchmark::State& state) { FoldFrames(state, spec); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace hoplite
