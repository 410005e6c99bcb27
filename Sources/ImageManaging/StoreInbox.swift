import ImageCaching
import ImageDownloading
import ImagePrimitives
import Threads

/// What the store thread is told.
enum StoreMessage: Sendable {
  /// From the transfer thread.
  case events([DownloadEvent])
  /// A cached body that a job wants proven more deeply.
  case prove(number: UInt64, head: EntryHead)
  /// From a coding thread: a fetched body was judged.
  case verified(number: UInt64, FetchedImage, Result<VerifiedImage, Failure>)
  /// From a coding thread: a cached body was judged.
  case proved(number: UInt64, head: EntryHead, CachedProof)
  /// Records whose time of access is to be renewed.
  case touch(LoadContext, [EntryTouch])
  /// Finish what is at hand and end.
  case stop
}

/// A record that was read, and whose time of access is out of date.
struct EntryTouch: Sendable {
  let key: CacheKey
  let identity: [UInt8]
}

/// What reading and decoding a cached body showed.
enum CachedProof: Sendable {
  case good(VerifiedImage)
  /// It breaks the job's rules.
  case broken
  /// It is gone, cut or changed.
  case damaged
  /// It could not be read at all.
  case unreadable(CacheError)
}

/// The way to the store thread: it takes what transfers bring and says whether more may come.
final class StoreInbox: DownloadReceiver {
  let mailbox = Mailbox<StoreMessage>()
  let pressure = BackPressure()

  var mayStart: Bool { pressure.mayStart() }

  func receive(_ events: [DownloadEvent]) {
    var entries = 0
    var bytes = 0
    for event in events {
      switch event {
      case .chunk(_, _, let chunk): bytes += chunk.count
      case .finished(_, let image):
        entries += 1
        bytes += image.body.count
      case .restarted, .failed, .cancelled: break
      }
    }
    pressure.add(entries: entries, bytes: bytes)
    mailbox.post(.events(events))
  }
}
