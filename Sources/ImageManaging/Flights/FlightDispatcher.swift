import Platform
import ImageCaching
import ImageDownloading
import Base
import Synchronization

/// Dispatches requests: decided by a look-up, joined to a flight, or started as a new one. It has no thread: it runs on its
/// caller's, that of a manager's user or the store thread.
final class FlightDispatcher: Sendable {
  let flights = FlightTable()
  let inbox: StoreInbox
  private let downloader: ImageDownloader
  private let helpers: CodingThreads
  private let clients: DownloadClients
  private let gate = LoadGate()

  /// Creates a dispatcher; the threads of `helpers` help with look-ups.
  init(inbox: StoreInbox, downloader: ImageDownloader, helpers: CodingThreads) {
    self.helpers = helpers
    self.inbox = inbox
    self.downloader = downloader
    clients = DownloadClients(of: downloader, receiver: inbox)
  }

  /// Loads a batch; see ``ImageManager/load(_:context:receiver:decided:)``. Returns false if it was closed before: then each request
  /// is decided as cancelled.
  @discardableResult
  func load(
    _ batch: EntryBatch,
    context: LoadContext,
    receiver: any LoadReceiver,
    decided: (Int, LoadCompletion) -> Void
  ) throws(CacheError) -> Bool {
    guard gate.enter() else {
      for index in batch.entries.indices { decided(index, LoadCompletion(EntryResult(.cancelled))) }
      return false
    }
    defer { if gate.leave() { inbox.mailbox.post(.close) } }
    context.readAhead?.note(batch.entries.count)
    try batch.bytes.withRawBytes { bytes throws(CacheError) in
      var lookUp = BatchLookUp(batch, in: bytes, context: context)
      var indices = Array(batch.entries.indices)
      var isDecided = [Bool](repeating: false, count: batch.entries.count)
      while !indices.isEmpty {
        let inFlight = flights.marks(of: indices.lazy.map { lookUp.keys[$0] }, for: context)
        do throws(CacheError) {
          try lookUp.run(indices, inFlight: inFlight, helping: helpers) { index, completion in
            isDecided[index] = true
            decided(index, completion)
          }
        } catch {
          for index in indices where !isDecided[index] { decided(index, LoadCompletion(EntryResult(.cancelled))) }
          throw error
        }
        note(lookUp.staleTouches, context)
        let undecided = lookUp.undecided
        let begun = undecided.map { lookUp.flight(for: $0) }
        let joined = flights.join(begun, receiver: receiver) { undecided[$0].mustShare }
        indices = begin(begun, receiver: receiver, joined: joined).map { undecided[$0].index }
      }
    }
    return true
  }

  /// Starts the flights that join no other; returns the indices of those whose flight has ended meanwhile, to be looked up again.
  private func begin(_ flights: [Flight], receiver: any LoadReceiver, joined: [FlightTable.Joined]) -> [Int] {
    var downloads: [Download] = []
    var proofs: [StoreMessage] = []
    var ended: [Int] = []
    var began: [(UInt64, Flight, LoadPriority)] = []
    for (index, joined) in joined.enumerated() {
      let flight = flights[index]
      switch joined {
      case .shared(let number, let raised):
        if let raised { client(of: raised.context).setPriority(raised.priority, patience: raised.awaiting, of: number) }
        receiver.joined(flight.entry, flight: number)
      case .ended: ended.append(index)
      case .began(let number):
        began.append((number, flight, flight.entry.priority))
        if flight.copy != nil {
          proofs.append(.prove(number: number))
        } else {
          flight.context.options.observation?.requested(flight)
          if flight.context.options.downloader == nil {
            downloads.append(flight.download(id: number))
          } else {
            client(of: flight.context).submit([flight.download(id: number)])
          }
        }
        receiver.joined(flight.entry, flight: number)
      }
    }
    if !downloads.isEmpty { clients.client(of: nil).submit(downloads) }
    if !proofs.isEmpty { inbox.mailbox.post(contentsOf: proofs, wakes: flights.contains { $0.context.isAwaited }) }
    // A cancellation or a raised class in between didn't reach these transfers.
    for (number, flight, priority) in began {
      if flight.stop == .now { client(of: flight.context).cancel([number], includingRunning: true) }
      raise(flight, number, from: priority)
    }
    return ended
  }

  /// Requests a flight from the network, after another step.
  func submit(_ flight: Flight, number: UInt64, isConditional: Bool) {
    flight.context.options.observation?.requested(flight)
    let client = client(of: flight.context)
    let download = flight.download(id: number, isConditional: isConditional)
    client.submit([download])
    // A stop or a raised class in between didn't reach this transfer.
    if flight.stop != .no { client.cancel([number], includingRunning: true) }
    raise(flight, number, from: download.priority)
  }

