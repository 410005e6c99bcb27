public import ImageCaching
public import ImageCoding
public import ImagePrimitives

/// Proves that files are images, by their first bytes and their header, for
/// ``/ImageCaching/ImageCache/importFlat(_:images:storedAt:maximumBytes:onEntry:probe:)``.
///
/// What a job asks beyond that is proven when the job finds the image in its cache.
public struct ImageFileProbe: Sendable {
  private let verifier: BodyVerifier

  /// A probe that knows the formats of `coders`.
  public init(coders: ImageCoderRegistry = .standard) {
    verifier = BodyVerifier(coders: coders, rules: VerificationRules(depth: .header, contentType: .ignore))
  }

  /// What the header of a whole file says; throws where it is no image of a known format.
  public func prove(_ bytes: [UInt8]) throws(Failure) -> NewProof {
    let body = try bytes.withRawBytes { bytes throws(Failure) in
      try verifier.verify(bytes, byteCount: bytes.count, contentType: nil)
    }
    let image = body.verified
    return NewProof(
      depth: image.proof,
      format: image.format,
      width: UInt32(clamping: image.size.width),
      height: UInt32(clamping: image.size.height),
      frames: UInt32(clamping: image.frames)
    )
  }
}
