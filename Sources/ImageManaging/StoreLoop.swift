import ImageCaching
import ImageCoding
import ImageDownloading
import ImagePrimitives
import Threads

/// The store thread: it judges what arrives, commits it in groups, and only then says that it is done.
///
/// Everything here is touched by that one thread alone. It commits when it has nothing more to take, or when a group is
/// full, so that a commit's cost is shared by all that waited for it.
final class StoreLoop {
  /// Trimming within a run starts when bodies exceed the limit by this share of it.
  static let trimSlack = 0.1

  private typealias Held = BackPressure.Held

  private let inbox: StoreInbox
  private let flights: FlightTable
  private let downloader: ImageDownloader
  private let coders: ImageCoderRegistry
  private let coding: CodingThreads

  private var streams: [UInt64: BodyStream] = [:]
  private var batch = CommitBatch()
  private var final: [FinalResult] = []
  /// Bodies that the coding threads have, or are to have.
  private var bodiesBeingProven = 0
  private var isClosing = false

  private struct FinalResult {
    let number: UInt64
    let result: EntryResult
    var leftBlacklist = false
    var joinedBlacklist = false
  }

  init(inbox: StoreInbox, flights: FlightTable, downloader: ImageDownloader, coders: ImageCoderRegistry, coding: CodingThreads) {
    self.inbox = inbox
    self.flights = flights
    self.downloader = downloader
    self.coders = coders
    self.coding = coding
  }

  /// Runs until told to close, and then until all that was begun is final.
  func run() {
    var messages: [StoreMessage] = []
    while true {
      guard inbox.mailbox.takeAll(into: &messages) else {
        commit()
        deliver()
        if isClosing && bodiesBeingProven == 0 { return }
        _ = inbox.mailbox.wait()
        continue
      }
      for index in messages.indices {
        // Taken out of the array, so that a body is freed as soon as nothing else needs it.
        var message = StoreMessage.taken
        swap(&message, &messages[index])
        take(message)
      }
    }
  }

  private func take(_ message: consuming StoreMessage) {
    switch message {
    case .event(let event): take(event)
    case .prove(let number, let head): prove(number, head: head)
    case .verified(let number, let image, let verdict):
      bodiesBeingProven -= 1
      settle(number, image, verdict)
    case .proved(let number, let head, let proof):
      bodiesBeingProven -= 1
      settle(number, head: head, proof)
    case .touch(let context, let touches):
      if !batch.accepts(context) { commit() }
      batch.add(touches, for: context)
      if batch.isFull { commit() }
    case .close:
      isClosing = true
      downloader.shutDown()
    case .taken: break
    }
  }

  // MARK: Transfers

  private func take(_ event: DownloadEvent) {
    switch event {
    case .chunk(let number, _, let bytes):
      if let flight = flights.flight(number) {
        streams[number, default: BodyStream(into: flight.context.cache)].append(bytes)
      }
      release(Held(bytes: bytes.count))
    case .restarted(let number):
      streams[number] = nil
    case .finished(let number, let answer):
      let body = answer.wasStreamed ? streams.removeValue(forKey: number)?.finish() : nil
      let image = FetchedImage(answer: answer, body: body ?? .bytes(answer.body))
      inbox.pressure.add(Held(blobs: image.held.blobs))
      verify(number, image)
    case .failed(let number, let failure, let summary):
      streams[number] = nil
      guard let flight = flights.flight(number) else { return }
      settle(number, flight, failure, EntryResult(.failed, summary: summary), Held())
    case .cancelled(let number, let summary):
      streams[number] = nil
      finish(FinalResult(number: number, result: EntryResult(.cancelled, summary: summary)))
    }
  }

  private func verify(_ number: UInt64, _ image: FetchedImage) {
    guard let flight = flights.flight(number) else { return release(image.held) }
    let verifier = BodyVerifier(coders: coders, rules: flight.context.verification)
    guard verifier.rules.depth == .full else { return settle(number, image, image.verified(by: verifier)) }
    bodiesBeingProven += 1
    coding.run { [inbox] in
      let verdict = flight.stop == .now ? nil : image.verified(by: verifier)
      inbox.mailbox.post(.verified(number: number, image, verdict))
    }
  }

  private func settle(_ number: UInt64, _ image: FetchedImage, _ verdict: Result<VerifiedImage, Failure>?) {
    guard let flight = flights.flight(number) else { return release(image.held) }
    switch verdict {
    case nil:
      release(image.held)
      finish(FinalResult(number: number, result: EntryResult(.cancelled, summary: image.answer.summary)))
    case .failure(let failure):
      settle(number, flight, failure, EntryResult(.failed, image: image, verified: nil), image.held)
    case .success(let verified) where flight.context.cache == nil:
      release(image.held)
      finish(FinalResult(number: number, result: EntryResult(.checked, image: image, verified: verified)))
    case .success(let verified):
      let result = EntryResult(.downloaded, image: image, verified: verified)
      add(CommitBatch.Item(number: number, flight: flight, change: .store(image, verified), result: result, held: image.held))
    }
  }

