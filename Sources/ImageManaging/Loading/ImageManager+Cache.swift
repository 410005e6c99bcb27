public import ImageCaching
public import ImageCoding
public import Base

// The cached image of a request: looked up, stored and removed without a load. A URL means a request with the manager's settings.
extension ImageManager {
  /// Whether the fresh image of a request is cached, in memory or on disk; read-only caches are ignored.
  public func isCached(_ request: ImageRequest) throws(CacheError) -> Bool {
    if isInMemory(request) { return true }
    return try isOnDisk(request)
  }
  public func isCached(_ url: String) throws(CacheError) -> Bool { try isCached(ImageRequest(url: url)) }

  /// Whether memory has the image as requested: transformed if the request transforms.
  public func isInMemory(_ request: ImageRequest) -> Bool {
    guard let location = CacheLocation(request, self), let memory = location.memory else { return false }
    return location.names.contains { name in
      guard let found = memory.image(for: location.context.memoryKey(name.key)), found.identity == name.identity else {
        return false
      }
      return !(location.cache?.expiry.isExpired(found.known.head, at: location.context.now) ?? false)
    }
  }
  public func isInMemory(_ url: String) -> Bool { isInMemory(ImageRequest(url: url)) }

  /// Whether the disk cache has the fresh image that the request would load; its body isn't read.
  public func isOnDisk(_ request: ImageRequest) throws(CacheError) -> Bool {
    guard let location = CacheLocation(request, self), let cache = location.cache else { return false }
    for identity in location.identities where try cache.contains(identity: identity) { return true }
    return false
  }
  public func isOnDisk(_ url: String) throws(CacheError) -> Bool { try isOnDisk(ImageRequest(url: url)) }

  /// Removes the image of a request from memory, disk or both: the original and the request's transformed image; in memory all transformed
  /// images of it.
  public func remove(_ request: ImageRequest, from layers: CacheLayers = .all) throws(CacheError) {
    guard let location = CacheLocation(request, self) else { return }
    if layers.contains(.memory) { location.forgetInMemory() }
    guard layers.contains(.disk), let cache = location.cache else { return }
    for identity in location.identities { try cache.remove(identity: identity) }
  }

  /// Removes the image at `url` from memory, disk or both, with all images that were made from it by whatever transformer: those
  /// on disk are found by reading all records.
  public func remove(_ url: String, from layers: CacheLayers = .all) throws(CacheError) {
    let request = ImageRequest(url: url)
    try remove(request, from: layers)
    guard layers.contains(.disk), let location = CacheLocation(request, self), let cache = location.cache else { return }
    for record in try cache.transformedEntries(of: Set(location.names.map(\.identity))).values.joined() {
      try cache.remove(identity: record.identity)
    }
  }

  /// Removes all images from memory, disk or both; the blacklist is kept. Throws `inUse` if another process has the disk cache
  /// open.
  public func removeAll(from layers: CacheLayers = .all) throws(CacheError) {
    if layers.contains(.memory) { configuration.memory?.removeAll() }
    if layers.contains(.disk) { try configuration.cache?.clear() }
  }

  /// The identity of a request's image, by which ``/ImageCaching/ImageCache`` knows it; nil if its URL is invalid.
  public func identity(for request: ImageRequest) -> [UInt8]? { CacheLocation(request, self)?.name.identity }
  public func identity(for url: String) -> [UInt8]? { identity(for: ImageRequest(url: url)) }

  /// The disk cache's record of a request's image, expired or not: of the transformed image if the request transforms and that is stored,
  /// otherwise of the original. Nil if there is none.
  public func record(for request: ImageRequest) throws(CacheError) -> EntryRecord? {
    guard let location = CacheLocation(request, self), let cache = location.cache else { return nil }
    for identity in location.identities {
      if let record = try cache.entry(identity: identity) { return record }
    }
    return nil
  }
  public func record(for url: String) throws(CacheError) -> EntryRecord? { try record(for: ImageRequest(url: url)) }

  /// The path of the file that has the bytes of `record(for:)`, to send without reading them into memory; nil if it isn't
  /// cached, or has at most 256 KiB, which the cache keeps in its index. A later trim or replacement removes the file; who has it open
  /// can still read it.
  public func bodyPath(for request: ImageRequest) throws(CacheError) -> String? {
    guard let cache = request.cachePolicy.cache ?? configuration.cache else { return nil }
    return try record(for: request).flatMap { cache.bodyPath(of: $0) }
  }
  public func bodyPath(for url: String) throws(CacheError) -> String? { try bodyPath(for: ImageRequest(url: url)) }

