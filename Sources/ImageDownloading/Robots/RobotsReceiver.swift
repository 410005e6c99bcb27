import ImagePrimitives
import Synchronization

/// Gathers what the downloads of `robots.txt` come to, until the loop takes it.
final class RobotsReceiver: DownloadReceiver {
  /// What a download has come to.
  enum Ending {
    /// As much of the file as is read.
    case file([UInt8])
    case failed(Failure)
    case cancelled
  }

  // Touched by the transfer thread alone, which the type of a receiver cannot say.
  private let endings = Mutex<[(number: UInt64, ending: Ending)]>([])

  var mayStart: Bool { true }

  func receive(_ events: [DownloadEvent]) {
    for event in events {
      switch event {
      case .finished(let id, let image) where !image.wasStreamed: note(id, .file(image.body))
      case .chunk(let id, _, let bytes): note(id, .file(bytes))
      case .failed(let id, let failure, _): note(id, .failed(failure))
      case .cancelled(let id, _): note(id, .cancelled)
      case .finished, .notModified, .restarted, .started, .response, .progress: break
      }
    }
  }

  private func note(_ number: UInt64, _ ending: Ending) { endings.withLock { $0.append((number, ending)) } }

  /// What came since it was last asked.
  func takeAll() -> [(number: UInt64, ending: Ending)] {
    endings.withLock { endings in
      defer { endings = [] }
      return endings
    }
  }
}
