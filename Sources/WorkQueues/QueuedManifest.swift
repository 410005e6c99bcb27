/// What a manifest is called, so that results can be told by it; entries name it by its index.
public struct QueuedManifest: Sendable, Hashable {
  /// Its name, as reports show it.
  public var name: String
  /// The absolute path of the file in which its entries stand; nil where they stand in none.
  public var file: String?

  /// A manifest of that name.
  public init(name: String, file: String?) {
    (self.name, self.file) = (name, file)
  }

  /// The field of a queue's job that has its name.
  static func nameField(_ index: Int) -> String { "manifest:\(index)" }
  /// The field of a queue's job that has its file.
  static func fileField(_ index: Int) -> String { "file:\(index)" }
}