  /// Ends a flight with `failure`, and remembers it where the rules say so.
  private func settle(_ number: UInt64, _ flight: Flight, _ failure: Failure, _ result: EntryResult, _ held: Held) {
    let remembers = flight.context.cache != nil && flight.context.blacklist.remembers(failure)
    var result = result
    result.details = EntryResult.Details(
      failure: failure,
      isBlacklisted: remembers,
      finalURL: result.details?.finalURL,
      contentType: result.details?.contentType
    )
    if remembers {
      add(CommitBatch.Item(number: number, flight: flight, change: .blacklist(failure), result: result, held: held))
    } else {
      release(held)
      finish(FinalResult(number: number, result: result))
    }
  }

  // MARK: Cached bodies

  private func prove(_ number: UInt64, head: EntryHead) {
    guard let flight = flights.flight(number) else { return }
    let verifier = BodyVerifier(coders: coders, rules: flight.context.verification)
    bodiesBeingProven += 1
    coding.run { [inbox] in
      let proof = flight.stop == .no ? CachedProof(of: flight, head: head, by: verifier) : .abandoned
      inbox.mailbox.post(.proved(number: number, head: head, proof))
    }
  }

  private func settle(_ number: UInt64, head: EntryHead, _ proof: CachedProof) {
    guard let flight = flights.flight(number) else { return }
    switch proof {
    case .good(let verified):
      let result = EntryResult(.hitDisk, head: head, verified: verified)
      if flight.context.cache?.configuration.access == .readOnly {
        finish(FinalResult(number: number, result: result))
      } else {
        let change = CommitBatch.Change.raiseProof(head, verified)
        add(CommitBatch.Item(number: number, flight: flight, change: change, result: result, held: Held()))
      }
    case .abandoned:
      finish(FinalResult(number: number, result: EntryResult(.cancelled)))
    case .damaged:
      removeDamaged(flight, head)
      askInstead(number, flight)
    case .broken, .unreadable:
      askInstead(number, flight)
    }
  }

  /// What is cached is no good, so the network is asked, as for a miss: unless the URL is known bad, or nothing may start.
  private func askInstead(_ number: UInt64, _ flight: Flight) {
    if let known = flight.known, !flight.context.retriesBlacklisted {
      finish(FinalResult(number: number, result: EntryResult(knownBad: known)))
    } else if !flight.context.mode.asksNetwork {
      finish(FinalResult(number: number, result: EntryResult(.skipped)))
    } else if isClosing || flight.stop != .no {
      finish(FinalResult(number: number, result: EntryResult(.cancelled)))
    } else {
      downloader.submit([flight.download(id: number)])
      // Who told it to stop in between did not know of this transfer yet.
      if flight.stop != .no { downloader.cancel([number]) }
    }
  }

  /// Removes the record of a body that is gone or changed, unless it is another one by now (C14).
  private func removeDamaged(_ flight: Flight, _ head: EntryHead) {
    guard let cache = flight.context.cache else { return }
    let url = String(decoding: flight.shownURL, as: UTF8.self)
    guard cache.configuration.access == .readWrite else {
      return flight.context.recordWarning("the cached copy of \(url) is damaged")
    }
    do throws(CacheError) {
      let isRemoved = try cache.write { writer throws(CacheError) in try writer.removeIfUnchanged(flight.key, head) }
      if isRemoved { flight.context.recordWarning("the cached copy of \(url) was damaged and is removed") }
    } catch {
      flight.context.recordWarning("the cached copy of \(url) is damaged and could not be removed: \(error)")
    }
  }

  // MARK: Commit and delivery

  private func add(_ item: CommitBatch.Item) {
    if !batch.accepts(item.flight.context) { commit() }
    batch.add(item)
    if batch.isFull { commit() }
  }

  private func commit() {
    guard !batch.isEmpty, let context = batch.context else { return }
    batch.commit()
    var held = Held()
    for item in batch.items {
      held += item.held
      finish(
        FinalResult(
          number: item.number,
          result: item.result,
          leftBlacklist: item.leftBlacklist,
          joinedBlacklist: item.joinedBlacklist
        )
      )
    }
    batch = CommitBatch()
    release(held)
    trimIfFull(context)
    deliver()
  }

  private func trimIfFull(_ context: LoadContext) {
    guard let cache = context.cache else { return }
    do throws(CacheError) {
      guard try cache.exceedsMaxSize(bySlack: Self.trimSlack) else { return }
      context.recordTrim(try cache.trim(protecting: context.startedAt))
    } catch {
      context.recordWarning("the cache could not be trimmed: \(error)")
    }
  }

  private func release(_ held: Held) {
    if inbox.pressure.subtract(held), !isClosing { downloader.capacityChanged() }
  }

  private func finish(_ result: FinalResult) { final.append(result) }

  /// Ends the flights that have a result and tells everyone who shared them.
  private func deliver() {
    guard !final.isEmpty else { return }
    let sharers = flights.end(final.map(\.number))
    var receiver: (any LoadReceiver)?
    var completions: [LoadCompletion] = []
    for (finished, sharers) in zip(final, sharers) {
      for (place, sharer) in sharers.enumerated() {
        if let current = receiver, current !== sharer.receiver {
          current.complete(completions)
          completions.removeAll()
        }
        receiver = sharer.receiver
        let isFirst = place == 0
        completions.append(
          LoadCompletion(
            id: sharer.id,
            result: isFirst ? finished.result : finished.result.shared,
            leftBlacklist: isFirst && finished.leftBlacklist,
            joinedBlacklist: isFirst && finished.joinedBlacklist
          )
        )
      }
    }
    final.removeAll(keepingCapacity: true)
    receiver?.complete(completions)
  }
}
