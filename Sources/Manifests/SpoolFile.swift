import Glibc

/// A file without a name that is written once, at its end, and then read from anywhere; it goes with its descriptor.
final class SpoolFile {
  private static let bufferBytes = 64 << 10

  private let file: UnnamedFile
  private var buffer: [UInt8] = []
  private var flushedBytes: UInt64 = 0

  /// A new file in that folder.
  init(in directory: String) throws(InputFailure) {
    do throws(UnnamedFile.Refusal) {
      file = try UnnamedFile(in: directory)
    } catch {
      throw InputFailure(
        "the list cannot be spooled in \(directory): \(error.reason); "
          + "where the cache is only read, set TMPDIR to a folder that can be written"
      )
    }
    buffer.reserveCapacity(Self.bufferBytes)
  }

  /// The length in bytes, with what is not written yet.
  var count: UInt64 { flushedBytes + UInt64(buffer.count) }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) throws(InputFailure) {
    if buffer.count + bytes.count > Self.bufferBytes { try flush() }
    buffer.append(contentsOf: bytes)
  }

  /// Writes what is kept; to be called before reading.
  func flush() throws(InputFailure) {
    let bytes = buffer
    buffer.removeAll(keepingCapacity: true)
    do throws(UnnamedFile.Refusal) {
      try file.append(bytes)
    } catch {
      throw InputFailure("the spool of the list cannot be written: \(error.reason)")
    }
    flushedBytes += UInt64(bytes.count)
  }

  /// Reads from `offset`, as much as there is up to the length of `destination`.
  func read(into destination: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(InputFailure) -> Int {
    var done = 0
    while done < destination.count {
      let count = pread(file.descriptor, destination.baseAddress! + done, destination.count - done, off_t(offset) + off_t(done))
      if count == 0 { break }
      if count > 0 {
        done += count
      } else if errno != EINTR {
        throw InputFailure(systemCall: "reading the list's spool")
      }
    }
    return done
  }
}
