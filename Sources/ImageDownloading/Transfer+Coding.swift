import ImagePrimitives

/// Bodies that come coded though none was asked for.
extension Transfer {
  /// Up to this size a body may unpack from anything.
  private static let freeBytes = 1 << 20
  /// Beyond it, to so many times what came at most: about what deflate does at its best (RFC 1951), and more than images have room for.
  static let maximumRatio = 1000

  /// Whether it unpacks to more than any image would. Where no length was told, libcurl counts what came only after it is decoded.
  var unpacksTooFar: Bool {
    guard bodyBytes > Self.freeBytes else { return false }
    let uncounted = contentLength == nil ? RequestTemplate.bufferBytes : 0
    return bodyBytes / Self.maximumRatio > Int(clamping: receivedBytes) + uncounted
  }
}

extension Failure {
  /// A body that unpacks to far more than came.
  static func bomb(status: Int?) -> Failure {
    Failure(
      .tooLarge,
      status: status,
      message: "the body comes coded, and unpacks to more than \(Transfer.maximumRatio) times the bytes that came"
    )
  }
}
