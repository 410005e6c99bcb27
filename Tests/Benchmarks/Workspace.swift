import Glibc
import Base

/// The files of a benchmark, and the fixtures.
struct Workspace {
  /// A folder for one benchmark only.
  let folder: String
  let fixtures: String

  init(folder: String, fixtures: String) throws {
    guard mkdir(folder, 0o755) == 0 else { throw BenchmarkError(folder) }
    self.folder = folder
    self.fixtures = fixtures
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  func write(_ text: String, to name: String) throws -> String {
    let path = path(name)
    guard let file = fopen(path, "w") else { throw BenchmarkError(path) }
    defer { fclose(file) }
    let bytes = Array(text.utf8)
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw BenchmarkError(path) }
    return path
  }

  /// The bytes of a fixture in `images/good`.
  func image(_ name: String) throws -> [UInt8] {
    let path = "\(fixtures)/images/good/\(name)"
    guard let file = fopen(path, "r") else { throw BenchmarkError(path) }
    defer { fclose(file) }
    let limit = 1 << 20
    return [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = fread(buffer.baseAddress, 1, limit, file)
    }
  }
}

/// The reason why a benchmark can't run.
struct BenchmarkError: Error, CustomStringConvertible {
  let description: String

  /// The system's error for a file.
  init(_ path: String) { description = "\(path): \(String(cString: strerror(errno)))" }

  init(sentence: String) { description = sentence }
}

extension TimeSource {
  static let still = TimeSource(
    monotonic: { MonotonicInstant(nanoseconds: 1_000_000_000) },
    wall: { Timestamp(milliseconds: 1_800_000_000_000) }
  )
}
