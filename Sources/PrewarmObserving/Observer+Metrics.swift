#if Observing
public import CoreMetrics
import ImageCaching
public import ImageManaging
import Base

extension ImageManager.Observer {
  /// Counts events with swift-metrics.
  ///
  /// | metric | kind | dimensions |
  /// |---|---|---|
  /// | `prewarm_loads` | counter of ended loads | `outcome`, such as `hit-memory`, `downloaded` or `failed` |
  /// | `prewarm_retries` | counter of downloads tried again | |
  /// | `prewarm_received_bytes` | counter of bytes of bodies | |
  /// | `prewarm_download_duration` | timer of loads that used the network | |
  /// | `prewarm_stale_loads` | counter of loads served by an expired image since its server was down | |
  /// | `prewarm_unstored_loads` | counter of loads whose image the disk couldn't store | |
  /// | `prewarm_trimmed_images` | counter of images removed from the cache | |
  ///
  /// - Parameters:
  ///   - prefix: replaces `prewarm` in the names.
  ///   - factory: makes the metrics; by default the process's.
  public static func metrics(
    prefix: String = "prewarm",
    factory: any MetricsFactory = MetricsSystem.factory
  ) -> ImageManager.Observer {
    let loads = LoadOutcome.allCases.map { outcome in
      Counter(label: "\(prefix)_loads", dimensions: [("outcome", outcome.name)], factory: factory)
    }
    let retries = Counter(label: "\(prefix)_retries", factory: factory)
    let bytes = Counter(label: "\(prefix)_received_bytes", factory: factory)
    let duration = Timer(label: "\(prefix)_download_duration", factory: factory)
    let stale = Counter(label: "\(prefix)_stale_loads", factory: factory)
    let unstored = Counter(label: "\(prefix)_unstored_loads", factory: factory)
    let trimmed = Counter(label: "\(prefix)_trimmed_images", factory: factory)
    return ImageManager.Observer { event in
      switch event {
      case .ended(_, let result):
        loads[Int(result.outcome.rawValue)].increment()
        if result.staleReason != nil { stale.increment() }
        if result.storeFailure != nil { unstored.increment() }
        guard result.attempts > 0 else { return }
        bytes.increment(by: result.receivedBytes)
        duration.recordNanoseconds(Int64(clamping: result.durationNanoseconds))
      case .retried: retries.increment()
      case .trimmed(let result): trimmed.increment(by: result.expired + result.trimmed)
      case .requested, .warning: break
      }
    }
  }
}
#endif