  /// Removes a URL from the blacklist (`removeFailedURL`); returns whether it was there. See ``/ImageCaching/ImageCache/clearBlacklist()``.
  @discardableResult
  public func removeFailedURL(_ url: String) throws(CacheError) -> Bool {
    guard let location = CacheLocation(ImageRequest(url: url), self), let cache = location.cache else { return false }
    return try cache.removeFromBlacklist(identity: location.name.identity)
  }
}

// Storing images that a program already has, as if they had been loaded. A URL means a request with the manager's settings.
extension ImageManager {
  /// Stores the file of an image as if it had been loaded from `url`, verified like one from a server. Throws `failed` if the URL
  /// is invalid, the bytes break the manager's rules, or the disk can't store them.
  public func store(_ data: [UInt8], for url: String, in layers: CacheLayers = .all) throws(ImageLoadError) {
    try store(at: url) { location throws(ImageFailure) in
      let decodes = layers.contains(.memory) && location.memory != nil
      let body = try proven(data, decodes: decodes)
      try keep(data, body.verified, body.decoded, location, in: layers)
    }
  }

  /// Stores a decoded image, before any transformer, as if it had been loaded from `url` and decoded.
  ///
  /// On disk it stores `data` if given; otherwise it encodes the image, by the rules of
  /// ``/ImageCoding/ImageCoderRegistry/encodingFormat(for:options:)`` unless a format is given. In memory it stores the image
  /// itself.
  ///
  /// With `recalculatesData` it is encoded although `data` is given, since the pixels have changed.
  ///
  /// - Throws: `failed` if the URL is invalid, the image can't be encoded, its bytes break the manager's rules, or the disk can't
  ///   store them.
  public func store(
    _ image: DecodedImage,
    data: [UInt8]? = nil,
    recalculatesData: Bool = false,
    as format: ImageFormat? = nil,
    options: EncodingOptions = EncodingOptions(quality: 100),
    for url: String,
    in layers: CacheLayers = .all
  ) throws(ImageLoadError) {
    try store(at: url) { location throws(ImageFailure) in
      var bytes = recalculatesData ? nil : data
      if bytes == nil, layers.contains(.disk), location.cache != nil {
        do throws(ImageError) {
          bytes = try configuration.coders.encode(image, as: format, options: options)
        } catch {
          throw ImageFailure(error)
        }
      }
      let verified = try bytes.map { bytes throws(ImageFailure) in try proven(bytes, decodes: false).verified }
      try keep(bytes, verified ?? VerifiedImage(image), image, location, in: layers)
    }
  }

  private func store(at url: String, _ body: (CacheLocation) throws(ImageFailure) -> Void) throws(ImageLoadError) {
    guard let location = CacheLocation(ImageRequest(url: url), self) else {
      throw .failed(ImageFailure(.invalidURL, message: "\(maskingCredentials(url)) isn't the URL of an image"))
    }
    do throws(ImageFailure) {
      try body(location)
    } catch {
      throw .failed(error)
    }
  }

  private func proven(_ data: [UInt8], decodes: Bool) throws(ImageFailure) -> ProvenBody {
    let verifier = BodyVerifier(coders: configuration.coders, rules: configuration.verification, decodes: decodes)
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

extension VerifiedImage {
  /// The properties of an image in memory without file bytes.
  fileprivate init(_ image: DecodedImage) {
    self.init(image: image.header.properties, proof: .full, contentTypeMatch: .exact)
  }
}

// The same for asynchronous callers: the disk is read and written on threads of their own.
extension ImageManager {
  private func query<Result: Sendable>(_ work: @escaping @Sendable (ImageManager) throws -> Result) async throws -> Result {
    try await CacheQueries.shared.perform { [self] in try work(self) }
  }

  public func isCached(_ request: ImageRequest) async throws -> Bool { try await query { try $0.isCached(request) } }
  public func isCached(_ url: String) async throws -> Bool { try await query { try $0.isCached(url) } }
  public func isOnDisk(_ request: ImageRequest) async throws -> Bool { try await query { try $0.isOnDisk(request) } }
  public func record(for request: ImageRequest) async throws -> EntryRecord? { try await query { try $0.record(for: request) } }
  public func bodyPath(for request: ImageRequest) async throws -> String? { try await query { try $0.bodyPath(for: request) } }

  public func remove(_ request: ImageRequest, from layers: CacheLayers = .all) async throws {
    try await query { try $0.remove(request, from: layers) }
  }

  public func remove(_ url: String, from layers: CacheLayers = .all) async throws {
    try await query { try $0.remove(url, from: layers) }
  }

  public func removeAll(from layers: CacheLayers = .all) async throws { try await query { try $0.removeAll(from: layers) } }

  @discardableResult
  public func removeFailedURL(_ url: String) async throws -> Bool { try await query { try $0.removeFailedURL(url) } }

  public func store(_ data: [UInt8], for url: String, in layers: CacheLayers = .all) async throws {
    try await query { try $0.store(data, for: url, in: layers) }
  }
}
