import Glibc
import ImageCoding
import Base

/// The code that a run of libFuzzer tests: a format's coder, the header probe of all formats, the reading of reports, or that
/// of pages, stylesheets and lists.
///
/// One program has all targets, so that the coders are built with sanitizers only once; `PREWARM_FUZZ_TARGET` selects one.
enum FuzzTarget {
  case coder(any ImageCoder, ImageFormat)
  case header
  case report
  case html
  case css
  case list

  /// The target that the environment names.
  static let current: FuzzTarget = {
    guard let value = getenv("PREWARM_FUZZ_TARGET") else { fatalError("PREWARM_FUZZ_TARGET is not set; scripts/fuzz sets it") }
    let name = String(cString: value)
    switch name {
    case "header": return .header
    case "report": return .report
    case "html": return .html
    case "css": return .css
    case "list": return .list
    default: break
    }
    guard let format = ImageFormat(name: name), let coder = ImageCoderRegistry.standard.coder(for: format) else {
      fatalError("no coder decodes '\(name)'")
    }
    return .coder(coder, format)
  }()

  func run(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .coder(let coder, let format): CoderChecks(coder, format, bytes).run()
    case .header: HeaderChecks(bytes).run()
    case .report: ReportChecks(bytes).run()
    case .html: PageChecks(bytes).runPage()
    case .css: PageChecks(bytes).runStylesheet()
    case .list: ListChecks(bytes).run()
    }
  }

  /// The initial inputs besides the fixtures, written by prewarm itself.
  private var seeds: [[UInt8]] {
    switch self {
    case .html: PageChecks.pageSeeds
    case .css: PageChecks.stylesheetSeeds
    case .list: ListChecks.seeds
    case .coder, .header, .report: []
    }
  }

  /// Writes the initial inputs to the folder that the environment names.
  func writeSeeds() {
    guard let value = getenv("PREWARM_FUZZ_SEEDS") else { return }
    for (number, seed) in seeds.enumerated() {
      let path = "\(String(cString: value))/seed-\(number + 1)"
      guard let file = fopen(path, "w"), fwrite(seed, 1, seed.count, file) == seed.count, fclose(file) == 0 else {
        fatalError("cannot write \(path): \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Mutates an input, or leaves that to libFuzzer's own mutations, and returns the new length.
  ///
  /// Every fourth mutation is left to libFuzzer, so that wrong checksums and broken texts are tested too.
  func mutate(_ bytes: UnsafeMutableRawBufferPointer, count: Int, seed: UInt32, byLibrary: () -> Int) -> Int {
    guard !seed.isMultiple(of: 4) else { return byLibrary() }
    switch self {
    case .coder(_, let format):
      let length = byLibrary()
      Mending.mend(UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]), as: format)
      return length
    case .header, .report, .html, .css, .list: return byLibrary()
    }
  }
}

/// Called by libFuzzer before it reads its corpus.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
  FuzzTarget.current.writeSeeds()
  return 0
}

/// Called by libFuzzer for every input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FuzzTarget.current.run(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}

/// Called by libFuzzer to mutate an input.
@_cdecl("LLVMFuzzerCustomMutator")
public func customMutator(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int, _ seed: UInt32) -> Int {
  FuzzTarget.current.mutate(UnsafeMutableRawBufferPointer(start: bytes, count: maximum), count: count, seed: seed) {
    mutate(bytes, count, maximum)
  }
}

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutate(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int) -> Int

/// Stops with a message, which libFuzzer reports with the input.
func demand(_ holds: Bool, _ sentence: @autoclosure () -> String) {
  if !holds { fatalError(sentence()) }
}
