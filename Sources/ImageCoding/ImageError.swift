import CLoading
import Platform

/// Why an image couldn't be decoded or encoded: the kind, and one sentence that quotes the library.
public struct ImageError: Error, Sendable, Hashable {
  /// The kind of an error.
  public enum Kind: Sendable, Hashable {
    /// The bytes have the signature of no known format, or not the one of the coder's format.
    case notAnImage
    /// They do, but are truncated, corrupt, or of a variant that the library can't decode.
    case undecodable
    /// The image is larger than ``DecodingLimits`` allow; no memory was allocated for it.
    case dimensions(maximumPixels: Int)
    /// Decoding it needs more memory than ``DecodingLimits`` allow; none was allocated for it.
    case memory(maximumBytes: Int)
    /// The header continues beyond the prefix: the next attempt needs at least that many bytes from the start of the file.
    case needsMoreBytes(minimum: Int)
    /// The machine has too little memory; the image may be good.
    case outOfMemory
    /// No coder is registered for the format, or its library isn't installed; the image may be good.
    case unavailable
    /// It can't be encoded in that format or within that size.
    case unencodable
  }

  public var kind: Kind
  /// One sentence without full stop.
  public var message: String
  /// For ``Kind/needsMoreBytes(minimum:)``: the offset before which no further bytes are needed; nil if all are.
  ///
  /// The next attempt may have zeros in place of the missing bytes before it.
  package var neededStart: Int?

  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

extension ImageError {
  package static func undecodable(_ message: String) -> ImageError { ImageError(.undecodable, message) }

  /// The error for an image whose library isn't installed or is too old. The advice comes first, since some reports truncate long
  /// messages.
  static func missingLibrary(_ name: String, package: String, for purpose: String, reason: UnsafePointer<CChar>) -> ImageError {
    let reason = String(cString: reason)
    return ImageError(.unavailable, "\(purpose); install \(name) (Debian: \(package)), which can't be loaded: \(reason)")
  }

  /// The error for a header that ends with its prefix: more bytes are needed, or the file is truncated if there are none.
  ///
  /// - Parameter start: the offset before which no further bytes are needed; nil if all are.
  package static func endsEarly(
    _ format: String,
    needed: Int,
    from start: Int? = nil,
    of bytes: Int,
    isComplete: Bool
  ) -> ImageError {
    guard !isComplete else {
      return .undecodable("the \(format) file is truncated: it has \(bytes) bytes, but its header needs at least \(needed)")
    }
    var error = ImageError(
      .needsMoreBytes(minimum: needed),
      "the \(format) header needs \(needed) bytes, but \(bytes) have arrived"
    )
    error.neededStart = start
    return error
  }
}

/// A text in a C array of characters, which Swift imports as a tuple.
package struct LibraryText: CustomStringConvertible {
  package let description: String

  /// Reads the characters up to the first zero.
  package init(_ characters: some Any) {
    description = withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// The lines, each prefixed by the library's name unless it already says what it is about.
  func lines(of library: String) -> [String] {
    description.split(separator: "\n").map { $0.hasPrefix("the ") ? String($0) : "\(library): \($0)" }
  }
}

extension CCodecStatus {
  /// Throws the error of a failed call to decode.
  func check(_ report: CCodecReport, of library: String, _ deadline: DecodingDeadline) throws(ImageError) {
    switch self {
    case CCODEC_OK: return
    case CCODEC_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "\(library): \(LibraryText(report.message))")
    case CCODEC_OUT_OF_TIME: try deadline.check()
    default: break
    }
    throw .undecodable(LibraryText(report.message).lines(of: library).joined())
  }

  /// The file that `encode` allocates and writes; nil if it is too large.
  static func file(
    of library: String,
    _ encode: (inout UnsafeMutablePointer<UInt8>?, inout Int, inout CCodecReport) -> CCodecStatus
  ) throws(ImageError) -> [UInt8]? {
    var start: UnsafeMutablePointer<UInt8>?
    var (count, report) = (0, CCodecReport())
    let status = encode(&start, &count, &report)
    defer { free(start) }
    switch status {
    case CCODEC_OK: return Array(UnsafeBufferPointer(start: start, count: count))
    case CCODEC_TOO_LARGE: return nil
    case CCODEC_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "\(library): \(LibraryText(report.message))")
    default: throw ImageError(.unencodable, "\(library): \(LibraryText(report.message))")
    }
  }
}
