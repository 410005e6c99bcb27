public import ImagePrimitives

/// The coders at hand, asked in reverse order of registration: a coder added later stands in for the ones before it.
public struct ImageCoderRegistry: Sendable, CustomStringConvertible {
  private var coders: [any ImageCoder]

  /// A registry of `coders`, in order of registration.
  public init(_ coders: [any ImageCoder] = []) { self.coders = coders }

  /// JPEG, PNG, WebP and GIF; and AVIF unless the package is built without its trait `AVIF`.
  public static let standard: ImageCoderRegistry = {
    var registry = ImageCoderRegistry([JPEGCoder(), PNGCoder(), WebPCoder(), GIFCoder()])
    #if AVIF
      registry.add(AVIFCoder())
    #endif
    return registry
  }()

  /// The last added of the coders that read `format`; nil where none does.
  public func coder(for format: ImageFormat) -> (any ImageCoder)? {
    coders.last { $0.canDecode(format) }
  }

  /// The last added of the coders that write `format`; nil where none does.
  public func encoder(for format: ImageFormat) -> (any ImageCoder)? {
    coders.last { $0.canEncode(format) }
  }

  /// The types of the coders, in order of registration.
  public var description: String { coders.map { "\(type(of: $0))" }.joined(separator: " ") }

  /// The value of `Accept` that asks for what these coders read best: AVIF if they do, WebP, and any other image.
  public var acceptedTypes: String {
    let modern = [ImageFormat.avif, .webp].filter { coder(for: $0) != nil }.map(\.mediaType)
    return (modern + ["image/*;q=0.8"]).joined(separator: ",")
  }

  /// Adds a coder, which is asked before all others.
  public mutating func add(_ coder: some ImageCoder) { coders.append(coder) }

  /// Removes all coders of a type.
  public mutating func remove<Coder: ImageCoder>(_ type: Coder.Type) { coders.removeAll { $0 is Coder } }
}
