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
public struct BodySightings: Sendable {
  /// What is known of a body once one more URL had it.
  public struct Sighting: Sendable, Equatable {
    /// The body at that host, for ``BodySightings/urls(of:)`` and ``BodySightings/firstURL(of:)``; nil where it is not kept in mind.
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
  private var groups: SightingTable
  private var furtherURLs: HashSet
  private var firstURLs: SightedURLs?

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
    groups = SightingTable(maximumSlots: maximumSlots)
    furtherURLs = HashSet(maximumSlots: maximumSlots)
    firstURLs = keepsURLs ? SightedURLs() : nil
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
    let (place, isNew) = groups.place(of: bodyKey)
    if isNew { return begin(bodyKey, at: place, url, host, shown) }
    if groups[place].host == host { return add(url, to: place, bodyKey, of: place, shown) }
    let groupKey = mix(bodyKey, UInt64(host))
    let (group, isNewGroup) = groups.place(of: groupKey)
    guard isNewGroup else { return add(url, to: group, groupKey, of: place, shown) }
    let sighting = begin(groupKey, at: group, url, host, shown, isRepeated: true)
    // The table may have grown.
    if sighting.group != nil { countRepetition(at: groups.place(of: bodyKey).place) }
    return sighting
  }

  /// How many URLs had the body of a ``Sighting/group`` at its host; 0 for a group of no sighting.
  public func urls(of group: UInt64) -> Int {
    let (place, isFree) = groups.place(of: group)
    return isFree ? 0 : Int(groups[place].urls)
  }

  /// The first of them, as it was shown, or the first that there was room for; nil where there was none.
  public func firstURL(of group: UInt64) -> String? {
    let (place, isFree) = groups.place(of: group)
    return isFree ? nil : firstURLs?.text(at: groups[place].text)
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
    at place: Int,
    _ url: UInt64,
    _ host: UInt32,
    _ shown: UnsafeRawBufferPointer,
    isRepeated: Bool = false
  ) -> Sighting {
    var slot = SightingTable.Slot(key: key, firstURL: UInt32(truncatingIfNeeded: url), host: host)
    slot.text = firstURLs?.append(shown, isRepeated: isRepeated) ?? 0
    guard groups.insert(slot, at: place) else {
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
  private mutating func countRepetition(at place: Int) {
    if groups[place].isRepeated {
      urls += 1
    } else {
      groups[place].isRepeated = true
      bodies += 1
      urls += 2
    }
  }
}

/// Slots by 64-bit hash: open addressing with linear probing over flat memory, doubled until it has as many as it may.
struct SightingTable: Sendable {
  /// A body at a host.
  struct Slot: Sendable {
    /// What it is found by; 0 for a free slot.
    var key: UInt64 = 0
    /// Of the hash of its first URL, as much as tells it from the others of this slot.
    var firstURL: UInt32 = 0
    var host: UInt32 = 0
    /// URLs of the host that had it.
    var urls: UInt32 = 0
    /// Where its first URL lies, in the upper 31 bits; 0 for nowhere.
    private var textAndFlag: UInt32 = 0

    /// A free one.
    init() {}

    /// A body that one URL had.
    init(key: UInt64, firstURL: UInt32, host: UInt32) {
      (self.key, self.firstURL, self.host) = (key, firstURL, host)
      urls = 1
    }

    /// What ``SightedURLs/append(_:isRepeated:)`` gave.
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

  private let maximumSlots: Int
  private var slots: [Slot]
  private var used = 0

  init(maximumSlots: Int) {
    self.maximumSlots = maximumSlots
    slots = Array(repeating: Slot(), count: min(1024, maximumSlots))
  }

  var byteCount: Int { slots.capacity * MemoryLayout<Slot>.stride }

  subscript(place: Int) -> Slot {
    get { slots[place] }
    _modify { yield &slots[place] }
  }

  /// Where the slot of `key`, which is not 0, is; else the free one where it belongs. Until the next one is inserted.
  @inline(__always)
  func place(of key: UInt64) -> (place: Int, isFree: Bool) {
    let mask = slots.count - 1
    var place = Int(truncatingIfNeeded: key) & mask
    while true {
      let found = slots[place].key
      if found == key { return (place, false) }
      if found == 0 { return (place, true) }
      place = (place + 1) & mask
    }
  }

  /// Fills the free slot that was found at `place`; false where there is no room.
  @inline(__always)
  mutating func insert(_ slot: Slot, at place: Int) -> Bool {
    var place = place
    if used >= slots.count / 4 * 3 {
      guard slots.count < maximumSlots else { return false }
      double()
      place = self.place(of: slot.key).place
    }
    used += 1
    slots[place] = slot
    return true
  }

  @inline(never)
  private mutating func double() {
    let old = slots
    slots = Array(repeating: Slot(), count: old.count * 2)
    for slot in old where slot.key != 0 { slots[place(of: slot.key).place] = slot }
  }
}

/// The text of URLs, one after another, each behind its length.
struct SightedURLs: Sendable {
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
    let place = bytes.count + 1
    bytes.append(UInt8(count >> 8))
    bytes.append(UInt8(truncatingIfNeeded: count))
    bytes.append(contentsOf: url)
    return UInt32(place)
  }

  func text(at place: UInt32) -> String? {
    guard place > 0 else { return nil }
    let start = Int(place) + 1
    let count = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
    return String(decoding: bytes[start..<start + count], as: UTF8.self)
  }
}
