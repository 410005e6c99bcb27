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

  private let inbox: StoreInbox
  private let flights: FlightTable
  private let downloader: ImageDownloader
  private let coders: ImageCoderRegistry
  private let coding: CodingThreads

  private var streams: [UInt64: BodyStream] = [:]
  private var batch = CommitBatch()
  private var final: [FinalResult] = []

  private struct FinalResult {
    let number: UInt64
    let result: EntryResult
    let leftBlacklist: Bool
  }

  init(inbox: StoreInbox, flights: FlightTable, downloader: ImageDownloader, coders: ImageCoderRegistry, coding: CodingThreads) {
    self.inbox = inbox
    self.flights = flights
    self.downloader = downloader
    self.coders = coders
    self.coding = coding
  }

  /// Runs until told to stop.
  func run() {
    var messages: [StoreMessage] = []
    while true {
      guard inbox.mailbox.takeAll(into: &messages) else {
        commit()
        deliver()
        _ = inbox.mailbox.wait()
        continue
      }
      for message in messages {
        if case .stop = message {
          commit()
          deliver()
          return
        }
        take(message)
      }
    }
  }

  private func take(_ message: StoreMessage) {
    switch message {
    case .events(let events): events.forEach(take)
    case .prove(let number, let head): prove(number, head: head)
    case .verified(let number, let image, let verdict): settle(number, image, verdict)
    case .proved(let number, let head, let proof): settle(number, head: head, proof)
    case .touch(let context, let touches):
      if !batch.accepts(context) { commit() }
      batch.add(touches, for: context)
      if batch.isFull { commit() }
    case .stop: preconditionFailure("handled by run()")
    }
  }

  // MARK: Transfers

  private func take(_ event: DownloadEvent) {
    switch event {
    case .chunk(let number, _, let bytes):
      if let flight = flights.flight(number) {
        streams[number, default: BodyStream(into: flight.context.cache)].append(bytes)
      }
      release(entries: 0, bytes: bytes.count)
    case .restarted(let number):
      streams[number] = nil
    case .finished(let number, let answer):
      let body = answer.wasStreamed ? streams.removeValue(forKey: number)?.finish() : nil
      verify(number, FetchedImage(answer: answer, body: body ?? .bytes(answer.body)))
    case .failed(let number, let failure, let summary):
      streams[number] = nil
      guard let flight = flights.flight(number) else { return }
      settle(number, flight, failure, EntryResult(.failed, summary: summary), heldEntries: 0, heldBytes: 0)
    case .cancelled(let number, let summary):
      streams[number] = nil
      finish(number, EntryResult(.cancelled, summary: summary))
    }
  }

  private func verify(_ number: UInt64, _ image: FetchedImage) {
    guard let flight = flights.flight(number) else {
      return release(entries: 1, bytes: image.bytesInMemory)
    }
    let verifier = BodyVerifier(coders: coders, rules: flight.context.verification)
    guard verifier.rules.depth == .full else { return settle(number, image, image.verified(by: verifier)) }
    coding.run { [inbox] in
      inbox.mailbox.post(.verified(number: number, image, image.verified(by: verifier)))
    }
  }

  private func settle(_ number: UInt64, _ image: FetchedImage, _ verdict: Result<VerifiedImage, Failure>) {
    guard let flight = flights.flight(number) else {
      return release(entries: 1, bytes: image.bytesInMemory)
    }
    switch verdict {
    case .failure(let failure):
      let result = EntryResult(.failed, image: image, verified: nil)
      settle(number, flight, failure, result, heldEntries: 1, heldBytes: image.bytesInMemory)
    case .success(let verified) where flight.context.cache == nil:
      release(entries: 1, bytes: image.bytesInMemory)
      finish(number, EntryResult(.checked, image: image, verified: verified))
    case .success(let verified):
      add(
        CommitBatch.Item(
          number: number,
          flight: flight,
          change: .store(image, verified),
          result: EntryResult(.downloaded, image: image, verified: verified),
          heldEntries: 1,
          heldBytes: image.bytesInMemory
        )
      )
    }
  }

  /// Ends a flight with `failure`, and remembers it where the rules say so.
  private func settle(
    _ number: UInt64,
    _ flight: Flight,
    _ failure: Failure,
    _ result: EntryResult,
    heldEntries: Int,
    heldBytes: Int
  ) {
    let remembers = flight.context.cache != nil && flight.context.blacklist.remembers(failure)
    var result = result
    result.details = EntryResult.Details(
      failure: failure,
      isBlacklisted: remembers,
      finalURL: result.details?.finalURL,
      contentType: result.details?.contentType
    )
    guard remembers else {
      release(entries: heldEntries, bytes: heldBytes)
      return finish(number, result)
    }
    add(
      CommitBatch.Item(
        number: number,
        flight: flight,
        change: .blacklist(failure),
        result: result,
        heldEntries: heldEntries,
        heldBytes: heldBytes
      )
    )
  }

  // MARK: Cached bodies

  private func prove(_ number: UInt64, head: EntryHead) {
    guard let flight = flights.flight(number) else { return }
    let verifier = BodyVerifier(coders: coders, rules: flight.context.verification)
    coding.run { [inbox] in
      inbox.mailbox.post(.proved(number: number, head: head, CachedProof(of: flight, head: head, by: verifier)))
    }
  }

  private func settle(_ number: UInt64, head: EntryHead, _ proof: CachedProof) {
    guard let flight = flights.flight(number) else { return }
    switch proof {
    case .good(let verified):
      add(
        CommitBatch.Item(
          number: number,
          flight: flight,
          change: .raiseProof(head, verified),
          result: EntryResult(.hitDisk, head: head, verified: verified),
          heldEntries: 0,
          heldBytes: 0
        )
      )
    case .broken, .damaged, .unreadable:
      if case .damaged = proof { removeDamaged(flight, head) }
      // What is there is no good, so the network is asked, as for a miss.
      if flight.context.mode == .only {
        finish(number, EntryResult(.skipped))
      } else if flight.isCancelled {
        finish(number, EntryResult(.cancelled))
      } else {
        downloader.submit([flight.download(id: number)])
      }
    }
  }

  /// Removes the record of a body that is gone or changed, unless it is another one by now (C14).
  private func removeDamaged(_ flight: Flight, _ head: EntryHead) {
    guard let cache = flight.context.cache else { return }
    let url = String(decoding: flight.shownURL, as: UTF8.self)
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
    var entries = 0
    var bytes = 0
    for item in batch.items {
      entries += item.heldEntries
      bytes += item.heldBytes
      finish(item.number, item.result, leftBlacklist: item.leftBlacklist)
    }
    batch = CommitBatch()
    release(entries: entries, bytes: bytes)
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

  private func release(entries: Int, bytes: Int) {
    if inbox.pressure.subtract(entries: entries, bytes: bytes) { downloader.capacityChanged() }
  }

  private func finish(_ number: UInt64, _ result: EntryResult, leftBlacklist: Bool = false) {
    final.append(FinalResult(number: number, result: result, leftBlacklist: leftBlacklist))
  }

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
        let result = place == 0 ? finished.result : finished.result.shared
        completions.append(LoadCompletion(id: sharer.id, result: result, leftBlacklist: place == 0 && finished.leftBlacklist))
      }
    }
    final.removeAll(keepingCapacity: true)
    receiver?.complete(completions)
  }
}
