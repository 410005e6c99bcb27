public import ImagePrimitives

/// An entry that ended in another way than in the earlier report.
public struct ReportDifference: Sendable, Equatable {
  /// How it differs.
  public enum Change: String, Sendable, CaseIterable {
    /// It was good and is bad.
    case broke
    /// It was bad and is good.
    case healed
    /// It was good and is, and is another image.
    case changed
  }

  /// What one of the reports tells of the entry.
  public struct End: Sendable, Equatable {
    /// Why it was bad; nil where it was good, and where that is not known.
    public var kind: FailureKind?
    /// The HTTP status, where it was bad and a server gave one.
    public var status: Int?
    /// The image's format, where it was good.
    public var format: ImageFormat?
    /// Pixels; 0 where not known.
    public var width: UInt32
    /// Pixels; 0 where not known.
    public var height: UInt32
    /// Bytes; 0 where not known.
    public var bytes: UInt64
  }

  /// What of an image differs.
  public struct Aspects: OptionSet, Sendable, Hashable {
    /// A bit for each.
    public let rawValue: UInt8
    /// A set of those bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Another format.
    public static let format = Aspects(rawValue: 1)
    /// Another width or height.
    public static let size = Aspects(rawValue: 2)
    /// Another number of bytes.
    public static let bytes = Aspects(rawValue: 4)
    /// Other bytes, of the same number.
    public static let content = Aspects(rawValue: 8)

    /// Their names, in this order.
    public var names: [String] {
      [(Aspects.format, "format"), (.size, "size"), (.bytes, "bytes"), (.content, "content")].filter { contains($0.0) }.map(\.1)
    }
  }

  /// How it differs.
  public var change: Change
  /// What of the image differs; empty unless it ``Change/changed``.
  public var aspects: Aspects
  /// The URL as its row shows it.
  public var url: String
  /// The way in which it was asked for.
  public var variant: ReportedVariant
  /// The manifest's path.
  public var manifest: String
  /// The line in the manifest; 0 where it has none.
  public var line: UInt64
  /// How it ended in the earlier report.
  public var before: End
  /// How it ended in the later one.
  public var after: End
}

extension ReportDifference.End {
  init(_ facts: EntryFacts) {
    kind = facts.kind
    status = facts.status == 0 ? nil : Int(facts.status)
    format = facts.format
    (width, height, bytes) = (facts.width, facts.height, facts.bytes)
  }
}

extension EntryFacts {
  /// What differs of two good ends, as far as both tell it.
  func aspects(differingFrom other: EntryFacts) -> ReportDifference.Aspects {
    var aspects: ReportDifference.Aspects = []
    if let format, let otherFormat = other.format, format != otherFormat { aspects.insert(.format) }
    if width > 0, other.width > 0, (width, height) != (other.width, other.height) { aspects.insert(.size) }
    if bytes > 0, other.bytes > 0 {
      if bytes != other.bytes {
        aspects.insert(.bytes)
      } else if hash != 0, other.hash != 0, hash != other.hash {
        aspects.insert(.content)
      }
    }
    return aspects
  }
}
