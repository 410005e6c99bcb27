package import ImageCaching
import ImageCoding
import Base

/// The memory layer: decoded images. It evicts the least useful ones when it is full, and all of them under memory pressure.
///
/// Several managers and jobs may share one; images of different caches stay separate.
public final class ImageMemory: Sendable {
  private let images: MemoryCache<MemoryKey, RememberedImage>
  private let monitor: MemoryPressureMonitor?
  /// Why the kernel's memory pressure isn't monitored, as a sentence; nil if it is, or if that wasn't requested.
  public let pressureUnavailable: String?

  /// Creates an empty layer with limits; a negative one traps.
  ///
  /// - Parameters:
  ///   - maxCost: the maximum bytes of pixels; 256 MiB by default, nil: no limit.
  ///   - maxCount: the maximum number of images; nil (the default): no limit.
  ///   - evictsUnderPressure: whether memory pressure of this machine empties the layer, by default true; if it can't be monitored,
  ///     ``pressureUnavailable`` says so.
  public convenience init(maxCost: Int? = 256 << 20, maxCount: Int? = nil, evictsUnderPressure: Bool = true) {
    self.init(maxCost: maxCost, maxCount: maxCount, pressure: evictsUnderPressure ? .system : nil)
  }

  /// The same, with the kernel's sources of memory pressure; nil: pressure is ignored.
  package init(maxCost: Int? = nil, maxCount: Int? = nil, pressure sources: MemoryPressureSources?) {
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

  public var totalCost: Int { images.totalCost }
  public var count: Int { images.count }
  public func removeAll() { images.removeAll() }
  func image(for key: MemoryKey) -> RememberedImage? { images.value(for: key) }
  func insert(_ image: RememberedImage, for key: MemoryKey) { images.insert(image, for: key, cost: image.image.byteCount) }

  /// Removes an original image and all transformed images of it.
  func removeAll(of image: CacheKey, namespace: String) {
    if images.count > 0 { images.removeAll { $0.image == image && $0.namespace == namespace } }
  }
}

/// An image in the memory layer.
struct RememberedImage: Sendable {
  /// The whole identity, to distinguish images with equal keys: keys are hashes, for which collisions can be made.
  let identity: [UInt8]
  let image: DecodedImage
  let known: KnownImage

  /// The record to report.
  var shown: EntryHead { known.shown ?? known.head }
}
