extension ImageIdentity {
  /// The identity of what loads with these parts make of the image of `identity`; nil where they leave it as it is.
  public static func transformed(_ identity: [UInt8], by parts: LoadContext.Parts) -> [UInt8]? {
    TransformIdentity(parts)?.identity(of: identity)
  }
}