  private func raise(_ flight: Flight, _ number: UInt64, from priority: LoadPriority) {
    let (current, awaiting) = (flight.priority, flight.awaiting)
    guard current > priority || awaiting != nil else { return }
    client(of: flight.context).setPriority(current, patience: awaiting, of: number)
  }

  /// Raises the class of a flight, unless it has ended.
  func raise(_ number: UInt64, to priority: LoadPriority) {
    guard let flight = flights.flight(number), flight.raise(to: priority) else { return }
    client(of: flight.context).setPriority(priority, of: number)
  }

  func cancelDownloads(_ numbers: [UInt64], includingRunning: Bool) {
    for client in clients.all { client.cancel(numbers, includingRunning: includingRunning) }
  }

  func capacityChanged() {
    for client in clients.all { client.capacityChanged() }
  }

  /// Rejects further loads, and makes the store thread end after the current look-ups are dispatched.
  func close() {
    if gate.close() { inbox.mailbox.post(.close) }
  }

  var isClosed: Bool { gate.isClosed }

  /// Whether the store thread's end may wait for the calling thread: it looks something up, or transfers.
  var isHeldUpByCurrentThread: Bool { gate.holdsCurrentThread || clients.runOnCurrentThread }

  func closeClients() {
    for client in clients.all { client.close() }
  }

  private func client(of context: LoadContext) -> DownloadClient { clients.client(of: context.options.downloader) }
}

/// Admits loads until it is closed, so that a manager ends after the last load that has begun.
final class LoadGate: Sendable {
  private struct State {
    /// The thread of each admitted load; a hook of a load may load again.
    var threads: [pthread_t] = []
    var isClosed = false

    var currentThread: Int? { threads.lastIndex { pthread_equal($0, pthread_self()) != 0 } }
  }

  private let state = Mutex(State())

  /// Admits the calling thread until it leaves; false once the gate is closed.
  func enter() -> Bool {
    state.withLock { state in
      if !state.isClosed { state.threads.append(pthread_self()) }
      return !state.isClosed
    }
  }

  /// Ends a load of the calling thread; returns whether the gate was closed meanwhile and this was the last load inside.
  func leave() -> Bool {
    state.withLock { state in
      if let index = state.currentThread { state.threads.remove(at: index) }
      return state.isClosed && state.threads.isEmpty
    }
  }

  /// Admits no load from now on. Returns whether none is inside; otherwise ``leave()`` returns true for the last. A second call returns
  /// false.
  func close() -> Bool {
    state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed && state.threads.isEmpty
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether the calling thread is in a load admitted here.
  var holdsCurrentThread: Bool { state.withLock { $0.currentThread != nil } }
}

/// The clients by which a manager submits downloads: one of its own downloader, and one of each that a context names. Those other
/// downloaders are retained by their owners only: clients of released ones are removed when the next is added.
final class DownloadClients: Sendable {
  private struct Other: Sendable {
    weak let downloader: ImageDownloader?
    let client: DownloadClient
  }

  private let own: DownloadClient
  private let ownDownloader: ImageDownloader
  private let receiver: any DownloadReceiver
  private let others = Mutex<[ObjectIdentifier: Other]>([:])

  init(of downloader: ImageDownloader, receiver: any DownloadReceiver) {
    ownDownloader = downloader
    self.receiver = receiver
    own = downloader.client(receiver)
  }

  /// The client of `downloader`; the manager's own one if nil.
  func client(of downloader: ImageDownloader?) -> DownloadClient {
    guard let downloader else { return own }
    let key = ObjectIdentifier(downloader)
    let (client, _) = others.withLock { others in
      // An earlier downloader at the same address is gone by now, as its weak reference shows.
      if let other = others[key], other.downloader === downloader { return (other.client, [Other]()) }
      let gone = others.filter { $0.value.downloader == nil }
      for key in gone.keys { others[key] = nil }
      let client = downloader.client(receiver)
      others[key] = Other(downloader: downloader, client: client)
      // The caller releases them, outside of the lock.
      return (client, Array(gone.values))
    }
    return client
  }

  var all: [DownloadClient] { [own] + others.withLock { $0.values.map(\.client) } }

  /// Whether the calling thread makes transfers for one of their downloaders.
  var runOnCurrentThread: Bool {
    let downloaders = others.withLock { $0.values.compactMap(\.downloader) }
    return ownDownloader.runsOnCurrentThread || downloaders.contains { $0.runsOnCurrentThread }
  }
}
