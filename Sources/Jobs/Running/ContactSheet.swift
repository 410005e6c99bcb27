import Glibc
import ImageManaging
import Base
import Reports

/// The images of a run that its HTML report shows: the latest, the largest, refused ones, and one per placeholder.
///
/// The store thread reports each received image. The sheet keeps up to twelve per reason, most of them as bytes until the run ends: at
/// most 1 MiB of memory each, or an open file of the cache. A larger image is never among the latest; for the other reasons a separate
/// thread makes its picture at once. At most 16 MiB wait for that thread, or one larger image. In total, the sheet takes at most
/// 64 MiB, or 48 MiB and an image of `request.max-bytes`.
final class ContactSheet: ImageObserver {
  static let largestCount = 12
  /// The limit of memory, in bytes, for an image that is kept until the end.
  static let keptBytes = 1 << 20
  /// The limit of larger images that wait for their picture, in bytes.
  static let waitingBytes = 16 << 20
  /// Processor time for the pictures that remain when the run has ended; pictures that aren't finished by then are omitted.
  static let closingTime = Duration.seconds(10)
  /// The same for an interrupted run: its user expects a fast exit, and all other reports are written afterwards.
  static let interruptedClosingTime = Duration.seconds(1)
  /// Three quarters of this is the limit of distinct bodies in the search for placeholders; then the search restarts.
  private static let sightingSlots = 1 << 16

  fileprivate struct Candidate: Sendable {
    /// The same number if it is a candidate for several reasons.
    let number: UInt64
    let bytes: Int
    let identity: Checksum?
    /// Why it was refused; nil if it was good.
    let failure: FailureKind?
    /// nil if the other thread makes its picture, or has made it.
    var image: ArrivedImage?
    var thumbnail: Thumbnail?
  }

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
    /// Bytes of ``work`` and of the image in progress.
    var waitingBytes = 0
    var isClosed = false
  }

  private let countOfEach: Int
  private let findsHeavy: Bool
  private let maker: PictureMaker
  private let state: WaitableState<State>
  private let thread: WorkerThread?

  /// An empty sheet, which uses at most a sixteenth of the files that this process may have open.
  ///
  /// - Parameters:
  ///   - findsPlaceholders: whether to look for images that a host returns for many URLs.
  ///   - findsHeavy: whether to look for images with many bytes for their pixels.
  init(_ maker: PictureMaker, findsPlaceholders: Bool, findsHeavy: Bool = false, openFiles: Int) {
    self.findsHeavy = findsHeavy
    countOfEach = min(Self.largestCount, max(1, openFiles / (16 * Thumbnail.Reason.allCases.count)))
    var start = State()
    if findsPlaceholders { start.sightings = Self.makeSightings() }
    let state = WaitableState(start)
    (self.maker, self.state) = (maker, state)
    do throws(ThreadError) {
      thread = try WorkerThread(name: "contact-sheet") { Self.makePictures(state, maker) }
    } catch {
      // Then larger images don't become candidates.
      thread = nil
    }
  }

  fileprivate static func makeSightings() -> DuplicateIndex { DuplicateIndex(keepsURLs: false, maximumSlots: sightingSlots) }

  var openFiles: Int { countOfEach * Thumbnail.Reason.allCases.count }

  // MARK: Received images

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
        if findsHeavy, image.format != .svg { add(image, .heavy, identity, to: &state) }
      } else if !isPlaceholder {
        add(image, .failed, identity, to: &state)
      }
      return !state.work.isEmpty
    }
    // Most images need no work, so the thread can sleep on.
    if hasWork { state.withLock(waking: .one) { _ in } }
  }

  private func add(_ image: ArrivedImage, _ reason: Thumbnail.Reason, _ identity: Checksum?, to state: inout State) {
    let isKept = image.memoryBytes <= Self.keptBytes
    guard isKept || reason != .latest && thread != nil && state.mayWait(image.memoryBytes) else { return }
    let candidate = Candidate(
      number: state.nextNumber,
      bytes: reason == .heavy ? image.bytesBeyondUsual : image.byteCount,
      identity: identity,
      failure: image.failure?.kind,
      image: isKept ? image : nil
    )
    guard state.candidates[reason, default: []].take(candidate, reason, of: countOfEach), !isKept else { return }
    state.waitingBytes += image.memoryBytes
    state.work.append(Work(number: candidate.number, reason: reason, identity: identity, image: image))
  }

  /// Makes pictures until the sheet is closed and no image waits.
  private static func makePictures(_ state: WaitableState<State>, _ maker: PictureMaker) {
    while true {
      let work = state.wait { state -> Work?? in
        if !state.work.isEmpty { return .some(state.work.removeFirst()) }
        return state.isClosed ? .some(nil) : nil
      }
      guard let work else { return }
      // A larger image may have replaced it meanwhile.
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

  /// Returns the pictures, and empties the sheet; of an interrupted run, which has less time, waiting images get none.
  ///
  /// - Parameters:
  ///   - placeholders: those of the report; each gets one picture, with the URL in the report.
  ///   - clock: the processor time of this thread, so that a busy machine gets as many pictures as an idle one.
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
    // Bad images first, in case the time isn't enough for all.
    let found = thumbnails(.placeholder)
    let failed = thumbnails(.failed)
    return thumbnails(.latest) + thumbnails(.largest) + thumbnails(.heavy) + failed
      + placeholders.compactMap { $0.shown(in: found) }
  }

  static func processorTime() -> MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return MonotonicInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }
}

