internal import CXXHash

/// Which bodies came from more than one URL, and how many URLs of a host had the same one: what duplicates and placeholders are found by.
///
/// A slot of 24 bytes for each body and its first host; further hosts of a body have slots of their own, found by body and host together. Of a
/// body's URLs the first is in its slot, and further ones are hashes in a set, so that one that comes again does not count again. So a run of
/// images that are all different costs a slot each, and nothing beside.
///
/// All of it is bounded: 24 MiB of slots, 8 MiB of hashes and 8 MiB of URLs at most, unless told otherwise. What comes beyond is not told apart
/// any more, and ``isComplete`` is false from then on. Bodies come from outside: hashes have a seed that nobody can know, so that chosen
/// collisions slow nothing.
public struct DuplicateIndex: Sendable {
  /// What is known of a body once one more URL had it.
  public struct Sighting: Sendable, Equatable {
    /// The body at that host, for ``DuplicateIndex/urls(of:)`` and ``DuplicateIndex/firstURL(of:)``; nil where it is not kept in mind.
    public var group: UInt64?
    /// How many URLs of the host had the body so far, this one included.
    public var urls: Int
    /// Whether so many URLs of the host had it before this one that it is a placeholder here; the first ones stay good when they come again.
    public var isPlaceholder: Bool
  }

  /// From so many URLs of a host with the same bytes on they are a placeholder.
  public static let placeholderURLs = 10

  /// Bodies that came from more than one URL.
  public private(set) var bodies: UInt64 = 0
  /// The URLs that they came from.
  public private(set) var urls: UInt64 = 0
  /// Whether there was room for all; otherwise there may be more of both.
  public private(set) var isComplete = true

  private let threshold: Int
  private var groups: ProbedTable<Group>
  private var furtherURLs: HashSet
  private var firstURLs: FirstURLs?

  /// Nothing seen yet.
  ///
  /// - Parameters:
  ///   - threshold: the number of the first URL of a host that a body is a placeholder for.
  ///   - keepsURLs: whether ``firstURL(of:)`` is asked for.
  ///   - maximumSlots: slots, and hashes of further URLs, at most; a power of two, anything else traps. Three quarters of them are used.
  public init(threshold: Int = Self.placeholderURLs, keepsURLs: Bool = true, maximumSlots: Int = 1 << 20) {
    trap(unless: threshold > 1, "a placeholder of \(threshold) URLs; it takes 2 or more")
    trap(unless: maximumSlots > 0 && maximumSlots & (maximumSlots - 1) == 0, "\(maximumSlots) slots; give a power of two")
    self.threshold = threshold
    groups = ProbedTable(free: Group(), slots: 1024, maximumSlots: maximumSlots)
    furtherURLs = HashSet(maximumSlots: maximumSlots)
    firstURLs = keepsURLs ? FirstURLs() : nil
  }

  /// Notes that a URL of a host had a body.
  ///
  /// - Parameters:
  ///   - body: the hash of its bytes.
  ///   - url: what ``hash(_:)`` makes of it; the same for all that is one URL to the caller.
  ///   - host: a number or hash that tells the host from others.
  ///   - shown: the URL as it may be shown.
  public mutating func add(_ body: Checksum, url: UInt64, host: UInt32, shown: UnsafeRawBufferPointer) -> Sighting {
    let bodyKey = mix(body.high, body.low)
    let (index, isNew) = groups.index(of: bodyKey)
    if isNew { return begin(bodyKey, at: index, url, host, shown) }
    if groups[index].host == host { return add(url, to: index, bodyKey, of: index, shown) }
    let groupKey = mix(bodyKey, UInt64(host))
    let (group, isNewGroup) = groups.index(of: groupKey)
    guard isNewGroup else { return add(url, to: group, groupKey, of: index, shown) }
    let sighting = begin(groupKey, at: group, url, host, shown, isRepeated: true)
    // The table may have grown.
    if sighting.group != nil { countRepetition(at: groups.index(of: bodyKey).index) }
    return sighting
  }

  /// How many URLs had the body of a ``Sighting/group`` at its host; 0 for a group of no sighting.
  public func urls(of group: UInt64) -> Int {
    let (index, isFree) = groups.index(of: group)
    return isFree ? 0 : Int(groups[index].urls)
  }

  /// The first of them, as it was shown, or the first that there was room for; nil where there was none.
  public func firstURL(of group: UInt64) -> String? {
    let (index, isFree) = groups.index(of: group)
    return isFree ? nil : firstURLs?.text(at: groups[index].text)
  }

