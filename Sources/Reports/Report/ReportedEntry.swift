public import ImagePrimitives

/// One entry of a manifest, as rows of reports tell of it; its bytes are borrowed for the length of a call.
public struct ReportedEntry {
  /// The URL as written, resolved against the manifest's base, with credentials masked; for a bad line, the line as it is.
  public var url: UnsafeRawBufferPointer
  /// The index that ``RunReport/addManifest(_:)`` gave.
  public var manifest: Int
  /// The line in the manifest, from 1; 0 if it has none.
  public var line: UInt64
  /// The class it ran in.
  public var priority: Priority
  /// Host and port, if it isn't the scheme's own (`img.example.com:8443`); empty for a bad line.
  public var host: UnsafeRawBufferPointer
  /// Which of the job's ways to ask: 0 is the plain one, and n the one at n - 1 of those that ``RunReport`` was made with.
  public var variant: Int
  /// Identifies its image, made by `DuplicateIndex.hash`; nil: the URL up to its fragment does.
  public var imageHash: UInt64?

  public init(
    url: UnsafeRawBufferPointer,
    manifest: Int,
    line: UInt64,
    priority: Priority,
    host: UnsafeRawBufferPointer,
    variant: Int = 0,
    imageHash: UInt64? = nil
  ) {
    self.url = url
    self.manifest = manifest
    self.line = line
    self.priority = priority
    self.host = host
    self.variant = variant
    self.imageHash = imageHash
  }
}
