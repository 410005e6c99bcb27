public import Base

// What HTTP requires of a server that sends images on. scripts/house: rules for several types.

extension ImageFacts {
  /// Whether a client's copy is current, so that the response is a 304: its `If-None-Match` has this entity tag, weak or strong, or is `*`
  /// (RFC 9110, section 13.1.2). Nil, a request without the header, is false.
  public func isCurrent(ifNoneMatch field: String?) -> Bool {
    guard let field else { return false }
    return field.split(separator: ",").contains { ["*", etag, "W/" + etag].contains(String($0.trimmingSpaces())) }
  }

  /// What a request with a `Range` gets (RFC 9110, section 14.2).
  public enum Part: Sendable, Hashable {
    /// All bytes, with 200.
    case whole
    /// Those bytes, with 206 and ``contentRange(of:)``.
    case bytes(Range<Int>)
    /// None, with 416 and `Content-Range: bytes */LENGTH`.
    case unsatisfiable

    /// The `Content-Range` for a file of `byteCount` bytes; nil for the whole.
    public func contentRange(of byteCount: Int) -> String? {
      switch self {
      case .whole: nil
      case .bytes(let range): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(byteCount)"
      case .unsatisfiable: "bytes */\(byteCount)"
      }
    }
  }

  /// The part that a request with these headers gets. Several ranges, other units and invalid ones are ignored, as the RFC allows, and so is
  /// a range of another version: an `If-Range` that isn't this strong entity tag (section 13.1.5).
  public func part(range field: String?, ifRange: String? = nil) -> Part {
    guard let field, ifRange == nil || ifRange == etag else { return .whole }
    let (unit, set) = field.halves(at: "=")
    guard let set, unit.trimmingSpaces().lowercased() == "bytes", !set.contains(",") else { return .whole }
    let (first, last) = set.trimmingSpaces().halves(at: "-")
    guard let last else { return .whole }
    guard !first.isEmpty else {
      guard let count = Self.position(last) else { return .whole }
      return count > 0 && byteCount > 0 ? .bytes(max(0, byteCount - count)..<byteCount) : .unsatisfiable
    }
    guard let start = Self.position(first) else { return .whole }
    guard let end = last.isEmpty ? Int.max : Self.position(last), end >= start else { return .whole }
    return start < byteCount ? .bytes(start..<min(byteCount, end == .max ? .max : end + 1)) : .unsatisfiable
  }

  /// A number of digits only; a greater one than fits counts as the greatest.
  private static func position(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text) ?? .max
  }
}

extension StringProtocol {
  fileprivate func trimmingSpaces() -> Substring {
    let rest = Substring(self).drop { $0 == " " || $0 == "\t" }
    guard let last = rest.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
    return rest[...last]
  }

  /// What is before and after the first `mark`; nil if there is none.
  fileprivate func halves(at mark: Character) -> (Substring, Substring?) {
    let text = Substring(self)
    guard let index = text.firstIndex(of: mark) else { return (text, nil) }
    return (text[..<index], text[text.index(after: index)...])
  }
}

extension ImageFormat {
  /// The format of `formats` that an `Accept` header prefers (RFC 9110, section 12.5.1), of equal ones the first; nil if it accepts none.
  /// Without a header all are equal. A range such as `image/*` counts for the formats that it doesn't name, unless it is the only
  /// sign of a modern one: every client that reads AVIF, WebP, JPEG XL or HEIC names it, and browsers send `image/*` or `*/*` besides.
  public static func preferred(by accept: String?, among formats: [ImageFormat]) -> ImageFormat? {
    guard let accept, !accept.trimmingSpaces().isEmpty else { return formats.first { !$0.isNamedByReaders } ?? formats.first }
    var weights: [Substring: Double] = [:]
    for element in accept.split(separator: ",") {
      let parts = element.split(separator: ";").map { $0.trimmingSpaces() }
      guard let type = parts.first else { continue }
      let weight = parts.dropFirst().first { $0.lowercased().hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      weights[Substring(type.lowercased()), default: 0] = max(weights[Substring(type.lowercased())] ?? 0, min(max(weight, 0), 1))
    }
    var best: (format: ImageFormat, weight: Double)?
    for format in formats {
      let range = format.isNamedByReaders ? nil : weights["image/*"] ?? weights["*/*"]
      let weight = weights[Substring(format.mediaType)] ?? range ?? 0
      if weight > best?.weight ?? 0 { best = (format, weight) }
    }
    return best?.format
  }

  /// Whether clients that read the format say so.
  private var isNamedByReaders: Bool { [.avif, .webp, .jpegXL, .heic].contains(self) }
}

extension ImageLoadError {
  /// The HTTP status that a server sends on: what the origin says of the image stays (401, 403, 404, 410, 451 and others of 400 to 499, but
  /// 404 instead of 408, 421 and 425, which are about the request); an origin that doesn't respond in time is 504, one that is overloaded,
  /// down or asks for a pause 503, any other failure 502.
  public var httpStatus: Int {
    switch self {
    case .failed(let failure), .blacklisted(let failure): failure.httpStatus
    case .notCached: 504
    case .declined: 404
    case .cancelled, .shutDown: 503
    }
  }
}

extension ImageFailure {
  fileprivate var httpStatus: Int {
    switch kind {
    case .invalidURL: 404
    case .timeout, .stalled: 504
    case .hostDown: 503
    case .httpStatus:
      switch status {
      case 429, 503: 503
      case 504: 504
      case 407, 408, 421, 425: 502
      case let status? where (400...499).contains(status): status
      default: 502
      }
    case .internal, .cacheWrite: 500
    default: 502
    }
  }
}

extension ImageRequest {
  /// A request for the image at `path` below `base`, such as a client's path below an origin's folder; nil if it would leave that.
  ///
  /// `path` is percent-encoded as in a URL, without the leading `/`; it has no query. Segments such as `..`, encoded or not, empty ones,
  /// backslashes and control characters make it nil, so that no client reaches another folder.
  public init?(path: some StringProtocol, below base: String) {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    guard !path.isEmpty, segments.allSatisfy({ Self.isPlain(String($0)) }) else { return nil }
    self.init(url: (base.hasSuffix("/") ? base : base + "/") + path)
  }

  private static func isPlain(_ segment: String) -> Bool {
    var decoded: [UInt8] = []
    var rest = Array(segment.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        // A query, a fragment, or what no URL has.
        if byte <= 0x20 || byte >= 0x7F || "?#\\".utf8.contains(byte) { return false }
        decoded.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else { return false }
      rest = rest.dropFirst(2)
      decoded.append(value)
    }
    // A server may decode twice, and take an encoded slash for one.
    let isUnsafe = decoded.contains { $0 < 0x20 || $0 == 0x7F || "/\\%".utf8.contains($0) }
    return !decoded.isEmpty && !isUnsafe && decoded != Array(".".utf8) && decoded != Array("..".utf8)
  }
}