  /// The hash of a URL, of a host, or of other bytes, that is the same throughout this process.
  public static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
  }

  /// Bytes of memory that all of it takes.
  var byteCount: Int { groups.byteCount + furtherURLs.byteCount + (firstURLs?.byteCount ?? 0) }

  private static let seed = UInt64.random(in: .min ... .max)
  private let seeds = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

  /// Two hashes in one, never 0: both halves of their product, after what nobody can know was added to each (as wyhash mixes).
  private func mix(_ first: UInt64, _ second: UInt64) -> UInt64 {
    let product = (first ^ seeds.0).multipliedFullWidth(by: second ^ seeds.1)
    return max(1, product.high ^ product.low)
  }

  private mutating func begin(
    _ key: UInt64,
    at index: Int,
    _ url: UInt64,
    _ host: UInt32,
    _ shown: UnsafeRawBufferPointer,
    isRepeated: Bool = false
  ) -> Sighting {
    var slot = Group(key: key, firstURL: UInt32(truncatingIfNeeded: url), host: host)
    slot.text = firstURLs?.append(shown, isRepeated: isRepeated) ?? 0
    guard groups.insert(slot, at: index, hash: \.key) != nil else {
      isComplete = false
      return Sighting(group: nil, urls: 1, isPlaceholder: false)
    }
    return Sighting(group: key, urls: 1, isPlaceholder: false)
  }

  /// Adds a URL to those that had a body at a host before; `body` is the slot of the body and its first host.
  private mutating func add(
    _ url: UInt64,
    to group: Int,
    _ key: UInt64,
    of body: Int,
    _ shown: UnsafeRawBufferPointer
  ) -> Sighting {
    let slot = groups[group]
    let count = Int(slot.urls)
    if slot.firstURL == UInt32(truncatingIfNeeded: url) { return Sighting(group: key, urls: count, isPlaceholder: false) }
    let isBeyond = count + 1 >= threshold
    switch furtherURLs.insert(mix(key, url), marked: isBeyond) {
    case .known(let isMarked): return Sighting(group: key, urls: count, isPlaceholder: isMarked)
    case .full:
      isComplete = false
      return Sighting(group: key, urls: count, isPlaceholder: isBeyond)
    case .new:
      groups[group].urls += 1
      // Where there was no room for the first one, it is the first that is known.
      if slot.text == 0, let firstURLs = firstURLs?.append(shown, isRepeated: true) { groups[group].text = firstURLs }
      countRepetition(at: body)
      return Sighting(group: key, urls: count + 1, isPlaceholder: isBeyond)
    }
  }

  /// Counts one more URL of a body that another one had.
  private mutating func countRepetition(at index: Int) {
    if groups[index].isRepeated {
      urls += 1
    } else {
      groups[index].isRepeated = true
      bodies += 1
      urls += 2
    }
  }
}

/// A body at a host.
private struct Group: ProbedSlot {
  /// What it is found by; 0 for a free slot.
  var key: UInt64 = 0
  /// Of the hash of its first URL, as much as tells it from the others of this slot.
  var firstURL: UInt32 = 0
  var host: UInt32 = 0
  /// URLs of the host that had it.
  var urls: UInt32 = 0
  /// Where its first URL lies, in the upper 31 bits; 0 for nowhere.
  private var textAndFlag: UInt32 = 0

  var isFree: Bool { key == 0 }

  init() {}

  /// A body that one URL had.
  init(key: UInt64, firstURL: UInt32, host: UInt32) {
    (self.key, self.firstURL, self.host) = (key, firstURL, host)
    urls = 1
  }

  /// What ``FirstURLs/append(_:isRepeated:)`` gave.
  var text: UInt32 {
    get { textAndFlag >> 1 }
    set { textAndFlag = newValue << 1 | textAndFlag & 1 }
  }

  /// Whether more than one URL had the body, at whatever host.
  var isRepeated: Bool {
    get { textAndFlag & 1 == 1 }
    set { textAndFlag = textAndFlag & ~1 | (newValue ? 1 : 0) }
  }
}

extension ProbedTable where Slot == Group {
  /// The index of the slot of `key`, which is not 0, or else of the free one where it belongs.
  fileprivate func index(of key: UInt64) -> (index: Int, isFree: Bool) {
    let index = index(hash: key) { $0.key == key }
    return (index, self[index].isFree)
  }
}

/// A set of hashes, each of which may be marked.
struct HashSet: Sendable {
  enum Insertion: Equatable {
    case new
    /// It was there, and marked or not when it came.
    case known(isMarked: Bool)
    case full
  }

  /// A hash, whose lowest bit is the mark; 0 for a free slot.
  private struct Member: ProbedSlot {
    var bits: UInt64 = 0
    var isFree: Bool { bits == 0 }
    var isMarked: Bool { bits & 1 == 1 }
  }

  private var members: ProbedTable<Member>

  init(maximumSlots: Int) { members = ProbedTable(free: Member(), maximumSlots: maximumSlots) }

  var byteCount: Int { members.byteCount }

  mutating func insert(_ hash: UInt64, marked: Bool) -> Insertion {
    let hash = hash < 2 ? hash + 2 : hash
    let index = members.index(hash: hash >> 1) { $0.bits | 1 == hash | 1 }
    if !members[index].isFree { return .known(isMarked: members[index].isMarked) }
    let member = Member(bits: marked ? hash | 1 : hash & ~1)
    return members.insert(member, at: index) { $0.bits >> 1 } == nil ? .full : .new
  }
}

/// The text of URLs, one after another, each behind its length.
private struct FirstURLs: Sendable {
  /// For the first URLs of all bodies there are so many bytes.
  private static let byteLimit = 6 << 20
  /// For those of bodies that come again there are so many.
  private static let repeatedByteLimit = 8 << 20

  private var bytes: [UInt8] = []

  var byteCount: Int { bytes.capacity }

  /// Keeps a URL; returns where, from 1 on, and 0 where there is no room.
  mutating func append(_ url: UnsafeRawBufferPointer, isRepeated: Bool) -> UInt32 {
    let limit = isRepeated ? Self.repeatedByteLimit : Self.byteLimit
    guard let count = UInt16(exactly: url.count), bytes.count + 2 + url.count <= limit else { return 0 }
    let index = bytes.count + 1
    bytes.append(UInt8(count >> 8))
    bytes.append(UInt8(truncatingIfNeeded: count))
    bytes.append(contentsOf: url)
    return UInt32(index)
  }

  func text(at index: UInt32) -> String? {
    guard index > 0 else { return nil }
    let start = Int(index) + 1
    let count = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
    return String(decoding: bytes[start..<start + count], as: UTF8.self)
  }
}