extension ContactSheet.State {
  /// Whether a body is a placeholder: it came for many URLs of its host, or the manager refused it as one.
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

  fileprivate func mayWait(_ bytes: Int) -> Bool { waitingBytes == 0 || waitingBytes + bytes <= ContactSheet.waitingBytes }

  fileprivate func index(of number: UInt64, _ reason: Thumbnail.Reason) -> Int? {
    candidates[reason]?.firstIndex { $0.number == number }
  }
}

extension [ContactSheet.Candidate] {
  /// Adds a candidate, in place of another one if the list is full; returns false if the others are preferable.
  fileprivate mutating func take(_ candidate: Element, _ reason: Thumbnail.Reason, of limit: Int) -> Bool {
    let isFull = count >= limit
    switch reason {
    case .latest:
      if isFull { removeFirst() }
      append(candidate)
    case .largest, .heavy:
      if let identity = candidate.identity, contains(where: { $0.identity == identity }) { return false }
      if isFull, let last, last.bytes >= candidate.bytes { return false }
      if isFull { removeLast() }
      insert(candidate, at: firstIndex { $0.bytes < candidate.bytes } ?? endIndex)
    case .failed:
      if isFull {
        guard let index = dispensableIndex(for: candidate.failure) else { return false }
        remove(at: index)
      }
      append(candidate)
    case .placeholder:
      if isFull || contains(where: { $0.identity == candidate.identity }) { return false }
      append(candidate)
    }
    return true
  }

  /// The last candidate of the most frequent failure kind, if `kind` is rarer by two; so a sheet shows many kinds. Bodies that aren't
  /// images go first, since they have no picture.
  private func dispensableIndex(for kind: FailureKind?) -> Int? {
    if kind != .notAnImage, let index = lastIndex(where: { $0.failure == .notAnImage }) { return index }
    let counts = Dictionary(map { ($0.failure, 1) }, uniquingKeysWith: +)
    guard let most = counts.values.max(), most > (counts[kind] ?? 0) + 1 else { return nil }
    return lastIndex { counts[$0.failure] == most }
  }
}

extension ArrivedImage {
  /// The bytes beyond a third of a byte per pixel, about what a photo on the web has.
  fileprivate var bytesBeyondUsual: Int { byteCount - size.pixels / 3 }
}

extension Placeholder {
  fileprivate func shown(in thumbnails: [Thumbnail]) -> Thumbnail? {
    guard var thumbnail = thumbnails.first(where: { $0.checksum == checksum }) else { return nil }
    thumbnail.url = firstURL
    return thumbnail
  }
}
