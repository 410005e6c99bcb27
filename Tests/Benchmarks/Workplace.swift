import Glibc
import ImagePrimitives

/// Where a benchmark keeps its files, and where the fixtures are.
struct Workplace {
  /// A folder that is one benchmark's alone.
  let folder: String
  /// `Tests/Fixtures`.
  let fixtures: String

  /// Makes the folder.
  init(folder: String, fixtures: String) throws {
    guard mkdir(folder, 0o755) == 0 else { throw Mishap(folder) }
    self.folder = folder
    self.fixtures = fixtures
  }

  /// The path of `name` in the folder.
  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Writes a file, and returns its path.
  func write(_ text: String, to name: String) throws -> String {
    let path = path(name)
    guard let file = fopen(path, "w") else { throw Mishap(path) }
    defer { fclose(file) }
    let bytes = Array(text.utf8)
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Mishap(path) }
    return path
  }

  /// The bytes of one of the fixtures' good images.
  func image(_ name: String) throws -> [UInt8] {
    let path = "\(fixtures)/images/good/\(name)"
    guard let file = fopen(path, "r") else { throw Mishap(path) }
    defer { fclose(file) }
    let limit = 1 << 20
    return [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = fread(buffer.baseAddress, 1, limit, file)
    }
  }
}

/// Why a benchmark cannot run.
struct Mishap: Error, CustomStringConvertible {
  let description: String

  /// What the system said of a file.
  init(_ path: String) { description = "\(path): \(String(cString: strerror(errno)))" }

  init(sentence: String) { description = sentence }
}

extension TimeSource {
  /// A clock that stands still.
  static let still = TimeSource(
    monotonic: { MonotonicInstant(nanoseconds: 1_000_000_000) },
    wall: { Timestamp(milliseconds: 1_800_000_000_000) }
  )
}
