import Fuzzing
import Glibc

/// The target of a run of libFuzzer, which the environment names: one program has all, so that they are built with sanitizers only once.
private let target: FuzzTarget = {
  guard let name = getenv("PREWARM_FUZZ_TARGET"), let target = FuzzTarget(String(cString: name)) else {
    fatalError("PREWARM_FUZZ_TARGET names no target; scripts/fuzz sets it")
  }
  return target
}()

/// Called by libFuzzer before it reads its corpus: writes the target's own inputs to the folder that the environment names.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
  guard let folder = getenv("PREWARM_FUZZ_SEEDS") else { return 0 }
  for (number, seed) in target.seeds.enumerated() {
    let path = "\(String(cString: folder))/seed-\(number + 1)"
    guard let file = fopen(path, "w"), fwrite(seed, 1, seed.count, file) == seed.count, fclose(file) == 0 else {
      fatalError("cannot write \(path): \(String(cString: strerror(errno)))")
    }
  }
  return 0
}

/// Called by libFuzzer for every input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  target.run(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}

/// Called by libFuzzer to mutate an input.
@_cdecl("LLVMFuzzerCustomMutator")
public func customMutator(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int, _ seed: UInt32) -> Int {
  let length = mutate(bytes, count, maximum)
  target.mend(UnsafeMutableRawBufferPointer(start: bytes, count: length), seed: seed)
  return length
}

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutate(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int) -> Int
