package import Base

/// One entry of a manifest, as reports name it; its bytes are valid during a call only.
package struct ReportedEntry {
  /// The URL as written, resolved against the manifest's base, with credentials masked; the text of an invalid line.
  package var url: UnsafeRawBufferPointer
  /// The index that ``RunReport/addManifest(_:)`` gave.
  package var manifest: Int
  /// The line in the manifest, from 1; 0 if it has none.
  package var line: UInt64
  /// The priority of its request.
  package var priority: LoadPriority
  /// Host and port, if it isn't the scheme's own (`img.example.com:8443`); empty for an invalid line.
  package var host: UnsafeRawBufferPointer
  /// The variant of the request: 0 is the plain one, and n the one at index n - 1 of the variants of ``RunReport``.
  package var variant: Int
  /// Identifies its image, by `DuplicateIndex.hash`; nil: the URL without its fragment does.
  package var imageHash: UInt64?
  /// What its list says besides the URL; nil if that is all.
  package var note: EntryNote?
  /// Whether it names an image that an earlier entry has named, with the same result, so that it isn't counted.
  var isRepeated = false
  /// The rules about its delivery that it breaks.
  var broken = LintRuleSet()

  package init(
    url: UnsafeRawBufferPointer,
    manifest: Int,
    line: UInt64,
    priority: LoadPriority,
    host: UnsafeRawBufferPointer,
    variant: Int = 0,
    imageHash: UInt64? = nil,
    note: EntryNote? = nil
  ) {
    self.url = url
    self.manifest = manifest
    self.line = line
    self.priority = priority
    self.host = host
    self.variant = variant
    self.imageHash = imageHash
    self.note = note
  }
}
