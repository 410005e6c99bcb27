internal import CXXHash

/// Counts the URLs per body and host, to find duplicates and placeholders.
///
/// Each body takes a slot of 24 bytes for itself and its first host; further hosts of a body have their own slots, found by body
/// and host together. The slot holds the body's first URL; hashes of further URLs are in a set, so that a repeated URL isn't
/// counted twice. A run whose images all differ therefore costs one slot per image.
///
/// Memory is limited to 24 MiB of slots, 8 MiB of hashes and 8 MiB of URLs by default. Further bodies aren't distinguished any
/// more, and ``isComplete`` becomes false. Hashes use a secret random seed, so that servers can't choose colliding bodies.
package struct DuplicateIndex: Sendable {
  /// The result of adding a URL of a body.
  package struct Sighting: Sendable, Equatable {
    /// The body at that host, for ``DuplicateIndex/urls(of:)`` and ``DuplicateIndex/firstURL(of:)``; nil if there was no room for
    /// it.
    package var group: UInt64?
    /// The number of URLs of the host with this body so far, including this one.
    package var urls: Int
    /// Whether this URL reached the threshold, so that the body counts as a placeholder. Earlier URLs stay good if they are added
    /// again.
    package var isPlaceholder: Bool
  }

  /// The default number of URLs of a host with the same bytes from which they count as a placeholder.
  package static let placeholderURLs = 10

  /// The number of bodies that came from more than one URL.
  package private(set) var bodies: UInt64 = 0
  /// The number of URLs of those bodies.
  package private(set) var urls: UInt64 = 0
  /// Whether there was room for everything; if not, both counts may be too low.
  package private(set) var isComplete = true

  private let threshold: Int
  private var groups: ProbedTable<Group>
  private var furtherURLs: HashSet
  private var firstURLs: FirstURLs?

  /// Creates an index in which a body counts as a placeholder from `threshold` URLs of a host on; ``firstURL(of:)`` works if it
  /// `keepsURLs`.
  ///
  /// - Parameter maximumSlots: the maximum number of slots, of which three quarters are used, and of hashes of further URLs;
  ///   traps unless it is a power of two.
  package init(threshold: Int = Self.placeholderURLs, keepsURLs: Bool = true, maximumSlots: Int = 1 << 20) {
    trap(unless: threshold > 1, "a placeholder threshold of \(threshold); use 2 or more")
    trap(unless: maximumSlots > 0 && maximumSlots & (maximumSlots - 1) == 0, "\(maximumSlots) slots; use a power of two")
    self.threshold = threshold
    groups = ProbedTable(free: Group(), slots: 1024, maximumSlots: maximumSlots)
    furtherURLs = HashSet(maximumSlots: maximumSlots)
    firstURLs = keepsURLs ? FirstURLs() : nil
  }

  /// Records that a URL of a host returned a body.
  ///
  /// - Parameters:
  ///   - url: the ``hash(_:)`` of the URL; equal for all that the caller considers the same URL.
  ///   - host: a number or hash that identifies the host.
  ///   - shown: the URL as it may be displayed.
  package mutating func add(_ body: Checksum, url: UInt64, host: UInt32, shown: UnsafeRawBufferPointer) -> Sighting {
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

  /// The number of URLs of the host with the body of a ``Sighting/group``; 0 for an unknown group.
  package func urls(of group: UInt64) -> Int {
    let (index, isFree) = groups.index(of: group)
    return isFree ? 0 : Int(groups[index].urls)
  }

  /// The first of these URLs as it was displayed, or the first that there was room for; nil if there was none.
  package func firstURL(of group: UInt64) -> String? {
    let (index, isFree) = groups.index(of: group)
    return isFree ? nil : firstURLs?.text(at: groups[index].text)
  }

  /// A hash of a URL, a host or other bytes, constant within this process.
  package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
  }

  var byteCount: Int { groups.byteCount + furtherURLs.byteCount + (firstURLs?.byteCount ?? 0) }

  private static let seed = UInt64.random(in: .min ... .max)
  private let seeds = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

  /// Combines two hashes into one, never 0: both halves of their product after adding secret seeds, as wyhash does.
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

  /// Adds a URL to a body and host that are already known; `body` is the slot of the body and its first host.
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
      // If there was no room for the first URL, keep the first one that fits.
      if slot.text == 0, let firstURLs = firstURLs?.append(shown, isRepeated: true) { groups[group].text = firstURLs }
      countRepetition(at: body)
      return Sighting(group: key, urls: count + 1, isPlaceholder: isBeyond)
    }
  }

  /// Counts another URL of a body that another URL already had.
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

private struct Group: ProbedSlot {
  /// The hash of the body, or of body and host; 0 for a free slot.
  var key: UInt64 = 0
  /// The lower half of the hash of its first URL, enough to distinguish it from others in this slot.
  var firstURL: UInt32 = 0
  var host: UInt32 = 0
  var urls: UInt32 = 0
  /// The location of its first URL in the upper 31 bits (0 for none), and a flag in the lowest.
  private var textAndFlag: UInt32 = 0

  var isFree: Bool { key == 0 }

  init() {}

  init(key: UInt64, firstURL: UInt32, host: UInt32) {
    (self.key, self.firstURL, self.host) = (key, firstURL, host)
    urls = 1
  }

  /// The value that ``FirstURLs/append(_:isRepeated:)`` returned.
  var text: UInt32 {
    get { textAndFlag >> 1 }
    set { textAndFlag = newValue << 1 | textAndFlag & 1 }
  }

  var isRepeated: Bool {
    get { textAndFlag & 1 == 1 }
    set { textAndFlag = textAndFlag & ~1 | (newValue ? 1 : 0) }
  }
}

extension ProbedTable where Slot == Group {
  /// The index of the slot of `key`, which isn't 0, or of the free slot for it.
  fileprivate func index(of key: UInt64) -> (index: Int, isFree: Bool) {
    let index = index(hash: key) { $0.key == key }
    return (index, self[index].isFree)
  }
}

/// A set of hashes, each of which may be marked.
package struct HashSet: Sendable {
  package enum Insertion: Equatable {
    case new
    /// Already present, and whether it was marked when it was inserted.
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

  package init(maximumSlots: Int) { members = ProbedTable(free: Member(), maximumSlots: maximumSlots) }

  var byteCount: Int { members.byteCount }

  package mutating func insert(_ hash: UInt64, marked: Bool) -> Insertion {
    let hash = hash < 2 ? hash + 2 : hash
    let index = members.index(hash: hash >> 1) { $0.bits | 1 == hash | 1 }
    if !members[index].isFree { return .known(isMarked: members[index].isMarked) }
    let member = Member(bits: marked ? hash | 1 : hash & ~1)
    return members.insert(member, at: index) { $0.bits >> 1 } == nil ? .full : .new
  }
}

/// The text of URLs, concatenated, each preceded by its length.
private struct FirstURLs: Sendable {
  private static let byteLimit = 6 << 20
  /// The limit for URLs of repeated bodies, which may use more.
  private static let repeatedByteLimit = 8 << 20

  private var bytes: [UInt8] = []

  var byteCount: Int { bytes.capacity }

  /// Keeps a URL and returns its location, counted from 1; 0 if there is no room.
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
