import Glibc
import ImageManaging
import ImagePrimitives
import Reports
import Threads

/// The images of a run that its HTML report shows: the latest, the largest, those that were refused, and one of each placeholder.
///
/// The store thread shows it what came. Kept are twelve of a kind, most of them as bytes until the run has ended: at most 1 MiB of memory each, or an
/// open file of the cache. What takes more memory is not among the latest, and for the other kinds becomes a picture at once, on a thread of its own,
/// before which at most 16 MiB wait, or one such image. All in all that is 64 MiB, or 48 MiB and an image of `request.max-bytes`.
final class ContactSheet: ImageObserver {
  /// So many of each kind at most.
  static let largestCount = 12
  /// Bytes of memory that an image may take for long.
  static let keptBytes = 1 << 20
  /// Bytes of larger ones that may wait for their picture.
  static let waitingBytes = 16 << 20
  /// Processor time for the pictures that are left when the run has ended; those that are not made then are left out.
  static let closingTime = Duration.seconds(10)
  /// The same where the run was interrupted: who did so may not wait for long, and all other reports are written after it.
  static let interruptedClosingTime = Duration.seconds(1)
  /// Bodies that are told apart to find placeholders, beyond which it begins anew: three quarters of it.
  private static let sightingSlots = 1 << 16

  fileprivate struct Candidate: Sendable {
    /// The same where it is a candidate for several reasons.
    let number: UInt64
    let bytes: Int
    let identity: Checksum?
    /// nil if its picture is made on the other thread, or is there already.
    var image: ArrivedImage?
    var thumbnail: Thumbnail?
  }

  /// An image whose picture is to be made at once.
  fileprivate struct Work: Sendable {
    let number: UInt64
    let reason: Thumbnail.Reason
    let identity: Checksum?
    let image: ArrivedImage
  }

  fileprivate struct State: Sendable {
    var candidates: [Thumbnail.Reason: [Candidate]] = [:]
    var nextNumber: UInt64 = 0
    var sightings: DuplicateIndex?
    var work: [Work] = []
    /// Bytes of ``work``, and of what is being made.
    var waitingBytes = 0
    var isClosed = false
  }

  /// So many of each kind.
  private let countOfEach: Int
  private let maker: PictureMaker
  private let state: WaitableState<State>
  private let thread: WorkerThread?

  /// An empty sheet.
  ///
  /// - Parameters:
  ///   - findsPlaceholders: whether images count that stand for many URLs of a host.
  ///   - openFiles: how many files this process may have open, of which it takes a sixteenth at most.
  init(_ maker: PictureMaker, findsPlaceholders: Bool, openFiles: Int) {
    countOfEach = min(Self.largestCount, max(1, openFiles / (16 * Thumbnail.Reason.allCases.count)))
    var start = State()
    if findsPlaceholders { start.sightings = Self.makeSightings() }
    let state = WaitableState(start)
    (self.maker, self.state) = (maker, state)
    do throws(ThreadError) {
      thread = try WorkerThread(name: "contact-sheet") { Self.makePictures(state, maker) }
    } catch {
      // Then nothing becomes a candidate that it would be for.
      thread = nil
    }
  }

  fileprivate static func makeSightings() -> DuplicateIndex { DuplicateIndex(keepsURLs: false, maximumSlots: sightingSlots) }

  /// Files that it may keep open.
  var openFiles: Int { countOfEach * Thumbnail.Reason.allCases.count }

  // MARK: What came

  func saw(_ image: ArrivedImage) {
    let identity = image.bodyIdentity
    let host = image.host.withUnsafeBytes { DuplicateIndex.hash($0) }
    let hasWork = state.withLock(waking: .nobody) { state in
      let isPlaceholder = state.isPlaceholder(identity, of: image, host: UInt32(truncatingIfNeeded: host))
      state.nextNumber += 1
      if isPlaceholder { add(image, .placeholder, identity, to: &state) }
      if image.failure == nil {
        add(image, .latest, identity, to: &state)
        add(image, .largest, identity, to: &state)
      } else if !isPlaceholder {
        add(image, .failed, identity, to: &state)
      }
      return !state.work.isEmpty
    }
    // Most images make no work, for which nobody is to wake up.
    if hasWork { state.withLock(waking: .one) { _ in } }
  }

  private func add(_ image: ArrivedImage, _ reason: Thumbnail.Reason, _ identity: Checksum?, to state: inout State) {
    let isKept = image.memoryBytes <= Self.keptBytes
    guard isKept || reason != .latest && thread != nil && state.mayWait(image.memoryBytes) else { return }
    let candidate = Candidate(
      number: state.nextNumber,
      bytes: image.byteCount,
      identity: identity,
      image: isKept ? image : nil
    )
    guard state.candidates[reason, default: []].take(candidate, reason, of: countOfEach), !isKept else { return }
    state.waitingBytes += image.memoryBytes
    state.work.append(Work(number: candidate.number, reason: reason, identity: identity, image: image))
  }

