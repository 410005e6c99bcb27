public import ImageCaching
public import ImageCoding
public import Base

// The cached image of a request: looked up, stored and removed without a load. The disk is read and written on threads of their own.
extension ImageManager {
  /// Whether memory has the image as requested: transformed if the request transforms.
  public func isInMemory(_ image: some ImageRequestConvertible) -> Bool {
    guard let location = CacheLocation(image.imageRequest, self), let memory = location.memory else { return false }
    return location.names.contains { name in
      guard let found = memory.image(for: location.context.memoryKey(name.key)), found.identity == name.identity else {
        return false
      }
      return !(location.cache?.expiry.isExpired(found.known.head, at: location.context.now) ?? false)
    }
  }

  /// The identity of a request's image, by which ``/ImageCaching/ImageCache`` knows it; nil if its URL is invalid.
  public func identity(for image: some ImageRequestConvertible) -> [UInt8]? {
    CacheLocation(image.imageRequest, self)?.name.identity
  }

  /// Whether the fresh image of a request is cached, in memory or on disk; read-only caches are ignored.
  public func isCached(_ image: some ImageRequestConvertible) async throws(CacheError) -> Bool {
    if isInMemory(image) { return true }
    return try await isOnDisk(image)
  }

  /// Whether the disk cache has the fresh image that the request would load; its body isn't read.
  public func isOnDisk(_ image: some ImageRequestConvertible) async throws(CacheError) -> Bool {
    try await query { blocking throws(CacheError) in try blocking.isOnDisk(image) }
  }

  /// The disk cache's record of a request's image, expired or not: of the transformed image if the request transforms and that is stored,
  /// otherwise of the original. Nil if there is none.
  public func record(for image: some ImageRequestConvertible) async throws(CacheError) -> EntryRecord? {
    try await query { blocking throws(CacheError) in try blocking.record(for: image) }
  }

  /// Removes the image of a request from memory, disk or both: the original and the request's transformed image; in memory all transformed
  /// images of it.
  public func remove(_ image: some ImageRequestConvertible, from layers: CacheLayers = .all) async throws(CacheError) {
    try await query { blocking throws(CacheError) in try blocking.remove(image, from: layers) }
  }

  /// Removes the image of a request from memory, disk or both, with all images that were made from it by whatever transformer: those
  /// on disk are found by reading all records.
  public func removeAllVersions(of image: some ImageRequestConvertible, from layers: CacheLayers = .all) async throws(CacheError)
  {
    try await query { blocking throws(CacheError) in try blocking.removeAllVersions(of: image, from: layers) }
  }

  /// Removes all images from memory, disk or both; the blacklist is kept. Throws `inUse` if another process has the disk cache
  /// open.
  public func removeAll(from layers: CacheLayers = .all) async throws(CacheError) {
    try await query { blocking throws(CacheError) in try blocking.removeAll(from: layers) }
  }

  /// Removes a URL from the blacklist (`removeFailedURL`); returns whether it was there. See ``/ImageCaching/AsyncImageCache/clearBlacklist()``.
  @discardableResult
  public func removeFailedURL(_ url: String) async throws(CacheError) -> Bool {
    try await query { blocking throws(CacheError) in try blocking.removeFailedURL(url) }
  }

  /// Stores the file of an image as if it had been loaded from `url`, verified like one from a server. Throws `failed` if the URL
  /// is invalid, the bytes break the manager's rules, or the disk can't store them.
  public func store(_ data: [UInt8], for url: String, in layers: CacheLayers = .all) async throws(ImageLoadError) {
    try await CacheQueries.shared.perform(cancelled: ImageLoadError.cancelled) { [blocking] () throws(ImageLoadError) in
      try blocking.store(data, for: url, in: layers)
    }
  }

