/// Responses to requests for a part of a body (RFC 9110, section 14).
extension Behaviour {
  /// A body, or the part that `Range` requests as 206; 416 if that begins after the end. Supports one range of the form `bytes=N-M` or
  /// `bytes=N-`, and ignores others. If `If-Range` is neither the `ETag` nor the `Last-Modified` of `headers`, the whole body is sent.
  public static func ranged(_ bytes: [UInt8], type: String? = nil, headers: HeaderFields = [:]) -> Behaviour {
    .computed { request in
      guard request.headers["If-Range"].map({ [headers["ETag"], headers["Last-Modified"]].contains($0) }) ?? true,
        let range = request.headers["Range"].flatMap(requestedRange)
      else { return .body(bytes, type: type, headers: headers) }
      guard range.lowerBound < bytes.count else {
        return .status(416, headers: ["Content-Range": "bytes */\(bytes.count)"])
      }
      return .part(range.lowerBound..<min(range.upperBound, bytes.count), of: bytes, type: type, headers: headers)
    }
  }

  /// A part of a body as 206, whatever was requested; `total` is the declared length of the whole body.
  public static func part(
    _ range: Range<Int>,
    of bytes: [UInt8],
    total: String? = nil,
    type: String? = nil,
    headers: HeaderFields = [:]
  ) -> Behaviour {
    let contentRange = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total ?? "\(bytes.count)")"
    return .body(
      Array(bytes[range]),
      type: type,
      status: 206,
      headers: HeaderFields([("Content-Range", contentRange)] + headers.fields)
    )
  }
}

/// Nil for anything but a single range with a first byte.
private func requestedRange(_ value: String) -> Range<Int>? {
  guard value.hasPrefix("bytes=") else { return nil }
  let ends = value.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
  guard ends.count == 2, let first = Int(ends[0]) else { return nil }
  guard !ends[1].isEmpty else { return first..<Int.max }
  guard let last = Int(ends[1]), last >= first else { return nil }
  return first..<last + 1
}