  /// Makes pictures until the sheet is closed and nothing waits any more.
  private static func makePictures(_ state: WaitableState<State>, _ maker: PictureMaker) {
    while true {
      let work = state.wait { state -> Work?? in
        if !state.work.isEmpty { return .some(state.work.removeFirst()) }
        return state.isClosed ? .some(nil) : nil
      }
      guard let work else { return }
      // What larger ones have pushed out meanwhile needs no picture.
      let isWanted = state.withLock(waking: .nobody) { $0.index(of: work.number, work.reason) != nil }
      let thumbnail = isWanted ? maker.thumbnail(of: work.image, work.reason, identity: work.identity) : nil
      state.withLock(waking: .nobody) { state in
        state.waitingBytes -= work.image.memoryBytes
        guard let index = state.index(of: work.number, work.reason) else { return }
        state.candidates[work.reason]?[index].thumbnail = thumbnail
      }
    }
  }

  // MARK: The end

  /// The pictures, the latest image and the largest first; the sheet is empty then.
  ///
  /// - Parameters:
  ///   - placeholders: those of the report, of which it shows one picture each, under the URL that the report names.
  ///   - isInterrupted: whether the run was; then less time is left, and what waits for its picture gets none.
  ///   - clock: the processor time of this thread, so that a busy machine does not cut the sheet short.
  func finish(_ placeholders: [Placeholder], isInterrupted: Bool, clock: () -> MonotonicInstant) -> [Thumbnail] {
    state.withLock(waking: .all) { state in
      state.isClosed = true
      if isInterrupted { state.work.removeAll() }
    }
    thread?.join()
    let candidates = state.withLock(waking: .nobody) { state in
      defer { state = State() }
      return state.candidates
    }
    let end = clock().advanced(by: isInterrupted ? Self.interruptedClosingTime : Self.closingTime)
    var made: [UInt64: Thumbnail] = [:]
    func thumbnails(_ reason: Thumbnail.Reason) -> [Thumbnail] {
      let all = (reason == .latest ? candidates[reason]?.reversed() : candidates[reason]) ?? []
      return all.compactMap { candidate in
        guard let image = candidate.image else { return candidate.thumbnail }
        if var thumbnail = made[candidate.number] {
          thumbnail.reason = reason
          return thumbnail
        }
        guard clock() < end else { return nil }
        made[candidate.number] = maker.thumbnail(of: image, reason, identity: candidate.identity)
        return made[candidate.number]
      }
    }
    // What is wrong first, in case that there is no time for all.
    let found = thumbnails(.placeholder)
    let failed = thumbnails(.failed)
    return thumbnails(.latest) + thumbnails(.largest) + failed + placeholders.compactMap { $0.shown(in: found) }
  }

  /// The processor time of the calling thread.
  static func processorTime() -> MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return MonotonicInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }
}

extension ContactSheet.State {
  /// Whether a body came for many URLs of its host; so it is where the manager says so, too.
  fileprivate mutating func isPlaceholder(_ identity: Checksum?, of image: ArrivedImage, host: UInt32) -> Bool {
    guard var sightings, let identity, !image.host.isEmpty else { return image.failure?.kind == .placeholder }
    self.sightings = nil
    defer { self.sightings = sightings }
    if image.failure != nil, image.failure?.kind != .placeholder { return false }
    if !sightings.isComplete { sightings = ContactSheet.makeSightings() }
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    let sighting = sightings.add(identity, url: image.urlHash, host: host, shown: empty)
    return sighting.isPlaceholder || image.failure != nil
  }

  /// Whether a body of so many bytes can wait for its picture.
  fileprivate func mayWait(_ bytes: Int) -> Bool { waitingBytes == 0 || waitingBytes + bytes <= ContactSheet.waitingBytes }

  fileprivate func index(of number: UInt64, _ reason: Thumbnail.Reason) -> Int? {
    candidates[reason]?.firstIndex { $0.number == number }
  }
}

extension [ContactSheet.Candidate] {
  /// Takes a candidate, in place of another where there are enough; false if it is no better than those.
  fileprivate mutating func take(_ candidate: Element, _ reason: Thumbnail.Reason, of limit: Int) -> Bool {
    let isFull = count >= limit
    switch reason {
    case .latest:
      if isFull { removeFirst() }
      append(candidate)
    case .largest:
      if isFull, let last, last.bytes >= candidate.bytes { return false }
      if isFull { removeLast() }
      insert(candidate, at: firstIndex { $0.bytes < candidate.bytes } ?? endIndex)
    case .failed:
      if isFull { return false }
      append(candidate)
    case .placeholder:
      if isFull || contains(where: { $0.identity == candidate.identity }) { return false }
      append(candidate)
    }
    return true
  }
}

extension Placeholder {
  /// The picture of it among `thumbnails`, under its first URL.
  fileprivate func shown(in thumbnails: [Thumbnail]) -> Thumbnail? {
    guard var thumbnail = thumbnails.first(where: { $0.checksum == checksum }) else { return nil }
    thumbnail.url = firstURL
    return thumbnail
  }
}