  /// Stores a decoded image, before any transformer, as if it had been loaded from `url` and decoded.
  ///
  /// On disk it stores `data` if given; otherwise it encodes the image, by the rules of
  /// ``/ImageCoding/ImageCoderRegistry/encodingFormat(for:options:)`` unless a format is given. In memory it stores the image
  /// itself.
  ///
  /// - Throws: `failed` if the URL is invalid, the image can't be encoded, its bytes break the manager's rules, or the disk can't
  ///   store them.
  public func store(
    _ image: DecodedImage,
    data: [UInt8]? = nil,
    as format: ImageFormat? = nil,
    options: EncodingOptions = EncodingOptions(quality: 100),
    for url: String,
    in layers: CacheLayers = .all
  ) async throws(ImageLoadError) {
    try await CacheQueries.shared.perform(cancelled: ImageLoadError.cancelled) { [blocking] () throws(ImageLoadError) in
      try blocking.store(image, data: data, as: format, options: options, for: url, in: layers)
    }
  }

  private func query<Result: Sendable>(
    _ work: @escaping @Sendable (Blocking) throws(CacheError) -> Result
  ) async throws(CacheError) -> Result {
    try await CacheQueries.shared.perform(cancelled: CacheError.cancelled) { [blocking] () throws(CacheError) in
      try work(blocking)
    }
  }
}

extension ImageManager {
  /// The calls that block the calling thread while the disk is read or written; not for asynchronous code.
  public var blocking: Blocking { Blocking(manager: self) }

  /// What a manager's calls of the same names do, on the calling thread.
  public struct Blocking: Sendable {
    let manager: ImageManager

    /// See ``ImageManager/isCached(_:)``.
    public func isCached(_ image: some ImageRequestConvertible) throws(CacheError) -> Bool {
      if manager.isInMemory(image) { return true }
      return try isOnDisk(image)
    }

    /// See ``ImageManager/isOnDisk(_:)``.
    public func isOnDisk(_ image: some ImageRequestConvertible) throws(CacheError) -> Bool {
      guard let location = location(image), let cache = location.cache else { return false }
      for identity in location.identities where try cache.contains(identity: identity) { return true }
      return false
    }

    /// See ``ImageManager/record(for:)``.
    public func record(for image: some ImageRequestConvertible) throws(CacheError) -> EntryRecord? {
      guard let location = location(image), let cache = location.cache else { return nil }
      for identity in location.identities {
        if let record = try cache.entry(identity: identity) { return record }
      }
      return nil
    }

    /// See ``ImageManager/remove(_:from:)``.
    public func remove(_ image: some ImageRequestConvertible, from layers: CacheLayers = .all) throws(CacheError) {
      guard let location = location(image) else { return }
      if layers.contains(.memory) { location.forgetInMemory() }
      guard layers.contains(.disk), let cache = location.cache else { return }
      for identity in location.identities { try cache.remove(identity: identity) }
    }

    /// See ``ImageManager/removeAllVersions(of:from:)``.
    public func removeAllVersions(of image: some ImageRequestConvertible, from layers: CacheLayers = .all) throws(CacheError) {
      try remove(image, from: layers)
      guard layers.contains(.disk), let location = location(image), let cache = location.cache else { return }
      for record in try cache.transformedEntries(of: Set(location.names.map(\.identity))).values.joined() {
        try cache.remove(identity: record.identity)
      }
    }

    /// See ``ImageManager/removeAll(from:)``.
    public func removeAll(from layers: CacheLayers = .all) throws(CacheError) {
      if layers.contains(.memory) { manager.configuration.memory?.removeAll() }
      if layers.contains(.disk) { try manager.configuration.cache?.clear() }
    }

    /// See ``ImageManager/removeFailedURL(_:)``.
    @discardableResult
    public func removeFailedURL(_ url: String) throws(CacheError) -> Bool {
      guard let location = location(url), let cache = location.cache else { return false }
      return try cache.removeFromBlacklist(identity: location.name.identity)
    }

    /// See ``ImageManager/store(_:for:in:)``.
    public func store(_ data: [UInt8], for url: String, in layers: CacheLayers = .all) throws(ImageLoadError) {
      try store(at: url) { location throws(ImageFailure) in
        let decodes = layers.contains(.memory) && location.memory != nil
        let body = try proven(data, decodes: decodes)
        try keep(data, body.verified, body.decoded, location, in: layers)
      }
    }

