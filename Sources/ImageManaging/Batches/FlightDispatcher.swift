import Glibc
import ImageCaching
import ImageDownloading
import ImagePrimitives
import ImageURLs
import Synchronization
import Threads

/// Sends requests on their way: decided by a look-up, joined to a flight, or begun as one of their own.
///
/// It has no thread: it works on its caller's, a manager's user or the store thread.
final class FlightDispatcher: Sendable {
  let flights = FlightTable()
  let inbox: StoreInbox
  private let downloader: ImageDownloader
  private let helpers: CodingThreads
  private let clients: DownloadClients
  private let gate = LoadGate()

  /// Has the threads of `helpers` take part in look-ups.
  init(inbox: StoreInbox, downloader: ImageDownloader, helpers: CodingThreads) {
    self.helpers = helpers
    self.inbox = inbox
    self.downloader = downloader
    clients = DownloadClients(of: downloader, receiver: inbox)
  }

  /// Loads a batch; see ``ImageManager/load(_:context:receiver:decided:)``. False where it was closed before: then each
  /// request is decided as cancelled.
  @discardableResult
  func load(
    _ batch: EntryBatch,
    context: LoadContext,
    receiver: any LoadReceiver,
    decided: (Int, LoadCompletion) -> Void
  ) throws(CacheError) -> Bool {
    guard let pass = gate.enter() else {
      for index in batch.entries.indices { decided(index, LoadCompletion(EntryResult(.cancelled))) }
      return false
    }
    defer { if gate.leave(pass) { inbox.mailbox.post(.close) } }
    try batch.bytes.withRawBytes { bytes throws(CacheError) in
      try load(batch, in: bytes, context: context, receiver: receiver, decided: decided)
    }
    return true
  }

  private func load(
    _ batch: EntryBatch,
    in bytes: UnsafeRawBufferPointer,
    context: LoadContext,
    receiver: any LoadReceiver,
    decided: (Int, LoadCompletion) -> Void
  ) throws(CacheError) {
    context.readAhead?.note(batch.entries.count)
    var lookUp = BatchLookUp(batch, in: bytes, context: context, defaultHeaders: defaultHeaders(context))
    var indices = Array(batch.entries.indices)
    var isTold = [Bool](repeating: false, count: batch.entries.count)
    while !indices.isEmpty {
      let inFlight = flights.marks(of: indices.lazy.map { lookUp.keys[$0] }, for: context)
      do throws(CacheError) {
        try lookUp.run(indices, inFlight: inFlight, helping: helpers) { index, completion in
          isTold[index] = true
          decided(index, completion)
        }
      } catch {
        for index in indices where !isTold[index] {
          decided(index, LoadCompletion(EntryResult(.cancelled)))
        }
        throw error
      }
      note(lookUp.staleTouches, context)
      let undecided = lookUp.undecided
      let begun = undecided.map { lookUp.flight(for: $0) }
      let joined = flights.join(begun, receiver: receiver) { undecided[$0].mustShare }
      indices = begin(begun, receiver: receiver, joined: joined).map { undecided[$0].index }
    }
  }

  /// Sends the flights on their way that share no other; returns the indices of those whose flight ended in between, to be looked up again.
  private func begin(_ flights: [Flight], receiver: any LoadReceiver, joined: [FlightTable.Joined]) -> [Int] {
    var downloads: [Download] = []
    var proofs: [StoreMessage] = []
    var ended: [Int] = []
    var began: [(UInt64, Flight, Priority)] = []
    for (index, joined) in joined.enumerated() {
      let flight = flights[index]
      switch joined {
      case .shared(let number, let raises):
        if raises { client(of: flight.context).setPriority(flight.entry.priority, of: number) }
        receiver.joined(flight.entry, flight: number)
      case .ended: ended.append(index)
      case .began(let number):
        began.append((number, flight, flight.entry.priority))
        if flight.copy != nil {
          proofs.append(.prove(number: number))
        } else if flight.context.options.downloader == nil {
          downloads.append(flight.download(id: number))
        } else {
          client(of: flight.context).submit([flight.download(id: number)])
        }
        receiver.joined(flight.entry, flight: number)
      }
    }
    if !downloads.isEmpty { clients.client(of: nil).submit(downloads) }
    if !proofs.isEmpty { inbox.mailbox.post(contentsOf: proofs) }
    // Who cancelled or raised in between did not know of these transfers yet.
    for (number, flight, priority) in began {
      if flight.stop == .now { client(of: flight.context).cancel([number], includingRunning: true) }
      if flight.priority > priority { client(of: flight.context).setPriority(flight.priority, of: number) }
    }
    return ended
  }

