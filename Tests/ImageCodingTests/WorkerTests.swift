#if os(Linux)
import Base
import Foundation
import ImageCoding
import TestSupport
import Testing

@Suite struct WorkerTests {
  private static let isolated: ImageCoderRegistry = {
    do { return ImageCoderRegistry.standard.isolated(by: try DecodingWorkers(command: BuiltCommand.path)) } catch {
      fatalError("\(error)")
    }
  }()

  private static let files: [String] = {
    let names = FileManager.default.enumerator(atPath: Fixtures.directory)!.compactMap { $0 as? String }
    return names.filter { $0.hasPrefix("images/") && $0.contains(".") && !$0.hasSuffix(".json") && !$0.hasSuffix(".md") }.sorted()
  }()

  private static func outcome<Value>(_ body: () throws -> Value) -> Result<Value, ImageError> {
    do { return .success(try body()) } catch { return .failure(error as! ImageError) }
  }

  @Test func `workers return the same proofs, pixels, pictures of parts, warnings and errors as this process`() throws {
    let (here, apart) = (ImageCoderRegistry.standard, Self.isolated)
    #expect(apart.description == here.description && apart.acceptedTypes == here.acceptedTypes)
    #expect(Self.files.count > 150)
    let limits = [DecodingLimits(budget: DecodingBudget(bytes: 1 << 30)), DecodingLimits(maximumPixels: 3000, maximumFrames: 2)]
    var kinds: Set<ImageError.Kind> = []
    for name in Self.files {
      let bytes = Fixtures.bytes(name)
      for limits in limits {
        let proof = Self.outcome { try here.proveDecodable(bytes, limits: limits) }
        #expect(Self.outcome { try apart.proveDecodable(bytes, limits: limits) } == proof, "\(name)")
        if case .failure(let error) = proof { kinds.insert(error.kind) }
        for options in [DecodingOptions(), DecodingOptions(thumbnail: ImageSize(width: 20, height: 10), firstFrameOnly: true)] {
          let image = Self.outcome { try here.decode(bytes, options: options, limits: limits) }
          #expect(Self.outcome { try apart.decode(bytes, options: options, limits: limits) } == image, "\(name)")
        }
        guard let format = ImageFormat(of: bytes) else { continue }
        bytes.prefix(bytes.count * 2 / 3).withUnsafeBytes { part in
          let picture = Self.outcome { try here.picture(ofPart: part, format, limits: limits) }
          #expect(Self.outcome { try apart.picture(ofPart: part, format, limits: limits) } == picture, "\(name)")
        }
      }
    }
    #expect(kinds.count > 3, "\(kinds)")
  }

  @Test func `threads share workers, which keep an account of the program's memory`() async throws {
    let budget = DecodingBudget(bytes: 1)
    // Its pixels take more than the 8 MiB that a worker may use without asking.
    let size = ImageSize(width: 2000, height: 1500)
    let pixels = PixelBuffer(size: size, bytes: [UInt8](repeating: 255, count: size.pixels * 4))
    let image = DecodedImage(header: ImageHeader(format: .jpeg, size: size), pixels: pixels)
    let bytes = try ImageCoderRegistry.standard.encode(image, as: .jpeg)
    let expected = try ImageCoderRegistry.standard.decode(bytes)
    try await withThrowingTaskGroup(of: DecodedImage.self) { group in
      for _ in 0..<12 { group.addTask { try Self.isolated.decode(bytes, limits: DecodingLimits(budget: budget)) } }
      for try await image in group { #expect(image == expected) }
    }
    #expect(budget.takenBytes == 0)
  }

  @Test func `a command that can't be started, or isn't prewarm, is no fault of the image`() throws {
    #expect(throws: ImageError(.unavailable, "cannot start decoders with /nowhere: No such file or directory")) {
      try DecodingWorkers(command: "/nowhere")
    }
    let coders = ImageCoderRegistry.standard.isolated(by: try DecodingWorkers(command: "/bin/true"))
    let error = Self.outcome { try coders.proveDecodable(Fixtures.bytes("images/good/\(FixtureImage.all[0].name)")) }
    #expect(error == .failure(ImageError(.outOfMemory, "cannot start a decoder: its parent process has ended")))
  }
}
#endif