    /// See ``ImageManager/store(_:data:as:options:for:in:)``; it encodes the image if `data` is nil.
    public func store(
      _ image: DecodedImage,
      data: [UInt8]? = nil,
      as format: ImageFormat? = nil,
      options: EncodingOptions = EncodingOptions(quality: 100),
      for url: String,
      in layers: CacheLayers = .all
    ) throws(ImageLoadError) {
      try store(at: url) { location throws(ImageFailure) in
        var bytes = data
        if bytes == nil, layers.contains(.disk), location.cache != nil {
          do throws(ImageError) {
            bytes = try manager.configuration.coders.encode(image, as: format, options: options)
          } catch {
            throw ImageFailure(error)
          }
        }
        let verified = try bytes.map { bytes throws(ImageFailure) in try proven(bytes, decodes: false).verified }
        try keep(bytes, verified ?? VerifiedImage(image), image, location, in: layers)
      }
    }

    /// See ``ImageManager/shutDown()``. A callback of a load (a completion, a hook, a transformer) would wait for itself, so a shutdown by one
    /// traps.
    public func shutDown() { manager.shutDownBlocking() }

    private func location(_ image: some ImageRequestConvertible) -> CacheLocation? { CacheLocation(image.imageRequest, manager) }

    private func store(at url: String, _ body: (CacheLocation) throws(ImageFailure) -> Void) throws(ImageLoadError) {
      guard let location = location(url) else {
        throw .failed(ImageFailure(.invalidURL, message: "\(maskingCredentials(url)) isn't the URL of an image"))
      }
      do throws(ImageFailure) {
        try body(location)
      } catch {
        throw .failed(error)
      }
    }

    private func proven(_ data: [UInt8], decodes: Bool) throws(ImageFailure) -> ProvenBody {
      let verifier = BodyVerifier(
        coders: manager.configuration.coders,
        rules: manager.configuration.verification,
        decodes: decodes
      )
      return try data.withRawBytes { bytes throws(ImageFailure) in try verifier.prove(bytes, contentTypeMatch: .exact) }
    }

    private func keep(
      _ data: [UInt8]?,
      _ verified: VerifiedImage,
      _ image: DecodedImage?,
      _ location: CacheLocation,
      in layers: CacheLayers
    ) throws(ImageFailure) {
      // Images made from other bytes are outdated.
      location.forgetInMemory()
      if layers.contains(.disk), let cache = location.cache, let data { try keep(data, verified, location, in: cache) }
      guard layers.contains(.memory), let memory = location.memory, var image else { return }
      // Without file bytes, rules about size use the size of the pixels.
      let byteCount = data?.count ?? image.byteCount
      let sum = data?.withRawBytes { checksum(of: $0) } ?? Checksum(high: 0, low: 0)
      if let transformer = location.context.options.transformer { image = try transformer.applied(to: image) }
      let known = KnownImage(head: EntryHead(verified, byteCount: byteCount, checksum: sum, storedAt: location.context.now))
      memory.insert(RememberedImage(identity: location.name.identity, image: image, known: known), for: location.memoryKey)
    }

    private func keep(_ data: [UInt8], _ verified: VerifiedImage, _ location: CacheLocation, in cache: ImageCache)
      throws(ImageFailure)
    {
      let name = location.name
      let head = EntryHead(verified, checksum: data.withRawBytes { checksum(of: $0) })
      let fields = EntryFields(key: name.key, head: head, identity: name.identity, shownURL: location.shownURL)
      do throws(CacheError) {
        try cache.write { writer throws(CacheError) in
          try writer.store(fields, body: .bytes(data))
          for old in location.transformedIdentities { try writer.remove(CacheKey(identity: old), identity: old) }
          try writer.unblacklist(name.key, identity: name.identity)
        }
      } catch {
        throw ImageFailure(.cacheWrite, message: "\(error)")
      }
    }
  }
}

extension VerifiedImage {
  /// The properties of an image in memory without file bytes.
  fileprivate init(_ image: DecodedImage) {
    self.init(image: image.header.properties, proof: .full, contentTypeMatch: .exact)
  }
}
