import Glibc
import ImageCoding
import ImagePrimitives

/// What one run of libFuzzer looks at: a format's coder, the header probe of all formats, the reading of reports, or of what lies
/// in a queue on Redis.
///
/// One program holds them all, so that the coders are built with sanitizers once; `PREWARM_FUZZ_TARGET` says which it is this time.
enum FuzzTarget {
  case coder(any ImageCoder, ImageFormat)
  case header
  case report
  case queueMessage
  case queueRows

  /// The one that the environment names.
  static let current: FuzzTarget = {
    guard let value = getenv("PREWARM_FUZZ_TARGET") else { fatalError("PREWARM_FUZZ_TARGET is not set; scripts/fuzz sets it") }
    let name = String(cString: value)
    switch name {
    case "header": return .header
    case "report": return .report
    case "queue-message": return .queueMessage
    case "queue-rows": return .queueRows
    default: break
    }
    guard let format = ImageFormat(name: name), let coder = ImageCoderRegistry.standard.coder(for: format) else {
      fatalError("no coder reads '\(name)'")
    }
    return .coder(coder, format)
  }()

  func run(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .coder(let coder, let format): CoderChecks(coder, format, bytes).run()
    case .header: HeaderChecks(bytes).run()
    case .report: ReportChecks(bytes).run()
    case .queueMessage: QueueMessageChecks(bytes).run()
    case .queueRows: QueueRowChecks(bytes).run()
    }
  }

  /// What it begins with beside the fixtures: what we write ourselves.
  private var seeds: [[UInt8]] {
    switch self {
    case .queueMessage: QueueMessageChecks.seeds
    case .queueRows: QueueRowChecks.seeds
    case .coder, .header, .report: []
    }
  }

  /// Writes its seeds into the folder that the environment names.
  func writeSeeds() {
    guard let value = getenv("PREWARM_FUZZ_SEEDS") else { return }
    for (number, seed) in seeds.enumerated() {
      let path = "\(String(cString: value))/seed-\(number + 1)"
      guard let file = fopen(path, "w"), fwrite(seed, 1, seed.count, file) == seed.count, fclose(file) == 0 else {
        fatalError("\(path) cannot be written: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Makes a new input of one that there is, or leaves that to libFuzzer's own mutations, and returns its length.
  ///
  /// Every fourth is libFuzzer's alone, so that wrong sums and broken texts are tried too.
  func mutate(_ bytes: UnsafeMutableRawBufferPointer, count: Int, seed: UInt32, byLibrary: () -> Int) -> Int {
    guard !seed.isMultiple(of: 4) else { return byLibrary() }
    switch self {
    case .coder(_, let format):
      let length = byLibrary()
      Mending.mend(UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]), as: format)
      return length
    case .report, .queueRows: return JSONMutation.mutate(bytes, count: count, seed: seed) ?? byLibrary()
    case .header, .queueMessage: return byLibrary()
    }
  }
}

/// What libFuzzer calls first, before it reads its corpus.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
  FuzzTarget.current.writeSeeds()
  return 0
}

/// What libFuzzer calls for every input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FuzzTarget.current.run(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}

/// What libFuzzer calls to make a new input of one that it has.
@_cdecl("LLVMFuzzerCustomMutator")
public func customMutator(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int, _ seed: UInt32) -> Int {
  FuzzTarget.current.mutate(UnsafeMutableRawBufferPointer(start: bytes, count: maximum), count: count, seed: seed) {
    mutate(bytes, count, maximum)
  }
}

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutate(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int) -> Int

/// Stops with a sentence, which libFuzzer reports together with the input.
func demand(_ holds: Bool, _ sentence: @autoclosure () -> String) {
  if !holds { fatalError(sentence()) }
}
