import ImageCaching
import ImageCoding
import ImageDownloading
import ImagePrimitives
import Threads

/// What the store thread is told.
enum StoreMessage: Sendable {
  /// From the transfer thread.
  case event(DownloadEvent)
  /// A flight whose cached copy is to be read first.
  case prove(number: UInt64)
  /// From a coding thread: a fetched body was judged; nil where nobody waits for it any more.
  case processed(number: UInt64, FetchedImage, Result<ProcessedImage, Failure>?)
  /// From a coding thread: a cached body was judged.
  case proved(number: UInt64, CachedCopy, CachedProof)
  /// From a coding thread: what a body that still arrives gives to see.
  case partial(number: UInt64, DecodedImage)
  /// Times of access wait for being written, where none did before.
  case touched(LoadContext)
  /// So many times of access wait that they are to be written at once.
  case writeTouches(LoadContext)
  /// End the transfers, finish what is at hand, and end.
  case close
  /// Stands where a message was taken out.
  case taken
}

/// The way to the store thread: it takes what transfers bring and says whether more may come.
final class StoreInbox: DownloadReceiver {
  let mailbox = Mailbox<StoreMessage>()
  let pressure = BackPressure()
  /// Is told what the store thread does.
  let meter: PipelineMeter

  init(meter: PipelineMeter) { self.meter = meter }

  /// Calls `body`, in which the store thread waits for the disk.
  func whileWriting<Result>(_ body: () -> Result) -> Result {
    meter.store(.writing)
    defer { meter.store(.working) }
    return body()
  }

  var mayStart: Bool { pressure.mayStart() }

  func receive(_ events: [DownloadEvent]) {
    var held = BackPressure.Held()
    for event in events {
      switch event {
      case .chunk(_, _, let chunk): held.bytes += chunk.count
      case .finished(_, let image):
        held.entries += 1
        held.bytes += image.body.count
      default: break
      }
    }
    pressure.add(held)
    mailbox.post(contentsOf: events.lazy.map { .event($0) })
  }
}
