public import ImageCaching
import ImageCoding
import ImagePrimitives

/// The memory layer: decoded images, the least useful of which go when it is full, and all of them when the machine's memory is short.
///
/// Several managers and jobs may share one; images of different caches stay apart in it.
public final class ImageMemory: Sendable {
  private let images: MemoryCache<MemoryKey, RememberedImage>
  private let monitor: MemoryPressureMonitor?
  /// Why warnings of the kernel are not heard, as a sentence; nil where they are, and where that was not asked for.
  public let pressureUnavailable: String?

  /// An empty layer with limits, of which a negative one traps.
  ///
  /// - Parameters:
  ///   - maxCost: bytes of pixels at most; nil, the default: no limit.
  ///   - maxCount: images at most; nil, the default: no limit.
  ///   - sources: where the kernel warns that memory is short, which empties the layer; nil: it is not emptied. By default where it
  ///     does on this machine; where it does nowhere, ``pressureUnavailable`` says so.
  public init(maxCost: Int? = nil, maxCount: Int? = nil, pressure sources: MemoryPressureSources? = .system) {
    let images = MemoryCache<MemoryKey, RememberedImage>(.init(maxCost: maxCost, maxCount: maxCount))
    self.images = images
    guard let sources else {
      (monitor, pressureUnavailable) = (nil, nil)
      return
    }
    do throws(MemoryPressureMonitor.Unavailable) {
      (monitor, pressureUnavailable) = (try MemoryPressureMonitor(sources: sources) { images.removeAll() }, nil)
    } catch {
      (monitor, pressureUnavailable) = (nil, error.description)
    }
  }

  /// Bytes of pixels that are kept.
  public var totalCost: Int { images.totalCost }
  /// How many images are kept.
  public var count: Int { images.count }
  /// Lets all images go.
  public func removeAll() { images.removeAll() }

  func image(for key: MemoryKey) -> RememberedImage? { images.value(for: key) }
  func insert(_ image: RememberedImage, for key: MemoryKey) { images.insert(image, for: key, cost: image.cost) }

  /// Removes an image as it came and all that was made of it.
  func removeAll(of image: CacheKey, namespace: String) {
    if images.count > 0 { images.removeAll { $0.image == image && $0.namespace == namespace } }
  }
}

/// What the memory layer keeps of an image.
struct RememberedImage: Sendable {
  /// The whole identity, which tells images apart whose keys are the same: the key is a hash that anyone can aim at.
  let identity: [UInt8]
  let image: DecodedImage
  /// What the record says, or would say where there is none: whoever finds it judges it by rules of their own.
  let head: EntryHead
  /// What is told of it: of a transformed image other than of the one that came.
  let shown: EntryHead
  /// Whether the rules say nothing of `head`, as it is of a transformed image, whose original they were for.
  let isJudged: Bool
  /// The request headers that the answer depends on, as a record keeps them.
  let vary: [UInt8]

  init(
    identity: [UInt8],
    image: DecodedImage,
    head: EntryHead,
    shown: EntryHead? = nil,
    isJudged: Bool = false,
    vary: [UInt8]
  ) {
    self.identity = identity
    self.image = image
    self.head = head
    self.shown = shown ?? head
    self.isJudged = isJudged
    self.vary = vary
  }

  /// Bytes of all pixels: what an image really takes.
  var cost: Int { image.byteCount }
}
