import CCurl
import Glibc
import ImagePrimitives

/// One request on its way: an easy handle and the body that it brings, used again for request after request.
///
/// It belongs to the transfer thread; libcurl's callbacks, which run there too, change nothing but this and the ``Turn``.
final class Transfer {
  /// Bodies that are streamed leave in chunks of this size.
  static let chunkBytes = 256 << 10
  /// A refused body up to this size is read to its end, so that its connection serves again.
  static let drainedBytes = 64 << 10

  /// How far its connection is.
  enum Phase {
    case resolving, connecting, connected
  }

  /// What happens to the bytes of the body.
  enum Disposition {
    case undecided, kept, discarded
  }

  let easy: UnsafeMutableRawPointer
  /// Its number among the loop's transfers.
  let place: Int
  /// Where libcurl writes what went wrong.
  let errorText: UnsafeMutablePointer<CChar>
  private let turn: Turn
  private var template: RequestTemplate?

  /// The job that it serves; nil while it is free.
  private(set) var job: Int?
  private(set) var id: UInt64 = 0
  private(set) var attempt = 0
  private(set) var url: [UInt8] = []
  private(set) var options: DownloadOptions
  private(set) var started = MonotonicInstant(nanoseconds: 0)
  /// When the whole attempt has taken too long.
  private(set) var deadline = MonotonicInstant(nanoseconds: 0)
  private(set) var phase = Phase.resolving
  /// Whether its host's others wait for it, or for its name.
  private(set) var resolves = false
  /// Whether it is one of the names that are being resolved.
  var isCountedAsResolving = false

  /// When the last byte came, or the connection stood.
  private(set) var lastProgress = MonotonicInstant(nanoseconds: 0)
  private(set) var disposition = Disposition.undecided
  /// The Content-Length of a body that is not coded.
  private(set) var declaredBytes: Int?
  private(set) var bodyBytes = 0
  private(set) var isStreamed = false
  private(set) var hasHandedOver = false
  /// Why it was stopped by us.
  private(set) var refusal: Failure?
  private var body: [UInt8] = []

  init(place: Int, options: DownloadOptions, turn: Turn) {
    guard let easy = curl_easy_init() else { fatalError("libcurl could not make a handle: out of memory") }
    self.easy = easy
    self.place = place
    self.options = options
    self.turn = turn
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(easy)
    errorText.deallocate()
  }

  /// Makes it ready for the next request of `job`.
  func begin(_ job: Job, slot: Int, isOwnOrigin: Bool, resolves: Bool) {
    if template?.fits(job.download.options, isOwnOrigin: isOwnOrigin) != true {
      template = RequestTemplate(job.download.options, isOwnOrigin: isOwnOrigin)
      template?.apply(to: self)
    }
    self.job = slot
    id = job.download.id
    attempt = job.summary.attempts
    url = job.url
    options = job.download.options
    started = turn.now
    deadline = turn.now.advanced(by: job.remaining)
    phase = .resolving
    self.resolves = resolves
    isCountedAsResolving = resolves
    lastProgress = turn.now
    disposition = .undecided
    declaredBytes = nil
    bodyBytes = 0
    isStreamed = false
    hasHandedOver = false
    refusal = nil
    errorText.pointee = 0
    // With https the handshake tells whether requests can share the connection; with http, libcurl would wait for the first answer.
    curl_set_long(easy, CURLOPT_PIPEWAIT, url.starts(with: "https:".utf8) ? 1 : 0)
    withUnsafeTemporaryAllocation(byteCount: url.count + 1, alignment: 1) { text in
      text.copyBytes(from: url)
      text[url.count] = 0
      _ = curl_set_text(easy, CURLOPT_URL, text.baseAddress?.assumingMemoryBound(to: CChar.self))
    }
  }

  /// Makes it free, without the body.
  func end() {
    job = nil
    body = []
  }

  /// The body, or what is left of it where it is streamed.
  func takeBody() -> [UInt8] {
    defer { body = [] }
    return body
  }

  // MARK: Called back

  func noteOpenedSocket() {
    turn.openedConnections += 1
    guard phase == .resolving else { return }
    phase = .connecting
    if resolves { turn.advanced.append(place) }
  }

  func noteConnected() {
    phase = .connected
    lastProgress = turn.now
    if resolves { turn.advanced.append(place) }
  }

  func noteHeader() { lastProgress = turn.now }

  /// Takes bytes of the body; false stops the transfer.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    lastProgress = turn.now
    if disposition == .undecided { decide() }
    bodyBytes += bytes.count
    guard refusal == nil else { return false }
    guard disposition == .kept else { return bodyBytes <= Self.drainedBytes }
    guard bodyBytes <= options.maxBytes else {
      refusal = .tooLarge(limit: options.maxBytes, status: status)
      return false
    }
    body.append(contentsOf: bytes)
    if bodyBytes > options.streamAbove { isStreamed = true }
    if isStreamed, body.count >= Self.chunkBytes { handOver() }
    return true
  }

  /// Looks at the answer's head, once its first byte is here.
  private func decide() {
    guard options.acceptStatus.contains(status) else {
      disposition = .discarded
      return
    }
    disposition = .kept
    var length: curl_off_t = -1
    curl_get_offset(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length)
    guard length >= 0 else { return }
    if length > options.maxBytes { refusal = .tooLarge(limit: options.maxBytes, declared: Int(length), status: status) }
    guard header("content-encoding") == nil else { return }
    declaredBytes = Int(length)
    // No more than a chunk: what a server declares is not believed with memory.
    body.reserveCapacity(min(declaredBytes ?? 0, Self.chunkBytes))
  }

  /// Hands over what has gathered as a chunk.
  func handOver() {
    let isLast = bodyBytes == declaredBytes
    turn.events.append(.chunk(id: id, attempt: attempt, bytes: takeBody()))
    hasHandedOver = true
    if !isLast { body.reserveCapacity(min(Self.chunkBytes + (16 << 10), (declaredBytes ?? .max) - bodyBytes)) }
  }

  // MARK: The answer

  /// The status of the last answer; 0 where none came.
  var status: Int {
    var status = 0
    curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    return status
  }

  /// Bytes of the body as they came over the wire.
  var receivedBytes: UInt64 {
    var count: curl_off_t = 0
    curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T, &count)
    return UInt64(max(0, count))
  }

  /// The value of a header of the last answer; valid until the transfer ends.
  func header(_ name: StaticString) -> UnsafePointer<CChar>? {
    var found: UnsafeMutablePointer<curl_header>?
    let name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    guard curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK else { return nil }
    return UnsafePointer(found?.pointee.value)
  }
}
