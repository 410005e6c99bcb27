import ImageCoding
import Base

/// Tests the header probe: format detection by the first bytes, and the coder's header of any prefix.
struct HeaderChecks {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func run() {
    _ = ContentSniff(prefix: bytes)
    guard let format = ImageFormat(prefix: bytes), let coder = ImageCoderRegistry.standard.coder(for: format) else { return }
    Self.check(coder, format, bytes)
  }

  /// The header of a prefix must match the file's as far as it goes, and a request for more bytes must exceed the prefix.
  static func check(_ coder: any ImageCoder, _ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) {
    let whole = Result { () throws(ImageError) in try coder.header(of: bytes, isComplete: true) }
    if case .failure(let error) = whole {
      if case .needsMoreBytes = error.kind { fatalError("a complete file requests more bytes: \(error.message)") }
    }
    for length in [0, 3, 12, 64, bytes.count / 4, bytes.count / 2, bytes.count - 1, bytes.count]
    where (0...bytes.count).contains(length) {
      let prefix = UnsafeRawBufferPointer(rebasing: bytes[..<length])
      let stated = (coder as? any LengthStatingCoder)?.statedBytes(prefix)
      if case .success = whole, let stated { demand(stated <= bytes.count, "a good file states \(stated) bytes") }
      do throws(ImageError) {
        let header = try coder.header(of: prefix, isComplete: false)
        demand(header.format == format, "a header with format \(header.format)")
        demand(header.size.width > 0 && header.size.height > 0, "a header with size \(header.size)")
        demand((1...8).contains(header.orientation), "a header with orientation \(header.orientation)")
        guard case .success(let whole) = whole else { continue }
        demand(whole.size == header.size, "\(length) bytes have size \(header.size), the whole file \(whole.size)")
      } catch {
        guard case .needsMoreBytes(let minimum) = error.kind else { continue }
        demand(minimum > length, "a header of \(length) bytes requests \(minimum)")
        if let start = error.neededStart, start > length, start < bytes.count {
          check(coder, bytes, withoutBytes: length..<start, whole: whole)
        }
      }
    }
  }

  /// A header must have the same size without bytes that it doesn't need.
  private static func check(
    _ coder: any ImageCoder,
    _ bytes: UnsafeRawBufferPointer,
    withoutBytes gap: Range<Int>,
    whole: Result<ImageHeader, ImageError>
  ) {
    var sparse = Array(bytes)
    for index in gap { sparse[index] = 0 }
    for end in [gap.upperBound + 64, bytes.count] where end <= bytes.count {
      let header = sparse[..<end].withUnsafeBytes { bytes in
        Result { () throws(ImageError) in try coder.header(of: bytes, isComplete: false) }
      }
      sparse[..<end].withUnsafeBytes { _ = (coder as? any LengthStatingCoder)?.statedBytes($0) }
      guard case .success(let header) = header, case .success(let whole) = whole else { continue }
      demand(whole.size == header.size, "without \(gap) it has size \(header.size), the whole file \(whole.size)")
    }
  }
}