  /// Asks the network for a flight that was on another way before.
  func submit(_ flight: Flight, number: UInt64, isConditional: Bool) {
    let client = client(of: flight.context)
    let download = flight.download(id: number, isConditional: isConditional)
    client.submit([download])
    // Who told it to stop or to hurry in between did not know of this transfer yet.
    if flight.stop != .no { client.cancel([number], includingRunning: true) }
    if flight.priority > download.priority { client.setPriority(flight.priority, of: number) }
  }

  /// Raises the class of a flight, unless it has ended.
  func raise(_ number: UInt64, to priority: Priority) {
    guard let flight = flights.flight(number), flight.raise(to: priority) else { return }
    client(of: flight.context).setPriority(priority, of: number)
  }

  func cancelDownloads(_ numbers: [UInt64], includingRunning: Bool) {
    for client in clients.all { client.cancel(numbers, includingRunning: includingRunning) }
  }

  func capacityChanged() {
    for client in clients.all { client.capacityChanged() }
  }

  /// Takes no further loads, and has the store thread end once those that are being looked up are on their way.
  func close() {
    if gate.close() { inbox.mailbox.post(.close) }
  }

  /// Whether it takes no further loads.
  var isClosed: Bool { gate.isClosed }

  /// Whether the calling thread is one that the store thread's end may wait for: it looks something up, or transfers.
  var isHeldUpByCurrentThread: Bool { gate.holdsCurrentThread || clients.runOnCurrentThread }

  /// Cancels all transfers and waits until their last events are in the inbox.
  func closeClients() {
    for client in clients.all { client.close() }
  }

  /// The headers of the downloader that all requests of `context` are sent with.
  func defaultHeaders(_ context: LoadContext) -> [HeaderField] { (context.options.downloader ?? downloader).headers }

  private func client(of context: LoadContext) -> DownloadClient { clients.client(of: context.options.downloader) }
}

/// Admits loads until it is closed, so that a manager ends after the last load that has begun.
final class LoadGate: Sendable {
  private struct State {
    var count = 0
    var isClosed = false
  }

  /// A load that was let in, and the one around it on the same thread: a hook of a load may load by another manager.
  final class Pass {
    fileprivate let gate: LoadGate
    fileprivate let outer: Unmanaged<Pass>?

    fileprivate init(gate: LoadGate, outer: Unmanaged<Pass>?) {
      self.gate = gate
      self.outer = outer
    }
  }

  /// Holds for each thread the pass of its innermost load.
  private static let innermost = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key, nil)
    precondition(status == 0, "no key for a thread's value: \(status)")
    return key
  }()

  private static var innermostPass: Unmanaged<Pass>? {
    get { pthread_getspecific(innermost).map { .fromOpaque($0) } }
    set { pthread_setspecific(innermost, newValue?.toOpaque()) }
  }

  private let state = Mutex(State())

  /// Lets the calling thread in; nil once the gate is closed. The pass is for ``leave(_:)``, on the same thread.
  func enter() -> Pass? {
    let isClosed = state.withLock { state in
      if !state.isClosed { state.count += 1 }
      return state.isClosed
    }
    guard !isClosed else { return nil }
    // The caller keeps the pass until it leaves.
    let pass = Pass(gate: self, outer: Self.innermostPass)
    Self.innermostPass = .passUnretained(pass)
    return pass
  }

  /// Returns whether the gate was closed meanwhile, and this was the last load inside.
  func leave(_ pass: Pass) -> Bool {
    Self.innermostPass = pass.outer
    return state.withLock { state in
      state.count -= 1
      return state.isClosed && state.count == 0
    }
  }

  /// Lets no load in from now on. Returns whether none is inside; else ``leave(_:)`` returns true for the last. False for a second call.
  func close() -> Bool {
    state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed && state.count == 0
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether the calling thread is in a load that was let in here.
  var holdsCurrentThread: Bool {
    sequence(first: Self.innermostPass) { $0?.takeUnretainedValue().outer }
      .contains { $0?.takeUnretainedValue().gate === self }
  }
}
