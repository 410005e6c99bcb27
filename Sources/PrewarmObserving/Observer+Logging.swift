#if Observing
import ImageCaching
public import ImageManaging
import Base
public import Logging

extension ImageManager.Observer {
  /// Logs events with swift-log: failed loads and problems as warnings, retries as notices, removed images as information, and everything
  /// else for debugging.
  ///
  /// Metadata: `url`; for ended loads `outcome`, and if they used the network `bytes` and `milliseconds`; for failures `reason`, and
  /// `status` if the server responded with one.
  public static func logging(to logger: Logger) -> ImageManager.Observer {
    ImageManager.Observer { event in
      switch event {
      case .requested(let url): logger.debug("requesting an image", metadata: ["url": "\(url)"])
      case .retried(let url, let failure, let delay):
        var metadata = failure.metadata
        metadata["url"] = "\(url)"
        metadata["delay"] = "\(delay)"
        logger.notice("retrying a download", metadata: metadata)
      case .ended(let url, let result):
        var metadata = result.failure?.metadata ?? [:]
        metadata["url"] = "\(url)"
        metadata["outcome"] = "\(result.outcome.name)"
        if result.attempts > 0 {
          metadata["bytes"] = "\(result.receivedBytes)"
          metadata["milliseconds"] = "\(result.durationNanoseconds / 1_000_000)"
        }
        if let reason = result.staleReason {
          metadata.merge(reason.metadata) { $1 }
          logger.notice("served an expired image", metadata: metadata)
          return
        }
        if let reason = result.storeFailure {
          metadata.merge(reason.metadata) { $1 }
          logger.warning("served an image without storing it", metadata: metadata)
          return
        }
        let hasFailed = result.outcome == .failed
        logger.log(level: hasFailed ? .warning : .debug, hasFailed ? "an image failed" : "a load ended", metadata: metadata)
      case .trimmed(let result):
        logger.info(
          "removed images from the cache",
          metadata: ["expired": "\(result.expired)", "trimmed": "\(result.trimmed)", "bytes": "\(result.bytesRemoved)"]
        )
      case .warning(let sentence): logger.warning("\(sentence)")
      }
    }
  }
}

extension ImageFailure {
  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = ["reason": "\(kind.name): \(message)"]
    if let status { metadata["status"] = "\(status)" }
    return metadata
  }
}
#endif
