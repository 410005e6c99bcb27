import Glibc
import ImageCoding
import ImagePrimitives

#if AVIF
  import AVIFCoding
#endif

/// What one run of libFuzzer looks at: a format's coder, the header probe of all formats, or the reading of reports.
///
/// One program holds them all, so that the coders are built with sanitizers once; `PREWARM_FUZZ_TARGET` says which it is this time.
enum FuzzTarget {
  case coder(any ImageCoder, ImageFormat)
  case header
  case report

  /// Every coder there is.
  static let coders: ImageCoderRegistry = {
    #if AVIF
      var coders = ImageCoderRegistry.standard
      coders.add(AVIFCoder())
      return coders
    #else
      return .standard
    #endif
  }()

  /// The one that the environment names.
  static let current: FuzzTarget = {
    guard let value = getenv("PREWARM_FUZZ_TARGET") else { fatalError("PREWARM_FUZZ_TARGET is not set; scripts/fuzz sets it") }
    let name = String(cString: value)
    if name == "header" { return .header }
    if name == "report" { return .report }
    guard let format = ImageFormat(name: name), let coder = coders.coder(for: format) else {
      fatalError("no coder reads '\(name)'")
    }
    return .coder(coder, format)
  }()

  func run(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .coder(let coder, let format): CoderChecks(coder, format, bytes).run()
    case .header: HeaderChecks(bytes).run()
    case .report: ReportChecks(bytes).run()
    }
  }
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
  let length = mutate(bytes, count, maximum)
  // Every fourth stays as it is, so that wrong sums are tried too.
  guard !seed.isMultiple(of: 4), case .coder(_, let format) = FuzzTarget.current else { return length }
  Mending.mend(UnsafeMutableRawBufferPointer(start: bytes, count: length), as: format)
  return length
}

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutate(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int) -> Int

/// Stops with a sentence, which libFuzzer reports together with the input.
func demand(_ holds: Bool, _ sentence: @autoclosure () -> String) {
  if !holds { fatalError(sentence()) }
}
