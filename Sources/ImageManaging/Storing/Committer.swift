import Base
import ImageCaching

/// The thread that commits, so that the store thread serves cached images while the disk syncs. It starts with the first commit.
final class Committer {
  enum Work: Sendable {
    case commit(CommitBatch)
    /// Makes room for so many bytes, since a body couldn't be written.
    case makeRoom(Int, LoadContext)
  }

  private let queue = WorkQueue<Work>()
  private let inbox: StoreInbox
  private var thread: WorkerThread?

  init(_ inbox: StoreInbox) { self.inbox = inbox }

  /// Performs `work` after all that was added before; each batch then arrives in the inbox. Without a thread for it, the caller does it.
  func add(_ work: Work) {
    queue.add(work)
    if thread != nil { return }
    do throws(ThreadError) {
      thread = try WorkerThread(name: "commit") { [queue, inbox] in
        var room = RoomOnDisk()
        while let work = queue.take() { Self.perform(work, &room, inbox) }
      }
    } catch {
      var room = RoomOnDisk()
      if let work = queue.take() { Self.perform(work, &room, inbox) }
    }
  }

  /// Waits for the end of the thread, which has done everything by then.
  func close() {
    queue.close()
    thread?.join()
  }

  private static func perform(_ work: Work, _ room: inout RoomOnDisk, _ inbox: StoreInbox) {
    switch work {
    case .commit(var batch):
      batch.commit(&room)
      inbox.mailbox.post(contentsOf: [.committed(batch)], wakes: true)
    case .makeRoom(let byteCount, let context): _ = room.make(byteCount, for: context)
    }
  }
}
