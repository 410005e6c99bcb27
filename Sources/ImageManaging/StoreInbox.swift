import ImageCaching
import ImageDownloading
import ImagePrimitives
import Threads

/// What the store thread is told.
enum StoreMessage: Sendable {
  /// From the transfer thread.
  case event(DownloadEvent)
  /// A cached body that a job wants proven more deeply.
  case prove(number: UInt64, head: EntryHead)
  /// From a coding thread: a fetched body was judged; nil where nobody waits for it any more.
  case verified(number: UInt64, FetchedImage, Result<VerifiedImage, Failure>?)
  /// From a coding thread: a cached body was judged.
  case proved(number: UInt64, head: EntryHead, CachedProof)
  /// Records whose time of access is to be renewed.
  case touch(LoadContext, [EntryTouch])
  /// End the transfers, finish what is at hand, and end.
  case close
  /// Stands where a message was taken out.
  case taken
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
  /// Nobody waits for it any more.
  case abandoned
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
    var held = BackPressure.Held()
    for event in events {
      switch event {
      case .chunk(_, _, let chunk): held.bytes += chunk.count
      case .finished(_, let image):
        held.entries += 1
        held.bytes += image.body.count
      case .restarted, .failed, .cancelled: break
      }
    }
    pressure.add(held)
    mailbox.post(contentsOf: events.lazy.map { .event($0) })
  }
}
